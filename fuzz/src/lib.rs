//! What the targets share: text and words out of bytes. A target answers nothing: it must end, within its memory and its
//! time, without a panic.

use std::ffi::OsString;

/// The bytes as text; what is no text is replaced, as it never reaches a parser of text.
pub fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// The bytes as the words of a command line: a line each.
pub fn words(data: &[u8]) -> Vec<String> {
    text(data).split('\n').take(64).map(str::to_owned).collect()
}

/// The same as the system hands them over.
pub fn os_words(data: &[u8]) -> Vec<OsString> {
    words(data).into_iter().map(OsString::from).collect()
}

/// fio's surroundings without a machine below, and what is done with sections before anything is run.
pub mod fio {
    use fathom_fio::*;
    use std::io::{BufRead, Cursor};

    const LOG: &[u8] = b"fio version 2 iolog\n/a add\n/a read 0 4096\n/a write 4096 512\n";

    /// Surroundings with one variable and one file to include.
    pub fn around<R>(then: impl FnOnce(&Surroundings<'_>) -> R) -> R {
        then(&Surroundings {
            variable: &|name| (name == "DIR").then(|| "/tmp".to_owned()),
            include: &|name| match name {
                "inc.fio" => Ok("[global]\nbs=1k\n".to_owned()),
                _ => Err("No such file".to_owned()),
            },
            page_size: 4096,
            memory_mebibytes: 16_384,
            cpus: 4,
        })
    }

    /// From sections to a plan, and to what the report says of the jobs.
    pub fn plan_of(parts: Parts, sections: &[String]) {
        let head = |_: &str, most: usize| Ok(b"bytes of a file".iter().copied().take(most).collect());
        let Ok((mut jobs, _)) = fathom_fio::understood(parts, sections, &head) else { return };
        let open = |_: &str| Ok(Box::new(Cursor::new(LOG)) as Box<dyn BufRead>);
        if recall(&mut jobs, &open, &|_, _| Some("/dev/disk1".to_owned())).is_err() {
            return;
        }
        let clones: u64 = jobs.iter().map(|job| u64::from(job.start.clones)).sum();
        if clones > 64 {
            // A plan for each clone is what was asked for; how many fit is the engine's to say.
            return;
        }
        let look = |path: &str| match path.len() % 3 {
            0 => Some(FileFacts { bytes: 1 << 30, device: false }),
            1 => Some(FileFacts { bytes: 1 << 34, device: true }),
            _ => None,
        };
        if let Ok(planned) = plan(&jobs, &Facts { look: &look, chance: 5 }) {
            let _ = reported(&jobs, &planned, 1);
        }
    }
}
