//! The files that SLOB's scripts leave behind, written from a record; and sysstat's own programs while a run goes on.

use crate::surroundings;
use anyhow::{Context as _, Result};
use fathom_dialect::slob::{Statistics, Told, awr, sysstat};
use fathom_record::{ResultRecord, Run};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What is kept of the run beside its raw facts.
pub fn told(record: &ResultRecord) -> Option<Told> {
    serde_json::from_value(record.facts.pointer("/request/slob")?.clone()).ok()
}

/// sysstat's and procps' programs, each writing its file until it is told to end.
pub struct Collectors {
    running: Vec<(&'static str, Child)>,
}

const PROGRAMS: [(&str, &str, &[&str]); 3] = [
    ("iostat", "iostat.out", &["-t", "-xm", "3"]),
    ("vmstat", "vmstat.out", &["-t", "3"]),
    ("mpstat", "mpstat.out", &["-P", "ALL", "3"]),
];

impl Collectors {
    /// Starts those that are installed; the others' files are made from /proc afterwards.
    pub fn start(directory: &Path) -> Self {
        let mut running = Vec::new();
        for (name, file, words) in PROGRAMS {
            let Some(program) = surroundings::program(name) else { continue };
            let Ok(out) = File::create(directory.join(file)) else { continue };
            let mut command = Command::new(program);
            command.args(words).stdin(Stdio::null()).stdout(out).stderr(Stdio::null()).env("LC_ALL", "C");
            if let Ok(child) = command.spawn() {
                running.push((file, child));
            }
        }
        Collectors { running }
    }

    /// Ends them. Answers the files that they wrote.
    pub fn end(&mut self) -> Vec<&'static str> {
        let mut written = Vec::new();
        for (file, mut child) in self.running.drain(..) {
            // One that has ended by itself could not do what it was started for.
            let alive = matches!(child.try_wait(), Ok(None));
            let _ = child.kill();
            let _ = child.wait();
            if alive {
                written.push(file);
            }
        }
        written
    }
}

impl Drop for Collectors {
    fn drop(&mut self) {
        self.end();
    }
}

type Writer<'a> = Box<dyn Fn(&mut Vec<u8>) -> std::io::Result<()> + 'a>;

/// Writes the files of one run; `written` are there already.
pub fn write(
    told: &Told,
    record: &ResultRecord,
    index: usize,
    directory: &Path,
    written: &[&str],
) -> Result<()> {
    let Some(run) = record.runs.get(index) else { return Ok(()) };
    let report = match told.settings.statistics {
        Statistics::Awr => "awr.txt",
        Statistics::Statspack => "statspack.txt",
    };
    let mut files: Vec<(&str, Writer)> = vec![
        (report, Box::new(|out| awr::write(told, record, index, out))),
        ("db_stats.out", Box::new(|out| awr::db_stats(told, run, out))),
        ("tm.out", Box::new(|out| awr::tm(run, out))),
    ];
    if !told.settings.no_os_perf_data && has_machine(run) {
        files.push(("iostat.out", Box::new(|out| sysstat::iostat(told, record, run, out))));
        files.push(("vmstat.out", Box::new(|out| sysstat::vmstat(record, run, out))));
        files.push(("mpstat.out", Box::new(|out| sysstat::mpstat(told, record, run, out))));
    }
    for (name, write) in files.iter().filter(|(name, _)| !written.contains(name)) {
        let mut text = Vec::new();
        write(&mut text)?;
        let path: PathBuf = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn has_machine(run: &Run) -> bool {
    run.samples.iter().any(|sample| sample.of == "os")
}
