//! fio's logs that are made of stretches of time: histograms, largest latencies, and the columns of all of them.

use crate::fio::{fio, peer};
use crate::place::{Place, alone};

fn text(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Rows as figures.
fn rows(log: &str) -> Vec<Vec<u64>> {
    let figure = |one: &str| one.trim().parse().unwrap_or_else(|_| panic!("{one:?} is no figure"));
    log.lines().map(|row| row.split(',').map(figure).collect()).collect()
}

#[test]
fn a_histogram_log_has_fios_columns_and_every_io() {
    let _quiet = alone();
    for (coarseness, words) in [
        (0, "--rw=randread --bs=8k --rate_iops=1000"),
        (3, "--rw=randrw --ioengine=libaio --iodepth=4 --rate_iops=1000"),
        (6, "--rw=randread --rate_iops=1000"),
    ] {
        let (ours, theirs) = (Place::new(), Place::new());
        let words = format!(
            "--name=a --size=1m --runtime=1 --time_based --write_hist_log=h --log_hist_msec=200 \
             --log_hist_coarseness={coarseness} --output-format=json {words}"
        );
        let said = fio(&ours, &words).ends(0);
        let own = rows(&text(&ours, "h_clat_hist.1.log"));
        for (direction, verb) in [(0, "read"), (1, "write")] {
            let counted: u64 = own.iter().filter(|row| row[1] == direction).flat_map(|row| &row[3..]).sum();
            assert_eq!(said.json()["jobs"][0][verb]["total_ios"], counted, "{words}");
        }
        assert!(own.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "in the order of time");
        assert!(own.len() >= 5, "a row for each 200 ms of a second: {}", own.len());
        if peer(&theirs, &words, 0).is_none() {
            return;
        }
        let other = rows(&text(&theirs, "h_clat_hist.1.log"));
        assert!(other.iter().all(|row| row.len() == own[0].len() && row[2] == own[0][2]), "{words}");
        assert!(own.iter().all(|row| row.len() == own[0].len()), "{words}");
    }
}

#[test]
fn a_histogram_log_without_a_length_is_an_empty_file() {
    let (place, _quiet) = (Place::new(), alone());
    fio(&place, "--name=a --size=64k --write_hist_log").ends(0);
    assert_eq!(text(&place, "a_clat_hist.1.log"), "");
}

#[test]
fn the_largest_latency_of_each_stretch_is_logged_where_that_is_asked_for() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --size=1m --rw=randread --runtime=1 --time_based --rate_iops=2000 --write_lat_log=x \
                 --write_bw_log=x --log_avg_msec=250 --log_max_value=1 --output-format=json";
    let said = fio(&place, words).ends(0);
    let largest = rows(&text(&place, "x_lat.1.log")).iter().map(|row| row[1]).max();
    assert_eq!(said.json()["jobs"][0]["read"]["lat_ns"]["max"].as_u64(), largest);
    assert!((4..=5).contains(&rows(&text(&place, "x_clat.1.log")).len()));
    assert!(rows(&text(&place, "x_bw.1.log")).len() >= 4, "bandwidth stays what it was");
}

/// libaio does buffered I/O within the call that submits: with a full queue each I/O waits for the calls of all others.
#[test]
fn completions_of_buffered_libaio_wait_for_the_submissions_behind_them_as_in_fio() {
    let _quiet = alone();
    let words =
        "--name=a --size=4m --rw=randread --ioengine=libaio --iodepth=16 --invalidate=0 --output-format=json";
    let told = |said: &crate::place::Said| {
        let read = said.json()["jobs"][0]["read"].clone();
        let mean = |name: &str| read[name]["mean"].as_f64().expect("a mean");
        assert_eq!(read["clat_ns"]["N"], 1024);
        (mean("slat_ns"), mean("clat_ns"), mean("lat_ns"))
    };
    let (ours, theirs) = (Place::new(), Place::new());
    ours.file("a.0.0", 4 << 20);
    theirs.file("a.0.0", 4 << 20);
    let both = [Some(fio(&ours, words).ends(0)), peer(&theirs, words, 0)];
    for said in both.iter().flatten() {
        let (slat, clat, lat) = told(said);
        assert!(clat > 10.0 * slat, "{slat} {clat}");
        assert!(((slat + clat) / lat - 1.0).abs() < 0.1, "{slat} {clat} {lat}");
    }
    let (slat, clat, lat) = told(both[0].as_ref().expect("ours ran"));
    assert!((slat + clat - lat).abs() < 1.0, "of each I/O: {slat} {clat} {lat}");
}

#[test]
fn submissions_and_completions_have_a_line_for_each_stretch_of_a_log() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --size=1m --rw=randread --ioengine=libaio --iodepth=4 --runtime=1 --time_based \
                 --rate_iops=2000 --write_lat_log=x --log_avg_msec=100";
    for both in ["", " --log_window_value=both"] {
        fio(&place, &format!("{words}{both}")).ends(0);
        let all = ["slat", "clat", "lat"].map(|name| rows(&text(&place, &format!("x_{name}.1.log"))));
        assert!(all.iter().all(|rows| (9..=11).contains(&rows.len())), "{all:?}");
        assert_ne!(all[1], all[2], "completions are less than the whole");
        let columns = if both.is_empty() { 5 } else { 6 };
        assert!(
            all.iter().flatten().all(|row| row.len() == columns && row[1] <= row[columns - 4].max(row[1]))
        );
    }
    fio(&place, "--name=a --size=64k --write_lat_log=x --log_issue_time=1").ends(0);
    let each = rows(&text(&place, "x_lat.1.log"));
    assert!(each.len() == 16 && each.windows(2).all(|pair| pair[0][5] < pair[1][5]), "{each:?}");
}

#[test]
fn times_count_from_the_beginning_of_the_clock_that_is_named() {
    let (place, _quiet) = (Place::new(), alone());
    let first = |words: &str| {
        let common = "--name=a --size=64k --write_iops_log=x --log_compression=64k --log_compression_cpus=0";
        fio(&place, &format!("{common} {words}")).ends(0);
        rows(&text(&place, "x_iops.1.log"))[0][0]
    };
    let up_ms = || {
        let text = std::fs::read_to_string("/proc/uptime").expect("the kernel tells how long it runs");
        (text.split(' ').next().and_then(|one| one.parse::<f64>().ok()).expect("seconds") * 1000.0) as u64
    };
    let before_ms = up_ms();
    let seen_ms = first("--log_alternate_epoch=1 --log_alternate_epoch_clock_id=7");
    assert!((before_ms..=up_ms()).contains(&(seen_ms + 10)) || seen_ms.abs_diff(before_ms) < 5000);
    let unix = first("--log_alternate_epoch=1");
    assert!(unix.abs_diff(first("--log_unix_epoch=1")) < 60_000 && unix > 1_600_000_000_000);
    assert!(first("") < 10_000);
    fio(&place, "--name=a --size=64k --log_alternate_epoch=1 --log_alternate_epoch_clock_id=2")
        .refuses(1, &["no clock that tells the time has the number 2"]);
}

#[test]
fn each_line_has_the_priority_of_its_own_io() {
    let _quiet = alone();
    let common =
        "--name=a --ioengine=libaio --direct=1 --rw=randread --size=256k --write_lat_log=x --log_prio=1";
    for asked in ["--cmdprio_percentage=50 --cmdprio=5 --prio=3", "--cmdprio_bssplit=4k/40/3/7:4k/40/1/1"] {
        let told = |place: &Place| -> std::collections::BTreeSet<String> {
            let text = text(place, "x_clat.1.log");
            text.lines().filter_map(|line| line.rsplit(", ").next()).map(str::to_owned).collect()
        };
        let (ours, theirs) = (Place::new(), Place::new());
        let words = format!("{common} {asked}");
        fio(&ours, &words).ends(0);
        assert!(told(&ours).len() >= 2, "{:?}", told(&ours));
        if peer(&theirs, &words, 0).is_some() {
            assert_eq!(told(&ours), told(&theirs), "{asked}");
        }
    }
}

#[test]
fn priorities_stand_in_logs_as_fio_writes_them() {
    let _quiet = alone();
    for words in
        ["--prioclass=2 --prio=4 --log_prio=1", "--prio=7", "--prioclass=3 --log_prio=1", "--log_prio=1"]
    {
        for average in ["", " --log_avg_msec=10"] {
            let (ours, theirs) = (Place::new(), Place::new());
            let words = format!("--name=a --size=64k --write_iops_log=x {words}{average}");
            let last = |place: &Place| -> Option<String> {
                Some(text(place, "x_iops.1.log").lines().next()?.rsplit(", ").next()?.to_owned())
            };
            fio(&ours, &words).ends(0);
            if peer(&theirs, &words, 0).is_none() {
                return;
            }
            // Of a job that is shorter than a stretch fio may write nothing.
            assert!(
                last(&theirs).is_none_or(|theirs| Some(theirs) == last(&ours)),
                "{words}: {:?}",
                last(&theirs)
            );
        }
    }
}
