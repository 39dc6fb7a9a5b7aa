//! The engines that work here, and what a job says of its own.

use super::cmdprio;
use super::diagnostic::Trouble;
use super::job::{Engine, Program};
use super::options::OptionId;
use super::reader::OptionReader;
use fathom_spec::{Nanos, StatCall};

/// Engines that work, and what they are here.
pub const ENGINES: &[(&str, &str)] = &[
    ("sync", "pread and pwrite, one at a time"),
    ("psync", "pread and pwrite, one at a time"),
    ("vsync", "preadv2 and pwritev2, one at a time; neighbours are not put together"),
    ("pvsync", "preadv2 and pwritev2, one at a time"),
    ("pvsync2", "preadv2 and pwritev2, one at a time"),
    ("libaio", "the kernel's asynchronous I/O"),
    ("io_uring", "io_uring"),
    ("posixaio", "pread and pwrite on threads, as many as `iodepth`"),
    ("mmap", "loads and stores on a mapping"),
    ("null", "nothing is done"),
    ("cpuio", "CPU time"),
    ("falloc", "space is reserved (reads: behind the end too) and given back (trims)"),
    ("ftruncate", "a write sets the file's size to its offset"),
    ("filecreate", "files are made"),
    ("filestat", "files are looked at"),
    ("filedelete", "files are removed"),
    ("dircreate", "directories are made"),
    ("dirstat", "directories are looked at"),
    ("dirdelete", "directories are removed"),
    ("exec", "a program is run, with `--allow-exec` only"),
];

/// What a job says of its engine.
pub(crate) fn engine(reader: &OptionReader) -> Result<Engine, Trouble> {
    let (name, rest) = reader.word_and_rest(OptionId::Ioengine);
    if name == "external" || rest.is_some() {
        return Err(reader.wrong(
            OptionId::Ioengine,
            "engines are not loaded from files",
            "name one of the table",
        ));
    }
    if !ENGINES.iter().any(|(works, _)| *works == name) {
        let works: Vec<&str> = ENGINES.iter().map(|(name, _)| *name).collect();
        let hint = format!("these work: {}", works.join(" "));
        return Err(reader.wrong(OptionId::Ioengine, &format!("there is no {name} here"), &hint));
    }
    let cpu_percent = reader.integer(OptionId::Cpuload);
    if name == "cpuio" && cpu_percent == 0 {
        return Err(reader.wrong(OptionId::Cpuload, "cpuio needs it", "say cpuload=50"));
    }
    let command = Program {
        program: reader.text(OptionId::Program).unwrap_or_default().to_owned(),
        arguments: reader.text(OptionId::Arguments).unwrap_or_default().to_owned(),
        grace: Nanos::from_seconds(reader.count(OptionId::GraceTime)),
        redirected: reader.switch(OptionId::StdRedirect),
    };
    if name == "exec" && command.program.is_empty() {
        return Err(reader.wrong(OptionId::Program, "exec needs it", "say program=/bin/sleep"));
    }
    let offload = reader.word(OptionId::IoSubmitMode) == "offload" && !matches!(name, "null" | "mmap");
    if offload && (name.starts_with("file") || name.starts_with("dir") || name == "cpuio") {
        return Err(reader.wrong(OptionId::IoSubmitMode, &format!("{name} submits nothing"), "leave it out"));
    }
    let polls = reader.count(OptionId::HipriPercentage) as u8;
    Ok(Engine {
        name,
        cpu_chunk: Nanos(reader.count(OptionId::Cpuchunks).saturating_mul(1000)),
        cpu_sorts: reader.word(OptionId::Cpumode) == "qsort",
        offload,
        command: (name == "exec").then_some(command),
        poll: reader.switch(OptionId::Hipri) && polls > 0,
        poll_percent: if polls < 100 { polls } else { 0 },
        hand_over_every: if offload { 0 } else { reader.small(OptionId::ForceAsync)? },
        priorities: cmdprio::priorities(reader, offload)?,
        stat_call: match reader.word(OptionId::StatType) {
            "lstat" => StatCall::Link,
            "statx" => StatCall::Extended,
            _ => StatCall::File,
        },
        submit_poll: reader.switch(OptionId::SqthreadPoll),
        submit_poll_cpu: reader.said_small(OptionId::SqthreadPollCpu)?,
        no_wait: reader.switch(OptionId::Nowait),
        cpu_percent,
    })
}
