//! ORION's files, held to those of real runs: a published one of 11.2.0.2 (`simple`, `oltp -write 20`) and one of
//! 11.1.0.7, whose sizes are known to the byte.

use fathom_orion::*;
use fathom_record::*;
use fathom_spec::*;
use proptest::prelude::*;

const US: f64 = 1e3;

/// `avg, min, max, std dev` in microseconds, and counts by ORION's bins from a first bin on (1: 2 to 4 us).
struct Seen<'a> {
    us: (f64, u64, u64, f64),
    first_bin: usize,
    bins: &'a [u32],
}

impl Seen<'_> {
    fn latency(&self) -> Latency {
        let (mean, min, max, deviation) = self.us;
        let mut latency = Latency::default();
        for (bin, count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let at = self.first_bin + bin;
            latency.bins.as_mut().unwrap().add_many(1500 << at, *count);
            latency.count += u64::from(*count);
        }
        let count = latency.count as f64;
        latency.sum_ns = (mean * US * count).round() as u64;
        latency.sum_squares = count * US * US * (mean * mean + deviation * deviation);
        (latency.min_ns, latency.max_ns) = (min * 1000, max * 1000);
        latency
    }
}

fn options(line: &str) -> Options {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), Layout::default()).unwrap()
}

fn raw1() -> Vec<Lun> {
    vec![Lun { name: "/dev/raw/raw1".into(), size: Bytes(100 << 30) }]
}

/// A run of one point: one slot of 60 s in which each stream did what was seen.
fn run(options: &Options, load: Load, cells: Vec<Vec<(Verb, Latency)>>) -> Run {
    let mut plan = plan(options, &raw1(), load, 1);
    plan.slot = Nanos::from_seconds(60);
    let mut intervals = Vec::new();
    for (id, cells) in cells.into_iter().enumerate() {
        let Work::Blocks(blocks) = &plan.streams[id].work else { panic!("block work") };
        let mut slot = [Counts::default(); CELLS];
        for (at, (_, latency)) in cells.iter().enumerate() {
            slot[at].operations = latency.count;
            slot[at].bytes = latency.count * blocks.sizes.most().0;
        }
        let cells =
            cells.into_iter().map(|(verb, l)| (verb, Cell { service: Some(Box::new(l)), ..Cell::default() }));
        let mut interval = Interval::new(StreamId(id as u32), 0, cells.collect(), 0);
        (interval.slots, interval.length_ns) = (vec![slot], 60_000_000_000);
        intervals.push(interval);
    }
    Run { name: "point".into(), load, length_ns: 60_000_000_000, intervals, ..Run::empty(&plan) }
}

fn reads(count: f64, mean_us: f64) -> Vec<(Verb, Latency)> {
    let mut latency = Latency::default();
    (latency.count, latency.sum_ns) = (count.round() as u64, (mean_us * US * count.round()) as u64);
    vec![(Verb::Read, latency)]
}

/// The published `simple` run.
fn simple(options: &Options) -> Vec<Point> {
    let mut done = Vec::new();
    for (small, us) in [(1, 9478.83), (2, 8590.16), (3, 8097.65), (4, 8089.16)] {
        let count = f64::from(small) * 60e6 / us;
        done.push(run(options, Load { small, large: 0 }, vec![reads(count, us)]));
    }
    let best = Seen {
        us: (7866.98, 1858, 210_500, 4914.0),
        first_bin: 10,
        bins: &[470, 4863, 19_006, 12_410, 1207, 138, 23, 2],
    };
    done.push(run(options, Load { small: 5, large: 0 }, vec![vec![(Verb::Read, best.latency())]]));
    for (large, mbps) in [(1, 56.41), (2, 101.82)] {
        let count: f64 = mbps * 60.0;
        let cells = vec![reads(count, 1e6 * f64::from(large) / mbps)];
        let mut run = run(options, Load { small: 0, large }, cells);
        run.intervals[0].slots[0][0].bytes = (count * MIB as f64) as u64;
        done.push(run);
    }
    done.iter().map(Point::of).collect()
}

struct Files {
    stdout: String,
    summary: String,
    mbps: String,
    iops: String,
    lat: String,
    hist: String,
}

fn files(options: &Options, name: &str, luns: &[Lun], done: &[Point]) -> Files {
    let points = Points::new(options, 1);
    let report = Report { options, points: &points, luns, name, version: "0" };
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    Files {
        stdout: text(&|out| report.opening(out).and_then(|()| report.results(done, out))),
        summary: text(&|out| report.summary_head(out).and_then(|()| report.results(done, out))),
        mbps: text(&|out| report.mbps(done, out)),
        iops: text(&|out| report.iops(done, out)),
        lat: text(&|out| report.lat(done, out)),
        hist: text(&|out| done.iter().try_for_each(|point| report.histograms(point, out))),
    }
}

#[test]
fn the_published_simple_run_is_told_in_its_own_words() {
    let options = options("-run simple -testname simpletest");
    let files = files(&options, "simpletest_20110201_1551", &raw1(), &simple(&options));
    let says = "\
ORION: ORacle IO Numbers -- Version 11.2.0.2.0
simpletest_20110201_1551
Calibration will take approximately 9 minutes.
Using a large value for -cache_size may take longer.

Maximum Large MBPS=101.82 @ Small=0 and Large=2

Maximum Small IOPS=635 @ Small=5 and Large=0
Small Read Latency: avg=7867 us, min=1858 us, max=210500 us, std dev=4914 us @ Small=5 and Large=0

Minimum Small Latency=7867 usecs @ Small=5 and Large=0
Small Read Latency: avg=7867 us, min=1858 us, max=210500 us, std dev=4914 us @ Small=5 and Large=0
Small Read / Write Latency Histogram @ Small=5 and Large=0
\tLatency:\t\t# of IOs (read)\t\t # of IOs (write)
        0 - 1           us:\t\t0\t\t\t0
        2 - 4           us:\t\t0\t\t\t0
        4 - 8           us:\t\t0\t\t\t0
        8 - 16          us:\t\t0\t\t\t0
       16 - 32          us:\t\t0\t\t\t0
       32 - 64          us:\t\t0\t\t\t0
       64 - 128         us:\t\t0\t\t\t0
      128 - 256         us:\t\t0\t\t\t0
      256 - 512         us:\t\t0\t\t\t0
      512 - 1024        us:\t\t0\t\t\t0
     1024 - 2048        us:\t\t470\t\t\t0
     2048 - 4096        us:\t\t4863\t\t\t0
     4096 - 8192        us:\t\t19006\t\t\t0
     8192 - 16384       us:\t\t12410\t\t\t0
    16384 - 32768       us:\t\t1207\t\t\t0
    32768 - 65536       us:\t\t138\t\t\t0
    65536 - 131072      us:\t\t23\t\t\t0
   131072 - 262144      us:\t\t2\t\t\t0
   262144 - 524288      us:\t\t0\t\t\t0
   524288 - 1048576     us:\t\t0\t\t\t0
  1048576 - 2097152     us:\t\t0\t\t\t0
  2097152 - 4194304     us:\t\t0\t\t\t0
  4194304 - 8388608     us:\t\t0\t\t\t0
  8388608 - 16777216    us:\t\t0\t\t\t0
 16777216 - 33554432    us:\t\t0\t\t\t0
 33554432 - 67108864    us:\t\t0\t\t\t0
 67108864 - 134217728   us:\t\t0\t\t\t0
134217728 - 268435456   us:\t\t0\t\t\t0

";
    assert_eq!(files.stdout, says);
    assert!(files.summary.ends_with(&says[says.find("Maximum Large").unwrap()..]));
    for line in [
        "ORION VERSION 11.2.0.2.0",
        "-run simple -testname simpletest ",
        "Small IO size: 8 KB",
        "Large IO size: 1024 KB",
        "Writes: 0%",
        "Duration for each data point: 60 seconds",
        "Small Columns:,      0",
        "Large Columns:,      0,      1,      2",
        "Total Data Points: 8",
        "Name: /dev/raw/raw1\tSize: 107374182400",
        "1 files found.",
    ] {
        assert!(files.summary.lines().any(|found| found == line), "{line}\n{}", files.summary);
    }
    assert_eq!(files.hist.matches("Latency Histogram @").count(), 7);
}

#[test]
fn the_published_tables_come_out_with_their_cells_and_their_sizes() {
    let options = options("-run simple -testname simpletest");
    let files = files(&options, "simpletest_20110201_1551", &raw1(), &simple(&options));
    let table = |text: &str| text[text.find("Large/Small").unwrap()..].trim_end().to_owned();
    assert_eq!(
        table(&files.mbps),
        "Large/Small,      0,      1,      2,      3,      4,      5\n          1,  56.41\n          2, 101.82"
    );
    assert_eq!(
        table(&files.lat),
        "Large/Small,      1,      2,      3,      4,      5\n          0, 9478.83, 8590.16, 8097.65, 8089.16, 7866.98\n          1\n          2"
    );
    assert!(
        files.mbps.contains(
            "the rates sustained by large I/Os in MBps.  Each value corresponds to a data point test"
        )
    );
    assert!(files.lat.contains("the average latency sustained by small I/Os in microseconds."));
    assert_eq!((files.mbps.len(), files.iops.len(), files.lat.len()), (498, 526, 549));
    let grid = read_grid(&files.lat).unwrap();
    assert_eq!((grid.at(1, 0), grid.at(5, 0), grid.at(1, 2)), (Some(9478.83), Some(7866.98), None));
}

#[test]
fn the_bare_tables_have_the_sizes_of_11_1() {
    let options = options("-run simple -testname rjx -csv 11.1");
    let luns = [Lun { name: "/dev/vdb".into(), size: Bytes(21_474_836_480) }];
    let mut done = Vec::new();
    for (small, iops, ms) in
        [(1, 2302.0, 0.43), (2, 4398.0, 0.45), (3, 5450.0, 0.55), (4, 6006.0, 0.66), (5, 6210.0, 0.26)]
    {
        done.push(run(&options, Load { small, large: 0 }, vec![reads(iops * 60.0, ms * 1e3)]));
    }
    for (large, mbps) in [(1, 271.6), (2, 374.25)] {
        done.push(run(&options, Load { small: 0, large }, vec![reads(mbps * 60.0, 1e3)]));
    }
    let done: Vec<Point> = done.iter().map(Point::of).collect();
    let files = files(&options, "rjx_20130805_1550", &luns, &done);
    assert_eq!(
        files.iops,
        "Large/Small,      1,      2,      3,      4,      5\n          0,   2302,   4398,   5450,   6006,   6210\n          1\n          2\n"
    );
    assert!(files.lat.contains("\n          0,   0.43,   0.45,"));
    assert!(files.mbps.contains("\n          1, 271.60\n          2, 374.25\n"));
    assert_eq!((files.iops.len(), files.lat.len(), files.mbps.len()), (128, 128, 100));
    assert_eq!(
        files.summary,
        "ORION VERSION 11.1.0.7.0\n\nCommandline:\n-run simple -testname rjx -csv 11.1 \n\nThis maps to this test:\nTest: rjx\n\
         Small IO size: 8 KB\nLarge IO size: 1024 KB\nIO Types: Small Random IOs, Large Random IOs\n\
         Simulated Array Type: CONCAT\nWrite: 0%\nCache Size: Not Entered\nDuration for each Data Point: 60 seconds\n\
         Small Columns:,      0\nLarge Columns:,      0,      1,      2\nTotal Data Points: 8\n\n\
         Name: /dev/vdb\tSize: 21474836480\n1 FILEs found.\n\n\
         Maximum Large MBPS=374.25 @ Small=0 and Large=2\nMaximum Small IOPS=6210 @ Small=5 and Large=0\n\
         Minimum Small Latency=0.26 @ Small=5 and Large=0\n"
    );
    assert!(files.stdout.starts_with(
        "ORION: ORacle IO Numbers -- Version 11.1.0.7.0\nrjx_20130805_1550\nTest will take approximately 9 minutes\nLarger caches may take longer\n"
    ));
}

#[test]
fn the_published_oltp_run_tells_reads_and_writes_apart() {
    let options = options("-run oltp -testname oltp_write -write 20");
    let read = Seen {
        us: (6685.0, 243, 202_301, 5715.0),
        first_bin: 7,
        bins: &[1, 339, 115, 2830, 7105, 16_469, 7301, 1106, 190, 30, 4],
    };
    let write = Seen { us: (300.0, 217, 6300, 296.0), first_bin: 7, bins: &[6457, 1894, 369, 92, 44, 11] };
    let four = vec![(Verb::Read, read.latency()), (Verb::Write, write.latency())];
    let read = Seen { us: (8333.0, 118, 540_359, 9541.0), first_bin: 12, bins: &[135_360] };
    let write = Seen { us: (315.0, 217, 11_142, 331.0), first_bin: 8, bins: &[33_840] };
    let nineteen = vec![(Verb::Read, read.latency()), (Verb::Write, write.latency())];
    let done: Vec<Point> = [(4, four), (19, nineteen)]
        .map(|(small, cells)| Point::of(&run(&options, Load { small, large: 0 }, vec![cells])))
        .into();
    let files = files(&options, "oltp_write_20110202_1140", &raw1(), &done);
    let head = "\
Calibration will take approximately 22 minutes.
Using a large value for -cache_size may take longer.

Maximum Small IOPS=2820 @ Small=19 and Large=0
Small Read Latency: avg=8333 us, min=118 us, max=540359 us, std dev=9541 us @ Small=19 and Large=0
Small Write Latency: avg=315 us, min=217 us, max=11142 us, std dev=331 us @ Small=19 and Large=0

Minimum Small Latency=5409 usecs @ Small=4 and Large=0
Small Read Latency: avg=6685 us, min=243 us, max=202301 us, std dev=5715 us @ Small=4 and Large=0
Small Write Latency: avg=300 us, min=217 us, max=6300 us, std dev=296 us @ Small=4 and Large=0
Small Read / Write Latency Histogram @ Small=4 and Large=0
";
    assert!(files.stdout.contains(head), "{}", files.stdout);
    for row in ["128 - 256         us:\t\t1\t\t\t6457", "4096 - 8192        us:\t\t16469\t\t\t11"] {
        assert!(files.stdout.contains(row), "{row}\n{}", files.stdout);
    }
}

#[test]
fn a_point_with_errors_is_named_and_leaves_its_cell_blank() {
    let options = options("-run simple");
    let mut done = simple(&options);
    done[1].trouble = Some("Read of /dev/raw/raw1 at byte 4096 failed 3 times: Input/output error".into());
    let files = files(&options, "x", &raw1(), &done);
    assert!(files.lat.contains("          0, 9478.83,       , 8097.65,"), "{}", files.lat);
    assert!(files.summary.contains("Errors @ Small=2 and Large=0: Read of /dev/raw/raw1"));
    assert_eq!(read_grid(&files.lat).unwrap().at(2, 0), None);
}

#[test]
fn a_run_cut_short_leaves_tables_with_the_points_it_has() {
    let options = options("-run normal");
    let done = &simple(&options)[..2];
    let files = files(&options, "x", &raw1(), done);
    let grid = read_grid(&files.lat).unwrap();
    assert_eq!((grid.rows.len(), grid.at(2, 0), grid.at(3, 0)), (3, Some(8590.16), None));
    assert!(read_grid(&files.mbps).unwrap().rows.iter().all(|(_, cells)| cells.iter().all(Option::is_none)));
    assert!(files.summary.contains("Maximum Small IOPS=") && !files.summary.contains("Maximum Large MBPS="));
}

proptest! {
    #[test]
    fn nothing_that_is_typed_or_read_panics(words in prop::collection::vec("-?[a-zA-Z0-9_.-]{0,14}", 0..8), table in "(Large/Small)?[,0-9. \n-]{0,80}") {
        if let Ok(options) = parse(&words, Layout::default()) {
            let points = Points::new(&options, 3);
            prop_assert!(points.minutes(&options) >= 1);
        }
        let _ = read_grid(&table);
    }

    #[test]
    fn a_table_that_was_written_is_read_again(cells in prop::collection::vec(prop::option::of(1u64..90_000), 5)) {
        let options = options("-run oltp -num_disks 1 -csv 11.1");
        let seen = |(at, cell): (usize, &Option<u64>)| cell.map(|iops| (at as u32 + 1, iops));
        let wanted: Vec<(u32, u64)> = cells.iter().enumerate().filter_map(seen).collect();
        let done: Vec<Point> = wanted
            .iter()
            .map(|(small, iops)| Point::of(&run(&options, Load { small: *small, large: 0 }, vec![reads((iops * 60) as f64, 100.0)])))
            .collect();
        let grid = read_grid(&files(&options, "x", &raw1(), &done).iops).unwrap();
        for small in 1..=20 {
            let wanted = wanted.iter().find(|(s, _)| *s == small).map(|(_, iops)| *iops as f64);
            prop_assert_eq!(grid.at(small, 0), wanted);
        }
    }
}
