//! `fathom dt`, and the program called through a link named `dt`: dt's options in, its statistics and its report of a
//! corruption out. Comparing goes on while the next record is read.

mod around;
mod classic;
mod damage;

use crate::keep::{Keeper, empty_record};
use crate::surroundings::{self, Interrupt};
use crate::targets::Ready;
use crate::watch::Progress;
use crate::{Context, preflight};
use anyhow::{Result, anyhow, bail};
use around::Target;
use fathom_dialect::dt::{self, Dispose, Options, Part, Pattern, Place, Report, Stats};
use fathom_engine::{Engine, Permits, Policy, guard};
use fathom_host::{Roots, TargetKind, resolve};
use fathom_record::*;
use fathom_spec::{Bytes, Plan, StreamId, Verb};
use std::io::Write;
use std::path::{Path, PathBuf};

/// dt's exit status for anything that went wrong.
const FAILED: u8 = 255;

/// Runs the command on the words after its name and answers dt's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => {
            return if dt::help(&mut std::io::stdout().lock()).is_ok() { 0 } else { FAILED };
        }
        Some("--classic") => return crate::status(classic::run(&words[1..], context, engine)),
        Some("version") => {
            let version = env!("CARGO_PKG_VERSION");
            let said = writeln!(std::io::stdout(), "    --> fathom {version}, speaking as dt 26.3 <--");
            return if said.is_ok() { 0 } else { FAILED };
        }
        Some(_) => {}
    }
    let page = rustix::param::page_size() as u64;
    let outcome = match dt::parse(words, page) {
        Ok(options) => test(&options, context, engine),
        Err(error) => Err(anyhow!("{error}")),
    };
    match outcome {
        Ok(true) => 0,
        Ok(false) => FAILED,
        Err(error) => {
            let text = error.to_string();
            let text = if text.starts_with("ERROR: ") { text } else { format!("ERROR: {text}") };
            eprintln!("dt (j:1 t:1): {text}");
            FAILED
        }
    }
}

/// One test under way.
struct Test<'a> {
    options: &'a Options,
    place: Place,
    report: Report<'a>,
    total: Part,
    runs: Vec<Run>,
    interrupt: Interrupt,
    progress: Progress,
    /// Something else than a comparison failed.
    failed: bool,
}

/// Does what was asked for; answers whether everything was as it should be.
fn test(options: &Options, context: &Context, engine: &mut Engine) -> Result<bool> {
    let roots = Roots::default();
    let target = around::target(options, &roots)?;
    engine.permits = permits(options, &roots)?;
    let around = around::surroundings(options, &roots, &target);
    let place = place(options, &target)?;
    let began = surroundings::now();
    let mut test = Test {
        options,
        place,
        report: Report { options, around: &around },
        total: Part { started: surroundings::ctime(), ..Part::default() },
        runs: Vec::new(),
        interrupt: Interrupt::watch(),
        progress: Progress::new(context.progress),
        failed: false,
    };
    if options.truncate && options.writes() && target.existed && target.kind == TargetKind::RegularFile {
        std::fs::OpenOptions::new().write(true).truncate(true).open(options.name())?;
    }
    let outcome = test.passes(engine);
    test.progress.clear();
    outcome?;
    test.total.ended = surroundings::ctime();
    let mut out = std::io::stdout().lock();
    test.report.total(&test.total, &mut out)?;
    out.flush()?;
    drop(out);
    let good = !test.failed && test.total.errors == 0 && !test.interrupt.raised();
    test.keep(context, &roots, (began, good));
    let made = options.writes() && !target.existed && target.kind == TargetKind::RegularFile;
    let removes = match options.dispose {
        Dispose::Delete => true,
        Dispose::Keep => false,
        Dispose::KeepOnError => good,
    };
    if made && removes {
        std::fs::remove_file(options.name())?;
    }
    Ok(good)
}

/// What may be written: a plain file that was named as the output, and what the user consented to.
fn permits(options: &Options, roots: &Roots) -> Result<Permits> {
    let mut permits = Permits::new(Policy::WhenHolding);
    surroundings::write_consents().iter().for_each(|name| permits.add_consent(name));
    if let Some(name) = &options.output {
        let says = |error: ExecuteError| {
            anyhow!("{}", error.to_string().replace("say --write-consent ", "set FATHOM_WRITE_CONSENT="))
        };
        guard::allow_named_file(roots, Path::new(name), &permits).map_err(says)?;
        if Path::new(name).is_file() {
            permits.add_consent(name);
        }
    }
    Ok(permits)
}

/// How much there is to do, and what blocks say of the place.
fn place(options: &Options, target: &Target) -> Result<Place> {
    let by_records = (options.records > 0).then(|| options.records.saturating_mul(options.record));
    let wanted = options.limit.unwrap_or(u64::MAX).min(by_records.unwrap_or(u64::MAX));
    let grows = options.writes() && target.kind == TargetKind::RegularFile;
    let there = target.size.saturating_sub(options.start());
    let length = if grows { wanted } else { wanted.min(there) };
    if length == 0 {
        bail!("{}: there is nothing to read or write at offset {}", options.name(), options.start());
    }
    let pattern = match &options.pattern {
        Pattern::File(name) => {
            let bytes =
                std::fs::read(name).map_err(|error| anyhow!("cannot read pattern file {name}: {error}"))?;
            if bytes.is_empty() {
                bail!("pattern file {name} is empty");
            }
            bytes
        }
        _ => Vec::new(),
    };
    let host = around::host();
    let prefix = options.prefix.as_deref().map(|prefix| around::prefix(prefix, options.name(), &host));
    Ok(Place {
        length,
        file: target.kind == TargetKind::RegularFile,
        inode: target.inode,
        host,
        process: std::process::id(),
        now: surroundings::seconds(),
        prefix: prefix.unwrap_or_default(),
        pattern,
    })
}

impl Test<'_> {
    /// All passes, until the errors, the time or the user end them.
    fn passes(&mut self, engine: &mut Engine) -> Result<()> {
        let clock = fathom_drive::Clock::start();
        let options = self.options;
        let mut pass = 0;
        loop {
            pass += 1;
            if options.writes() {
                self.half(engine, pass, true)?;
            }
            let reads = !options.writes() || options.verify;
            if reads && !self.ended() {
                self.half(engine, pass, false)?;
            }
            if !self.ended() {
                self.total.passes = pass;
            }
            let more = match options.runtime {
                Some(seconds) => clock.now() < seconds.saturating_mul(1_000_000_000),
                None => pass < options.passes,
            };
            if !more || self.ended() {
                return Ok(());
            }
        }
    }

    fn ended(&self) -> bool {
        let errors = self.options.errors > 0 && self.total.errors >= self.options.errors;
        self.failed || errors || self.interrupt.raised()
    }

    /// Writes, or reads and compares.
    fn half(&mut self, engine: &mut Engine, pass: u64, writes: bool) -> Result<()> {
        let options = self.options;
        if writes && self.place.inode == 0 {
            // The file's number stands in tags: it must be there before its first block is made.
            let made =
                std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(options.name());
            let about = made.and_then(|file| file.metadata());
            self.place.inode = about.map(|about| std::os::unix::fs::MetadataExt::ino(&about)).unwrap_or(0);
            engine.permits.add_consent(options.name());
        }
        let plan = dt::plan(options, &self.place, pass, writes);
        let mut part = Part { started: surroundings::ctime(), ..Part::default() };
        let what = format!("{} pass {pass}", if writes { "write" } else { "read" });
        let mut live =
            Live { interrupt: &self.interrupt, progress: &self.progress, what, length: self.place.length };
        let mut run = engine.execute(&plan, &mut live).map_err(|error| anyhow!("{error}"))?;
        run.name = if writes { "write" } else { "read" }.to_owned();
        part.ended = surroundings::ctime();
        count(&run, &mut part);
        self.total.add(&part);
        let caught = engine.caught.take();
        let wrong =
            run.events.iter().filter(|event| matches!(event.what, Happening::Mismatch { .. })).count();
        let before = self.total.errors;
        if !caught.is_empty() {
            self.progress.clear();
            damage::tell(self, engine, pass, caught)?;
        }
        // Only the first ones are kept with their bytes; all of them count.
        let all = self.total.errors.max(before + wrong as u64);
        self.total.errors = if options.errors > 0 { all.min(options.errors) } else { all };
        self.faults(&run)?;
        self.runs.push(run);
        (part.errors, part.passes) = (self.total.errors, if writes { pass - 1 } else { pass });
        let alone = !options.writes();
        if !alone || options.passes > 1 || options.runtime.is_some() {
            let mut out = std::io::stdout().lock();
            self.report.pass(&part, writes, pass, &mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    /// I/O that failed is told and ends the test.
    fn faults(&mut self, run: &Run) -> Result<()> {
        for event in run.faults() {
            let Happening::Fault { verb, offset, errno, moved, times, .. } = &event.what else { continue };
            self.failed = true;
            self.total.errors += 1;
            let verb = if *verb == Verb::Read { "read" } else { "write" };
            let why = match errno {
                0 => format!("only {moved} were moved"),
                errno => std::io::Error::from_raw_os_error(*errno).to_string(),
            };
            let mut out = std::io::stdout().lock();
            let head =
                format!("ERROR: Error number {} occurred on {}", self.total.errors, surroundings::ctime());
            self.report.line(&head, &mut out)?;
            let name = self.options.name();
            self.report.line(
                &format!("{name}: {verb} failed at offset {}: {why} ({times} times)", offset.0),
                &mut out,
            )?;
        }
        Ok(())
    }

    fn keep(&mut self, context: &Context, roots: &Roots, (began, good): (String, bool)) {
        let name = self.options.name();
        let ready: Vec<Ready> = resolve(roots, Path::new(name))
            .map(|storage| Ready::Existing { path: PathBuf::from(name), storage: Box::new(storage) })
            .into_iter()
            .collect();
        let found = preflight::look(roots, &ready);
        let facts = found.facts(serde_json::Value::Null).unwrap_or_default();
        let mut record = empty_record("dt", &context.command, None, vec![name.to_owned()], facts);
        (record.started, record.ended) = (began, surroundings::now());
        record.ending = match (self.interrupt.raised(), good) {
            (true, _) => Ending::Interrupted,
            (false, true) => Ending::Complete,
            (false, false) => Ending::Failed,
        };
        if !self.options.direct {
            record.notes.push(Note {
                text: "the page cache was in the way: what it answered or took is no figure of the disk, and what was compared may never have left memory".to_owned(),
                hint: Some("flags=direct goes past it; fathom dt --classic shows both".to_owned()),
            });
        }
        record.runs = std::mem::take(&mut self.runs);
        let (mut keeper, lost) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
        record.notes.extend(lost);
        keeper.finish(&record);
        if surroundings::speaks_notes() && self.options.stats != Stats::None {
            for note in &record.notes {
                let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
                eprintln!("note: {}{hint}", note.text);
            }
        }
    }
}

/// What a run did.
pub fn count(run: &Run, part: &mut Part) {
    let began = run.workers.iter().map(|worker| worker.span_ns.0).min().unwrap_or(0);
    let ended = run.workers.iter().map(|worker| worker.span_ns.1).max().unwrap_or(0);
    part.elapsed_ns = ended.saturating_sub(began);
    for worker in &run.workers {
        part.user_ns += worker.user_ns;
        part.system_ns += worker.system_ns;
        for (verb, counts) in &worker.counts {
            let (records, bytes) = match verb {
                Verb::Read => (&mut part.records_read, &mut part.bytes_read),
                Verb::Write => (&mut part.records_written, &mut part.bytes_written),
                _ => continue,
            };
            *records += counts.operations;
            *bytes += counts.bytes;
            // Several records share the time in which they are outstanding together.
            part.io_ns += counts.latency_sum_ns / u64::from(worker.outstanding_most.max(1));
        }
    }
    part.io_ns = part.io_ns.min(part.elapsed_ns);
    for stream in 0..run.plan.streams.len() as u32 {
        let merged = run.merged(StreamId(stream));
        for (verb, cell) in merged.iter().flat_map(|interval| &interval.cells) {
            let Some(latency) = cell.service.as_ref().filter(|latency| latency.count > 0) else { continue };
            let seen = (latency.sum_ns, latency.min_ns, latency.max_ns);
            let mut more = Part::default();
            match verb {
                Verb::Read => more.read_ns = seen,
                Verb::Write => more.write_ns = seen,
                _ => continue,
            }
            part.add(&more);
        }
    }
}

/// Draws progress, and stops when the user interrupts.
struct Live<'a> {
    interrupt: &'a Interrupt,
    progress: &'a Progress,
    what: String,
    length: u64,
}

impl Control for Live<'_> {
    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        let bytes: u64 = totals.iter().flat_map(|totals| totals.counts).map(|counts| counts.bytes).sum();
        self.progress.show(&self.what, bytes as f64 / self.length.max(1) as f64);
        match self.interrupt.raised() {
            true => Steer::Stop(Vec::new(), Why::Signal),
            false => Steer::Continue,
        }
    }
}

/// A plan that reads one record of another plan again, and compares it.
fn one_record(plan: &Plan, offset: u64, length: u64) -> Plan {
    let mut one = plan.clone();
    one.streams.truncate(1);
    let stream = &mut one.streams[0];
    stream.start = Default::default();
    stream.stop = fathom_spec::Stop { operations: Some(1), ..Default::default() };
    stream.depth = fathom_spec::Depth::Fixed(1);
    if let fathom_spec::Work::Blocks(blocks) = &mut stream.work {
        let extent = |bytes| fathom_spec::Extent::Bytes(Bytes(bytes));
        blocks.region = (extent(offset), extent(length));
        blocks.sizes = fathom_spec::Sizes::One(Bytes(length));
        blocks.pattern = fathom_spec::Pattern::Sequential(fathom_spec::Begin::First);
    }
    one
}
