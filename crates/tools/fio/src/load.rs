//! From what was read to jobs: put together and understood, of large files side by side.

use super::diagnostic::Trouble;
use super::inherit::{Globals, Parts, Typed, assemble_each};
use super::job::Job;
use super::pattern::{ReadHead, read_files};
use super::resolve::meant;
use std::sync::mpsc::channel;

/// So many sections are worth a thread.
const MANY: usize = 500;

/// So many jobs are handed over at once: to wake the other thread costs as much as some of them.
const BATCH: usize = 256;

/// The jobs, and what `[global]` said. Everything wrong in what was typed is told at once; of what is typed well and means
/// nothing, the first. `only`: the sections wanted, or none for all.
pub fn understood(
    parts: Parts,
    only: &[String],
    read: ReadHead,
) -> Result<(Vec<Job>, Globals), Vec<Trouble>> {
    let sections = parts.files.iter().map(Vec::len).sum::<usize>() + parts.command_line.len();
    let mut reader = Reader { jobs: Vec::with_capacity(sections), trouble: None, read };
    let globals = if sections < MANY {
        assemble_each(parts, only, &mut |typed| reader.take(typed))?
    } else {
        side_by_side(parts, only, &mut reader)?
    };
    match reader.trouble {
        Some(trouble) => Err(vec![trouble]),
        None => Ok((reader.jobs, globals)),
    }
}

/// One thread puts jobs together, the other finds out what they mean.
fn side_by_side(parts: Parts, only: &[String], reader: &mut Reader) -> Result<Globals, Vec<Trouble>> {
    std::thread::scope(|scope| {
        // Without a bound: the other thread has more to do, and this one would wait for it again and again.
        let (full, batches) = channel::<Vec<Typed>>();
        scope.spawn(move || batches.into_iter().flatten().for_each(|typed| reader.take(typed)));
        let mut batch = Vec::with_capacity(BATCH);
        // The other thread takes all there is, so none is ever refused.
        let globals = assemble_each(parts, only, &mut |typed| {
            batch.push(typed);
            if batch.len() == BATCH {
                let _ = full.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
            }
        });
        let _ = full.send(batch);
        globals
    })
}

struct Reader<'a> {
    jobs: Vec<Job>,
    trouble: Option<Trouble>,
    read: ReadHead<'a>,
}

impl Reader<'_> {
    fn take(&mut self, mut typed: Typed) {
        if self.trouble.is_some() {
            return;
        }
        match read_files(&mut typed, self.read).and_then(|()| meant(&typed)) {
            Ok(job) => self.jobs.push(job),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobfile::{self, tests::around};
    use super::*;
    use std::fmt::Write;

    fn read(text: &str) -> Result<(Vec<Job>, Globals), Vec<Trouble>> {
        let files = vec![jobfile::parse("t.fio", text, &around())?];
        understood(Parts { files, ..Parts::default() }, &[], &|_, _| Err("no file".to_owned()))
    }

    fn many(odd: &str) -> String {
        let mut text = "[global]\nbs=4k\n".to_owned();
        (0..MANY * 2).for_each(|n| writeln!(text, "[job{n}]\niodepth={}", n % 7 + 1).unwrap());
        text + odd
    }

    #[test]
    fn a_large_file_gives_the_jobs_of_its_sections_in_order() {
        let (jobs, globals) = read(&many("")).unwrap();
        assert_eq!(jobs.len(), MANY * 2);
        for (n, job) in jobs.iter().enumerate() {
            assert_eq!((job.name.as_str(), job.pace.depth), (&*format!("job{n}"), n as u32 % 7 + 1));
        }
        assert_eq!(globals, Some(vec![("bs", "4k".to_owned())]));
    }

    #[test]
    fn what_is_typed_wrong_goes_before_what_means_nothing() {
        let senseless = "[x]\nfilename=-\n";
        let misspelt = "[y]\niodetph=4\n[z]\nbz=3\n";
        for begin in ["", &many("")] {
            let troubles = |odd: &str| read(&format!("{begin}{odd}")).unwrap_err();
            assert!(troubles(senseless)[0].to_string().contains("pipes are not measured"));
            assert_eq!(troubles(&format!("{senseless}{misspelt}")).len(), 2);
        }
    }
}
