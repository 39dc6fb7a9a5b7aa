//! `fathom dd --classic`: the same write and read with the page cache and past it, side by side.

use anyhow::Result;
use fathom_session::cache_comparison::{Comparison, run as compare};
use fathom_session::{Ended, Session};
use fathom_spec::*;

/// Bytes of an operation: the classic `bs=1024k`.
const BLOCK: u64 = MIB;

/// Writes and reads both ways in a directory.
pub fn run(words: &[String], session: &mut Session<'_>) -> Result<Ended> {
    let comparison = Comparison {
        tool: "dd",
        reads: "read",
        flag: "iflag=direct, oflag=direct",
        content: "one at a time, random bytes",
        hint: "free some space, or use less of it with --size",
        plan: &|path, size, writes, direct| Ok(plan(path, size, writes, direct)),
        elapsed_ns: &|run| {
            run.workers.iter().map(|worker| worker.span_ns.1 - worker.span_ns.0).max().unwrap_or(0)
        },
    };
    compare(&comparison, words, session)
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
