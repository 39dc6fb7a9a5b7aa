//! `fathom dt --classic`: the same write and compared read with the page cache and past it, side by side.

use super::count;
use crate::{self as dt, Half, Part, Place};
use anyhow::Result;
use fathom_engine::Engine;
use fathom_session::cache_comparison::{Comparison, run as compare};
use fathom_session::{Context, Ended};
use fathom_spec::{Bytes, Plan};

/// Writes and compares both ways in a directory.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> Result<Ended> {
    let comparison = Comparison {
        tool: "dt",
        reads: "compare",
        flag: "flags=direct",
        content: "dt's I/O tester pattern, each byte compared",
        hint: "fathom dt of=FILE limit=SIZE bs=1m tells more",
        plan: &plan,
        elapsed_ns: &|run| {
            let mut part = Part::default();
            count(run, &mut part);
            part.elapsed_ns
        },
    };
    compare(&comparison, words, context, engine)
}

fn plan(path: &str, size: Bytes, writes: bool, direct: bool) -> Result<Plan> {
    let mut line =
        vec![format!("of={path}"), format!("limit={}", size.0), "bs=1m".to_owned(), "pattern=iot".to_owned()];
    line.extend(direct.then(|| "flags=direct".to_owned()));
    let options = dt::parse(&line, 4096)?;
    let there = Place { length: size.0, file: true, ..Place::default() };
    Ok(dt::plan(&options, &there, 1, if writes { Half::Write } else { Half::Read }))
}
