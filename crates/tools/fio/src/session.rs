//! `fathom fio`, and the program called through a link named `fio`: fio's job files in, fio's reports out.

mod args;
mod cgroups;
mod eta;
mod idle;
mod io_logs;
mod layout;
mod members;
mod scheduler;
mod state;
mod status_report;
mod termination;

use crate::report::{Extras, Moment, Report, ReportJob, SoFar, disks, log_name, logs, normal};
use crate::{self as fio, Job, Planned, Trouble};
use anyhow::{Error, Result, bail};
use args::Invocation;
use fathom_host::{Roots, output_file};
use fathom_record::*;
use fathom_session::measurement::{LOOKED_AT_MOST, existing, load_of, tell_notes};
use fathom_session::targets::Ready;
use fathom_session::tool::Tool;
use fathom_session::watch::{Progress as ProgressBar, Watch};
use fathom_session::{Console, End, Environment, Interrupt, Measurement, Session, Setup, Signalled};
use fathom_spec::{Nanos, Permits, Plan, StreamId};
use members::Members;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use termination::Findings;

/// The tool, for the list of tools.
pub struct Fio;

impl Tool for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn about(&self) -> &'static str {
        "Speak fio's language: fathom fio OPTION... JOBFILE...; --help and --cmdhelp tell its options"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        run(words, session)
    }
}

/// fio's exit status when a signal ended it.
/// The words for what an executor refuses.
const WORDS: Vocabulary<'static> =
    Vocabulary { size: "size=", block: "bs=", workers: "numjobs=", depth: "iodepth=", ..Vocabulary::PEER };
const BY_SIGNAL: u8 = 128;

/// Runs the command on the words after its name and answers fio's exit status.
fn run(words: &[String], session: &mut Session<'_>) -> u8 {
    let (environment, console) = (session.environment.clone(), session.console.clone());
    match args::read(words, &environment, &console, &session.roots) {
        Ok(Invocation::Answered(status)) => status,
        Ok(Invocation::Jobs { general, jobs, global }) => {
            let began = fathom_drive::Clock::start();
            let roots = session.roots.clone();
            let set = JobSet { general, jobs, global, began, environment, console, roots };
            match set.run(session) {
                Ok(status) => status,
                Err(error) if fathom_session::broken_pipe(&error) => 0,
                Err(error) => {
                    set.console.complain(in_words(&error));
                    1
                }
            }
        }
        Err(text) => {
            if !console.reader_has_gone() {
                console.complain(text);
            }
            1
        }
    }
}

/// An error as it is shown: one in the job file with its line, another with the name of the program.
fn in_words(error: &Error) -> String {
    match (error.downcast_ref::<Trouble>(), error.downcast_ref::<ExecuteError>()) {
        (Some(trouble), _) => trouble.render(),
        (_, Some(error)) => format!("fio: {}", error.in_words(&WORDS)),
        _ => format!("fio: {error}"),
    }
}

/// The files of all jobs, each once.
fn names(planned: &Planned) -> BTreeSet<&str> {
    planned.members.iter().flat_map(|member| &member.files).map(|file| file.path.as_str()).collect()
}

/// The files that are there, looked at. One that is yet to be made has no disk in fio's report either: the directory does
/// not stand for it.
fn ready(planned: &Planned) -> Vec<Ready> {
    existing(names(planned).into_iter().take(LOOKED_AT_MOST).filter(|name| Path::new(name).exists()))
}

/// The jobs of one invocation, and what belongs to all of them.
struct JobSet {
    general: Box<fio::General>,
    jobs: Vec<Job>,
    /// Options of `[global]` sections, as typed.
    global: Option<Vec<(String, String)>>,
    began: fathom_drive::Clock,
    environment: Environment,
    console: Console,
    roots: Roots,
}

/// What ends a run, and what asks for a report of it.
struct Signals {
    interrupt: Interrupt,
    usr1: Signalled,
}

/// What came of running the plan.
struct Executed {
    outcome: Outcome,
    findings: Findings,
}

impl JobSet {
    fn run(&self, session: &mut Session<'_>) -> Result<u8> {
        let mut out = self.output()?;
        let signals = Signals { interrupt: self.environment.interrupt(), usr1: self.environment.usr1() };
        let states = state::load(&self.jobs, &self.general)?;
        let seed = states.iter().find_map(|(_, state)| state.seed);
        let seed = seed.unwrap_or_else(|| self.chance());
        let mut planned = self.plan(seed)?;
        let _groups = cgroups::make(&self.jobs, &mut planned, &self.roots, &self.console)?;
        let planned = planned;
        let members = Members::new(&self.jobs, &planned);
        let mut reports = fio::reported(&self.jobs, &planned, std::process::id());
        self.open_report(&planned, &reports, &mut out)?;
        let known = state::known(&members, &states)?;
        let permits = layout::permits(&planned, self.environment.write_consents());
        self.lay_out(&planned, &permits, &signals.interrupt, session, &mut out)?;
        let by_signal = |status| if signals.interrupt.raised() { BY_SIGNAL } else { status };
        if self.jobs.iter().all(|job| job.files.create_only) {
            let mut nothing = SoFar::new(&planned.plan).run(0, &[]);
            nothing.samples = layout::idle_disks(&ready(&planned));
            self.report(&reports, &nothing, None, &mut out)?;
            return Ok(by_signal(0));
        }
        let _schedulers = scheduler::set(&self.jobs, &planned, &self.roots, &self.console)?;
        layout::warm(&self.jobs, &planned)?;
        let mut measurement = self.begin(&planned, permits, session);
        let mut failure = None;
        let mut print = |run: &Run| {
            let printed = self.report(&reports, run, None, &mut out);
            failure = failure.take().or(printed.err());
        };
        let executed = self.execute(&members, &mut measurement, known, &signals, &mut print);
        let mismatches = executed.as_ref().map_or(&[][..], |executed| &executed.outcome.mismatches);
        let removed = layout::dump(&self.jobs, &planned, mismatches).and(layout::unlink(
            &self.jobs,
            &planned,
            &self.roots,
        ));
        let Executed { outcome, findings } = match failure.map_or(executed, Err) {
            Ok(executed) => executed,
            Err(error) => {
                measurement.abandon();
                return Err(error);
            }
        };
        findings.complete(&mut reports);
        state::save(&members, &self.general, &outcome.progress, seed, &self.console);
        for event in &outcome.run.events {
            if let EventKind::Shared { target, by } = &event.what {
                let text = format!("{target} was written to while others had it open: {by}");
                if self.environment.speaks_notes() {
                    self.console.complain(format_args!("note: {text}"));
                }
                measurement.record.notes.push(Note { text, hint: None });
            }
        }
        let mut run = outcome.run;
        run.name = run.plan.streams.first().map_or_else(String::new, |stream| stream.name.clone());
        run.load = load_of(&run.plan);
        // Thousands of jobs make a large record: it is written once.
        let failed = run.workers.iter().any(|worker| worker.ended == StopReason::Fault);
        let finished = measurement.finish_with(run, End::of(signals.interrupt.raised(), failed));
        let status = self.report_record(&members, &reports, &finished.record, &mut out)?;
        removed?;
        Ok(by_signal(status))
    }

    fn output(&self) -> Result<Box<dyn Write>> {
        let Some(path) = &self.general.output else { return Ok(self.console.out()) };
        let file = output_file::grow(&self.roots, Path::new(path))
            .map_err(|error| anyhow::anyhow!(error.with_hint("--output names a file that may be made")))?;
        Ok(Box::new(file))
    }

    /// A number that differs from run to run.
    fn chance(&self) -> u64 {
        self.environment.moment().0 ^ u64::from(std::process::id()) << 40
    }

    fn plan(&self, chance: u64) -> Result<Planned, Trouble> {
        let facts = fio::Facts { look: &layout::look, chance };
        let mut planned = fio::plan(&self.jobs, &facts)?;
        // What is told so far is as old as the last interval.
        if let Some(every) = self.general.status_interval.filter(|every| every.0 > 0) {
            planned.plan.interval = planned.plan.interval.min(every);
        }
        Ok(planned)
    }

    fn prints_normal(&self) -> bool {
        self.general.reports().contains(&fio::Format::Normal)
    }

    /// What is said of the jobs before anything is done.
    fn open_report(&self, planned: &Planned, reports: &[ReportJob], mut out: &mut dyn Write) -> Result<()> {
        if self.prints_normal() {
            normal::opening(reports, &mut out)?;
        }
        if self.environment.speaks_notes() {
            planned.notes.iter().for_each(|note| self.console.complain(format_args!("note: {note}")));
        }
        match planned.notes.first().filter(|_| self.general.warnings_fatal) {
            Some(note) => bail!("{note}\nhint: --warnings-fatal makes this an error"),
            None => Ok(()),
        }
    }

    fn lay_out(
        &self,
        planned: &Planned,
        permits: &Permits,
        interrupt: &Interrupt,
        session: &mut Session<'_>,
        mut out: &mut dyn Write,
    ) -> Result<()> {
        let announced = self.prints_normal();
        let mut announce = |name: &str, files: u64, bytes: u64| -> Result<()> {
            if announced {
                normal::laying_out(name, files, bytes, &mut out)?;
            }
            Ok(())
        };
        let need = layout::need(planned).and_then(|need| need.warning());
        tell_notes(need.as_slice(), &self.environment, &self.console);
        let mut writer = layout::LayoutWriter {
            execute: &mut *session.execute,
            permits,
            roots: &self.roots,
            interrupt,
            console: &self.console,
        };
        layout::lay_out(&self.jobs, planned, &mut writer, &mut announce)
    }

    fn begin<'s>(
        &self,
        planned: &Planned,
        permits: Permits,
        session: &'s mut Session<'_>,
    ) -> Measurement<'s> {
        let names = names(planned).into_iter().map(str::to_owned).collect();
        let ready = ready(planned);
        let mut measurement = session.begin(Setup {
            tool: "fio",
            label: None,
            targets: names,
            ready: &ready,
            permits,
            request: serde_json::Value::Null,
        });
        let notes = planned.notes.iter().map(|text| Note { text: text.clone(), hint: None });
        measurement.record.notes.extend(notes);
        measurement.tell_notes();
        measurement
    }

    fn execute(
        &self,
        members: &Members<'_>,
        measurement: &mut Measurement<'_>,
        known: Vec<(StreamId, Progress)>,
        signals: &Signals,
        print: status_report::Print<'_>,
    ) -> Result<Executed> {
        let attachments = Attachments {
            sinks: io_logs::open(members)?,
            recordings: members.recordings().to_vec(),
            known,
            progress: true,
            commands: self.general.allow_exec,
            ..Attachments::default()
        };
        let plan = members.plan();
        let general = &self.general;
        let interval = eta::EtaInterval::new(general.eta_interval, general.eta_newline);
        let line = self.draws_eta().then(|| eta::EtaLine::new(members, interval, &self.console));
        let mut invalidation = layout::CacheInvalidation::new(members);
        let sampler = fathom_drive::HostSampler::new(self.roots.clone(), measurement.disks());
        let mut early_stop = termination::EarlyStop::new(&mut invalidation, members);
        let balloon = idle::begin(general.idle_prof)?;
        let schedule =
            status_report::StatusSchedule { request: &signals.usr1, every: general.status_interval };
        let mut reporter = status_report::StatusReporter::new(
            &mut early_stop,
            plan,
            schedule,
            sampler,
            print,
            &self.console,
        )
        .with_line(line)
        .with_idleness(balloon.as_ref());
        let silent = ProgressBar::new(false, &self.console);
        let length = longest(plan);
        let mut watch = Watch::new(&mut reporter, &silent, &signals.interrupt, "fio".to_owned(), length);
        let outcome = measurement.execute(plan, attachments, &mut watch);
        reporter.end();
        if let Ok(outcome) = &outcome {
            reporter.report_due(&outcome.run);
        }
        drop(reporter);
        let mut outcome = outcome?;
        if let Some(balloon) = balloon {
            outcome.run.samples.extend(balloon.end().samples(outcome.run.length_ns));
        }
        Ok(Executed { outcome, findings: early_stop.findings() })
    }

    /// Is the line of progress drawn? By itself only where somebody sees it, and nothing else is printed there.
    fn draws_eta(&self) -> bool {
        match self.general.eta {
            fio::Eta::Always => true,
            fio::Eta::Auto => {
                let apart = self.general.output.is_some() || self.general.reports() == [fio::Format::Normal];
                apart && self.environment.stdout_is_terminal()
            }
            fio::Eta::Never => false,
        }
    }

    /// The reports of a run, and the exit status that they stand for.
    fn report(
        &self,
        jobs: &[ReportJob],
        run: &Run,
        extras: Option<&Extras<'_>>,
        out: &mut Box<dyn Write>,
    ) -> Result<u8> {
        let (unix_ms, time) = self.environment.moment();
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
        Ok(report.exit_status())
    }

    /// The reports, the logs, and the exit status.
    fn report_record(
        &self,
        members: &Members<'_>,
        jobs: &[ReportJob],
        record: &ResultRecord,
        out: &mut Box<dyn Write>,
    ) -> Result<u8> {
        let Some(run) = record.runs.last() else { return Ok(1) };
        let extras = Extras {
            version: &record.version,
            record: &record.id,
            summary: &record.summary,
            verdict: &record.verdict,
            notes: &record.notes,
        };
        let status = self.report(jobs, run, self.general.extras.then_some(&extras), out)?;
        self.write_logs(members, jobs, run)?;
        Ok(status)
    }

    fn write_logs(&self, members: &Members<'_>, jobs: &[ReportJob], run: &Run) -> Result<()> {
        use fio::report::LogSource::*;
        let began_ms = |clock: u32| {
            let ended_ms = fathom_drive::system_clock_ms(clock).unwrap_or(0);
            ended_ms.saturating_sub(run.length_ns / 1_000_000)
        };
        for job in jobs {
            let index = job.streams.first().and_then(|stream| members.of_stream(*stream));
            let Some(index) = index else { continue };
            let report = &members.job(index).report;
            let (bandwidth, latency, iops) = &report.logs;
            let numbered = report.per_job_logs.then_some(index.number() as u32 + 1);
            let epoch_ms = report.log_epoch.map_or(0, began_ms);
            // A line for each I/O was written as it came back.
            if report.log_average.0 == 0 {
                continue;
            }
            let options = logs::LogOptions {
                offset: report.log_offset,
                priority: report.log_priority,
                issue_time: report.log_issue_time,
                epoch_ms,
            };
            let told_apart = io_logs::told_apart(members.stream(index));
            let wanted = [
                (bandwidth, Bandwidth),
                (iops, Iops),
                (latency, Latency),
                (latency, Completion),
                (latency, Submission),
            ];
            for (prefix, source) in wanted {
                let single = io_logs::needs_single(members.job(index), source, told_apart);
                let Some(prefix) = prefix.as_ref().filter(|_| !single) else { continue };
                let prefix = if prefix.is_empty() { &job.name } else { prefix };
                let average_ms = (report.log_average.0 / 1_000_000).max(1);
                let mut text = Vec::new();
                for entry in logs::averages(run, job, source, average_ms) {
                    logs::write_entry(&entry, options, &mut text)?;
                }
                let path = log_name(prefix, source, numbered);
                output_file::write(&self.roots, Path::new(&path), text).map_err(|error| {
                    anyhow::anyhow!(error.with_hint("logs go into the working directory"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_session::mock::{Scene, Stage};

    fn run_on(scenes: Vec<Scene>, words: &str) -> (Stage, u8, String, String) {
        let mut stage = Stage::new(Scene::default());
        stage.execute.scenes = scenes.into();
        let words: Vec<&str> = words.split_whitespace().collect();
        let (status, out, err) = stage.run(&Fio, &words);
        (stage, status, out, err)
    }

    fn refusing(error: ExecuteError) -> Scene {
        Scene { answer: Some(Err(error)), ..Scene::default() }
    }

    #[test]
    fn consent_is_said_in_the_words_of_a_tool_without_a_word_for_it() {
        let refused = ExecuteError::NotConsented { target: "/dev/x".to_owned(), holds: None };
        let (_, status, _, err) = run_on(vec![refusing(refused)], "--name=a --ioengine=null --size=64k");
        assert_eq!(status, 1);
        assert_eq!(
            err,
            "fio: will not write to /dev/x: nobody consented to that\n\
             hint: what is written destroys what is there; if you want that, set FATHOM_WRITE_CONSENT=/dev/x\n"
        );
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_told_with_its_line() {
        let (stage, status, _, err) = run_on(vec![], "--name=a --ioengine=null --size=64k --wait_for=b");
        assert_eq!((status, stage.execute.requests.len()), (1, 0));
        assert!(err.starts_with("error: a: waitee job b unknown\n"), "{err}");
        assert!(err.ends_with("hint: wait for a job that stands before this one\n"), "{err}");
    }

    #[test]
    fn a_signal_ends_the_run_and_its_report_comes_all_the_same() {
        let scene = Scene { slots: vec![(1, Vec::new())], ..Scene::default() };
        let mut stage = Stage::new(scene);
        stage.environment.interrupt().raise();
        let (status, out, err) = stage.run(&Fio, &["--name=a", "--ioengine=null", "--size=64k"]);
        assert_eq!((status, err.as_str()), (BY_SIGNAL, ""));
        assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Signal)]);
        assert!(out.contains("\nRun status group 0 (all jobs):\n"), "{out}");
    }

    #[test]
    fn sigusr1_prints_a_report_of_what_was_done_so_far() {
        let scene = Scene { slots: vec![(1_000_000_000, Vec::new())], ..Scene::default() };
        let mut stage = Stage::new(scene);
        stage.environment.usr1().raise();
        let (status, out, _) = stage.run(&Fio, &["--name=a", "--ioengine=null", "--size=64k"]);
        assert_eq!((status, out.matches("\nRun status group 0 (all jobs):\n").count()), (0, 2), "{out}");
    }

    #[test]
    fn files_are_laid_out_before_the_jobs_run_and_only_files_may_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data").to_string_lossy().into_owned();
        let words = format!("--name=a --rw=randread --size=64k --filename={file}");
        let (stage, status, out, _) = run_on(vec![], &words);
        assert_eq!(status, 0);
        let requests = &stage.execute.requests;
        let names: Vec<&str> = requests.iter().map(|(plan, _)| plan.streams[0].name.as_str()).collect();
        assert_eq!(names, ["layout", "a"]);
        assert!(
            requests
                .iter()
                .all(|(_, permits)| permits.named == [file.clone().into()].into()
                    && permits.consents.is_empty())
        );
        let announced = out.find("a: Laying out IO file (1 file / 0MiB)\n");
        assert!(announced > out.find("Starting 1 process\n"), "{out}");
    }

    #[test]
    fn a_job_that_only_makes_its_files_is_no_measurement() {
        let folder = tempfile::tempdir().unwrap();
        let words =
            format!("--name=a --rw=write --size=64k --create_only=1 --directory={}", folder.path().display());
        let (stage, status, out, _) = run_on(vec![], &words);
        assert_eq!((status, stage.execute.requests.len()), (0, 0));
        assert!(out.contains("Starting 1 process\n"), "{out}");
    }

    #[test]
    fn files_that_are_to_be_removed_are_removed_when_the_run_fails_too() {
        let folder = tempfile::tempdir().unwrap();
        let words =
            format!("--name=a --rw=write --size=64k --unlink=1 --directory={}", folder.path().display());
        let refused = ExecuteError::NoMemory { buffer: fathom_spec::Bytes(4096) };
        let (_, status, ..) = run_on(vec![refusing(refused)], &words);
        assert_eq!((status, folder.path().read_dir().unwrap().count()), (1, 0));
    }

    #[test]
    fn the_record_has_a_verdict_and_says_that_the_page_cache_was_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let words = format!(
            "--output-format=json --extras --name=a --rw=write --size=64k --directory={}",
            folder.path().display()
        );
        let (_, status, out, _) = run_on(vec![], &words);
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let checks = report["fathom"]["verdict"]["checks"].as_array().unwrap();
        let through = checks.iter().find(|check| check["name"] == "page cache bypassed");
        assert_eq!((status, through.map(|check| &check["outcome"])), (0, Some(&"failed".into())), "{out}");
    }
}
