//! One test: its passes, what it says of them, and what it remembers.

use super::context::JobContext;
use super::live::Live;
use super::runner::RunPlans;
use super::{complain_of, count, damage, print, refusal, system_info};
use crate::{self as dt, Dispose, Half, HistoryEntry, Options, Part, PassFacts, Pattern, Report};
use anyhow::{Result, anyhow, bail};
use fathom_host::{Roots, TargetKind, output_file};
use fathom_record::{Attachments, Event, EventKind, HistoryDepth, PastOperation, Purpose};
use fathom_session::Environment;
use fathom_session::measurement::load_of;
use fathom_spec::Verb;
use std::path::Path;

/// One test under way.
pub struct Test<'a> {
    /// As it was asked for; where passes differ, as this one does it.
    pub options: &'a Options,
    /// The tests as its passes do them, one of which each takes.
    forms: &'a [Options],
    /// What is known of the target.
    pub facts: PassFacts,
    /// Says what there is to be said.
    pub report: Report<'a>,
    /// All of it so far.
    pub total: Part,
    /// What it shares with other tests.
    pub context: JobContext<'a>,
    /// The last operations, the oldest first.
    history: Vec<HistoryEntry>,
    /// Something was measured.
    measured: bool,
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
    /// Runs it to its end; answers whether everything was as it should be.
    pub fn run(options: &'a Options, context: JobContext<'a>, runner: &mut dyn RunPlans) -> Result<bool> {
        let JobContext { environment, console, roots, interrupt, progress } = context;
        let length = system_info::length(options, roots)?;
        let target = system_info::target(options.name(), options.changes(), roots)?;
        let system_info = system_info::read(options, roots, &target, environment);
        let is_file = target.kind == TargetKind::RegularFile;
        let forms = forms(options);
        let mut test = Test {
            options,
            forms: &forms,
            facts: pass_facts(options, &target, length, environment)?,
            report: Report { options, system_info: &system_info },
            total: Part { started: environment.ctime(), ..Part::default() },
            context,
            history: Vec::new(),
            measured: false,
            short: is_file && target.size < options.start().saturating_add(length),
            failed: false,
            clock: fathom_drive::Clock::start(),
            cut: false,
        };
        let outcome = test.passes(runner);
        progress.clear();
        let made = options.changes() && !target.existed && is_file;
        if let Err(error) = outcome {
            // What it made is no file of anybody's before something stands in it.
            if made && (!test.measured || options.dispose == Dispose::Delete) {
                let _ = output_file::remove(&Roots::default(), Path::new(options.name()));
            }
            return Err(error);
        }
        test.total.ended = environment.ctime();
        if options.watch.history_dump {
            test.dump_history()?;
        }
        print(console, |out| test.report.total(&test.total, out))?;
        let good = !test.failed && test.total.errors == 0 && !interrupt.raised();
        let removes = match options.dispose {
            Dispose::Delete => true,
            Dispose::Keep => false,
            Dispose::KeepOnError => good,
        };
        if made && removes {
            output_file::remove(&Roots::default(), Path::new(options.name()))
                .map_err(|error| anyhow::anyhow!("cannot remove {}: {error}", options.name()))?;
        }
        Ok(good)
    }

    /// All passes, until the errors, the time or the user end them.
    fn passes(&mut self, runner: &mut dyn RunPlans) -> Result<()> {
        self.clock = fathom_drive::Clock::start();
        let mut pass = 0;
        loop {
            pass += 1;
            self.enter(pass);
            let options = self.options;
            let needed = options.shape.reads.is_some() && pass == 1 && self.short;
            if needed || options.fill.always {
                self.half(runner, pass, Half::Fill)?;
                self.facts.known = !self.failed && options.fill.is_pattern();
            } else if pass > 1 {
                self.facts.known &= dt::is_constant(options);
            }
            for half in Half::of(options) {
                if !self.ended() {
                    self.half(runner, pass, half)?;
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
        self.failed || errors || self.cut || self.context.interrupt.raised()
    }

    /// What is left of `runtime=`.
    fn left_ns(&self) -> Option<u64> {
        let seconds = self.options.runtime?;
        Some(seconds.saturating_mul(1_000_000_000).saturating_sub(self.clock.now()))
    }

    /// Makes the file where it is not there yet: its number stands in tags.
    fn make(&mut self) {
        if self.facts.inode != 0 {
            return;
        }
        let name = self.options.name();
        let about = std::fs::metadata(name).or_else(|_| {
            let made = output_file::append(&Roots::default(), Path::new(name));
            made.map_err(Into::into).and_then(|file| file.metadata())
        });
        self.facts.inode = about.map(|about| std::os::unix::fs::MetadataExt::ino(&about)).unwrap_or(0);
    }

    /// One half of a pass: writes, or reads and compares, or both.
    fn half(&mut self, runner: &mut dyn RunPlans, pass: u64, half: Half) -> Result<()> {
        let options = self.options;
        if half.writes() || half == Half::Copy {
            self.make();
        }
        let plan = dt::plan(options, &self.facts, pass, half);
        let environment = self.context.environment;
        let mut part = Part { started: environment.ctime(), ..Part::default() };
        let began_ns = environment.nanoseconds();
        let attachments = Attachments { history: history_depth(options), ..Attachments::default() };
        let mut live = Live::new(self.context, &self.report, half, self.facts.length);
        (live.before, live.pass, live.until_ns) = (self.total.clone(), pass, self.left_ns());
        let outcome = runner.execute(&plan, attachments, &mut live).map_err(|error| refusal(&error))?;
        self.cut |= live.cut;
        let mut run = outcome.run;
        run.name = half.mode().to_owned();
        run.load = load_of(&plan);
        part.ended = environment.ctime();
        count(&run, &mut part);
        self.add_history(outcome.history, began_ns);
        let faults: Vec<Event> = run.faults().cloned().collect();
        let wrong =
            run.events.iter().filter(|event| matches!(event.what, EventKind::Mismatch { .. })).count();
        if half == Half::Fill {
            (run.name, run.purpose) = ("fill".to_owned(), Purpose::Layout);
        }
        runner.keep(half, options.crew.thread, run);
        self.measured = true;
        if half == Half::Fill {
            return self.tell_faults(&faults);
        }
        self.total.add(&part);
        let before = self.total.errors;
        if !outcome.mismatches.is_empty() {
            self.context.progress.clear();
            let (facts, report, context) = (&self.facts, &self.report, self.context);
            let place = damage::Place { options, facts, report, context, pass };
            damage::tell(&place, runner, outcome.mismatches, &mut self.total.errors)?;
        }
        // Only the first ones are kept with their bytes; all of them count.
        let all = self.total.errors.max(before + wrong as u64);
        self.total.errors = if options.errors > 0 { all.min(options.errors) } else { all };
        self.tell_faults(&faults)?;
        if self.total.errors > before {
            self.dump_history()?;
        }
        let last = Half::of(options).last() == Some(&half) && !self.cut;
        (part.errors, part.passes) = (self.total.errors, if last { pass } else { pass - 1 });
        self.tell(&part, pass, half)
    }

    /// What is said at the end of a half.
    fn tell(&mut self, part: &Part, pass: u64, half: Half) -> Result<()> {
        let options = self.options;
        let (system, report) = (self.report.system_info, &self.report);
        let message = options.watch.message.as_ref().filter(|_| options.watch.every.is_none());
        let message = message.map(|message| {
            let moment = dt::Moment {
                pass: part.clone(),
                total: self.total.clone(),
                mode: half.mode(),
                host: &system.host,
                user: &system.user,
            };
            dt::expand(message, options, &moment)
        });
        let only_reads = Half::of(options).iter().all(|half| matches!(half, Half::Read | Half::Verify));
        print(self.context.console, |out| {
            message.iter().try_for_each(|message| report.line(message, out))?;
            match !only_reads || options.passes > 1 || options.runtime.is_some() {
                true => report.pass(part, half, pass, out),
                false => Ok(()),
            }
        })?;
        Ok(())
    }

    /// I/O that failed is told and ends the test.
    fn tell_faults(&mut self, faults: &[Event]) -> Result<()> {
        for event in faults {
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
            let (number, now) = (self.total.errors, self.context.environment.ctime());
            let head = format!("ERROR: Error number {number} occurred on {now}");
            let text = format!("{target}: {verb} failed at offset {}: {why} ({times} times)", offset.0);
            complain_of(self.context.console, |out| {
                self.report.line(&head, out)?;
                self.report.line(&text, out)
            })?;
        }
        Ok(())
    }

    /// Takes the last operations of a run that began at this time, ns since 1970.
    fn add_history(&mut self, operations: Vec<PastOperation>, began_ns: u64) {
        let options = self.options;
        for past in operations {
            let reads = past.verb == Verb::Read;
            let record = options.records_of(!reads).most.max(1);
            let counted = past.offset.saturating_sub(options.start()) / record + 1;
            self.history.push(HistoryEntry {
                at_ns: began_ns + past.at_ns,
                reads,
                record: if past.number > 0 { past.number } else { counted },
                offset: past.offset,
                length: past.length.into(),
                pieces: past.pieces,
            });
        }
        let surplus = self.history.len().saturating_sub(options.watch.history as usize);
        self.history.drain(..surplus);
    }

    /// Tells the last operations, if they are kept.
    fn dump_history(&self) -> Result<()> {
        if self.options.watch.history == 0 {
            return Ok(());
        }
        print(self.context.console, |out| {
            self.report.line("", out)?;
            dt::history(self.options, &self.history).iter().try_for_each(|line| self.report.line(line, out))
        })?;
        Ok(())
    }
}

/// How many of the last operations are kept, and how much of each.
fn history_depth(options: &Options) -> HistoryDepth {
    let watch = &options.watch;
    HistoryDepth {
        operations: watch.history as usize,
        bytes: watch.history_bytes as usize,
        pieces: watch.history_pieces as usize,
        distance: watch.history_apart.unwrap_or(options.block) as usize,
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

/// What is known when the first pass begins.
fn pass_facts(
    options: &Options,
    target: &system_info::Target,
    length: u64,
    environment: &Environment,
) -> Result<PassFacts> {
    let pattern = match &options.pattern {
        Pattern::File(name) => {
            let bytes = fathom_host::text_file::read_bytes(name)
                .map_err(|error| anyhow!("cannot read pattern file {name}: {error}"))?;
            if bytes.is_empty() {
                bail!("pattern file {name} is empty");
            }
            bytes
        }
        _ => Vec::new(),
    };
    let host = system_info::host();
    let prefix = options.prefix.as_deref();
    let (user, thread) = (environment.user(), options.crew.thread);
    let prefix = prefix.map(|prefix| system_info::prefix(prefix, options.name(), &host, &user, thread));
    Ok(PassFacts {
        length,
        file: target.kind == TargetKind::RegularFile,
        inode: target.inode,
        host,
        process: std::process::id(),
        now: environment.seconds(),
        prefix: prefix.unwrap_or_default(),
        pattern,
        known: false,
    })
}
