//! The figures of a record, out of many cells: the most that any sequential write, sequential read, random read and random
//! write moved.

use crate::Test;
use fathom_record::{Figure, FigureName, Purpose, Run};
use fathom_session::measurement::figures_of;
use std::collections::BTreeMap;

/// A run that measured a test to its end.
#[derive(Clone, Debug)]
pub(super) struct TestRun {
    /// Which test.
    pub test: Test,
    /// Index into the record's runs.
    pub index: usize,
    /// Why its figure is one of memory and not of the disk, where that is known.
    pub memory: Option<String>,
}

/// Which figure of a load is which of the record's, for one test. Backward and strided reads, rewrites of one record
/// and mixes have none.
fn names(test: Test) -> Option<(FigureName, FigureName)> {
    use Test::*;
    match test {
        Write | Rewrite | Fwrite | Refwrite | Pwrite | Repwrite | Pwritev | Repwritev => {
            Some((FigureName::Mbps, FigureName::SequentialWriteMbps))
        }
        Read | Reread | Fread | Refread | Pread | Repread | Preadv | Repreadv => {
            Some((FigureName::Mbps, FigureName::SequentialReadMbps))
        }
        RandomRead => Some((FigureName::Mbps, FigureName::RandomReadMbps)),
        RandomWrite => Some((FigureName::Iops, FigureName::RandomWriteIops)),
        BackwardRead | RecordRewrite | StrideRead | Mixed => None,
    }
}

/// The best figure of each name. One of memory counts only where no other was measured, and says so.
pub(super) fn best(runs: &[Run], tests: &[TestRun]) -> BTreeMap<FigureName, Figure> {
    let mut best: BTreeMap<FigureName, (bool, Figure)> = BTreeMap::new();
    for TestRun { test, index, memory } in tests {
        let run = runs.get(*index).filter(|run| run.purpose == Purpose::Load);
        let Some((run, (of_load, name))) = run.zip(names(*test)) else { continue };
        let Some(mut figure) = figures_of(run, *index).remove(&of_load) else { continue };
        figure.note = memory.clone().or(figure.note);
        let is_of_disk = memory.is_none();
        let known = best.get(&name);
        if known.is_none_or(|(of_disk, other)| (*of_disk, other.value) < (is_of_disk, figure.value)) {
            best.insert(name, (is_of_disk, figure));
        }
    }
    best.into_iter().map(|(name, (_, figure))| (name, figure)).collect()
}
