//! The files that SLOB's scripts leave behind, written from a record.

use crate::{RunContext, Statistics, Words, awr, pgio_files, sysstat};
use anyhow::{Result, anyhow};
use fathom_host::{Roots, output_file};
use fathom_record::{ResultRecord, Run, SampleOf};
use std::path::{Path, PathBuf};

/// What is kept of the run beside its raw facts.
pub fn told(record: &ResultRecord) -> Option<RunContext> {
    serde_json::from_value(record.facts.pointer("/request/slob")?.clone()).ok()
}

type Writer<'a> = Box<dyn Fn(&mut Vec<u8>) -> std::io::Result<()> + 'a>;

/// Writes the files of one run; `written` are there already.
pub fn write(
    told: &RunContext,
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
    if told.settings.words == Words::Pgio {
        files.push(("pgio_session_detail.out", Box::new(|out| pgio_files::session_detail(told, run, out))));
        files.push(("pgio_diskstats.out", Box::new(|out| pgio_files::diskstats(told, out))));
    }
    if !told.settings.no_os_perf_data && has_machine(run) {
        files.push(("iostat.out", Box::new(|out| sysstat::iostat(told, record, run, out))));
        files.push(("vmstat.out", Box::new(|out| sysstat::vmstat(record, run, out))));
        files.push(("mpstat.out", Box::new(|out| sysstat::mpstat(told, record, run, out))));
    }
    for (name, write) in files.iter().filter(|(name, _)| !written.contains(name)) {
        let mut text = Vec::new();
        write(&mut text)?;
        let path: PathBuf = directory.join(name);
        output_file::write(&Roots::default(), &path, text)
            .map_err(|error| anyhow!(error.with_hint("name a directory that may be written")))?;
    }
    Ok(())
}

fn has_machine(run: &Run) -> bool {
    run.samples.iter().any(|sample| sample.of == SampleOf::System)
}
