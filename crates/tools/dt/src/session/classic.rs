//! `fathom dt --classic`: the same write and compared read with the page cache and past it, side by side.

use super::count;
use crate::{self as dt, Half, Part, PassFacts};
use anyhow::Result;
use fathom_session::cache_comparison::{Comparison, run as compare};
use fathom_session::{Ended, Session};
use fathom_spec::{Bytes, Plan};

/// Writes and compares both ways in a directory.
pub fn run(words: &[String], session: &mut Session<'_>) -> Result<Ended> {
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
    compare(&comparison, words, session)
}

fn plan(path: &str, size: Bytes, writes: bool, direct: bool) -> Result<Plan> {
    let mut line =
        vec![format!("of={path}"), format!("limit={}", size.0), "bs=1m".to_owned(), "pattern=iot".to_owned()];
    line.extend(direct.then(|| "flags=direct".to_owned()));
    let options = dt::parse(&line, 4096)?;
    let facts = PassFacts { length: size.0, file: true, ..PassFacts::default() };
    Ok(dt::plan(&options, &facts, 1, if writes { Half::Write } else { Half::Read }))
}
