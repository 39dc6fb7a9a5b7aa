//! What ioping 1.3 printed when its clock and its requests were replaced by these times.

use super::*;
use crate::stamp::tests::moment;
use crate::{Invocation, parse};
use std::ffi::OsString;

fn options(line: &str) -> Options {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    match parse(&words) {
        Ok(Invocation::Measure(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn label() -> TargetLabel {
    TargetLabel {
        path: ".".to_owned(),
        file_system: "ext4".to_owned(),
        device: "/dev/vda".to_owned(),
        device_size: Bytes(270_553_174_016),
    }
}

/// The report of requests that took these times round and round, by ioping's clock: the next begins a gap after the last
/// began, or at once where that is over. Each moves what it is for, unless `moved` says otherwise.
fn report_of(line: &str, times: &[u64], moved: &[u64]) -> String {
    let (options, label) = (options(line), label());
    let mut report = Report::new(&options, &label);
    let mut out = Vec::new();
    let (mut began, mut ended) = (0, 0);
    for number in 1..=options.count.expect("a count") {
        let index = number as usize - 1;
        ended = began + times[index % times.len()];
        let moved = moved.get(index).copied().unwrap_or(options.size.0);
        let request =
            Request { began: Nanos(began), ended: Nanos(ended), moved, writes: options.writes(number) };
        report.request(request, &moment(), &mut out).expect("memory takes all");
        began = ended.max(began + options.gap(number).0);
    }
    report.finish(Nanos(ended), &moment(), &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

fn report(line: &str, times: &[u64]) -> String {
    report_of(line, times, &[])
}

const MS: u64 = 1_000_000;

#[test]
fn the_first_request_is_warm_up() {
    let text = report("-c 4 .", &[MS, 2 * MS, 3 * MS]);
    let expected = "\
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=1 ms (warmup)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=2 ms
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=3 ms
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=4 time=1 ms

--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
3 requests completed in 6 ms, 12 KiB read, 500 iops, 1.95 MiB/s
generated 4 requests in 3.00 s, 16 KiB, 1 iops, 5.33 KiB/s
min/avg/max/mdev = 1 ms / 2 ms / 3 ms / 816.5 us
";
    assert_eq!(text, expected);
}

#[test]
fn what_is_too_fast_or_too_slow_is_counted_apart() {
    let text = report("-i 0 -c 6 -t 2ms -T 2ms .", &[MS, 2 * MS, 5 * MS, MS / 10]);
    let expected = "\
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=1 ms (warmup)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=2 ms
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=5 ms (too slow)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=4 time=100 us (too fast)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=5 time=1 ms (too fast)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=6 time=2 ms

--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
2 requests completed in 4 ms, 8 KiB read, 500 iops, 1.95 MiB/s
2 too fast, 1 too slow, generated 6 requests in 11.1 ms, 24 KiB, 540 iops, 2.11 MiB/s
min/avg/max/mdev = 2 ms / 2 ms / 2 ms / 0 ns
";
    assert_eq!(text, expected);
}

#[test]
fn bursts_end_with_an_empty_line_before_raw_statistics() {
    let text = report("-b 3 -p 2 -c 3 -i 0 .", &[MS, 3 * MS / 2]);
    let expected = "\
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=1 ms (warmup)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=1.50 ms
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=1 ms

2 2500000 800 3276800 1000000 1250000 1500000 250000 3 3500000

--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
2 requests completed in 2.50 ms, 8 KiB read, 800 iops, 3.12 MiB/s
generated 3 requests in 3.50 ms, 12 KiB, 857 iops, 3.35 MiB/s
min/avg/max/mdev = 1 ms / 1.25 ms / 1.50 ms / 250 us
";
    assert_eq!(text, expected);
    assert!(
        report("-b 3 -c 7 -q .", &[MS])
            .contains("generated 7 requests in 2.00 s, 28 KiB, 3 iops, 14.0 KiB/s")
    );
}

#[test]
fn raw_statistics_come_after_so_many_that_count() {
    let times = [MS, 2 * MS, 5 * MS];
    assert_eq!(
        report("-B -p 2 -c 6 .", &times),
        "2 7000000 286 1170286 2000000 3500000 5000000 1500000 3 2005000000\n\
         2 3000000 667 2730667 1000000 1500000 2000000 500000 2 1997000000\n\
         5 15000000 333 1365333 1000000 3000000 5000000 1673320 6 5005000000\n"
    );
    let again = report_of("-NC -q -p 2 -i 0 -c 6 .", &[MS, 2 * MS, 4 * MS], &[0, 4096, 4096, 0]);
    assert_eq!(
        again,
        "2 6000000 333 1365333 2000000 3000000 4000000 1000000 2 7000000\n\
         2 6000000 333 1365333 2000000 3000000 4000000 1000000 2 7000000\n"
    );
}

#[test]
fn raw_statistics_come_before_the_pause_in_which_their_time_ends() {
    let text = report("-B -P 2 -c 6 .", &[MS, 2 * MS, 5 * MS]);
    let expected = "\
1 2000000 500 2048000 2000000 2000000 2000000 0 2 1002000000
2 6000000 333 1365333 1000000 3000000 5000000 2000000 2 1999000000
2 7000000 286 1170286 2000000 3500000 5000000 1500000 2 2004000000
5 15000000 333 1365333 1000000 3000000 5000000 1673320 6 5005000000
";
    assert_eq!(text, expected);
    let text = report("-q -P 2ms -i 0 -c 6 .", &[MS, 2 * MS, 4 * MS]);
    let expected = "\
1 2000000 500 2048000 2000000 2000000 2000000 0 2 3000000
1 4000000 250 1024000 4000000 4000000 4000000 0 1 4000000
2 3000000 667 2730667 1000000 1500000 2000000 500000 2 3000000
1 4000000 250 1024000 4000000 4000000 4000000 0 1 4000000
";
    assert_eq!(text, expected);
    let first = report("-q -P 1 -i 3 -c 4 .", &[MS]);
    assert!(first.starts_with("0 0 0 0 0 0 0 0 1 1000000\n"), "{first}");
}

#[test]
fn quiet_periods_have_no_end() {
    assert_eq!(report("-q -p 100 -c 3 .", &[MS]), "");
    assert_eq!(
        report("-B -q -c 2 .", &[MS, 2 * MS]),
        "1 2000000 500 2048000 2000000 2000000 2000000 0 2 1002000000\n"
    );
}

#[test]
fn figures_of_the_block_lose_their_fractions_and_raw_ones_are_rounded() {
    let text = report("-i 0 -c 6 .", &[5, 10, 11, 12, 15, 17]);
    assert!(text.ends_with(
        "5 requests completed in 65 ns, 20 KiB read, 76.9 M iops, 293.4 GiB/s\n\
         generated 6 requests in 70 ns, 24 KiB, 85.7 M iops, 327.0 GiB/s\n\
         min/avg/max/mdev = 10 ns / 13 ns / 17 ns / 2 ns\n"
    ));
    let raw = report("-i 0 -B -c 6 .", &[5, 10, 11, 12, 15, 17]);
    assert_eq!(raw, "5 65 76923077 315076923077 10 13 17 3 6 70\n");
    let raw = report("-i 0 -B -c 4 .", &[1, 10, 11, 11]);
    assert_eq!(raw, "3 32 93750000 384000000000 10 11 11 0 4 33\n");
    assert_eq!(report("-i 0 -c 3 -B .", &[0]), "2 0 0 0 0 0 0 0 3 0\n");
}

#[test]
fn what_would_wait_and_what_falls_short_is_shown_with_what_it_moved() {
    let text = report_of("-NC -i 0 -c 6 .", &[MS, 2 * MS, 4 * MS], &[0, 0, 4096, 4096, 0, 100]);
    let expected = "\
0 B <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=1 ms (EAGAIN)
0 B <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=2 ms (EAGAIN)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=4 ms
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=4 time=1 ms
0 B <<< . (ext4 /dev/vda 252.0 GiB): request=5 time=2 ms (EAGAIN)
100 B <<< . (ext4 /dev/vda 252.0 GiB): request=6 time=4 ms

--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
3 requests completed in 9 ms, 12 KiB read, 333 iops, 1.30 MiB/s
generated 3 requests in 14 ms, 12 KiB, 214 iops, 857.1 KiB/s
min/avg/max/mdev = 1 ms / 3 ms / 4 ms / 1.41 ms
";
    assert_eq!(text, expected);
}

#[test]
fn each_period_has_its_own_average() {
    let times: Vec<u64> = [[10_000; 8].as_slice(), &[30_000; 6]].concat();
    assert!(!report("-i 0 -c 14 -p 7 .", &times).contains("slow"));
    let slow = report("-i 0 -c 14 .", &times);
    assert!(slow.contains("request=9 time=30 us (slow)\n"), "{slow}");
    assert!(report("-i 0 -c 7 .", &[MS, MS, MS, MS, MS, MS, MS / 10]).contains("time=100 us (fast)\n"));
}

#[test]
fn writes_and_turns_are_told_apart() {
    let text = report("-W -i 0 -c 2 .", &[MS]);
    assert!(text.starts_with("4 KiB >>> . (ext4 /dev/vda 252.0 GiB): request=1 time=1 ms (warmup)\n"));
    assert!(text.contains("1 requests completed in 1 ms, 4 KiB written, 1 k iops, 3.91 MiB/s\n"));
    let text = report("-G -i 0 -c 2 .", &[MS]);
    assert!(text.contains("4 KiB >>> ") && text.contains("4 KiB <<< "));
    assert!(text.contains("1 requests completed in 1 ms, 4 KiB, 1 k iops, 3.91 MiB/s\n"));
}

#[test]
fn large_counts_have_units_but_for_the_number_of_a_request() {
    let text = report("-t 1h -q -c 2500 -i 0 .", &[MS, 3 * MS / 2]);
    let expected = "2.50 k too fast, generated 2.50 k requests in 3.12 s, 9.77 MiB, 800 iops, 3.12 MiB/s\n";
    assert!(text.contains(expected), "{text}");
    assert!(report("-i 0 -c 1001 .", &[MS]).contains("request=1001 time"));
}

#[test]
fn a_stamp_stands_before_each_line() {
    let text = report("-I -c 1 .", &[MS]);
    assert!(text.starts_with("Nov 14 22:13:20 4 KiB <<< "), "{text}");
    assert!(report("-time= -c 1 .", &[MS]).starts_with(" 4 KiB <<< "));
    assert!(!report("-I -B -c 1 .", &[MS]).contains("Nov"));
}

#[test]
fn json_is_an_array_of_requests_and_statistics() {
    let text = report("-J -c 2 -a 1 -i 0 .", &[MS, 2 * MS]);
    let head = "  \"timestamp\": 1700000000.124457,
  \"localtime\": \"2023-11-14T22:13:20+0000\",
  \"target\": {
    \"path\": \".\",
    \"fstype\": \"ext4\",
    \"device\": \"/dev/vda\",
    \"device_size\": 270553174016
  },
";
    let request = |number: u32, time: u32, ignored: bool| {
        format!(
            "{head}  \"io\": {{
    \"request\": {number},
    \"operation\": \"read\",
    \"size\": 4096,
    \"time\": {time},
    \"ignored\": {ignored}
  }}
"
        )
    };
    let statistics = "  \"stat\": {
    \"count\": 1,
    \"size\": 4096,
    \"time\": 2000000,
    \"iops\": 500.000000,
    \"bps\": 2048000,
    \"min\": 2000000,
    \"avg\": 2000000,
    \"max\": 2000000,
    \"mdev\": 0
  },
  \"load\": {
    \"count\": 2,
    \"size\": 8192,
    \"time\": 3000000,
    \"iops\": 666.666667,
    \"bps\": 2730667
  }
";
    let (first, second) = (request(1, 1_000_000, true), request(2, 2_000_000, false));
    assert_eq!(text, format!("[{{\n{first}}},{{\n{second}}},{{\n{head}{statistics}}}]\n"));
}

#[test]
fn json_has_periods_and_an_end_however_quiet() {
    let parts = |line: &str| {
        let text = report(line, &[MS, 2 * MS, 4 * MS]);
        (text.matches("\"io\"").count(), text.matches("\"stat\"").count())
    };
    assert_eq!(parts("-J -p 2 -c 4 ."), (4, 2));
    assert_eq!(parts("-J -P 2 -c 4 ."), (4, 3));
    assert_eq!(parts("-J -q -P 2 -c 4 ."), (0, 3));
    assert_eq!(parts("-J -B -c 4 ."), (0, 1));
}
