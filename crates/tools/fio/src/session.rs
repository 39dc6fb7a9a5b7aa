//! `fathom fio`, and the program called through a link named `fio`: fio's job files in, fio's reports out.

mod args;
mod cgroups;
mod eta;
mod idle;
mod io_logs;
mod layout;
mod record;
mod scheduler;
mod state;
mod status_report;
mod termination;

use crate::report::{Moment, Report, ReportJob, SoFar, disks, log_name, logs, normal};
use crate::{self as fio, General, Job, Planned};
use anyhow::{Result, bail};
use args::Asked;
use fathom_engine::Engine;
use fathom_host::Roots;
use fathom_record::*;
use fathom_session::Context;
use fathom_session::environment::{self, Interrupt, Signalled};
use fathom_session::tool::Tool;
use fathom_session::watch::{Progress, Watch};
use fathom_spec::{Nanos, Plan};
use std::fs::File;
use std::io::Write;

/// The tool, for the list of tools.
pub struct Fio;

impl Tool for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn about(&self) -> &'static str {
        "Speak fio's language: fathom fio OPTION... JOBFILE...; --help and --cmdhelp tell its options"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }
}

/// fio's exit status when a signal ended it.
const BY_SIGNAL: u8 = 128;

/// Runs the command on the words after its name and answers fio's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    match args::read(words) {
        Ok(Asked::Answered(status)) => status,
        Ok(Asked::Jobs { general, jobs, global }) => {
            let began = fathom_drive::Clock::start();
            let mut session = Session { general, jobs, global, began, known: Vec::new() };
            match session.run(context, engine) {
                Ok(status) => status,
                Err(error) if fathom_session::broken_pipe(&error) => 0,
                Err(error) => {
                    let text = error.to_string().replace("say --write-consent ", "set FATHOM_WRITE_CONSENT=");
                    let text = text.replace("--write-consent", "FATHOM_WRITE_CONSENT");
                    match text.starts_with("error: ") {
                        true => eprintln!("{text}"),
                        false => eprintln!("fio: {text}"),
                    }
                    1
                }
            }
        }
        Err(text) => {
            eprintln!("{text}");
            1
        }
    }
}

/// What is run.
struct Session {
    general: Box<fio::General>,
    jobs: Vec<Job>,
    global: Option<Vec<(String, String)>>,
    began: fathom_drive::Clock,
    /// How far earlier runs got, where jobs go by that.
    known: Vec<(fathom_spec::StreamId, fathom_engine::Progress)>,
}

impl Session {
    fn run(&mut self, context: &Context, engine: &mut Engine) -> Result<u8> {
        let mut out: Box<dyn Write> = match &self.general.output {
            None => Box::new(std::io::stdout()),
            Some(path) => Box::new(File::create(path).map_err(|error| {
                anyhow::anyhow!("cannot write {path}: {error}\nhint: --output names a file that may be made")
            })?),
        };
        let (roots, interrupt, asked) = (Roots::default(), Interrupt::watch(), Signalled::usr1());
        let states = state::load(&self.jobs, &self.general)?;
        let seed = states.iter().find_map(|(_, state)| state.seed);
        let chance = seed.unwrap_or_else(|| self.began_at());
        let facts = fio::Facts { look: &layout::look, chance };
        let mut planned =
            fio::plan(&self.jobs, &facts).map_err(|trouble| anyhow::anyhow!("{}", trouble.render()))?;
        // What is told so far is as old as the last interval.
        if let Some(every) = self.general.status_interval.filter(|every| every.0 > 0) {
            planned.plan.interval = planned.plan.interval.min(every);
        }
        let _groups = cgroups::make(&self.jobs, &mut planned, &roots)?;
        let planned = planned;
        let mut reports = fio::reported(&self.jobs, &planned, std::process::id());
        let normal_wanted = self.general.reports().contains(&fio::Format::Normal);
        if normal_wanted {
            normal::opening(&reports, &mut out)?;
        }
        if environment::speaks_notes() {
            planned.notes.iter().for_each(|note| eprintln!("note: {note}"));
        }
        if self.general.warnings_fatal
            && let Some(note) = planned.notes.first()
        {
            bail!("{note}\nhint: --warnings-fatal makes this an error");
        }
        self.known = state::known(&self.jobs, &planned, &states)?;
        layout::permit(&planned, engine);
        engine.commands = self.general.allow_exec;
        let mut laid_out = Vec::new();
        let mut say = |name: &str, files: u64, bytes: u64| -> Result<()> {
            if normal_wanted {
                normal::laying_out(name, files, bytes, &mut out)?;
            }
            Ok(())
        };
        layout::lay_out(&self.jobs, &planned, engine, &interrupt, (&mut laid_out, &mut say))?;
        if self.jobs.iter().all(|job| job.files.create_only) {
            let nothing = SoFar::new(&planned.plan).run(0, &[]);
            self.report(&reports, &nothing, None, &mut out)?;
            return Ok(if interrupt.raised() { BY_SIGNAL } else { 0 });
        }
        let _schedulers = scheduler::set(&self.jobs, &planned, &roots)?;
        layout::warm(&self.jobs, &planned)?;
        let mut kept = record::Kept::begin(context, &planned, &roots, engine)?;
        let outcome = self.execute(&planned, &mut reports, engine, (&interrupt, &asked), &mut out);
        let removed = layout::dump(&self.jobs, &planned, engine).and(layout::unlink(&self.jobs, &planned));
        let run = match outcome {
            Ok(run) => run,
            Err(error) => {
                kept.abandon();
                return Err(error);
            }
        };
        state::save(&self.jobs, &planned, &self.general, &engine.progresses, chance);
        kept.conclude(run, interrupt.raised());
        let status = self.tell(&planned, &reports, &kept, &mut out)?;
        removed?;
        Ok(if interrupt.raised() { BY_SIGNAL } else { status })
    }

    /// A number that differs from run to run.
    fn began_at(&self) -> u64 {
        environment::moment().0 ^ u64::from(std::process::id()) << 40
    }

    fn execute(
        &self,
        planned: &Planned,
        reports: &mut [ReportJob],
        engine: &mut Engine,
        (interrupt, asked): (&Interrupt, &Signalled),
        out: &mut Box<dyn Write>,
    ) -> Result<Run> {
        engine.sinks = io_logs::open(&self.jobs, planned)?;
        engine.recordings.clone_from(&planned.recordings);
        engine.known.clone_from(&self.known);
        engine.progresses = fathom_engine::Progresses::asked();
        let General { eta, eta_interval, eta_newline, status_interval, .. } = &*self.general;
        let drawn = match eta {
            fio::Eta::Always => true,
            fio::Eta::Auto => {
                let apart = self.general.output.is_some() || self.general.reports() == [fio::Format::Normal];
                apart && environment::stdout_is_seen()
            }
            fio::Eta::Never => false,
        };
        let line = drawn.then(|| eta::Line::new(&self.jobs, planned, *eta_interval, *eta_newline));
        let mut failure = None;
        let mut tell = |run: &Run, _now_ns: u64| {
            let told = self.report(reports, run, None, out);
            failure = failure.take().or(told.err());
        };
        let mut cold = layout::Cold::new(&self.jobs, planned);
        let sampler = fathom_drive::HostSampler { roots: engine.roots.clone(), disks: engine.disks.clone() };
        let mut warden = termination::Warden::new(&mut cold, &self.jobs, planned);
        let balloon = idle::begin(self.general.idle_prof)?;
        let mut shown = status_report::Shown::new(
            &mut warden,
            &planned.plan,
            asked,
            *status_interval,
            sampler,
            &mut tell,
            line,
        )
        .with_idleness(balloon.as_ref());
        let silent = Progress::new(false);
        let length = longest(&planned.plan);
        let mut watch = Watch::new(&mut shown, &silent, interrupt, "fio".to_owned(), length);
        let mut outcome = engine.execute(&planned.plan, &mut watch);
        shown.end();
        drop(shown);
        if let (Some(balloon), Ok(run)) = (balloon, &mut outcome) {
            run.samples.extend(balloon.end().samples(run.length_ns));
        }
        warden.told(reports);
        match failure {
            Some(error) => Err(error),
            None => outcome.map_err(|error| anyhow::anyhow!("{error}")),
        }
    }

    /// The reports of a run, and the exit status that they stand for.
    fn report(
        &self,
        jobs: &[ReportJob],
        run: &Run,
        extras: Option<&fio::report::Extras<'_>>,
        out: &mut Box<dyn Write>,
    ) -> Result<u8> {
        let (unix_ms, time) = environment::moment();
        let elapsed_seconds = self.began.now().div_ceil(1_000_000_000);
        let shown = if self.jobs.iter().any(|job| job.report.disk_util) { disks(run) } else { Vec::new() };
        let global = self.global.clone().unwrap_or_default();
        let moment = Moment { unix_ms, time, elapsed_seconds };
        let per_cpu = self.general.idle_prof == Some(fio::IdleProf::PerCpu);
        let idleness = fio::report::idleness(run, per_cpu);
        let report = Report {
            run,
            jobs,
            moment: &moment,
            global: &global,
            disks: &shown,
            idleness: idleness.as_ref(),
            extras,
        };
        let terse = if self.general.terse_version == 0 { 3 } else { self.general.terse_version as u8 };
        let formats: Vec<fio::report::Format> =
            self.general.reports().iter().map(|f| format(*f, terse)).collect();
        for one in fio::report::in_order(&formats) {
            report.write(one, out)?;
        }
        out.flush()?;
        Ok(report.exit_status() as u8)
    }

    /// The reports, the logs, and the exit status.
    fn tell(
        &self,
        planned: &Planned,
        jobs: &[ReportJob],
        kept: &record::Kept,
        out: &mut Box<dyn Write>,
    ) -> Result<u8> {
        let Some(run) = kept.record.runs.last() else { return Ok(1) };
        let extras = kept.extras();
        let status = self.report(jobs, run, self.general.extras.then_some(&extras), out)?;
        self.write_logs(planned, jobs, run)?;
        Ok(status)
    }

    fn write_logs(&self, planned: &Planned, jobs: &[ReportJob], run: &Run) -> Result<()> {
        use fio::report::LogSource::*;
        let began_ms = |clock: u32| {
            let ended_ms = fathom_drive::system_clock_ms(clock).unwrap_or(0);
            ended_ms.saturating_sub(run.length_ns / 1_000_000)
        };
        for job in jobs {
            let Some(number) = planned.members.iter().position(|m| job.streams.first() == Some(&m.stream))
            else {
                continue;
            };
            let report = &self.jobs[planned.members[number].job].report;
            let (bandwidth, latency, iops) = &report.logs;
            let numbered = report.per_job_logs.then_some(number as u32 + 1);
            let epoch_ms = report.log_epoch.map_or(0, began_ms);
            // A line for each I/O was written as it came back.
            if report.log_average.0 == 0 {
                continue;
            }
            let options =
                logs::LogOptions { offset: report.log_offset, priority: report.log_priority, epoch_ms };
            let wanted = [
                (bandwidth, Bandwidth),
                (iops, Iops),
                (latency, Latency),
                (latency, Completion),
                (latency, Submission),
            ];
            for (prefix, source) in wanted {
                // The largest latencies were written as they came back.
                let Some(prefix) =
                    prefix.as_ref().filter(|_| !(report.log_largest && source.is_of_latencies()))
                else {
                    continue;
                };
                let prefix = if prefix.is_empty() { &job.name } else { prefix };
                let average_ms = (report.log_average.0 / 1_000_000).max(1);
                let mut text = Vec::new();
                for entry in logs::averages(run, job, source, average_ms) {
                    logs::write_entry(&entry, options, &mut text)?;
                }
                let path = log_name(prefix, source, numbered);
                std::fs::write(&path, text).map_err(|error| {
                    anyhow::anyhow!("cannot write {path}: {error}\nhint: logs go into the working directory")
                })?;
            }
        }
        Ok(())
    }
}

fn format(format: fio::Format, terse: u8) -> fio::report::Format {
    match format {
        fio::Format::Normal => fio::report::Format::Normal,
        fio::Format::Terse => fio::report::Format::Terse(terse),
        fio::Format::Json => fio::report::Format::Json,
        fio::Format::JsonPlus => fio::report::Format::JsonPlus,
    }
}

/// How long the run may take, for the bar.
fn longest(plan: &Plan) -> Nanos {
    plan.streams.iter().filter_map(|stream| stream.stop.time).max().unwrap_or(Nanos::from_seconds(60))
}
