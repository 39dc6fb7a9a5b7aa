//! fio's output from a run made by hand: every byte is known.

use fathom_fio::import::{ImportError, Imported, import, unix_seconds};
use fathom_fio::report::{
    Disk, Extras, Format, LogOptions, LogSource, Moment, Report, ReportJob, SoFar, SteadyState, disks,
    in_order, live, log_name, logs, normal, operations,
};
use fathom_record::*;
use fathom_spec::*;

const MS: u64 = 1_000_000;

/// Half a second's worth of reads of 100 us each and writes of 3 ms, in slots of 50 ms, by one stream of one worker.
fn run_of(streams: u32) -> Run {
    let mut plan = Plan::new(7);
    let space = plan.add_target(Target::Null(Bytes(MIB)));
    for _ in 0..streams {
        let mut stream = Stream::closed("a", Blocks::random_reads(space, Bytes(4096)), 4);
        stream.keep.response = true;
        plan.add_stream(stream);
    }
    let mut run = Run { length_ns: 1000 * MS, ..Run::empty(&plan) };
    for stream in 0..streams {
        run.intervals.push(interval(StreamId(stream)));
        run.workers.push(WorkerTotals {
            user_ns: 100 * MS,
            system_ns: 250 * MS,
            outstanding_most: 4,
            ..WorkerTotals::finished(StreamId(stream), 0, (0, 1000 * MS))
        });
        for (name, value) in
            [("context_switches", 12), ("minor_faults", 3), ("submitted_4", 90), ("completed_8", 10)]
        {
            let of = format!("worker {stream}.0").into();
            run.samples.push(Sample { at_ns: 0, of, name: name.to_owned().into(), value });
        }
    }
    run
}

fn interval(stream: StreamId) -> Interval {
    let latency = |ns: u64, count: u64| {
        let mut latency = Latency::default();
        (0..count).for_each(|_| latency.add(ns));
        Some(Box::new(latency))
    };
    let cell =
        |ns, count| Cell { service: latency(ns, count), response: latency(ns * 2, count), ..Cell::default() };
    let cells =
        vec![(Verb::Read, cell(100_000, 40)), (Verb::Write, cell(3_000_000, 20)), (Verb::Sync, cell(500, 5))];
    let mut interval = Interval::new(stream, 0, cells, 20);
    (interval.start_ns, interval.length_ns) = (0, 1000 * MS);
    for slot in &mut interval.slots {
        let counts = |operations, ns| Counts {
            operations,
            bytes: operations * 4096,
            latency_sum_ns: operations * ns,
            errors: 0,
            short: 0,
        };
        slot[0] = counts(2, 100_000);
        slot[1] = counts(1, 3_000_000);
    }
    interval.slots[0][2].operations = 5;
    interval.outstanding[0] = 5;
    interval.outstanding[2] = 60;
    interval
}

fn moment() -> Moment {
    Moment { unix_ms: 1_795_244_885_192, time: "Sat Nov 21 07:08:05 2026".to_owned(), elapsed_seconds: 1 }
}

fn job(stream: u32) -> ReportJob {
    let mut job = ReportJob::new("a", "randrw", vec![StreamId(stream)]);
    (job.pid, job.clone) = (41 + stream, stream);
    job.options = [("rw", "read"), ("time_based", ""), ("bs", "4k"), ("rw", "randrw")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec();
    (job.iodepth, job.asynchronous, job.latency_target.depth) = (4, true, 4);
    job.ioengine = "libaio".to_owned();
    job
}

/// A report of nothing but a run and its jobs.
fn report<'a>(run: &'a Run, jobs: &'a [ReportJob], moment: &'a Moment) -> Report<'a> {
    Report { run, jobs, moment, global: &[], disks: &[], idleness: None, extras: None }
}

fn text(run: &Run, jobs: &[ReportJob], disks: &[Disk], format: Format) -> String {
    let moment = moment();
    let report = Report { disks, ..report(run, jobs, &moment) };
    let mut out = Vec::new();
    if format == Format::Normal {
        normal::opening(jobs, &mut out).unwrap();
    }
    report.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const NORMAL: &str = include_str!("fixtures/fio_normal.txt");

#[test]
fn a_normal_report_of_a_known_run_is_known_to_the_byte() {
    let disk = Disk {
        name: "vda".to_owned(),
        ios: (49614, 1968),
        sectors: (400_000, 9_000),
        merges: (14, 0),
        ticks: (4970, 816),
        in_queue: 5787,
        util: 84.98,
        below: Vec::new(),
    };
    let mut one = job(0);
    one.description = Some("my words".to_owned());
    let told = text(&run_of(1), &[one], &[disk], Format::Normal);
    assert!(told == NORMAL, "{told}");
}

/// The same run, a quarter of its reads at a priority of their own and slower than the others.
fn run_with_priorities() -> Run {
    let mut run = run_of(1);
    run.plan.streams[0].keep.priorities = true;
    let at = |priority, ns, count| {
        let mut service = Box::new(Latency::default());
        (0..count).for_each(|_| service.add(ns));
        AtPriority { verb: Verb::Read, priority, service, completion: None }
    };
    run.intervals[0].priorities = vec![at(0, 95_000, 30), at(2 << 13 | 7, 115_000, 10), at(3 << 13, 1, 0)];
    run
}

#[test]
fn priorities_are_told_apart_where_two_occurred_in_a_direction() {
    let run = run_with_priorities();
    let told = text(&run, &[job(0)], &[], Format::Normal);
    let lines: Vec<&str> =
        told.lines().filter(|line| line.contains("prio") || line.contains("lat (")).collect();
    assert_eq!(
        lines,
        [
            "    slat (nsec): min=0, max=0, avg= 0.00, stdev= 0.00",
            "    clat (nsec): min=100000, max=100000, avg=100000.00, stdev= 0.00",
            "     lat (nsec): min=100000, max=100000, avg=100000.00, stdev= 0.00",
            "    clat prio 0/0 (nsec): min=95000, max=95000, avg=95000.00, stdev= 0.00",
            "    clat prio 2/7 (nsec): min=115000, max=115000, avg=115000.00, stdev= 0.00",
            "    clat prio 0/0 (75.00% of IOs) percentiles (nsec):",
            "    clat prio 2/7 (25.00% of IOs) percentiles (usec):",
            "    slat (nsec): min=0, max=0, avg= 0.00, stdev= 0.00",
            "    clat (nsec): min=3000.0k, max=3000.0k, avg=3000000.00, stdev= 0.00",
            "     lat (nsec): min=3000.0k, max=3000.0k, avg=3000000.00, stdev= 0.00",
            "  lat (usec)   : 250=66.67%",
            "  lat (msec)   : 4=33.33%",
        ]
    );
    let rest: Vec<&str> = told.lines().filter(|line| !line.contains("prio")).collect();
    assert_eq!(rest.iter().filter(|line| line.starts_with("     |")).count(), 5 * 5, "a table for each");
    let mut quiet = job(0);
    quiet.disabled.clat = true;
    assert!(!text(&run, &[quiet], &[], Format::Normal).contains("prio"), "what is not measured is not told");
}

#[test]
fn the_document_has_an_entry_for_each_priority_before_the_rates() {
    let run = run_with_priorities();
    let prios = |job: ReportJob, of: &str| {
        let document: serde_json::Value =
            serde_json::from_str(&text(&run, &[job], &[], Format::Json)).unwrap();
        document["jobs"][0][of]["prios"].clone()
    };
    let told = prios(ReportJob { priority: (2, 5), ..job(0) }, "read");
    let words: Vec<_> =
        told.as_array().unwrap().iter().map(|at| (at["prioclass"].clone(), at["prio"].clone())).collect();
    assert_eq!(words, [(2.into(), 5.into()), (2.into(), 7.into())]);
    assert_eq!(told[0]["clat_ns"]["N"], 30);
    assert_eq!(told[1]["clat_ns"]["percentile"]["50.000000"], 115_200);
    assert!(prios(job(0), "write").is_null(), "one priority is none");
    assert!(prios(ReportJob { priority: (2, 7), ..job(0) }, "read").is_null(), "both are the same");
    let mut lat = job(0);
    lat.with_percentiles.lat = true;
    assert_eq!(prios(lat, "read")[1]["lat_ns"]["N"], 10);
    let mixed = ReportJob { unified: fathom_fio::report::Unified::Mixed, ..job(0) };
    assert_eq!(prios(mixed, "mixed")[0]["clat_ns"]["N"], 50, "writes have the job's");
}

#[test]
fn jobs_of_a_group_that_differ_in_priority_are_told_apart() {
    let run = run_of(2);
    let mut jobs = [job(0), ReportJob { priority: (2, 6), ..job(1) }];
    assert!(!text(&run, &jobs, &[], Format::Normal).contains("prio"));
    jobs.iter_mut().for_each(|job| job.group_reporting = true);
    let told = text(&run, &jobs, &[], Format::Normal);
    let lines = told.lines().filter(|line| line.contains("(50.00% of IOs)"));
    assert_eq!(
        lines.map(|line| &line[4..17]).collect::<Vec<_>>(),
        ["clat prio 0/0", "clat prio 2/6"].repeat(2)
    );
}

#[test]
fn a_group_is_the_sum_of_its_jobs() {
    let run = run_of(2);
    let jobs: Vec<ReportJob> =
        [job(0), job(1)].into_iter().map(|j| ReportJob { group_reporting: true, ..j }).collect();
    let told = text(&run, &jobs, &[], Format::Normal);
    for line in [
        "...\nfio-3.42\nStarting 2 processes\n",
        "a: (groupid=0, jobs=2): err= 0: pid=41:",
        "  read: IOPS=80, BW=320KiB/s (328kB/s)(320KiB/1000msec)\n",
        "   bw (  KiB/s): min=  320, max=  320, per=100.00%, avg=320.00, stdev= 0.00, samples=4\n",
        "  cpu          : usr=10.00%, sys=25.00%, ctx=24, majf=0, minf=6\n",
        "     issued rwts: total=80,40,0,10 short=0,0,0,0 dropped=0,0,0,0\n",
        "  WRITE: bw=160KiB/s (164kB/s), 160KiB/s-160KiB/s (164kB/s-164kB/s), io=160KiB (164kB), run=1000-1000msec\n",
    ] {
        assert!(told.contains(line), "no {line:?} in {told}");
    }
    let apart = text(&run, &[job(0), job(1)], &[], Format::Normal);
    assert_eq!(apart.matches("(groupid=0, jobs=1)").count(), 2);
    assert!(
        apart.contains("  WRITE: bw=160KiB/s (164kB/s), 80.0KiB/s-80.0KiB/s (81.9kB/s-81.9kB/s)"),
        "{apart}"
    );
}

#[test]
fn json_has_the_figures_in_the_peers_units() {
    let told = text(&run_of(1), &[job(0)], &[], Format::JsonPlus);
    assert!(
        told.starts_with("{\n  \"fio version\" : \"fio-3.42\",\n  \"timestamp\" : 1795244885,\n"),
        "{told}"
    );
    let document: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told.matches("\"rw\" : ").count(), 1, "an option that was typed twice is told once");
    let job = &document["jobs"][0];
    assert_eq!(job["job options"], serde_json::json!({"rw": "randrw", "time_based": "", "bs": "4k"}));
    let write = &job["write"];
    for (key, value) in
        [("io_bytes", 81_920), ("io_kbytes", 80), ("bw_bytes", 81_920), ("bw", 80), ("total_ios", 20)]
    {
        assert_eq!(write[key], value, "{key}");
    }
    assert_eq!(write["clat_ns"]["percentile"]["50.000000"], 2_998_272);
    assert_eq!(write["clat_ns"]["bins"], serde_json::json!({"2998272": 20}));
    assert_eq!(write["slat_ns"]["mean"].as_f64(), Some(0.0));
    assert_eq!(write["lat_ns"]["mean"].as_f64(), Some(3e6), "lat is slat and clat together");
    assert_eq!(job["sync"]["total_ios"], 5);
    assert_eq!(job["iodepth_level"]["4"].as_f64(), Some(100.0));
    assert_eq!(job["iodepth_submit"]["4"].as_f64(), Some(100.0));
    assert_eq!(job["iodepth_complete"]["8"].as_f64(), Some(100.0));
    assert_eq!(job["latency_us"]["250"].as_f64(), Some(66.666667));
    assert_eq!(job["latency_ms"]["4"].as_f64(), Some(33.333333));
    assert!(document.get("disk_util").is_none() && document.get("global options").is_none());
}

#[test]
fn what_is_kept_of_the_submission_is_slat_and_the_rest_is_clat() {
    let mut run = run_of(1);
    let mut submit = Latency::default();
    (0..40).for_each(|_| submit.add(30_000));
    run.intervals[0].cells[0].1.submit = Some(Box::new(submit));
    let mut completion = Latency::default();
    (0..40).for_each(|_| completion.add(70_000));
    run.intervals[0].cells[0].1.completion = Some(Box::new(completion));
    let mut without_clat = job(0);
    without_clat.disabled.clat = true;
    for (job, clat) in [(job(0), Some(70_000.0)), (without_clat, Some(0.0))] {
        let document: serde_json::Value =
            serde_json::from_str(&text(&run, &[job], &[], Format::Json)).unwrap();
        let read = &document["jobs"][0]["read"];
        assert_eq!(read["slat_ns"]["mean"].as_f64(), Some(30_000.0));
        assert_eq!(read["clat_ns"]["mean"].as_f64(), clat);
        assert_eq!(read["lat_ns"]["mean"].as_f64(), Some(100_000.0), "whatever is disabled");
    }
}

#[test]
fn an_error_is_told_and_decides_the_exit_status() {
    let mut run = run_of(1);
    run.events.push(Event {
        at_ns: 0,
        what: EventKind::Fault {
            stream: StreamId(0),
            verb: Verb::Write,
            offset: Bytes(0),
            errno: 28,
            moved: Bytes(0),
            target: "f".to_owned(),
            times: 3,
        },
    });
    let passed_over = ReportJob { continue_on_error: true, ..job(0) };
    for (job, is_counted, status) in [(job(0), false, 1), (passed_over, true, 0)] {
        let told = text(&run, std::slice::from_ref(&job), &[], Format::Normal);
        let words = "err=28 (file:fathom, func=io_u error, error=No space left on device): pid=41";
        assert!(told.contains(words), "{told}");
        let counted = "     errors    : total=3, first_error=28/<No space left on device>\n";
        assert_eq!(told.contains(counted), is_counted, "{told}");
        assert_eq!(report(&run, &[job], &moment()).exit_status(), status);
    }
}

#[test]
fn terse_lines_have_the_peers_numbers_of_fields() {
    let described = ReportJob { description: Some("d e".to_owned()), ..job(0) };
    for (version, fields) in [(2u8, 161), (3, 121), (4, 162), (5, 180)] {
        let told = text(&run_of(1), std::slice::from_ref(&described), &[], Format::Terse(version));
        assert_eq!(told.trim_end().split(';').count(), fields + 1, "version {version}: {told}");
        assert!(told.ends_with(if version == 2 { "\n;d e\n" } else { ";d e\n" }), "{told}");
    }
    let told = text(&run_of(1), &[job(0)], &[], Format::Terse(3));
    assert!(
        told.starts_with(
            "3;fio-3.42;a;0;0;160;160;40;1000;0;0;0.000000;0.000000;100;100;100.000000;0.000000;"
        ),
        "{told}"
    );
}

#[test]
fn averaged_logs_have_every_stretch_and_exact_averages() {
    let run = run_of(1);
    let entries = logs::averages(&run, &job(0), LogSource::Bandwidth, 500);
    let told: Vec<_> = entries.iter().map(|e| (e.time_ms, e.value, e.direction)).collect();
    assert_eq!(told, [(500, 160, 0), (500, 80, 1), (1000, 160, 0), (1000, 80, 1)]);
    let with_rest = logs::averages(&run, &job(0), LogSource::Bandwidth, 950);
    assert_eq!(with_rest, logs::averages(&run, &job(0), LogSource::Bandwidth, 1000), "50 ms make no row");
    let latencies = logs::averages(&run, &job(0), LogSource::Latency, 1000);
    assert_eq!(latencies.iter().map(|e| e.value).collect::<Vec<_>>(), [100_000, 3_000_000]);
    let mut out = Vec::new();
    for (options, entry) in [
        (LogOptions::default(), entries[0]),
        (LogOptions { offset: true, priority: true, issue_time: true, epoch_ms: 1000 }, entries[1]),
    ] {
        logs::write_entry(&entry, options, &mut out).unwrap();
    }
    assert_eq!(String::from_utf8(out).unwrap(), "500, 160, 0, 0, 0\n1500, 80, 1, 0, 0, 0x0000, 0\n");
    let (mut low, mut high) = (entries[0], entries[0]);
    (low.priority, high.priority) = (priority_word(2, 4), priority_word(1, 0));
    let mut out = Vec::new();
    for (entry, priority) in [(low, false), (high, false), (low, true), (high, true)] {
        logs::write_entry(&entry, LogOptions { priority, ..LogOptions::default() }, &mut out).unwrap();
    }
    let told = String::from_utf8(out).unwrap();
    let last: Vec<&str> = told.lines().map(|line| line.rsplit(", ").next().unwrap()).collect();
    assert_eq!(last, ["0", "1", "0x4004", "0x2000"]);
    assert_eq!(log_name("B", LogSource::Bandwidth, Some(1)), "B_bw.1.log");
    assert_eq!(log_name("H", LogSource::Histogram, None), "H_clat_hist.log");
}

#[test]
fn disks_are_the_differences_of_their_counters() {
    let mut run = run_of(1);
    for (at_ns, factor) in [(0, 1u64), (2000 * MS, 2)] {
        for (name, value) in
            [("reads", 100), ("writes", 10), ("read_ms", 50), ("weighted_ms", 70), ("io_ms", 500)]
        {
            let (of, name) = ("disk vda".into(), name.into());
            run.samples.push(Sample { at_ns, of, name, value: value * factor });
        }
    }
    let found = disks(&run);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].ios, found[0].ticks, found[0].in_queue, found[0].util),
        ((100, 10), (50, 0), 70, 25.0)
    );
    let above =
        Disk { name: "dm-0".to_owned(), below: vec![found[0].clone(), Disk::default()], ..Disk::default() };
    let told = text(&run, &[job(0)], &[above], Format::Normal);
    assert!(told.contains("    dm-0: ios=0/0, sectors=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%, aggrios=50/5, aggrsectors=0/0, aggrmerge=0/0, aggrticks=25/0, aggrin_queue=35, aggrutil=25.00%\n  vda: ios=100/10,"), "{told}");
}

#[test]
fn a_steady_state_is_told_in_both_languages() {
    let mut job = job(0);
    job.steady_state = Some(SteadyState {
        of: "iops".to_owned(),
        limit: 20.0,
        in_percent: true,
        duration_seconds: 2,
        attained: true,
        criterion: 4.451,
        max_deviation: 2.0,
        slope: f64::NAN,
        bandwidth: vec![9_608_000_000, 9_608_200_000],
        iops: vec![2_345_000, 2_347_000],
    });
    let told = text(&run_of(1), std::slice::from_ref(&job), &[], Format::Normal);
    assert!(
        told.contains(
            "  steadystate  : attained=yes, bw=9163MiB/s (9608MB/s), iops=2346k, iops mean dev=4.451%\n"
        ),
        "{told}"
    );
    let document: serde_json::Value =
        serde_json::from_str(&text(&run_of(1), &[job], &[], Format::Json)).unwrap();
    let state = &document["jobs"][0]["steadystate"];
    assert_eq!(state["ss"], "iops:20.000000%");
    assert_eq!(state["data"]["iops"], serde_json::json!([2_345_000, 2_347_000]));
    assert_eq!(state["slope"].as_f64(), Some(0.0), "what is not a number is no JSON");
}

#[test]
fn extras_stand_under_one_key_of_our_own() {
    let run = run_of(1);
    let verdict = judge(vec![Check::new("steady", CheckOutcome::Passed, "yes")]);
    let summary = Default::default();
    let extras = Extras { version: "1.0", record: "r1", summary: &summary, verdict: &verdict, notes: &[] };
    let (moment, jobs) = (moment(), [job(0)]);
    let report = Report { extras: Some(&extras), ..report(&run, &jobs, &moment) };
    let mut out = Vec::new();
    report.write(Format::Json, &mut out).unwrap();
    let mut document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let ours = document.as_object_mut().unwrap().remove("fathom").unwrap();
    assert_eq!(ours["verdict"]["state"], "believable");
    assert_eq!(ours["jobs"][0]["response_ns"]["read"]["mean"].as_f64(), Some(200_000.0));
    let plain: serde_json::Value = serde_json::from_str(&text(&run, &jobs, &[], Format::Json)).unwrap();
    assert_eq!(document, plain, "nothing else changes");
}

#[test]
fn files_are_laid_out_in_the_peers_words() {
    let mut out = Vec::new();
    normal::laying_out("a", 1, 16 << 20, &mut out).unwrap();
    normal::laying_out("a", 4, 1 << 20, &mut out).unwrap();
    let told = "a: Laying out IO file (1 file / 16MiB)\na: Laying out IO files (4 files / total 1MiB)\n";
    assert_eq!(String::from_utf8(out).unwrap(), told);
    assert_eq!(live::condensed(&['w', 'w', 'w', 'E']), "w(3),E(1)");
    let formats = [Format::Normal, Format::Json, Format::Terse(3)];
    assert_eq!(in_order(&formats), [Format::Terse(3), Format::Json, Format::Normal]);
}

#[test]
fn what_was_printed_is_read_again() {
    let told = text(&run_of(1), &[job(0)], &[], Format::Json);
    let polluted = format!("note: something before\n{told}a: (groupid=0, jobs=1)\n");
    assert_eq!(unix_seconds(&polluted), Some(1_795_244_885));
    let imported = Imported { id: "i1".to_owned(), version: "1.0", ended: "2026-11-21T07:08:05Z".to_owned() };
    let record = import(&polluted, &imported).unwrap();
    assert_eq!((record.tool.as_str(), record.label.as_deref()), ("fio", Some("a")));
    assert_eq!(record.summary[&FigureName::Iops].value, 60.0);
    assert_eq!(record.summary[&FigureName::ReadLatency].value, 100_000.0);
    let latency = record.summary[&FigureName::WriteLatency].latency.as_ref().unwrap();
    assert_eq!((latency.count, latency.percentiles.len()), (20, 17));
    assert_eq!(record.verdict.state, VerdictState::CannotTell);
    assert_eq!(import("no braces", &imported), Err(ImportError::None));
    assert!(matches!(import("{\n  \"a\" : ", &imported), Err(ImportError::Broken(_))));
    assert_eq!(import("{\n}\n", &imported), Err(ImportError::Foreign("fio version")));
}

#[test]
fn an_entry_for_each_io_has_fios_columns() {
    use operations::{Done, direction, entry};
    let write = Done {
        at_ns: 2_000_000,
        service_ns: 2000,
        submit_ns: Some(500),
        direction: direction(Verb::Write).unwrap(),
        offset: 8192,
        bytes: 4096,
    };
    let line = |source, offset| {
        let mut out = Vec::new();
        let entry = entry(&write, source, 500_000)?;
        logs::write_entry(&entry, LogOptions { offset, ..LogOptions::default() }, &mut out).unwrap();
        String::from_utf8(out).ok()
    };
    assert_eq!(line(LogSource::Latency, true).unwrap(), "1, 2000, 1, 4096, 8192, 0\n");
    assert_eq!(line(LogSource::Completion, false).unwrap(), "1, 1500, 1, 4096, 0\n");
    assert_eq!(line(LogSource::Submission, false).unwrap(), "1, 500, 1, 4096, 0\n");
    assert_eq!(line(LogSource::Bandwidth, true).unwrap(), "1, 2000000, 1, 4096, 8192, 0\n");
    assert_eq!(line(LogSource::Iops, false).unwrap(), "1, 1, 1, 4096, 0\n");
    assert!(line(LogSource::Histogram, false).is_none());
    let alone = Done { submit_ns: None, ..write };
    assert!(entry(&alone, LogSource::Submission, 0).is_none());
    assert_eq!(entry(&alone, LogSource::Completion, 0).unwrap().value, 2000);
    assert_eq!(direction(Verb::Sync), None);
}

#[test]
fn a_run_that_is_not_over_is_reported_as_far_as_it_was_told() {
    let whole = run_of(1);
    let mut so_far = SoFar::new(&whole.plan);
    let started = |at_ns, what| Event { at_ns, what };
    so_far.event(&started(0, EventKind::Started(StreamId(0))));
    assert!(so_far.run(500 * MS, &[]).intervals.is_empty());
    so_far.interval(&whole.intervals[0]);
    let running = Totals { outstanding: 4, ..Totals::running(StreamId(0), &[]) };
    let told = text(&so_far.run(1300 * MS, &[running]), &[job(0)], &[], Format::Normal);
    assert!(told.contains("  read: IOPS=40, BW=160KiB/s (164kB/s)(160KiB/1000msec)"), "{told}");
    so_far.event(&started(1250 * MS, EventKind::Stopped(StreamId(0), StopReason::Finished)));
    let told = text(&so_far.run(1300 * MS, &[]), &[job(0)], &[], Format::Normal);
    assert!(told.contains("(160KiB/1250msec)"), "{told}");
}

/// What has both parts of each I/O is told as it was measured; what has not is all completion.
#[test]
fn completions_are_those_that_were_measured_by_direction_and_by_priority() {
    let of = |ns: u64, count: u64| {
        let mut latency = Latency::default();
        (0..count).for_each(|_| latency.add(ns));
        Some(Box::new(latency))
    };
    let mut run = run_with_priorities();
    let interval = &mut run.intervals[0];
    interval.cells[0].1.submit = of(99_000, 40);
    interval.cells[0].1.completion = of(1_000, 40);
    interval.priorities[0].completion = of(1_200, 30);
    interval.priorities[1].completion = of(400, 10);
    let told = text(&run, &[job(0)], &[], Format::Json);
    let document: serde_json::Value = serde_json::from_str(&told).unwrap();
    let (read, write) = (&document["jobs"][0]["read"], &document["jobs"][0]["write"]);
    let min = |latency: &serde_json::Value| latency["min"].as_u64().unwrap();
    let all = ["slat_ns", "clat_ns", "lat_ns"];
    assert_eq!(all.map(|name| min(&read[name])), [99_000, 1_000, 100_000]);
    assert_eq!(all.map(|name| min(&write[name])), [0, 3_000_000, 3_000_000]);
    assert_eq!([0, 1].map(|at: usize| min(&read["prios"][at]["clat_ns"])), [1_200, 400]);
    assert!(logs::averages(&run, &job(0), LogSource::Submission, 500).is_empty(), "of single I/Os only");
}
