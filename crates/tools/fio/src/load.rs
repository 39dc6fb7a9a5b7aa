//! From what was read to jobs: put together, and understood one after the other.

use super::diagnostic::Trouble;
use super::inherit::{Globals, Parts, assemble_each};
use super::job::Job;
use super::pattern::{ReadHead, read_files};
use super::resolve::meant;

/// The jobs, and what `[global]` said. Everything wrong in what was typed is told at once; of what is typed well and means
/// nothing, the first. `only`: the sections wanted, or none for all.
pub fn understood(
    parts: Parts,
    only: &[String],
    read: ReadHead,
) -> Result<(Vec<Job>, Globals), Vec<Trouble>> {
    let sections = parts.files.iter().map(Vec::len).sum::<usize>() + parts.command_line.len();
    let (mut jobs, mut senseless) = (Vec::with_capacity(sections), None);
    let globals = assemble_each(parts, only, &mut |mut typed| {
        // What is typed wrong further on is still to be told, and goes before it.
        if senseless.is_none() {
            match read_files(&mut typed, read).and_then(|()| meant(&typed)) {
                Ok(job) => jobs.push(job),
                Err(trouble) => senseless = Some(trouble),
            }
        }
    })?;
    match senseless {
        Some(trouble) => Err(vec![trouble]),
        None => Ok((jobs, globals)),
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

    const MANY: usize = 1000;

    fn many(odd: &str) -> String {
        let mut text = "[global]\nbs=4k\n".to_owned();
        (0..MANY).for_each(|n| writeln!(text, "[job{n}]\niodepth={}", n % 7 + 1).unwrap());
        text + odd
    }

    #[test]
    fn a_large_file_gives_the_jobs_of_its_sections_in_order() {
        let (jobs, globals) = read(&many("")).unwrap();
        assert_eq!(jobs.len(), MANY);
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
