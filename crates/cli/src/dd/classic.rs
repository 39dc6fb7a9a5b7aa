//! `fathom dd --classic`: the two steps that people have always taken, with the page cache and past it, side by side.

use crate::surroundings::{Interrupt, style};
use crate::watch::{Progress, Watch};
use crate::{Context, Ended};
use anyhow::{Result, bail};
use fathom_dialect::dd::{records, report};
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::{Roots, Scratch, scratch::Mark};
use fathom_record::{Execute, Run};
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// Written and read where nothing else is asked for.
const SIZE: Bytes = Bytes(GIB);
/// Bytes of an operation: the classic `bs=1024k`.
const BLOCK: u64 = MIB;

/// One step, with the page cache or past it.
pub struct Step {
    /// What it does.
    pub says: String,
    /// It writes.
    pub writes: bool,
    /// Past the page cache.
    pub direct: bool,
    /// What came out.
    pub bytes_per_second: f64,
}

impl Step {
    /// The four steps, in order; `flag` is how the tool is told to go past the cache.
    pub fn all(reads: &str, flag: &str) -> [Step; 4] {
        [(true, false), (false, false), (true, true), (false, true)].map(|(writes, direct)| {
            let verb = if writes { "write" } else { reads };
            let how = if direct { format!("past it ({flag})") } else { "through the page cache".to_owned() };
            Step { says: format!("{verb}, {how}"), writes, direct, bytes_per_second: 0.0 }
        })
    }
}

/// How much, and where.
pub struct Asked {
    /// Bytes.
    pub size: Bytes,
    /// A directory.
    pub place: String,
}

/// Reads the words after `--classic`.
pub fn asked(words: &[String], tool: &str) -> Result<Asked> {
    let mut asked = Asked { size: SIZE, place: ".".to_owned() };
    let parse = |value: &str| -> Result<Bytes> {
        value.parse().map_err(|what| anyhow::anyhow!("--size {value}: {what}\nhint: such as 64m"))
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), word.strip_prefix("--size=")) {
            ("--size", _) => asked.size = parse(words.next().map_or("", String::as_str))?,
            (_, Some(value)) => asked.size = parse(value)?,
            (option, _) if option.starts_with('-') => {
                bail!(
                    "{tool} --classic knows no {option}\nhint: fathom {tool} --classic [--size SIZE] [DIRECTORY]"
                )
            }
            (directory, _) => asked.place = directory.to_owned(),
        }
    }
    let size = asked.size;
    if size.0 < BLOCK || !size.0.is_multiple_of(BLOCK) {
        bail!("--size {size} is no multiple of 1 MiB\nhint: such as --size 64m");
    }
    Ok(asked)
}

/// A file to write to, which the engine may write to and which is removed with this.
pub fn scratch(place: &str, engine: &mut Engine) -> Result<Scratch> {
    let own = Mark::own(&Roots::default())?;
    let scratch = Scratch::create(Path::new(place), &own, 0).map_err(|error| {
        anyhow::anyhow!(
            "cannot make a file in {place}: {error}\nhint: name a directory that you may write to"
        )
    })?;
    let mut permits = Permits::new(Policy::Always);
    permits.add_scratch(&scratch);
    engine.permits = permits;
    Ok(scratch)
}

/// Runs the two steps both ways in a directory.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> Result<Ended> {
    let Asked { size, place } = asked(words, "dd")?;
    let scratch = scratch(&place, engine)?;
    let path = scratch.path.to_string_lossy().into_owned();
    let mut steps = Step::all("read", "iflag=direct, oflag=direct");
    let (progress, interrupt) = (Progress::new(context.progress), Interrupt::watch());
    for step in &mut steps {
        if step.writes && step.direct {
            // What memory still owes to the disk must not be in the way of what goes past it.
            scratch.file.sync_all()?;
        }
        let plan = plan(&path, size, step.writes, step.direct);
        let mut nobody = ();
        let mut watch = Watch::new(&mut nobody, &progress, &interrupt, step.says.clone(), Nanos(size.0));
        let run = engine.execute(&plan, &mut watch).map_err(|error| anyhow::anyhow!("{error}"))?;
        if let Some(fault) = run.faults().next() {
            bail!(
                "{} failed: {:?}\nhint: free some space, or use less of it with --size",
                step.says,
                fault.what
            );
        }
        if interrupt.raised() {
            return Ok(Ended::Interrupted);
        }
        step.bytes_per_second = bytes_per_second(&run, step.writes);
    }
    progress.clear();
    tell(&steps, size, "one at a time, random bytes", &mut std::io::stdout().lock())?;
    Ok(Ended::Done)
}

/// One pass over the file in the classic blocks, one at a time, of bytes that no storage can leave out.
fn plan(path: &str, size: Bytes, writes: bool, direct: bool) -> Plan {
    let mut plan = Plan::new(0xDD);
    let target = PathTarget {
        path: path.to_owned(),
        access: if writes { Access::Write } else { Access::Read },
        create: writes.then_some(size),
        direct,
        durability: Durability::None,
    };
    let space = plan.add_target(Target::Path(target));
    let mut blocks = Blocks::random_reads(space, Bytes(BLOCK));
    blocks.pattern = Pattern::Sequential(Begin::First);
    blocks.mix = Mix::Only(if writes { Verb::Write } else { Verb::Read });
    blocks.queue = QueueKind::Psync;
    let mut stream = Stream::closed("classic", blocks, 1);
    stream.stop.passes = Some(1);
    plan.add_stream(stream);
    plan
}

fn bytes_per_second(run: &Run, writes: bool) -> f64 {
    let (read, written) = records(run);
    let span = run.workers.iter().map(|worker| worker.span_ns.1 - worker.span_ns.0).max().unwrap_or(0);
    let bytes = if writes { written.bytes } else { read.bytes };
    bytes as f64 * 1e9 / span.max(1) as f64
}

/// Prints the four figures, and how much of the first two was memory.
pub fn tell(steps: &[Step; 4], size: Bytes, how: &str, out: &mut impl Write) -> Result<()> {
    let times = if style().unicode { '\u{d7}' } else { 'x' };
    writeln!(out, "{size} in blocks of 1 MiB, {how}")?;
    writeln!(out)?;
    for step in steps {
        writeln!(out, "{:<44} {:>11}/s", step.says, report::rate(step.bytes_per_second))?;
    }
    writeln!(out)?;
    for (cached, direct) in [(&steps[0], &steps[2]), (&steps[1], &steps[3])] {
        let verb = direct.says.split(',').next().unwrap_or_default();
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
