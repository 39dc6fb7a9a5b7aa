//! sysbench's language without a disk: what words come to, which plans they become, and that no text at all ends it.

use fathom_spec::*;
use fathom_sysbench::{Command, Invocation, Mode, Options, Stream, explain, parse, prepare, run};
use proptest::prelude::*;

fn words(line: &str) -> Invocation {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words, &|_| Err("No such file or directory".to_owned()))
}

fn options(line: &str) -> Options {
    match words(line).command {
        Command::Prepare(options) | Command::Run(options) | Command::Cleanup(options) => options,
        other => panic!("{line}: {other:?}"),
    }
}

fn blocks(plan: &Plan) -> &Blocks {
    match &plan.streams[0].work {
        Work::Blocks(blocks) => blocks,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_published_words_mean_what_they_meant() {
    let options = options(
        "--file-total-size=200G --file-test-mode=rndrw --file-extra-flags=direct --time=300 --max-requests=0 fileio run",
    );
    assert_eq!((options.files, options.file_size), (128, (200 << 30) / 128));
    assert_eq!((options.mode, options.time_s, options.events), (Some(Mode::RandomMixed), 300, 0));
    assert!(options.direct() && options.fsync_end && !options.fsync_all);
    assert_eq!((options.fsync_freq, options.rw_ratio, options.block_size), (100, 1.5, 16_384));
}

#[test]
fn words_come_in_any_order_and_older_names_win() {
    for line in [
        "fileio --threads=3 prepare",
        "--threads=3 fileio prepare",
        "fileio prepare --threads=3",
        "--threads=1 prepare prepare --test=fileio --num_threads=3",
    ] {
        assert_eq!(options(line).threads, 3, "{line}");
    }
    let said = words("--test=fileio --num-threads=2 --max-requests=5 prepare").messages;
    assert_eq!(said[0].0, Stream::Err);
    assert_eq!(
        said[1],
        (Stream::Out, "WARNING: --num-threads is deprecated, use --threads instead\n".to_owned())
    );
    assert_eq!(
        said[2],
        (Stream::Out, "WARNING: --max-requests is deprecated, use --events instead\n".to_owned())
    );
    assert_eq!(
        words("--test=fileio --max-requests=0 prepare").messages.len(),
        2,
        "a limit of none is silent"
    );
}

#[test]
fn what_is_wrong_goes_to_its_stream_with_its_status() {
    for (line, stream, ends) in [
        ("fileio", Stream::Err, "See 'sysbench fileio help'\n"),
        ("fileio bogus", Stream::Err, "Unknown command: bogus\n"),
        (
            "bogus run",
            Stream::Out,
            "FATAL: Cannot find benchmark 'bogus': no such built-in test, file or module\n",
        ),
        ("fileio run more", Stream::Err, "Unrecognized command line argument: more\n"),
        ("fileio --bogus=1 run", Stream::Err, "invalid option: --bogus=1\n"),
        ("fileio --file-fsync-all=x run", Stream::Err, "invalid option: --file-fsync-all=x\n"),
        ("fileio --threads=2k run", Stream::Err, "Invalid value for the 'threads' option: '2k'\n"),
        ("fileio --file-num=x run", Stream::Err, "Invalid value for the 'file_num' option: 'x'\n"),
        ("fileio --threads=0 run", Stream::Out, "FATAL: Invalid value for --threads: 0.\n\n"),
        ("fileio --file-num= run", Stream::Out, "FATAL: Invalid value for file-num: 0\n"),
        ("fileio --file-total-size=1x run", Stream::Out, "FATAL: Invalid value for file-total-size: 0\n"),
        ("fileio --file-test-mode=x run", Stream::Out, "FATAL: Invalid IO operations mode: x.\n"),
        ("fileio --verbosity=-1 run", Stream::Out, "Invalid value for verbosity: 255\n"),
        ("cpu run", Stream::Out, "fathom speaks sysbench's fileio only\n"),
    ] {
        let Invocation { messages, command } = words(line);
        let last = messages.last().unwrap();
        assert_eq!((last.0, command), (stream, Command::Exit(1)), "{line}: {last:?}");
        assert!(last.1.ends_with(ends), "{line}: {last:?}");
    }
    assert_eq!(words("").command, Command::Exit(0));
    assert_eq!(words("--version").messages, [(Stream::Out, "sysbench 1.0.20\n".to_owned())]);
}

#[test]
fn a_run_is_one_course_over_all_files() {
    let options = options(
        "fileio --file-num=4 --file-total-size=4M --file-test-mode=rndrw --threads=3 --events=9 --rand-seed=7 run",
    );
    let plan = run(&options, Mode::RandomMixed, 7);
    let (stream, blocks) = (&plan.streams[0], blocks(&plan));
    assert_eq!((plan.targets.len(), stream.workers, stream.stop.operations), (4, 3, Some(9)));
    assert_eq!(
        plan.spaces[0],
        Space::Striped { over: (0..4).map(TargetId).collect(), depth: Bytes(1 << 20) }
    );
    assert_eq!(blocks.mix, Mix::ByCompleted { reads_per_write: 1.5, commits: false });
    assert!(blocks.sync[0].all_targets_in_turn && blocks.sync[0].every == 100);
    assert_eq!(stream.after_last, [SyncKind::Fsync]);
    assert!(
        matches!(&blocks.generator, Generator::Given { states, discard_per_event: 1 } if states.len() == 3)
    );
    assert!(blocks.shared.is_some() && blocks.verify.is_none() && blocks.content == Content::Zero);
}

#[test]
fn syncs_are_where_the_options_put_them() {
    let plan = |more: &str, mode| {
        let options =
            options(&format!("fileio --file-num=4 --file-total-size=4M --file-test-mode=rndrw {more} run"));
        run(&options, mode, 7)
    };
    let all = plan("--file-fsync-all", Mode::RandomWrite);
    assert_eq!(
        (blocks(&all).mix, blocks(&all).sync.len(), all.streams[0].after_last.len()),
        (Mix::Only(Verb::Commit), 0, 0)
    );
    let none = plan("--file-fsync-freq=0 --file-fsync-end=off", Mode::RandomWrite);
    assert_eq!((blocks(&none).sync.len(), none.streams[0].after_last.len()), (0, 0));
    let reads = plan("--file-test-mode=rndrd", Mode::RandomRead);
    assert_eq!((blocks(&reads).sync.len(), reads.streams[0].after_last.len()), (0, 0));
    let mapped = plan("--file-io-mode=mmap --file-fsync-mode=fdatasync", Mode::RandomWrite);
    assert_eq!(mapped.streams[0].after_last, [SyncKind::Msync]);
    let data = plan("--file-fsync-mode=fdatasync", Mode::RandomWrite);
    assert_eq!(blocks(&data).sync[0].kind, SyncKind::Fdatasync);
}

#[test]
fn prepare_writes_only_what_is_missing_in_whole_blocks() {
    let options = options("fileio --file-num=3 --file-total-size=100000 prepare");
    let (plan, files) = prepare(&options, &[None, Some(33_333), Some(10_000)], 1);
    assert_eq!(files, [0, 2]);
    let bytes: Vec<_> = plan.streams.iter().map(|stream| stream.stop.bytes).collect();
    assert_eq!(bytes, [Some(Bytes(49_152)), Some(Bytes(32_768))]);
    assert_eq!(plan.streams[1].start.after, [StreamId(0)]);
    assert!(plan.streams.iter().all(|stream| stream.after_last == [SyncKind::Fsync]));
}

#[test]
fn moments_are_told_at_a_step_that_divides_them_all() {
    for (line, step) in [
        ("", 1),
        ("--report-interval=10", 10),
        ("--report-checkpoints=4,6", 2),
        ("--report-interval=3600", 60),
        ("--report-interval=127", 1),
    ] {
        let options = options(&format!("fileio {line} prepare"));
        assert_eq!(fathom_sysbench::step_s(&options), step, "{line}");
    }
}

proptest! {
    #[test]
    fn no_words_end_it(words in proptest::collection::vec("(--)?[a-z_=,%0-9.-]{0,24}", 0..8), text in "\\PC{0,200}") {
        let read = |_: &str| Ok(text.clone());
        let _ = parse(&words, &read);
    }

    #[test]
    fn no_text_ends_the_explanation(text in "(sysbench random|IOPS|read|[0-9. /:s|\n]|\\PC){0,80}") {
        let _ = explain(&text);
    }
}
