//! The engines that work here, and what a job says of its own.

use super::cmdprio;
use super::diagnostic::Trouble;
use super::job::{Engine, Look, Program};
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
pub(crate) fn engine(look: &Look) -> Result<Engine, Trouble> {
    let (name, rest) = look.word("ioengine", "psync");
    if name == "external" || rest.is_some() {
        return Err(look.wrong("ioengine", "engines are not loaded from files", "name one of the table"));
    }
    if !ENGINES.iter().any(|(works, _)| *works == name) {
        let works: Vec<&str> = ENGINES.iter().map(|(name, _)| *name).collect();
        let hint = format!("these work: {}", works.join(" "));
        return Err(look.wrong("ioengine", &format!("there is no {name} here"), &hint));
    }
    let cpu_percent = look.integer("cpuload").unwrap_or(0);
    if name == "cpuio" && cpu_percent == 0 {
        return Err(look.wrong("cpuload", "cpuio needs it", "say cpuload=50"));
    }
    let command = Program {
        program: look.text("program").unwrap_or_default().to_owned(),
        arguments: look.text("arguments").unwrap_or_default().to_owned(),
        grace: Nanos::from_seconds(look.count("grace_time").unwrap_or(1)),
        redirected: look.switch("std_redirect", true),
    };
    if name == "exec" && command.program.is_empty() {
        return Err(look.wrong("program", "exec needs it", "say program=/bin/sleep"));
    }
    let offload = look.word("io_submit_mode", "inline").0 == "offload" && !matches!(name, "null" | "mmap");
    if offload && (name.starts_with("file") || name.starts_with("dir") || name == "cpuio") {
        return Err(look.wrong("io_submit_mode", &format!("{name} submits nothing"), "leave it out"));
    }
    let polls = look.count("hipri_percentage").unwrap_or(100) as u8;
    Ok(Engine {
        name,
        cpu_chunk: Nanos(look.count("cpuchunks").unwrap_or(50_000).saturating_mul(1000)),
        cpu_sorts: look.word("cpumode", "noop").0 == "qsort",
        offload,
        command: (name == "exec").then_some(command),
        poll: look.switch("hipri", false) && polls > 0,
        poll_percent: if polls < 100 { polls } else { 0 },
        hand_over_every: if offload { 0 } else { look.small("force_async", 0)? },
        priorities: cmdprio::priorities(look, offload)?,
        stat_call: match look.word("stat_type", "stat").0 {
            "lstat" => StatCall::Link,
            "statx" => StatCall::Extended,
            _ => StatCall::File,
        },
        submit_poll: look.switch("sqthread_poll", false),
        submit_poll_cpu: look
            .count("sqthread_poll_cpu")
            .map(|_| look.small("sqthread_poll_cpu", 0))
            .transpose()?,
        no_wait: look.switch("nowait", false),
        cpu_percent,
    })
}
