//! `fathom bonnie++`, and the program called through a link named `bonnie++`: its options in, its table and its CSV
//! line out. Each of its tests is one plan, and one run of the record.

mod barrier;
mod cache;
mod user;

use crate::{self as bonnie, Asked, CSV_HEADER, Figure, Options, Seen, Test, USAGE};
use fathom_engine::{Engine, Permits, Policy};
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::step::{self, Steps, Until};
use fathom_session::tool::Tool;
use fathom_session::{Context, INTERRUPTED};
use fathom_spec::{StreamId, Verb};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tool, for the list of tools.
pub struct Bonnie;

impl Tool for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie++"
    }

    fn about(&self) -> &'static str {
        "Speak bonnie++'s language: fathom bonnie++ -d DIRECTORY -u USER; refusals tell its options"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }
}

/// Runs the command on the words after its name and answers bonnie++'s exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    let options = match bonnie::parse(words) {
        Asked::Measure(options) => *options,
        Asked::Refused(why) => return refuse(&why),
    };
    if let Err(why) = ready(&options, context) {
        return refuse(&why);
    }
    if let Some(processes) = options.serves {
        return barrier::serve(processes);
    }
    let meeting = match barrier::Place::of(&options) {
        Ok(meeting) => meeting,
        Err(why) => return refuse(&why),
    };
    let memory_mib = memory_mib();
    let size = options.size_on(memory_mib);
    if let Err(why) = options.guard(memory_mib) {
        return refuse(&why);
    }
    let seed = match seed(&options) {
        Ok(seed) => seed,
        Err(why) => return refuse(&why),
    };
    if bonnie::tests(&options, size).is_empty() {
        return refuse(USAGE);
    }
    let limit = match options.limit_cache.map(cache::Limit::to).transpose() {
        Ok(limit) => limit,
        Err(why) => return refuse(&why),
    };
    let status = measure(&options, (size, seed), &meeting, context, engine);
    drop(limit);
    status
}

/// bonnie++'s exit status for anything that went wrong.
const FAILED: u8 = 1;
/// What it says when it is interrupted.
const CLEANING: &str = "Cleaning up test directory after error.\n";

fn refuse(why: &str) -> u8 {
    // Who closed stderr does not want to know.
    let _ = std::io::stderr().lock().write_all(why.as_bytes());
    FAILED
}

/// Says something on the way.
fn tell(options: &Options, text: &str) {
    if !options.quiet {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// The user, and the directory.
fn ready(options: &Options, context: &Context) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    if root && options.identity.user.is_none() {
        return Err(format!("You must use the \"-u\" switch when running as root.\n{USAGE}"));
    }
    if !Path::new(&options.directory).is_dir() {
        return Err(format!("Can't change to directory \"{}\".\n{USAGE}", options.directory));
    }
    if let Some(said) = user::become_user(&options.identity, context)? {
        tell(options, &said);
    }
    Ok(())
}

/// Memory as bonnie++ tells it: whole pairs of MiB.
fn memory_mib() -> u64 {
    let about = rustix::system::sysinfo();
    ((about.totalram as u64).saturating_mul(u64::from(about.mem_unit)) >> 20) & !1
}

fn seed(options: &Options) -> Result<u64, String> {
    let Some(name) = &options.random_file else {
        return Ok(options.seed.unwrap_or_else(|| environment::seconds().into()));
    };
    let mut bytes = [0; 8];
    let mut file = std::fs::File::open(name).map_err(|_| format!("Can't open random file \"{name}\".\n"))?;
    let read = std::io::Read::read_exact(&mut file, &mut bytes);
    read.map_err(|error| format!("Can't open random file \"{name}\": {error}\n"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// What is on the disk while tests run, one path for each copy of them: removed whatever happens.
struct Place {
    paths: Vec<PathBuf>,
}

impl Place {
    fn of(options: &Options) -> Self {
        let own = format!("Bonnie.{}", std::process::id());
        let name = |copy: u32| if options.copies > 1 { format!("{own}.{copy}") } else { own.clone() };
        let directory = Path::new(&options.directory);
        Place { paths: (0..options.copies).map(|copy| directory.join(name(copy))).collect() }
    }

    fn names(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// New files or new directories where the test wants them.
    fn prepare(&self, test: Test) -> Result<(), String> {
        if matches!(test, Test::CreateInOrder | Test::CreateAtRandom) {
            self.remove();
        }
        self.paths.iter().try_for_each(|path| {
            // bonnie++ works in its directory.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match test {
                test if test.begins_anew() => {
                    can_be_made(path).map_err(|_| format!("Can't open file ./{name}\n"))
                }
                Test::CreateInOrder | Test::CreateAtRandom => std::fs::create_dir(path)
                    .map_err(|_| format!("Can't make directory ./{name}\n{CLEANING}")),
                _ => Ok(()),
            }
        })
    }

    fn remove(&self) {
        // The names have our process's number: what has them is ours, or was left by one that is gone.
        for path in &self.paths {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}

/// Can a file be made here? Nothing is left of it, nor of an older one.
fn can_be_made(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => drop(std::fs::File::create_new(path)?),
    }
    std::fs::remove_file(path)
}

impl Drop for Place {
    fn drop(&mut self) {
        self.remove();
    }
}

fn measure(
    options: &Options,
    (size, seed): (u64, u64),
    meeting: &barrier::Place,
    context: &Context,
    engine: &mut Engine,
) -> u8 {
    let interrupt = Interrupt::watch();
    let targets = vec![options.directory.clone()];
    let places = [PathBuf::from(&options.directory)];
    let mut steps = Steps::begin("bonnie++", targets, &places, context, engine);
    let name = options.name.clone();
    let name = name.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let mut status = 0;
    if options.runs.is_some_and(|runs| runs > 0) {
        let _ = writeln!(std::io::stdout(), "{CSV_HEADER}");
    }
    for _ in 0..options.runs.unwrap_or(1) {
        let mut seen = Seen { name: name.clone(), seed, size, figures: Vec::new() };
        match all_tests(options, &mut seen, (&interrupt, meeting), engine, &mut steps.record) {
            Ok(()) => report(options, &seen),
            Err(why) => {
                refuse(if interrupt.raised() { CLEANING } else { &why });
                status = if interrupt.raised() { INTERRUPTED } else { FAILED };
                break;
            }
        }
        steps.save();
    }
    steps.end(status, notes(options, size));
    // The record tells an interrupt from a failure; bonnie++'s status does not.
    if status == 0 { 0 } else { FAILED }
}

/// One after the other; what was seen of each goes into the record at once.
fn all_tests(
    options: &Options,
    seen: &mut Seen,
    (interrupt, meeting): (&Interrupt, &barrier::Place),
    engine: &mut Engine,
    record: &mut ResultRecord,
) -> Result<(), String> {
    let place = Place::of(options);
    for test in bonnie::tests(options, seen.size) {
        if test == Test::CreateInOrder {
            place.remove();
        }
        meeting.wait(test, interrupt)?;
        if interrupt.raised() {
            return Err(String::new());
        }
        let (begin, end) = test.says();
        // A file that cannot be opened is told before the test is.
        if test.begins_anew() {
            place.prepare(test)?;
        }
        tell(options, begin);
        if !test.begins_anew() {
            place.prepare(test)?;
        }
        let names = place.names();
        let mut permits = Permits::new(Policy::WhenHolding);
        names.iter().for_each(|name| permits.add_consent(name));
        engine.permits = permits;
        let plan = bonnie::plan(options, test, &names, seen.size, seen.seed);
        let outcome = engine.execute(&plan, &mut Until(interrupt));
        let mut run = outcome.map_err(|error| refused(options, &place, test, &error.to_string()))?;
        run.name = test.name().to_owned();
        run.load = Load { small: plan.streams.iter().map(|stream| stream.workers).sum(), large: 0 };
        let failed = failure(options, test, &run);
        seen.figures.push((test, figure(test, &run)));
        record.runs.push(run);
        if let Some(why) = failed {
            return Err(why);
        }
        if interrupt.raised() {
            return Err(String::new());
        }
        match test {
            Test::Seek => tell(options, &format!("{}\n", "done...".repeat(options.seekers as usize))),
            _ => tell(options, end),
        }
    }
    Ok(())
}

/// What the engine does not begin, in bonnie++'s words where it has some: a block that cannot go past the page cache fails there
/// when it is written, a file that somebody cut short when its end is read.
fn refused(options: &Options, place: &Place, test: Test, error: &str) -> String {
    if options.direct && error.contains("cannot be read past the page cache") {
        return "Can't write block.: Invalid argument\nCan't write block 0.\n".to_owned();
    }
    if matches!(test, Test::Rewrite | Test::Read) && error.contains(", too little for") {
        let lengths = place.paths.iter().filter_map(|path| std::fs::metadata(path).ok());
        return short_read(test, lengths.map(|file| file.len()).sum::<u64>() % options.chunk.max(1));
    }
    format!("\n{}\n", step::translated(error, "-s", "chunk of -s"))
}

/// What failed, in bonnie++'s words: of a failed read it always says that it was one of a rewrite.
fn failure(options: &Options, test: Test, run: &Run) -> Option<String> {
    run.events.iter().find_map(|event| match &event.what {
        EventKind::Fault { verb, errno, target, offset, moved, .. } => {
            let error = step::reason(*errno);
            let name = target.rsplit('/').next().unwrap_or(target);
            let block = offset.0 / options.chunk.max(1);
            let said = match verb {
                // A file is made and filled in one operation here.
                Verb::Write | Verb::Create if test.is_of_files() && options.file_most > 0 => {
                    "Can't write data.\n".to_owned()
                }
                Verb::Write => format!("Can't write block.: {error}\nCan't write block {block}.\n"),
                Verb::Read if *errno == 0 => short_read(test, moved.0),
                Verb::Read => format!("Bonnie: drastic I/O error (re-write read): {error}\n"),
                Verb::Sync => format!("Can't sync.: {error}\n"),
                Verb::Create => format!("Can't create file {name}\n"),
                Verb::Stat => format!("Can't stat file {name}: {error}\n"),
                _ => format!("Can't delete file {name}: {error}\n"),
            };
            Some(if test.is_of_files() { said + CLEANING } else { said })
        }
        _ => None,
    })
}

/// A file that ended early. What a plain read says of the reason is left over from an earlier call, in bonnie++ as well.
fn short_read(test: Test, bytes: u64) -> String {
    let short = format!("Can't read a full block, only got {bytes} bytes.\n");
    match test {
        Test::Read => short + "Bonnie: drastic I/O error (read(2)): No such file or directory\n",
        _ => short,
    }
}

/// What bonnie++ would have measured.
fn figure(test: Test, run: &Run) -> Figure {
    let first = run.workers.iter().map(|worker| worker.span_ns.0).min().unwrap_or(0);
    let last = run.workers.iter().map(|worker| worker.span_ns.1).max().unwrap_or(0);
    let counted = |of: fn(&Counts) -> u64| {
        // The first verb is the test's: a rewrite and a seek read before they write.
        run.workers
            .iter()
            .filter_map(|worker| worker.counts.first())
            .map(|(_, counts)| of(counts))
            .sum::<u64>()
    };
    let amount = match test {
        Test::Seek => counted(|counts| counts.operations) as f64,
        test if test.is_of_files() => counted(|counts| counts.operations) as f64,
        _ => counted(|counts| counts.bytes) as f64 / 1024.0,
    };
    let longest = |stream| {
        run.merged(stream).map_or(0, |all| {
            let calls = all.cells.iter().filter(|(verb, _)| *verb != Verb::Sync);
            let kept = calls.filter_map(|(_, cell)| cell.service.as_ref());
            kept.map(|latency| latency.max_ns).max().unwrap_or(0)
        })
    };
    let streams = (0..run.plan.streams.len() as u32).map(StreamId);
    let longest_ns = streams.map(longest).max().unwrap_or(0);
    Figure {
        amount,
        elapsed_s: last.saturating_sub(first) as f64 / 1e9,
        cpu_s: run.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum::<u64>() as f64 / 1e9,
        longest_us: longest_ns.div_ceil(1000),
    }
}

fn report(options: &Options, seen: &Seen) {
    let (mut table, mut line) = (Vec::new(), Vec::new());
    let made = bonnie::table(options, seen, &mut table).and_then(|()| bonnie::csv(options, seen, &mut line));
    if made.is_err() {
        return;
    }
    let mut out = std::io::stdout().lock();
    let _ = match (options.runs, options.quiet) {
        (Some(_), _) => Ok(()),
        (None, true) => std::io::stderr().lock().write_all(&table),
        (None, false) => out.write_all(&table),
    };
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// What bonnie++ does not say of itself.
fn notes(options: &Options, size: u64) -> Vec<Note> {
    let mut notes = Vec::new();
    if size == 0 {
        return notes;
    }
    let note = |text: String, hint: &str| Note { text, hint: Some(hint.to_owned()) };
    notes.push(note(
        "what was written is zeros: storage that compresses or leaves out zeros is measured too fast"
            .to_owned(),
        "fathom calibrate writes random bytes",
    ));
    let memory = options.limit_cache.unwrap_or(memory_mib() << 20);
    if !options.direct && size < 2 * memory {
        let text = format!(
            "the file of {} fits into the page cache of {}: reads, rewrites and seeks tell of the memory, not of the disk",
            fathom_spec::Bytes(size),
            fathom_spec::Bytes(memory)
        );
        notes.push(note(text, "-D goes past the page cache; --limit-cache 64m leaves it only so much"));
    }
    if options.seed.is_none() && options.random_file.is_none() {
        notes.push(note("the seed was the time of day".to_owned(), "-z repeats a run"));
    }
    notes
}
