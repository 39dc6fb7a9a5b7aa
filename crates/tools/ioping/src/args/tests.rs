//! Words and what ioping 1.3 makes of them.

use super::*;
use proptest::prelude::*;

fn parsed(line: &str) -> Result<Invocation, UsageError> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse(&words)
}

fn options(line: &str) -> Options {
    match parsed(line) {
        Ok(Invocation::Measure(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    parsed(line).expect_err(line).to_string()
}

#[test]
fn without_options_it_reads_4_kib_a_second() {
    assert_eq!(options("."), Options { target: ".".to_owned(), ..Options::default() });
}

#[test]
fn long_options_have_one_dash_or_two_and_may_be_shortened() {
    for line in
        ["-c 2 .", "-c2 .", "-count 2 .", "--count 2 .", "-count=2 .", "--count=2 .", "-cou 2 .", ". -c 2"]
    {
        assert_eq!(options(line).count, Some(2), "{line}");
    }
    assert_eq!(options("-re .").operations, Operations::Alternate);
    assert!(options("-ti .").stamp.is_some());
}

#[test]
fn letters_stand_together_unless_they_begin_a_long_option() {
    let found = options("-WRBc3 .");
    assert_eq!(
        (found.operations, found.rapid, found.batch, found.count),
        (Operations::Write, true, true, Some(3))
    );
    assert_eq!(options("-t5 .").time_min, Nanos::from_seconds(5));
    assert!(options("-ke .").keep);
    assert_eq!(options("-- -c").target, "-c");
    assert_eq!(options("-").target, "-");
}

#[test]
fn the_time_format_stands_in_its_word() {
    assert_eq!(options("-I .").stamp, Some(StampFormat::of(None).expect("the default")));
    assert_eq!(options("-IJ .").stamp, Some(StampFormat::parse("J").expect("a format")));
    assert_eq!(options("-I= .").stamp, Some(StampFormat::parse("=").expect("a format")));
    assert_eq!(options("-time=%H .").stamp, Some(StampFormat::parse("%H").expect("a format")));
    assert_eq!(refusal("-I %H ."), "more than one destination specified");
}

#[test]
fn unknown_options_are_refused_as_the_c_library_does() {
    for (line, text) in [
        ("-Z .", "unrecognized option '-Z'"),
        ("-foo .", "unrecognized option '-foo'"),
        ("--foo .", "unrecognized option '--foo'"),
        ("--=1 .", "option '--=1' is ambiguous; possibilities: '--help' '--version'"),
        ("-Ru 2 .", "invalid option -- 'u'"),
        ("-Rq2", "invalid option -- '2'"),
        ("-c", "option requires an argument -- 'c'"),
        ("-qc", "option requires an argument -- 'c'"),
        ("-en", "option '-entropy' requires an argument"),
        ("--size", "option '--size' requires an argument"),
        ("--quiet=1", "option '--quiet' doesn't allow an argument"),
        ("-quiet=1", "option '-quiet' doesn't allow an argument"),
        ("-wor", "option '-wor' is ambiguous; possibilities: '-work-size' '-work-offset' '-work-time'"),
        ("-ra", "option '-ra' is ambiguous; possibilities: '-rapid' '-rate-limit'"),
        ("-d", "option '-d' is ambiguous; possibilities: '-direct' '-dsync'"),
        ("-c=2", "option '-c=2' is ambiguous; possibilities: '-cached' '-count'"),
        ("--b", "option '--b' is ambiguous; possibilities: '--batch' '--burst'"),
        ("--h", "option '--h' is ambiguous; possibilities: '--help' '--hipri'"),
        ("--m", "option '--m' is ambiguous; possibilities: '--min-time' '--max-time'"),
        ("--p", "option '--p' is ambiguous; possibilities: '--print-count' '--print-interval'"),
        ("--r", "option '--r' is ambiguous; possibilities: '--rapid' '--read-write' '--rate-limit'"),
        ("--s", "option '--s' is ambiguous; possibilities: '--sync' '--size' '--speed-limit'"),
        (
            "--w",
            "option '--w' is ambiguous; possibilities: '--write' '--work-size' '--work-offset' '--work-time' '--warmup'",
        ),
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.to_string().starts_with(text), "{line}: {error}");
        assert!(error.shows_usage(), "{line}");
    }
}

#[test]
fn wrong_values_and_targets_are_refused_without_the_usage() {
    for (line, text) in [
        ("-c x -h", "invalid suffix: \"x\""),
        ("-c -1 .", "integer overflow at parsing argument: -1"),
        ("-p x -Z", "invalid suffix: \"x\""),
        ("-q", "no destination specified"),
        ("--", "no destination specified"),
        (". /tmp", "more than one destination specified"),
    ] {
        let error = parsed(line).expect_err(line);
        assert_eq!(error.to_string(), text, "{line}");
        assert!(!error.shows_usage(), "{line}");
    }
}

#[test]
fn help_and_version_end_the_reading() {
    assert_eq!(parsed("-h -Z"), Ok(Invocation::Help));
    assert_eq!(parsed(". . -help"), Ok(Invocation::Help));
    assert_eq!(parsed("--v"), Ok(Invocation::Version));
    assert_eq!(parsed("-v ."), Ok(Invocation::Version));
    assert_eq!(parsed(""), Ok(Invocation::NoWords));
    assert_eq!(refusal("-Z -h"), "unrecognized option '-Z'");
}

#[test]
fn rapid_changes_what_was_not_said() {
    let found = options("-R .");
    assert_eq!(
        (found.interval, found.work_time, found.quiet),
        (Nanos(0), Some(Nanos::from_seconds(3)), true)
    );
    assert_eq!(directory_work_size(&found), Bytes(64 * MIB));
    let found = options("-i 1 -R -w 5 -S 8k .");
    assert_eq!((found.interval, found.work_time), (Nanos::from_seconds(1), Some(Nanos::from_seconds(5))));
    assert_eq!(directory_work_size(&found), Bytes(8 * KIB));
    assert_eq!(options("-R -w 0 .").work_time, None);
}

#[test]
fn linear_requests_have_256_kib() {
    assert_eq!(options("-L .").size, Bytes(256 * KIB));
    assert_eq!(options("-L -s 0 .").size, Bytes(256 * KIB));
    assert_eq!(options("-L -s 8k .").size, Bytes(8 * KIB));
}

#[test]
fn a_working_set_has_room_for_a_request_unless_it_was_said() {
    assert_eq!(directory_work_size(&options("-s 2m .")), Bytes(2 * MIB));
    assert_eq!(directory_work_size(&options("-s 700k .")), Bytes(MIB));
    assert_eq!(directory_work_size(&options("-s 2m -S 0 .")), Bytes(2 * MIB));
    assert_eq!(directory_work_size(&options("-s 2m -S 1m .")), Bytes(MIB));
}

#[test]
fn limits_lengthen_the_interval() {
    for (line, nanoseconds) in [
        ("-r 4 .", 250_000_000),
        ("-r 4 -i 0 .", 250_000_000),
        ("-r 0.5 .", 2_000_000_000),
        ("-r 3 .", 333_333_333),
        ("-i 5 -r 3 .", 5_000_000_000),
        ("-r 0 .", 0),
        ("-l 0 .", 0),
        ("-l 8k .", 500_000_000),
        ("-l 8k -r 100 .", 500_000_000),
        ("-l 8k -s 4097 .", 500_122_070),
        ("-L -l 1m .", 250_000_000),
        ("-R -r 10 .", 100_000_000),
    ] {
        assert_eq!(options(line).interval, Nanos(nanoseconds), "{line}");
    }
}

#[test]
fn bursts_have_no_pause_within_them() {
    let found = options("-b 3 .");
    let gaps: Vec<u64> = (1..=6).map(|number| found.gap(number).0).collect();
    assert_eq!(gaps, [0, 0, 1_000_000_000, 0, 0, 1_000_000_000]);
}

#[test]
fn a_write_comes_first_in_turn() {
    let found = options("-WG .");
    assert_eq!((found.operations, found.write_consents), (Operations::Alternate, 2));
    assert!(found.writes(1) && !found.writes(2) && found.writes(3));
    assert_eq!(options("-GW .").operations, Operations::Alternate);
}

#[test]
fn zero_is_no_limit_but_for_the_slowest() {
    let found = options("-c 0 -p 0 -P 0 -w 0 -e 0 -T 0 .");
    assert_eq!((found.count, found.print_count, found.print_interval), (None, None, None));
    assert_eq!((found.work_time, found.seed, found.time_max), (None, None, Some(Nanos(0))));
}

#[test]
fn what_cannot_work_is_said_before_the_target_is_looked_at() {
    let nowait = "nowait without cached or direct I/O is supposed to fail";
    assert_eq!(options("-N .").warnings(), [nowait]);
    assert!(options("-NC .").warnings().is_empty());
    assert!(options("-ND .").warnings().is_empty());
    assert!(options("-s 2147479552 .").warnings().is_empty());
    let large = "this platform supports requests 2147479552 bytes at most";
    assert_eq!(options("-s 2147479553 .").warnings(), [large]);
}

#[test]
fn full_durability_has_that_of_data_in_it() {
    for line in ["-Yy .", "-yY ."] {
        assert_eq!(options(line).durability, Durability::Full, "{line}");
    }
    assert_eq!(options("-y .").durability, Durability::Data);
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec("-{0,2}[a-zA-Z0-9=. ]{0,6}", 0..6)) {
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let _ = parse(&words);
    }
}
