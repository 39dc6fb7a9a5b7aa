//! `fathom slob run`: one load of sessions, measured.

use super::args::{Run as Args, Work};
use super::collectors::Collectors;
use super::files;
use super::os::{Machine, diskstats};
use super::place::{DatabaseTarget, placed_by_setup};
use super::settings::{self, CommandSettings, wrong};
use super::user::User;
use super::{counter_deltas, record as records, setup, work};
use crate::counter_deltas::window_begins;
use crate::log::{self, Kind};
use crate::{RunContext, Words, checks, verdict};
use anyhow::{Context as _, Result, bail};
use fathom_database::{Length, Settings};
use fathom_record::*;
use fathom_session::measurement::figures_of;
use fathom_session::output::Shown;
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Console, End, Ended, Environment, Figures, Finished, Grounds, Measurement, Session};
use fathom_spec::{Nanos, Plan};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command.
pub fn run(args: &Args, session: &mut Session<'_>) -> Result<Ended> {
    placed_by_setup(&args.place)?;
    let mut asked = settings::read(&args.place)?;
    asked.tables(&args.tables)?;
    asked.work(&args.work, session)?;
    asked.schemas(args.schemas.as_deref().or(args.words.as_deref()))?;
    asked.threads(args.threads.as_deref())?;
    asked.settings.check().map_err(wrong)?;
    let page = args.output.html.as_deref().map(fathom_host::directory_of);
    for directory in args.files.as_deref().into_iter().chain(page) {
        if !directory.is_dir() {
            bail!("{} is no directory\nhint: make it, or name one that is there", directory.display());
        }
    }
    let interrupt = session.environment.interrupt();
    let progress = Progress::new(session.progress, &session.console);
    let user = User { progress: &progress, interrupt: &interrupt, console: &session.console };
    let sessions = asked.settings.schemas * asked.settings.threads;
    let mut here = DatabaseTarget::open(&args.place, &asked, sessions, session, &|| interrupt.raised())?;
    let settings = match prepare(&mut asked, args, &here, user) {
        Ok(Some(settings)) => settings,
        other => {
            progress.clear();
            let other = other.map_err(|error| here.explained(error));
            here.close()?;
            return other.map(|_| Ended::Interrupted);
        }
    };
    let mut database = here.database.clone();
    let mut own = session.on(&mut database);
    let ended = measure(args, &asked, &settings, &mut here, user, &mut own);
    progress.clear();
    let ended = ended.map_err(|error| here.explained(error));
    let closed = here.close();
    let ended = ended?;
    closed?;
    Ok(ended)
}

/// Loads a server of our own, or takes over what was set up; nothing when the user interrupted it.
fn prepare(
    asked: &mut CommandSettings,
    args: &Args,
    here: &DatabaseTarget,
    user: User<'_>,
) -> Result<Option<Settings>> {
    if !here.is_own() {
        let schemas = fathom_database::schemas(&here.database.url)?;
        work::take_over(asked, &schemas, here.block())?;
    }
    let settings = work::meant(asked, &args.place, here, args.work.seed)?;
    enough_sessions(asked, here)?;
    if here.is_own() && setup::load(asked, &settings, here, user, None)? == Ended::Interrupted {
        return Ok(None);
    }
    Ok(Some(settings))
}

/// Says at once what the server would say to the last of the sessions.
pub fn enough_sessions(asked: &CommandSettings, here: &DatabaseTarget) -> Result<()> {
    let facts = &here.database.facts;
    let wanted = asked.settings.schemas * asked.settings.threads;
    let Some(most) = facts.sessions_most else { return Ok(()) };
    let free = most.saturating_sub(facts.sessions_now.unwrap_or(1).saturating_sub(1));
    if wanted > free {
        bail!(
            "{wanted} sessions are asked for, and the server takes {free} more (of {most})\nhint: raise max_connections, or take fewer threads"
        );
    }
    Ok(())
}

/// How long a load is: by time, or by iterations, which have no warm-up.
pub fn length(asked: &CommandSettings, work: &Work) -> Length {
    let said = &asked.settings;
    match said.operations() {
        Some(operations) => {
            Length { time: None, operations: Some(operations), warm_up: Nanos(0), rate: work.rate }
        }
        None => Length {
            time: Some(Nanos(said.run_time.0.saturating_add(work.warm_up.0))),
            operations: None,
            warm_up: work.warm_up,
            rate: work.rate,
        },
    }
}

/// A run of that plan with the machine's own counters in it.
pub fn execute(
    plan: &Plan,
    what: String,
    here: &DatabaseTarget,
    measurement: &mut Measurement<'_>,
    user: User<'_>,
) -> Result<Run> {
    let length = plan.streams.iter().filter_map(|stream| stream.stop.time).max();
    let mut nobody = ();
    let mut machine = Machine::new(&mut nobody, &here.database);
    let length = length.unwrap_or(Nanos(60_000_000_000));
    let mut watch = Watch::new(&mut machine, user.progress, user.interrupt, what, length);
    let mut run = measurement.run(plan, &mut watch)?;
    run.samples.append(&mut machine.samples);
    Ok(run)
}

/// What ended sessions before their time, if anything did: how many, and the words of the first one.
pub fn lost(run: &Run) -> Option<String> {
    let lost = run.workers.iter().filter(|worker| worker.ended == StopReason::Fault).count();
    let why = run.events.iter().find_map(|event| match &event.what {
        EventKind::Statement { message, retried: false, .. } => Some(message.clone()),
        EventKind::Fault { target, .. } => Some(target.clone()),
        _ => None,
    });
    let all = run.workers.len();
    (lost > 0).then(|| match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{lost} of {all} sessions ended before their time: {why}"),
        None => format!("{lost} of {all} sessions ended before their time"),
    })
}

/// What a run reports to.
struct Job<'a> {
    asked: &'a CommandSettings,
    settings: &'a Settings,
    args: &'a Args,
    environment: Environment,
    console: &'a Console,
}

fn measure(
    args: &Args,
    asked: &CommandSettings,
    settings: &Settings,
    here: &mut DatabaseTarget,
    user: User<'_>,
    session: &mut Session<'_>,
) -> Result<Ended> {
    let Args { work, place, label, .. } = args;
    let job = Job { asked, settings, args, environment: session.environment.clone(), console: user.console };
    let length = length(asked, work);
    let plan = settings.plan(&here.database.url, length);
    let mut told = counter_deltas::told(asked, here, settings.blocks, length.warm_up);
    told.plans = fathom_database::plans(&here.database.url)?;
    let mut measurement = records::begin(&told, here, session, place, label);
    let files = job.files();
    job.opening(&told)?;
    job.external("pre")?;
    let mut collectors = files
        .as_ref()
        .filter(|_| !told.settings.no_os_perf_data)
        .map(|to| Collectors::start(to, &job.environment));
    let disks = diskstats(&here.database.roots);
    let outcome = execute(&plan, "sessions".to_owned(), here, &mut measurement, user);
    let written = collectors.as_mut().map(Collectors::end).unwrap_or_default();
    user.progress.clear();
    let mut run = match outcome {
        Ok(run) => run,
        Err(error) => {
            measurement.abandon();
            return Err(error);
        }
    };
    if told.settings.words == Words::Pgio {
        told.diskstats = Some((disks, diskstats(&here.database.roots)));
    }
    job.external("post")?;
    run.name = "sessions".to_owned();
    run.load = Load { small: settings.sessions(), large: 0 };
    let lost = lost(&run);
    let end = job.judge(&mut told, &run, here, user.interrupt.raised(), lost.as_deref());
    measurement.record.facts = here.found.facts(serde_json::json!({ "slob": &told }))?;
    let finished = measurement.finish_with(run, end);
    if let Some(directory) = &files {
        files::write(&told, &finished.record, 0, directory, &written)?;
    }
    job.closing(&told, &finished)?;
    job.external("end")?;
    match (finished.record.ending, lost) {
        (Ending::Interrupted, _) => Ok(Ended::Interrupted),
        (_, Some(lost)) => {
            bail!("{lost}\nhint: what was measured until then is kept: fathom slob report")
        }
        _ => Ok(Ended::Done),
    }
}

impl Job<'_> {
    /// Where the scripts' files go: where it was said, or here when the scripts' own configuration was read.
    fn files(&self) -> Option<PathBuf> {
        self.args.files.clone().or_else(|| self.asked.files_here().map(Path::to_path_buf))
    }

    /// Do the scripts' lines go to stdout?
    fn speaks(&self) -> bool {
        self.args.output.is_text()
            && (self.asked.conf.is_some() || self.args.words.is_some() || self.args.schemas.is_some())
    }

    /// The figures and the checks of a run; what the reports need goes into the context.
    fn judge(
        &self,
        told: &mut RunContext,
        run: &Run,
        here: &DatabaseTarget,
        interrupted: bool,
        lost: Option<&str>,
    ) -> End {
        let counted = counter_deltas::counted(run, here);
        let judged = verdict::judge(&counted, told);
        let mut summary = figures_of(run, 0);
        let operations = summary.get(&FigureName::Iops).cloned();
        let seen = (&counted, &judged);
        summary.extend(counter_deltas::figures(run, 0, here, seen, operations.as_ref()));
        let mut checks = vec![judged.check()];
        checks.extend(checks::counters(&counted, told));
        checks.extend(checks::mix(run, &told.settings));
        checks.extend(checks::durability(told));
        let seconds = Nanos(run.length_ns.saturating_sub(window_begins(run))).seconds();
        let reached = operations.as_ref().map(|figure| figure.value);
        checks.extend(checks::rate(self.args.work.rate, reached, seconds));
        told.counted = vec![counted];
        told.shown = counter_deltas::shown(run);
        let mut end = End {
            figures: Figures::Own(summary, Vec::new()),
            grounds: Grounds::Checks,
            checks,
            ..End::of(interrupted, lost.is_some())
        };
        if let (Some(lost), Ending::Failed) = (lost, end.ending) {
            end.notes.push(Note { text: lost.to_owned(), hint: None });
        }
        end
    }

    fn opening(&self, told: &RunContext) -> Result<()> {
        if !self.speaks() {
            return Ok(());
        }
        let (out, said) = (&mut self.console.out(), &self.asked.settings);
        if said.words == Words::Pgio {
            log::pgio_head(told, &self.environment.date(), out)?;
            return Ok(out.flush()?);
        }
        let mut line = |text: &str| log::line(Kind::Notify, &self.environment.slob_moment(), text, out);
        if let Some(conf) = &self.asked.conf {
            line(&format!("Settings of {}:", conf.display()))?;
        }
        log::settings(said, self.settings.blocks, out)?;
        let mut line = |text: &str| log::line(Kind::Notify, &self.environment.slob_moment(), text, out);
        if self.files().is_some() && !said.no_os_perf_data {
            line("Running iostat, vmstat and mpstat on current host--in background.")?;
        }
        line(&log::connecting(said))?;
        line("Test has been triggered. Processes are executing. Warm-up phase.")?;
        Ok(out.flush()?)
    }

    fn closing(&self, told: &RunContext, finished: &Finished) -> Result<()> {
        let out = &mut self.console.out();
        if self.speaks() {
            let seconds = told.counted.first().map_or(0, |counted| counted.whole_seconds());
            let whole = finished.record.runs.first().map_or(seconds, log::run_seconds);
            match (&told.shown, told.settings.words) {
                (Some((before, after)), Words::Pgio) => log::pgio_result(told, (before, after), whole, out)?,
                (None, Words::Pgio) => {}
                _ => {
                    let mut line =
                        |text: &str| log::line(Kind::Notify, &self.environment.slob_moment(), text, out);
                    line(&format!("Run time {seconds} seconds."))?;
                    if self.files().is_some() {
                        line("Terminating background data collectors.")?;
                    }
                    line("SLOB test is complete.")?;
                }
            }
            writeln!(out)?;
        }
        let shown = Shown::ended(&finished.record, &finished.saved);
        self.args.output.show(&shown, &self.environment, self.console)
    }

    /// Calls EXTERNAL_SCRIPT with a word.
    fn external(&self, word: &str) -> Result<()> {
        let Some(script) = &self.asked.settings.external_script else { return Ok(()) };
        let status = Command::new(script)
            .arg(word)
            .status()
            .with_context(|| format!("EXTERNAL_SCRIPT {script} cannot be started"))?;
        if !status.success() {
            bail!("EXTERNAL_SCRIPT {script} {word} ended with {status}\nhint: it must end with 0");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{StreamId, Verb};

    /// Sessions ended on a full disk, and nothing but the server's log was named, which SQLite has not.
    #[test]
    fn sessions_that_ended_early_say_what_the_database_said() {
        let mut run = Run::empty(&Plan::new(1));
        assert_eq!(lost(&run), None);
        let stream = StreamId(0);
        let worker = WorkerTotals { ended: StopReason::Fault, ..WorkerTotals::finished(stream, 0, (0, 0)) };
        run.workers.push(worker);
        for (message, retried) in [("deadlock", true), ("database or disk is full", false)] {
            let (target, message) = ("slob.db".to_owned(), message.to_owned());
            let what = EventKind::Statement { stream, verb: Verb::Commit, target, message, retried };
            run.events.push(Event { at_ns: 0, what });
        }
        let said = lost(&run);
        assert_eq!(
            said.as_deref(),
            Some("1 of 1 sessions ended before their time: database or disk is full")
        );
    }
}
