//! The command line: words and job files read, questions answered that need no run.

use crate::{self as fio, Job, Section, Surroundings, Trouble, help};
use fathom_host::text_file::{self, TextError};
use fathom_host::{Roots, output_file};
use fathom_session::{Console, Environment};
use std::io::{BufRead, Write};
use std::path::Path;

/// What the words amount to.
pub enum Invocation {
    /// Everything was said; this is the exit status.
    Answered(u8),
    /// Jobs are to be run.
    Jobs {
        /// What is asked for besides.
        general: Box<fio::General>,
        /// The jobs.
        jobs: Vec<Job>,
        /// What `[global]` said, if there was one.
        global: Option<Vec<(String, String)>>,
    },
}

/// Reads the words and the job files they name. An error is a text that is ready to be printed.
pub fn read(
    words: &[String],
    environment: &Environment,
    console: &Console,
    roots: &Roots,
) -> Result<Invocation, String> {
    let (page_size, memory_mebibytes, cpus) = environment.machine();
    let around = Surroundings {
        variable: &|name| environment.named_variable(name),
        include: &|name| text_file::read_named(name).map_err(|error| error.to_string()),
        page_size,
        memory_mebibytes,
        cpus,
    };
    let mut line = fio::commandline::parse(words, &around).map_err(|troubles| rendered(&troubles))?;
    line.general.allow_exec |= environment.exec_consent();
    if let Some(status) = answer(&line.general, console).map_err(|error| error.to_string())? {
        return Ok(Invocation::Answered(status));
    }
    if line.general.idle_prof == Some(fio::IdleProf::Calibrate) {
        super::idle::calibrate(&mut console.out()).map_err(|error| format!("fio: {error}"))?;
        return Ok(Invocation::Answered(0));
    }
    let mut files: Vec<Vec<Section>> = Vec::new();
    for name in &line.files {
        let unable = |error| format!("fio: unable to open '{name}' job file: {}", not_read(name, &error));
        let bytes = text_file::read_named_bytes(name).map_err(unable)?;
        let text = String::from_utf8(bytes).or_else(|error| latin_1(error.as_bytes()));
        let text = text.map_err(|what| format!("fio: unable to open '{name}' job file: {what}"))?;
        let shown = if name == "-" { "stdin" } else { name };
        files.push(fio::jobfile::parse(shown, &text, &around).map_err(|troubles| rendered(&troubles))?);
    }
    if line.general.show_command {
        let mut out = console.out();
        let shown =
            files.iter().try_for_each(|file| help::show_command(file, &line.general.sections, &mut out));
        return shown.map(|()| Invocation::Answered(0)).map_err(|error| error.to_string());
    }
    match files.last_mut() {
        _ if line.profile.is_empty() => {}
        // As in fio its first job does not wait for those of the file.
        Some(last) => last.extend(line.profile),
        None => files.push(line.profile),
    }
    if files.is_empty() && line.sections.is_empty() {
        return Ok(if line.general.parse_only { Invocation::Answered(0) } else { no_jobs(console) });
    }
    let parts = fio::Parts { defaults: line.globals, command_line: line.sections, files };
    let (mut jobs, globals) =
        fio::understood(parts, &line.general.sections, &head_of).map_err(|troubles| rendered(&troubles))?;
    for job in &mut jobs {
        if let Some(folder) = &job.files.below {
            job.files.names.extend(super::layout::below(folder)?);
        }
    }
    fio::settle_nodes(&mut jobs, &nodes(roots)).map_err(|trouble| trouble.render())?;
    // What only the run needs is not looked at before.
    if !line.general.parse_only {
        fio::recall(&mut jobs, &recording, &|major, minor| device(roots, major, minor))
            .map_err(|trouble| trouble.render())?;
    }
    if jobs.is_empty() && !line.general.parse_only {
        return Ok(no_jobs(console));
    }
    check(&line.general, &jobs, roots)?;
    if line.general.parse_only {
        return Ok(Invocation::Answered(0));
    }
    write_merged(&jobs)?;
    if line.general.merge_only {
        return Ok(Invocation::Answered(0));
    }
    let pairs =
        |list: Vec<(&str, String)>| list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Invocation::Jobs { general: Box::new(line.general), jobs, global: globals.map(pairs) })
}

/// Nothing was said that could be run: the words are wrong, an empty file was named, or a section that no file has.
fn no_jobs(console: &Console) -> Invocation {
    console.complain("No job(s) defined\n");
    // Whoever does not read the words gets the status all the same.
    let _ = help::usage(&mut console.out());
    Invocation::Answered(1)
}

/// Recordings that were put together go into the files that were named for them.
fn write_merged(jobs: &[Job]) -> Result<(), String> {
    for replay in jobs.iter().filter_map(|job| job.replay.as_ref()) {
        let (Some(how), Some(bytes)) = (&replay.merge, &replay.merged) else { continue };
        output_file::write(&Roots::default(), Path::new(&how.file), bytes).map_err(|error| {
            format!("fio: {}", error.with_hint("merge_blktrace_file names a file that may be made"))
        })?;
    }
    Ok(())
}

/// Why a job file cannot be read; a device is meant to be measured.
fn not_read(name: &str, error: &TextError) -> String {
    match error {
        TextError::Device { .. } => format!("{error}\nhint: did you mean --filename={name}?"),
        _ => error.to_string(),
    }
}

/// A recording that is read piece by piece.
fn recording(name: &str) -> Result<Box<dyn BufRead>, String> {
    text_file::recording(name).map(|(input, _)| input).map_err(|error| error.to_string())
}

/// The first bytes of a file, at most so many.
fn head_of(name: &str, most: usize) -> Result<Vec<u8>, String> {
    text_file::read_head(name, most).map_err(|error| error.to_string())
}

/// The machine's NUMA nodes.
fn nodes(roots: &Roots) -> Vec<fio::Node> {
    let all = fathom_host::nodes::read_nodes(roots);
    all.into_iter().map(|(number, cpus)| fio::Node { number, cpus }).collect()
}

/// The node of a device, by its numbers.
fn device(roots: &Roots, major: u32, minor: u32) -> Option<String> {
    let number = fathom_host::DeviceNumber { major, minor };
    let device = fathom_host::block::BlockDevice::by_number(roots, number).ok();
    device.map(|device| format!("/dev/{}", device.name))
}

fn rendered(troubles: &[Trouble]) -> String {
    troubles.iter().map(Trouble::render).collect::<Vec<_>>().join("\n")
}

/// A text of single bytes that are letters of ISO 8859-1. Names of files would be others than those that were meant.
fn latin_1(bytes: &[u8]) -> Result<String, String> {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let foreign = |line: &&str| {
        let line = line.trim_start();
        let told = ["#", ";", "description"].iter().any(|start| line.starts_with(start));
        let said = line.split(['#', ';']).next().unwrap_or_default();
        !told && !said.is_ascii()
    };
    match text.lines().zip(1..).find(|(line, _)| foreign(line)) {
        Some((_, line)) => Err(format!("line {line} is no UTF-8 text, and names in it would be others")),
        None => Ok(text),
    }
}

/// Questions that need no job.
fn answer(general: &fio::General, console: &Console) -> std::io::Result<Option<u8>> {
    let mut out = console.out();
    let unknown = |name: &str| {
        // fio leaves this line without an end.
        let _ = write!(console.err(), "No such command: {name}");
    };
    if general.version {
        writeln!(out, "{}", fio::report::PEER_VERSION)?;
        return Ok(Some(0));
    }
    if general.help {
        help::usage(&mut out)?;
        return Ok(Some(0));
    }
    if let (Some(profile), Some(name)) = (general.profile, general.command_help.as_deref()) {
        if !profile.help(name, &mut out)? {
            writeln!(out)?;
            unknown(name);
        }
        return Ok(Some(0));
    }
    match general.command_help.as_deref() {
        None => {}
        Some("" | "all") => {
            help::commands(&mut out)?;
            return Ok(Some(0));
        }
        Some(name) => {
            if !help::command(name, &mut out)? {
                writeln!(out)?;
                unknown(name);
            }
            return Ok(Some(0));
        }
    }
    if let Some(engine) = &general.engine_help {
        if help::engines(engine, &mut out)? {
            return Ok(Some(0));
        }
        match engine.split_once(',') {
            Some((_, option)) => console.complain(format_args!("No such command: {option}")),
            None => writeln!(out, "IO engine {engine} not found")?,
        }
        return Ok(Some(1));
    }
    Ok(None)
}

/// A directory of a job that is not there. It is not made: it may be a mistake, or a disk that is not mounted.
fn missing(job: &Job) -> Option<&String> {
    job.files.directories.iter().find(|folder| !Path::new(folder).is_dir())
}

fn check(general: &fio::General, jobs: &[Job], roots: &Roots) -> Result<(), String> {
    if general.read_only
        && let Some(job) = jobs.iter().find(|job| job.direction.verbs.iter().any(|verb| verb.writes()))
    {
        return Err(format!(
            "fio: job <{}> has write or trim bit set, but fio is in read-only mode",
            job.name
        ));
    }
    let runs = |job: &&Job| {
        let terms = &job.terms;
        terms.before.is_some() || terms.after.is_some() || job.engine.command.is_some()
    };
    if let Some(job) = jobs.iter().find(runs).filter(|_| !general.allow_exec) {
        let hint = "say --allow-exec, or set FATHOM_EXEC_CONSENT=1, if you know what it does";
        return Err(Trouble::at(&job.at, format!("{} runs a command", job.name), hint).render());
    }
    let cpus = roots.sys.join("devices/system/cpu");
    let beyond =
        |job: &&Job| job.engine.submit_poll_cpu.is_some_and(|cpu| !cpus.join(format!("cpu{cpu}")).exists());
    if let Some(job) = jobs.iter().find(beyond) {
        let what = format!("{}: sqthread_poll_cpu names a CPU that is not there", job.name);
        return Err(Trouble::at(&job.at, what, "/sys/devices/system/cpu has those that are").render());
    }
    let beyond = |job: &Job| {
        let named = job.place.cpus.iter().flatten();
        named.copied().find(|cpu| !cpus.join(format!("cpu{cpu}")).exists())
    };
    if let Some((job, cpu)) = jobs.iter().find_map(|job| Some((job, beyond(job)?))) {
        let what = format!("{}: cpus_allowed names CPU {cpu}, which is not there", job.name);
        return Err(Trouble::at(&job.at, what, "/sys/devices/system/cpu has those that are").render());
    }
    if let Some((job, folder)) = jobs.iter().find_map(|job| Some((job, missing(job)?))) {
        let what = format!("{}: {folder} is not a directory", job.name);
        return Err(Trouble::at(&job.at, what, "directory= names one that is there; make it first").render());
    }
    Ok(())
}
