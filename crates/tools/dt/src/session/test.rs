//! One test: its passes, what it says of them, and what it remembers.

use super::job::Outcome;
use super::live::Live;
use super::{count, damage, system_info};
use crate::{self as dt, Dispose, Half, Options, Part, Pattern, Place, Remembered, Report};
use anyhow::{Result, anyhow, bail};
use fathom_engine::{Engine, History};
use fathom_host::{Roots, TargetKind};
use fathom_record::{EventKind, Execute, Run};
use fathom_session::environment::{self, Interrupt};
use fathom_session::watch::Progress;
use fathom_spec::Verb;
use std::io::Write;

/// One test under way.
pub struct Test<'a> {
    /// As it was asked for; where passes differ, as this one does it.
    pub options: &'a Options,
    /// The tests as its passes do them, one of which each takes.
    forms: &'a [Options],
    /// What is known of the target.
    pub place: Place,
    /// Says what there is to be said.
    pub report: Report<'a>,
    /// All of it so far.
    pub total: Part,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
    progress: &'a Progress,
    runs: Vec<Run>,
    /// The last operations, the oldest first.
    past: Vec<Remembered>,
    /// The file is shorter than the data, or not there.
    short: bool,
    /// Something else than a comparison failed.
    failed: bool,
    /// Since the first pass began.
    clock: fathom_drive::Clock,
    /// The time was over in the middle of a pass.
    cut: bool,
}

impl<'a> Test<'a> {
    /// Runs it to its end.
    pub fn run(
        options: &'a Options,
        roots: &Roots,
        engine: &mut Engine,
        (interrupt, progress): (&'a Interrupt, &'a Progress),
    ) -> Result<Outcome> {
        let length = system_info::length(options, roots)?;
        let target = system_info::target(options.name(), options.changes(), roots)?;
        let around = system_info::surroundings(options, roots, &target);
        let is_file = target.kind == TargetKind::RegularFile;
        let watch = &options.watch;
        let apart = watch.history_apart.unwrap_or(options.block) as usize;
        engine.history = History::of(watch.history as usize, watch.history_bytes as usize)
            .with_pieces(watch.history_pieces as usize, apart);
        let forms = forms(options);
        let mut test = Test {
            options,
            forms: &forms,
            place: place(options, &target, length)?,
            report: Report { options, around: &around },
            total: Part { started: environment::ctime(), ..Part::default() },
            interrupt,
            progress,
            runs: Vec::new(),
            past: Vec::new(),
            short: is_file && target.size < options.start().saturating_add(length),
            failed: false,
            clock: fathom_drive::Clock::start(),
            cut: false,
        };
        let outcome = test.passes(engine);
        progress.clear();
        let made = options.changes() && !target.existed && is_file;
        if let Err(error) = outcome {
            // What it made is no file of anybody's before something stands in it.
            if made && (test.runs.is_empty() || options.dispose == Dispose::Delete) {
                let _ = std::fs::remove_file(options.name());
            }
            return Err(error);
        }
        test.total.ended = environment::ctime();
        if options.watch.history_dump {
            test.dump_history()?;
        }
        let mut out = std::io::stdout().lock();
        test.report.total(&test.total, &mut out)?;
        out.flush()?;
        drop(out);
        let good = !test.failed && test.total.errors == 0 && !interrupt.raised();
        let removes = match options.dispose {
            Dispose::Delete => true,
            Dispose::Keep => false,
            Dispose::KeepOnError => good,
        };
        if made && removes {
            std::fs::remove_file(options.name())?;
        }
        Ok(Outcome { runs: test.runs, good })
    }

    /// All passes, until the errors, the time or the user end them.
    fn passes(&mut self, engine: &mut Engine) -> Result<()> {
        self.clock = fathom_drive::Clock::start();
        let mut pass = 0;
        loop {
            pass += 1;
            self.enter(pass);
            let options = self.options;
            let needed = options.shape.reads.is_some() && pass == 1 && self.short;
            if needed || options.fill.always {
                self.half(engine, pass, Half::Fill)?;
                self.place.known = !self.failed && options.fill.is_pattern();
            } else if pass > 1 {
                self.place.known &= dt::is_constant(options);
            }
            for half in Half::of(options) {
                if !self.ended() {
                    self.half(engine, pass, half)?;
                }
            }
            if !self.ended() {
                self.total.passes = pass;
            }
            let more = self.left_ns().map_or(pass < options.passes, |left| left > 0);
            if !more || self.ended() {
                return Ok(());
            }
        }
    }

    /// Takes the form of a pass.
    fn enter(&mut self, pass: u64) {
        let own = self.options.of_pass(pass);
        if let Some(form) = self.forms.iter().find(|form| **form == own) {
            self.options = form;
            self.report.options = form;
        }
    }

    fn ended(&self) -> bool {
        let errors = self.options.errors > 0 && self.total.errors >= self.options.errors;
        self.failed || errors || self.cut || self.interrupt.raised()
    }

    /// What is left of `runtime=`.
    fn left_ns(&self) -> Option<u64> {
        let seconds = self.options.runtime?;
        Some(seconds.saturating_mul(1_000_000_000).saturating_sub(self.clock.now()))
    }

    /// Makes the file where it is not there yet: its number stands in tags.
    fn make(&mut self, engine: &mut Engine) {
        if self.place.inode != 0 {
            return;
        }
        let name = self.options.name();
        let made = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(name);
        let about = made.and_then(|file| file.metadata());
        self.place.inode = about.map(|about| std::os::unix::fs::MetadataExt::ino(&about)).unwrap_or(0);
        engine.permits.add_consent(name);
    }

    /// One half of a pass: writes, or reads and compares, or both.
    fn half(&mut self, engine: &mut Engine, pass: u64, half: Half) -> Result<()> {
        let options = self.options;
        if half.writes() || half == Half::Copy {
            self.make(engine);
        }
        let plan = dt::plan(options, &self.place, pass, half);
        let mut part = Part { started: environment::ctime(), ..Part::default() };
        let began_ns = environment::nanoseconds();
        let mut live = Live::new((self.interrupt, self.progress), &self.report, half, self.place.length);
        live.before = (self.total.clone(), pass);
        live.until_ns = self.left_ns();
        let mut run = engine.execute(&plan, &mut live).map_err(|error| anyhow!("{error}"))?;
        self.cut |= live.cut;
        run.name = half.mode().to_owned();
        part.ended = environment::ctime();
        count(&run, &mut part);
        self.remember(engine, began_ns);
        if half == Half::Fill {
            self.faults(&run)?;
            self.runs.push(Run { name: "fill".to_owned(), ..run });
            return Ok(());
        }
        self.total.add(&part);
        let caught = engine.caught.take();
        let wrong =
            run.events.iter().filter(|event| matches!(event.what, EventKind::Mismatch { .. })).count();
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
        if self.total.errors > before {
            self.dump_history()?;
        }
        let last = Half::of(options).last() == Some(&half) && !self.cut;
        (part.errors, part.passes) = (self.total.errors, if last { pass } else { pass - 1 });
        self.tell(&part, (pass, half))
    }

    /// What is said at the end of a half.
    fn tell(&mut self, part: &Part, (pass, half): (u64, Half)) -> Result<()> {
        let options = self.options;
        let mut out = std::io::stdout().lock();
        if let (Some(message), None) = (&options.watch.message, options.watch.every) {
            let around = self.report.around;
            let moment = dt::Moment {
                pass: part.clone(),
                total: self.total.clone(),
                mode: half.mode(),
                host: &around.host,
                user: &around.user,
            };
            self.report.line(&dt::expand(message, options, &moment), &mut out)?;
        }
        let only_reads = Half::of(options).iter().all(|half| matches!(half, Half::Read | Half::Verify));
        if !only_reads || options.passes > 1 || options.runtime.is_some() {
            self.report.pass(part, half, pass, &mut out)?;
        }
        out.flush()?;
        Ok(())
    }

    /// I/O that failed is told and ends the test.
    fn faults(&mut self, run: &Run) -> Result<()> {
        for event in run.faults() {
            let EventKind::Fault { verb, offset, errno, moved, times, target, .. } = &event.what else {
                continue;
            };
            self.failed = true;
            self.total.errors += 1;
            let verb = if *verb == Verb::Read { "read" } else { "write" };
            let why = match errno {
                0 => format!("only {moved} were moved"),
                errno => std::io::Error::from_raw_os_error(*errno).to_string(),
            };
            let mut out = std::io::stdout().lock();
            let head =
                format!("ERROR: Error number {} occurred on {}", self.total.errors, environment::ctime());
            self.report.line(&head, &mut out)?;
            self.report.line(
                &format!("{target}: {verb} failed at offset {}: {why} ({times} times)", offset.0),
                &mut out,
            )?;
        }
        Ok(())
    }

    /// Takes what the engine remembers of a run that began at this time.
    fn remember(&mut self, engine: &Engine, began_ns: u64) {
        let options = self.options;
        for past in engine.history.take() {
            let reads = past.verb == Verb::Read;
            let record = options.records_of(!reads).most.max(1);
            let counted = past.offset.saturating_sub(options.start()) / record + 1;
            self.past.push(Remembered {
                at_ns: began_ns + past.at_ns,
                reads,
                record: if past.number > 0 { past.number } else { counted },
                offset: past.offset,
                length: past.length.into(),
                pieces: past.pieces,
            });
        }
        let surplus = self.past.len().saturating_sub(options.watch.history as usize);
        self.past.drain(..surplus);
    }

    /// Tells the last operations, if they are kept.
    fn dump_history(&self) -> Result<()> {
        if self.options.watch.history == 0 {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        self.report.line("", &mut out)?;
        for line in dt::history(self.options, &self.past) {
            self.report.line(&line, &mut out)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// The forms that passes may have: each direction that is drawn, with each type.
fn forms(options: &Options) -> Vec<Options> {
    let both = |varies: bool, own: bool| if varies { vec![false, true] } else { vec![own] };
    let mut forms = Vec::new();
    for reverse in both(options.shape.varies_direction, options.shape.reverse) {
        for random in both(options.shape.varies_type, options.random) {
            let mut form = options.clone();
            (form.shape.reverse, form.random) = (reverse, random);
            forms.push(form);
        }
    }
    forms
}

/// What blocks say of the place.
fn place(options: &Options, target: &system_info::Target, length: u64) -> Result<Place> {
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
    let host = system_info::host();
    let prefix = options.prefix.as_deref();
    let prefix = prefix.map(|prefix| system_info::prefix(prefix, options.name(), &host, options.crew.thread));
    Ok(Place {
        length,
        file: target.kind == TargetKind::RegularFile,
        inode: target.inode,
        host,
        process: std::process::id(),
        now: environment::seconds(),
        prefix: prefix.unwrap_or_default(),
        pattern,
        known: false,
    })
}
