//! `fathom dt --classic`: the same write and compared read with the page cache and past it, side by side.

use super::count;
use crate::dd::classic::{Asked, Step, asked, scratch, tell};
use crate::surroundings::Interrupt;
use crate::watch::{Progress, Watch};
use crate::{Context, Ended};
use anyhow::{Result, bail};
use fathom_dialect::dt::{self, Half, Part, Place};
use fathom_engine::Engine;
use fathom_record::{EventKind, Execute};
use fathom_spec::Nanos;

/// Writes and compares both ways in a directory.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> Result<Ended> {
    let Asked { size, place } = asked(words, "dt")?;
    let scratch = scratch(&place, engine)?;
    let path = scratch.path.to_string_lossy().into_owned();
    let (progress, interrupt) = (Progress::new(context.progress), Interrupt::watch());
    let mut steps = Step::all("compare", "flags=direct");
    for step in &mut steps {
        if step.writes && step.direct {
            // What memory still owes to the disk must not be in the way of what goes past it.
            scratch.file.sync_all()?;
        }
        let mut line = vec![
            format!("of={path}"),
            format!("limit={}", size.0),
            "bs=1m".to_owned(),
            "pattern=iot".to_owned(),
        ];
        line.extend(step.direct.then(|| "flags=direct".to_owned()));
        let options = dt::parse(&line, 4096)?;
        let there = Place { length: size.0, file: true, ..Place::default() };
        let plan = dt::plan(&options, &there, 1, if step.writes { Half::Write } else { Half::Read });
        let mut nobody = ();
        let mut watch = Watch::new(&mut nobody, &progress, &interrupt, step.says.clone(), Nanos(size.0));
        let run = engine.execute(&plan, &mut watch).map_err(|error| anyhow::anyhow!("{error}"))?;
        let wrong = run
            .events
            .iter()
            .find(|event| matches!(event.what, EventKind::Fault { .. } | EventKind::Mismatch { .. }));
        if let Some(event) = wrong {
            bail!(
                "{} failed: {:?}\nhint: fathom dt of=FILE limit={size} bs=1m tells more",
                step.says,
                event.what
            );
        }
        if interrupt.raised() {
            return Ok(Ended::Interrupted);
        }
        let mut part = Part::default();
        count(&run, &mut part);
        step.bytes_per_second = size.0 as f64 * 1e9 / part.elapsed_ns.max(1) as f64;
    }
    progress.clear();
    tell(&steps, size, "dt's I/O tester pattern, each byte compared", &mut std::io::stdout().lock())?;
    Ok(Ended::Done)
}
