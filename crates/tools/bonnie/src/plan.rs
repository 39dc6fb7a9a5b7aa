//! Each of bonnie++'s tests as a plan of its own: one stream whose time is the test's.

use super::Options;
use fathom_spec::*;

/// One of bonnie++'s tests, in the order in which they are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// One byte a call is written.
    WriteCharacters,
    /// The file is written.
    Write,
    /// Each block is read and written back.
    Rewrite,
    /// One byte a call is read.
    ReadCharacters,
    /// The file is read.
    Read,
    /// Blocks anywhere are read, a tenth written back.
    Seek,
    /// Files are made in the order of their names.
    CreateInOrder,
    /// They are looked at, and read where they hold something.
    LookInOrder,
    /// They are removed.
    DeleteInOrder,
    /// Files are made in a random order.
    CreateAtRandom,
    /// They are looked at in another.
    LookAtRandom,
    /// They are removed in a third.
    DeleteAtRandom,
}

/// Each test, its name in the record, and the words for it on stderr before it begins and after it.
const ALL: [(Test, &str, &str, &str); 12] = [
    (Test::WriteCharacters, "putc", "Writing a byte at a time...", "done\n"),
    (Test::Write, "put_block", "Writing intelligently...", "done\n"),
    (Test::Rewrite, "rewrite", "Rewriting...", "done\n"),
    (Test::ReadCharacters, "getc", "Reading a byte at a time...", "done\n"),
    (Test::Read, "get_block", "Reading intelligently...", "done\n"),
    (Test::Seek, "seeks", "start 'em...", ""),
    (Test::CreateInOrder, "seq_create", "Create files in sequential order...", "done.\n"),
    (Test::LookInOrder, "seq_stat", "Stat files in sequential order...", "done.\n"),
    (Test::DeleteInOrder, "seq_del", "Delete files in sequential order...", "done.\n"),
    (Test::CreateAtRandom, "ran_create", "Create files in random order...", "done.\n"),
    (Test::LookAtRandom, "ran_stat", "Stat files in random order...", "done.\n"),
    (Test::DeleteAtRandom, "ran_del", "Delete files in random order...", "done.\n"),
];

impl Test {
    /// The words for it on stderr before it begins, and after it.
    pub fn says(self) -> (&'static str, &'static str) {
        let (_, _, begin, end) = ALL[self as usize];
        (begin, end)
    }

    /// A name for the record.
    pub fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// Does it go over many files?
    pub fn is_of_files(self) -> bool {
        self >= Test::CreateInOrder
    }

    /// Does it begin with a new file?
    pub fn begins_anew(self) -> bool {
        matches!(self, Test::WriteCharacters | Test::Write)
    }
}

/// The tests that are run, with so many bytes of bulk I/O.
pub fn tests(options: &Options, size: u64) -> Vec<Test> {
    let wanted = |test: &Test| match test {
        Test::WriteCharacters | Test::ReadCharacters => size > 0 && options.per_character > 0,
        test if test.is_of_files() => options.files > 0,
        _ => size > 0,
    };
    ALL.iter().map(|(test, ..)| *test).filter(wanted).collect()
}

/// The plan of one test. For each copy of it a name is given that is ours alone: the file of the bulk tests, the
/// directory of the others (which exists).
pub fn plan(options: &Options, test: Test, places: &[String], size: u64, seed: u64) -> Plan {
    let mut plan = Plan::new(seed.wrapping_add(test as u64));
    for under in places {
        let stream = if test.is_of_files() {
            of_files(options, test, under, seed)
        } else {
            bulk(options, test, under, size, &mut plan)
        };
        plan.add_stream(stream);
    }
    plan
}

fn bulk(options: &Options, test: Test, file: &str, size: u64, plan: &mut Plan) -> Stream {
    let characters = matches!(test, Test::WriteCharacters | Test::ReadCharacters);
    let (length, chunk) =
        if characters { (options.per_character.min(size), 1) } else { (size, options.chunk) };
    let reads = matches!(test, Test::Read | Test::ReadCharacters);
    let space = plan.add_target(Target::Path(PathTarget {
        path: file.to_owned(),
        access: if reads { Access::Read } else { Access::Write },
        create: test.begins_anew().then_some(Bytes(0)),
        // As bonnie++ 2.00a: only the opening that makes the file goes past the page cache.
        direct: options.direct && test.begins_anew(),
        durability: Durability::None,
    }));
    let sync = SyncRule {
        every: 1,
        of: Verb::Write,
        kind: SyncKind::Fsync,
        all_targets_in_turn: false,
        between: false,
    };
    let blocks = Blocks {
        region: (Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(length))),
        pattern: match test {
            Test::Seek => Pattern::Uniform { once: false },
            _ => Pattern::Sequential(Begin::First),
        },
        mix: match test {
            Test::Rewrite => Mix::ReadWrite { write_percent: 100 },
            Test::Seek => Mix::ReadWrite { write_percent: 10 },
            _ if reads => Mix::Only(Verb::Read),
            _ => Mix::Only(Verb::Write),
        },
        content: if test.begins_anew() { Content::Zero } else { Content::Kept },
        sync: if options.sync_each && !reads && !characters { vec![sync] } else { Vec::new() },
        queue: QueueKind::Psync,
        ..Blocks::random_reads(space, Bytes(chunk))
    };
    let mut stream = Stream::closed(test.name(), blocks, 1);
    stream.placement = Placement::Any(Vec::new());
    match test {
        Test::Seek => {
            stream.workers = options.seekers;
            stream.stop.operations = Some(options.seeks.div_ceil(u64::from(options.seekers)).max(1));
        }
        _ => stream.stop.passes = Some(1),
    }
    if !reads {
        stream.after_last = vec![SyncKind::Fsync];
    }
    stream
}

fn of_files(options: &Options, test: Test, under: &str, seed: u64) -> Stream {
    let verb = match test {
        Test::CreateInOrder | Test::CreateAtRandom => Verb::Create,
        Test::DeleteInOrder | Test::DeleteAtRandom => Verb::Delete,
        _ if options.file_most > 0 => Verb::Read,
        _ => Verb::Stat,
    };
    let at_random = test >= Test::CreateAtRandom;
    let files = Files {
        verbs: vec![verb],
        count: options.files * 1024,
        size: Bytes(options.file_most),
        size_least: (options.file_least < options.file_most).then_some(Bytes(options.file_least)),
        under: under.to_owned(),
        prefix: String::new(),
        directories: options.directories,
        // Made one after the other, with names that look random or do not; then as the directory lists them, or anyhow.
        names: if at_random { Names::LettersFirst { seed } } else { Names::NumberFirst { seed } },
        listed: matches!(test, Test::LookInOrder | Test::DeleteInOrder),
        shuffled: matches!(test, Test::LookAtRandom | Test::DeleteAtRandom),
        entry: options.entry,
        durable: options.sync_each,
        piece: Bytes(options.file_chunk),
        look: StatCall::Link,
        first: 0,
    };
    let mut stream = Stream::closed(test.name(), Blocks::random_reads(SpaceId(0), Bytes(1)), 1);
    stream.work = Work::Files(files);
    stream.placement = Placement::Any(Vec::new());
    if matches!(verb, Verb::Create | Verb::Delete) {
        stream.after_last = vec![SyncKind::Fsync];
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_stands_at_its_own_place() {
        assert!(ALL.iter().enumerate().all(|(place, (test, ..))| *test as usize == place));
        assert_eq!((Test::Seek.name(), Test::Seek.says().1), ("seeks", ""));
    }

    #[test]
    fn sizes_of_nothing_leave_their_tests_out() {
        let all = |options: &Options, size| tests(options, size).len();
        let options = Options::default();
        assert_eq!(all(&options, 1 << 20), 12);
        assert_eq!(all(&options, 0), 6);
        assert_eq!(all(&Options { per_character: 0, ..options.clone() }, 1 << 20), 10);
        assert_eq!(all(&Options { files: 0, ..options }, 1 << 20), 6);
    }

    #[test]
    fn a_rewrite_reads_each_block_and_writes_back_what_it_read() {
        let options = Options { sync_each: true, ..Options::default() };
        let plan = plan(&options, Test::Rewrite, &["f".to_owned()], 1 << 20, 1);
        let Work::Blocks(blocks) = &plan.streams[0].work else { panic!() };
        assert_eq!(blocks.mix, Mix::ReadWrite { write_percent: 100 });
        assert_eq!((blocks.content.clone(), blocks.sync.len()), (Content::Kept, 1));
        assert_eq!(plan.streams[0].stop.passes, Some(1));
    }

    #[test]
    fn what_is_read_goes_through_the_page_cache_whatever_is_written() {
        let options = Options { direct: true, ..Options::default() };
        let direct: Vec<Test> = tests(&options, 1 << 20)
            .into_iter()
            .filter(|test| !test.is_of_files())
            .filter(|test| {
                let made = plan(&options, *test, &["f".to_owned()], 1 << 20, 1);
                matches!(&made.targets[0], Target::Path(path) if path.direct)
            })
            .collect();
        assert_eq!(direct, [Test::WriteCharacters, Test::Write]);
    }

    #[test]
    fn each_copy_has_a_place_of_its_own() {
        let places = ["a".to_owned(), "b".to_owned()];
        let options = Options { copies: 2, ..Options::default() };
        let bulk = plan(&options, Test::Write, &places, 1 << 20, 1);
        assert_eq!((bulk.streams.len(), bulk.targets.len()), (2, 2));
        let made = plan(&options, Test::CreateAtRandom, &places, 0, 1);
        let under = |stream: &Stream| match &stream.work {
            Work::Files(files) => (files.under.clone(), files.names, files.shuffled),
            _ => panic!(),
        };
        let letters = Names::LettersFirst { seed: 1 };
        assert_eq!(under(&made.streams[1]), ("b".to_owned(), letters, false));
        let looked = plan(&options, Test::LookAtRandom, &places, 0, 1);
        assert_eq!(under(&looked.streams[0]), ("a".to_owned(), letters, true));
    }

    #[test]
    fn seeks_are_dealt_out_to_the_seekers() {
        let options = Options { seeks: 100, seekers: 3, ..Options::default() };
        let plan = plan(&options, Test::Seek, &["f".to_owned()], 1 << 20, 1);
        assert_eq!((plan.streams[0].workers, plan.streams[0].stop.operations), (3, Some(34)));
    }
}
