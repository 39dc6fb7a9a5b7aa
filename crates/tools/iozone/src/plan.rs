//! Each of iozone's tests as a plan of its own: one pass over each file, one stream a file, whose time is the figure's.

use super::Options;
use super::test::Test::{self, *};
use fathom_spec::*;

/// The columns of each of the table's tests.
const ALL: [(u32, &[Test]); 12] = [
    (0, &[Write, Rewrite]),
    (1, &[Read, Reread]),
    (2, &[RandomRead, RandomWrite]),
    (3, &[BackwardRead]),
    (4, &[RecordRewrite]),
    (5, &[StrideRead]),
    (6, &[Fwrite, Refwrite]),
    (7, &[Fread, Refread]),
    (9, &[Pwrite, Repwrite]),
    (10, &[Pread, Repread]),
    (11, &[Pwritev, Repwritev]),
    (12, &[Preadv, Repreadv]),
];

/// The columns that are measured.
pub fn tests(options: &Options) -> Vec<Test> {
    let wanted = |number: u32| match options.tests.is_empty() {
        true => number <= 7,
        false => options.tests.contains(&number),
    };
    ALL.iter().filter(|(number, _)| wanted(*number)).flat_map(|(_, tests)| tests.iter().copied()).collect()
}

/// The plan of one cell of the table.
pub fn plan(options: &Options, test: Test, file: u64, record: u64, seed: u64) -> Plan {
    let mut plan = Plan::new(seed.wrapping_add(test as u64));
    let pass = FilePass { test, writes: test.writes(), name: &options.file, file, record };
    let stream = stream(options, &pass, &mut plan);
    plan.add_stream(stream);
    plan
}

/// The plan of one phase of throughput mode: a worker for each file, all begin together. Without `-x` all end when the
/// first has done its file.
pub fn throughput(options: &Options, test: Test, seed: u64) -> Plan {
    let mut plan = Plan::new(seed.wrapping_add(test as u64));
    let (file, record) = options.one_row();
    let names = options.file_names();
    for (worker, name) in names.iter().enumerate() {
        let writes = match test {
            Mixed => !reads_in_mix(options, worker, names.len()),
            test => test.writes(),
        };
        let mut stream = stream(options, &FilePass { test, writes, name, file, record }, &mut plan);
        stream.stop.takes_down = Some(GroupId(0)).filter(|_| !options.to_the_end);
        plan.add_stream(stream);
    }
    plan
}

/// Does this worker of a mix read? Each does one of both: of `-+p` percent of them the first ones read, without it every
/// other one.
fn reads_in_mix(options: &Options, worker: usize, workers: usize) -> bool {
    match options.mix_read_percent {
        Some(percent) => worker < (workers * usize::from(percent) + 50) / 100,
        None => worker.is_multiple_of(2),
    }
}

/// Writes what files lack that others have stopped: name and bytes that are there already. Nobody measures it.
pub fn rest(options: &Options, missing: &[(String, u64)], seed: u64) -> Plan {
    let (file, record) = options.one_row();
    let mut plan = Plan::new(seed);
    for (name, there) in missing {
        let pass = FilePass { test: Rewrite, writes: true, name, file: file - there, record };
        let mut stream = stream(options, &pass, &mut plan);
        if let Work::Blocks(blocks) = &mut stream.work {
            blocks.region.0 = Extent::Bytes(Bytes(*there));
        }
        stream.window = Window::Unmeasured;
        plan.add_stream(stream);
    }
    for target in &mut plan.targets {
        if let Target::Path(path) = target {
            // Past its end a file may only grow if it is one that is made.
            path.create = Some(Bytes(0));
        }
    }
    plan
}

/// One pass of a test over a file.
struct FilePass<'a> {
    test: Test,
    /// Does it write? Of a mix some do.
    writes: bool,
    name: &'a str,
    /// Bytes of the file.
    file: u64,
    /// Bytes of a record.
    record: u64,
}

fn stream(options: &Options, pass: &FilePass<'_>, plan: &mut Plan) -> Stream {
    let FilePass { test, writes, name, file, record } = *pass;
    let kernel = !test.is_of_streams();
    let space = plan.add_target(Target::Path(PathTarget {
        path: name.to_owned(),
        access: if writes { Access::Write } else { Access::Read },
        create: test.begins_anew().then_some(Bytes(0)),
        direct: options.direct && kernel,
        durability: if options.synchronous && kernel { Durability::Full } else { Durability::None },
    }));
    let length = if test == RecordRewrite { record } else { file };
    let stride = |records: i64| Pattern::Strided { step: records * record as i64, run: 1, skip: 0 };
    let blocks = Blocks {
        region: (Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(length))),
        pattern: match test {
            RandomRead | RandomWrite | Mixed => Pattern::Uniform { once: true },
            BackwardRead => stride(-2),
            StrideRead => stride(options.stride as i64 - 1),
            _ => Pattern::Sequential(Begin::First),
        },
        mix: Mix::Only(if writes { Verb::Write } else { Verb::Read }),
        content: Content::Random { compress_percent: 0, dedupe_percent: 0 },
        queue: match test {
            Pwritev | Repwritev | Preadv | Repreadv => QueueKind::Vectored,
            Fwrite | Refwrite | Fread | Refread => QueueKind::Stdio,
            _ => QueueKind::Psync,
        },
        ..Blocks::random_reads(space, Bytes(record))
    };
    let mut stream = Stream::closed(test.title(), blocks, 1);
    stream.stop.operations = Some(file / record);
    stream.placement = Placement::Any(Vec::new());
    stream.after_last = last(options, test, writes);
    stream
}

/// What is in the time behind the last record.
fn last(options: &Options, test: Test, writes: bool) -> Vec<SyncKind> {
    let sync = (options.flush && writes).then_some(SyncKind::Fsync);
    let close = options.close.then_some(SyncKind::Close);
    // What is left in a stream's buffer was not written yet.
    let flush =
        (writes && test.is_of_streams() && sync.is_none() && close.is_none()).then_some(SyncKind::Flush);
    [flush, sync, close].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_tests_0_to_7_are_run() {
        assert_eq!(tests(&Options::default()).len(), 13);
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

    #[test]
    fn streams_know_neither_direct_nor_synchronous_and_are_flushed_in_the_end() {
        let options = Options { direct: true, synchronous: true, ..Options::default() };
        let target = |test| plan(&options, test, 65_536, 4096, 1).targets[0].clone();
        let Target::Path(plain) = target(Write) else { panic!() };
        let Target::Path(stream) = target(Fwrite) else { panic!() };
        assert_eq!((plain.direct, plain.durability), (true, Durability::Full));
        assert_eq!((stream.direct, stream.durability), (false, Durability::None));
        assert_eq!(last(&options, Fwrite, true), [SyncKind::Flush]);
        assert_eq!(last(&options, Fread, false), []);
        let options = Options { flush: true, close: true, ..options };
        assert_eq!(last(&options, Fwrite, true), [SyncKind::Fsync, SyncKind::Close]);
        assert_eq!(last(&options, Read, false), [SyncKind::Close]);
    }

    #[test]
    fn a_phase_has_a_stream_for_each_file_and_the_first_that_is_done_ends_all() {
        let options = Options { workers: Some(3), ..Options::default() };
        let plan = throughput(&options, Write, 1);
        assert_eq!((plan.streams.len(), plan.targets.len()), (3, 3));
        assert!(plan.streams.iter().all(|stream| stream.stop.takes_down == Some(stream.group)));
        let options = Options { to_the_end: true, ..options };
        assert!(throughput(&options, Write, 1).streams.iter().all(|stream| stream.stop.takes_down.is_none()));
        let rest = rest(&options, &[("a".to_owned(), 8192)], 1);
        let Work::Blocks(blocks) = &rest.streams[0].work else { panic!() };
        assert_eq!(blocks.region.0, Extent::Bytes(Bytes(8192)));
        assert_eq!(rest.streams[0].stop.operations, Some(126));
    }

    #[test]
    fn of_a_mix_every_other_one_reads_unless_a_percentage_says_who() {
        let options = Options { workers: Some(4), ..Options::default() };
        let reads = |options: &Options| [0, 1, 2, 3].map(|worker| reads_in_mix(options, worker, 4));
        assert_eq!(reads(&options), [true, false, true, false]);
        assert_eq!(
            reads(&Options { mix_read_percent: Some(75), ..options.clone() }),
            [true, true, true, false]
        );
        assert_eq!(reads(&Options { mix_read_percent: Some(0), ..options }), [false; 4]);
    }
}
