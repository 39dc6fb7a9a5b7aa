//! `--classic` of dd and dt: the two steps that people have always taken, with the page cache and past it, side by side.

use crate::watch::{Progress, Watch};
use crate::{Ended, Session};
use anyhow::{Result, bail};
use fathom_host::{Roots, Scratch, scratch::Mark};
use fathom_record::{EventKind, Request, Run};
use fathom_render::number::rate;
use fathom_render::terminal::Style;
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// Written and read where nothing else is asked for.
const SIZE: Bytes = Bytes(GIB);
/// Bytes of an operation: the classic `bs=1024k`.
const BLOCK: u64 = MIB;

/// What a tool's comparison consists of.
pub struct Comparison<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// What its second step does with what was written: `read`, `compare`.
    pub reads: &'a str,
    /// How the tool is told to go past the page cache.
    pub flag: &'a str,
    /// How the bytes are made and moved, for the first line.
    pub content: &'a str,
    /// What to do when a step fails; `SIZE` stands for the size.
    pub hint: &'a str,
    /// The plan of a step: the file, its size, does it write, does it go past the page cache?
    pub plan: &'a dyn Fn(&str, Bytes, bool, bool) -> Result<Plan>,
    /// Nanoseconds that a step took.
    pub elapsed_ns: &'a dyn Fn(&Run) -> u64,
}

/// One step, with the page cache or past it.
struct Step {
    verb: String,
    says: String,
    writes: bool,
    direct: bool,
    bytes_per_second: f64,
}

impl Step {
    /// The four steps, in order.
    fn all(reads: &str, flag: &str) -> [Step; 4] {
        [(true, false), (false, false), (true, true), (false, true)].map(|(writes, direct)| {
            let verb = if writes { "write" } else { reads };
            let how = if direct { format!("past it ({flag})") } else { "through the page cache".to_owned() };
            let (verb, says) = (verb.to_owned(), format!("{verb}, {how}"));
            Step { verb, says, writes, direct, bytes_per_second: 0.0 }
        })
    }
}

/// Size and directory: the words after `--classic`.
fn size_and_directory(words: &[String], tool: &str) -> Result<(Bytes, String)> {
    let (mut size, mut place) = (SIZE, ".".to_owned());
    let parse = |value: &str| -> Result<Bytes> {
        value.parse().map_err(|what| anyhow::anyhow!("--size {value}: {what}\nhint: such as 64m"))
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), word.strip_prefix("--size=")) {
            ("--size", _) => size = parse(words.next().map_or("", String::as_str))?,
            (_, Some(value)) => size = parse(value)?,
            (option, _) if option.starts_with('-') => {
                bail!(
                    "{tool} --classic knows no {option}\nhint: fathom {tool} --classic [--size SIZE] [DIRECTORY]"
                )
            }
            (directory, _) => place = directory.to_owned(),
        }
    }
    if size.0 < BLOCK || !size.0.is_multiple_of(BLOCK) {
        bail!("--size {size} is no multiple of 1 MiB\nhint: such as --size 64m");
    }
    Ok((size, place))
}

/// A file to write to, which is removed with this.
fn scratch(place: &str) -> Result<Scratch> {
    let own = Mark::own(&Roots::default())?;
    Scratch::create(Path::new(place), &own, 0).map_err(|error| {
        anyhow::anyhow!(
            "cannot make a file in {place}: {error}\nhint: name a directory that you may write to"
        )
    })
}

/// Runs the two steps both ways in a directory.
pub fn run(comparison: &Comparison<'_>, words: &[String], session: &mut Session<'_>) -> Result<Ended> {
    let (size, place) = size_and_directory(words, comparison.tool)?;
    let scratch = scratch(&place)?;
    let mut permits = Permits::new(Policy::Always);
    permits.add_scratch(&scratch.path);
    let path = names::text(&scratch.path)?;
    let mut steps = Step::all(comparison.reads, comparison.flag);
    let (progress, interrupt) =
        (Progress::new(session.progress, &session.console), session.environment.interrupt());
    for step in &mut steps {
        if step.writes && step.direct {
            // What memory still owes to the disk must not be in the way of what goes past it.
            scratch.file.sync_all()?;
        }
        let plan = (comparison.plan)(path, size, step.writes, step.direct)?;
        let mut nobody = ();
        let mut watch = Watch::new(&mut nobody, &progress, &interrupt, step.says.clone(), Nanos(size.0));
        let request = Request::new(&plan).with_permits(&permits);
        let run = session.execute.execute(request, &mut watch)?.run;
        let wrong = |event: &&fathom_record::Event| {
            matches!(event.what, EventKind::Fault { .. } | EventKind::Mismatch { .. })
        };
        if let Some(event) = run.events.iter().find(wrong) {
            let hint = comparison.hint.replace("SIZE", &size.to_string());
            bail!("{} failed: {:?}\nhint: {hint}", step.says, event.what);
        }
        if interrupt.raised() {
            return Ok(Ended::Interrupted);
        }
        step.bytes_per_second = size.0 as f64 * 1e9 / (comparison.elapsed_ns)(&run).max(1) as f64;
    }
    progress.clear();
    let style = session.environment.style();
    write(&steps, size, comparison.content, style, &mut session.console.out())?;
    Ok(Ended::Done)
}

/// Prints the four figures, and how much of the first two was memory.
fn write(steps: &[Step; 4], size: Bytes, content: &str, style: Style, out: &mut impl Write) -> Result<()> {
    let times = if style.unicode { '\u{d7}' } else { 'x' };
    writeln!(out, "{size} in blocks of 1 MiB, {content}")?;
    writeln!(out)?;
    for step in steps {
        writeln!(out, "{:<44} {:>11}/s", step.says, rate(step.bytes_per_second))?;
    }
    writeln!(out)?;
    for (cached, direct) in [(&steps[0], &steps[2]), (&steps[1], &steps[3])] {
        let verb = &direct.verb;
        let ratio = cached.bytes_per_second / direct.bytes_per_second.max(1.0);
        // At the disk's speed this share of the bytes would have taken the whole time.
        let share = (1.0 - 1.0 / ratio.max(1.0)) * 100.0;
        writeln!(
            out,
            "{verb}: {ratio:.1} {times} as fast through the page cache: {share:.0} % of that figure is memory"
        )?;
    }
    writeln!(out, "What a database does past the page cache is the third and fourth line.")?;
    Ok(())
}
