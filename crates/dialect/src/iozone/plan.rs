//! Each of iozone's tests as a plan of its own: one pass over the file, one stream whose time is the cell's.

use super::Options;
use fathom_spec::*;

/// A column of the table, in the order in which it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of iozone's columns")]
pub enum Test {
    Write,
    Rewrite,
    Read,
    Reread,
    RandomRead,
    RandomWrite,
    BackwardRead,
    RecordRewrite,
    StrideRead,
    Pwrite,
    Repwrite,
    Pread,
    Repread,
    Pwritev,
    Repwritev,
    Preadv,
    Repreadv,
}

/// Records from one to the next of the stride read.
const STRIDE: u64 = 17;

use Test::*;

const ALL: [(u32, &[Test]); 10] = [
    (0, &[Write, Rewrite]),
    (1, &[Read, Reread]),
    (2, &[RandomRead, RandomWrite]),
    (3, &[BackwardRead]),
    (4, &[RecordRewrite]),
    (5, &[StrideRead]),
    (9, &[Pwrite, Repwrite]),
    (10, &[Pread, Repread]),
    (11, &[Pwritev, Repwritev]),
    (12, &[Preadv, Repreadv]),
];

impl Test {
    /// Does it write?
    pub fn writes(self) -> bool {
        matches!(
            self,
            Write | Rewrite | RandomWrite | RecordRewrite | Pwrite | Repwrite | Pwritev | Repwritev
        )
    }

    /// Does it begin with a new file?
    pub fn begins_anew(self) -> bool {
        matches!(self, Write | Pwrite | Pwritev)
    }

    /// A name for the record, and the title of its Excel block.
    pub fn title(self) -> &'static str {
        match self {
            Write => "Writer report",
            Rewrite => "Re-writer report",
            Read => "Reader report",
            Reread => "Re-Reader report",
            RandomRead => "Random read report",
            RandomWrite => "Random write report",
            BackwardRead => "Backward read report",
            RecordRewrite => "Record rewrite report",
            StrideRead => "Stride read report",
            Pwrite => "Pwrite report",
            Repwrite => "Re-Pwrite report",
            Pread => "Pread report",
            Repread => "Re-Pread report",
            Pwritev => "Pwritev report",
            Repwritev => "Re-Pwritev report",
            Preadv => "Preadv report",
            Repreadv => "Re-Preadv report",
        }
    }
}

/// The columns that are measured.
pub fn tests(options: &Options) -> Vec<Test> {
    let wanted = |number: u32| match options.tests.is_empty() {
        true => number <= 5,
        false => options.tests.contains(&number),
    };
    ALL.iter().filter(|(number, _)| wanted(*number)).flat_map(|(_, tests)| tests.iter().copied()).collect()
}

/// The plan of one cell.
pub fn plan(options: &Options, test: Test, file: u64, record: u64, seed: u64) -> Plan {
    let mut plan = Plan::new(seed.wrapping_add(test as u64));
    let space = plan.add_target(Target::Path(PathTarget {
        path: options.file.clone(),
        access: if test.writes() { Access::Write } else { Access::Read },
        create: test.begins_anew().then_some(Bytes(0)),
        direct: options.direct,
        durability: if options.synchronous { Durability::Full } else { Durability::None },
    }));
    let length = if test == RecordRewrite { record } else { file };
    let stride = |records: i64| Pattern::Strided { step: records * record as i64, run: 1, skip: 0 };
    let blocks = Blocks {
        region: (Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(length))),
        pattern: match test {
            RandomRead | RandomWrite => Pattern::Uniform { once: true },
            BackwardRead => stride(-2),
            StrideRead => stride(STRIDE as i64 - 1),
            _ => Pattern::Sequential(Begin::First),
        },
        mix: Mix::Only(if test.writes() { Verb::Write } else { Verb::Read }),
        content: Content::Random { compress_percent: 0, dedupe_percent: 0 },
        queue: match test {
            Pwritev | Repwritev | Preadv | Repreadv => QueueKind::Vectored,
            _ => QueueKind::Psync,
        },
        ..Blocks::random_reads(space, Bytes(record))
    };
    let mut stream = Stream::closed(test.title(), blocks, 1);
    stream.stop.operations = Some(file / record);
    stream.placement = Placement::Any(Vec::new());
    if options.flush && test.writes() {
        stream.after_last = vec![SyncKind::Fsync];
    }
    plan.add_stream(stream);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_tests_0_to_5_are_run() {
        assert_eq!(tests(&Options::default()).len(), 9);
        let some = Options { tests: vec![12, 0], ..Options::default() };
        assert_eq!(tests(&some), [Write, Rewrite, Preadv, Repreadv]);
    }

    #[test]
    fn every_test_is_one_pass_and_the_record_rewrite_stays_where_it_is() {
        for test in ALL.iter().flat_map(|(_, tests)| tests.iter()) {
            let plan = plan(&Options::default(), *test, 65_536, 4096, 1);
            assert_eq!(plan.streams[0].stop.operations, Some(16));
            let Work::Blocks(blocks) = &plan.streams[0].work else { panic!() };
            let length = if *test == RecordRewrite { 4096 } else { 65_536 };
            assert_eq!(blocks.region.1, Extent::Bytes(Bytes(length)), "{test:?}");
        }
    }
}
