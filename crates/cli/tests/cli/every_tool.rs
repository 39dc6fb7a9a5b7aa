//! What every run of every tool leaves in the store: counters of the disks, figures with intervals, checks, a verdict; and
//! its row when it was killed. One table, so that a new tool cannot leave one of them out.

use crate::place::{Place, Started, alone, wait_until};
use fathom_record::{Ending, Purpose, ResultRecord};
use fathom_tidy::{is_root, skip};
use std::time::Duration;

/// A tool: what is done first, a run that ends by itself, and one that is still under way when it is killed.
struct Row {
    tool: &'static str,
    before: &'static [&'static str],
    run: &'static str,
    endless: &'static str,
}

/// `data` is a file of 64 MiB that is there; `D` stands for the test's directory.
const TOOLS: &[Row] = &[
    Row {
        tool: "calibrate",
        before: &[],
        run: "calibrate D --time 25s --size 64m --while-busy --read-only --precision fast",
        endless: "calibrate D --time 10m --size 64m --while-busy",
    },
    Row {
        tool: "run",
        before: &[],
        run: "run --read random --depth 4 --time 2s data",
        endless: "run --read random --time 10m data",
    },
    Row {
        tool: "orion",
        before: &[],
        run: "orion -run advanced -testname t -matrix point -num_small 4 -num_large 0 -duration 2",
        endless: "orion -run advanced -testname t -matrix point -num_small 1 -num_large 0 -duration 600",
    },
    Row {
        tool: "fio",
        before: &[],
        run: "fio --name=a --filename=data --rw=randread --direct=1 --time_based --runtime=2 --size=64m",
        endless: "fio --name=a --filename=data --rw=randread --direct=1 --time_based --runtime=600 --size=64m",
    },
    Row {
        tool: "sysbench",
        before: &["sysbench fileio --file-num=1 --file-total-size=16M prepare"],
        run: "sysbench fileio --file-num=1 --file-total-size=16M --file-test-mode=rndrd --file-extra-flags=direct --time=2 run",
        endless: "sysbench fileio --file-num=1 --file-total-size=16M --file-test-mode=rndrd --time=600 run",
    },
    Row {
        tool: "dd",
        before: &[],
        run: "dd if=data of=out bs=4k iflag=direct oflag=direct status=none",
        endless: "dd if=/dev/zero of=/dev/null bs=4k status=none",
    },
    Row {
        tool: "dt",
        before: &[],
        run: "dt of=f limit=64m bs=16k flags=direct disable=pstats",
        endless: "dt of=f limit=1m bs=4k passes=10000000 flags=direct disable=pstats",
    },
    Row {
        tool: "bonnie++",
        before: &[],
        run: "bonnie++ -u root -d D -s 64M -r 16M -n 0 -D -f -q",
        endless: "bonnie++ -u root -d D -s 64M -r 16M -n 1024 -D -f -q -x 1000",
    },
    Row {
        tool: "iozone",
        before: &[],
        run: "iozone -i 0 -i 1 -i 2 -r 16k -s 64m -I -f f --budget 0",
        endless: "iozone -i 0 -i 1 -i 2 -r 4k -s 1g -I -f f --budget 600",
    },
    Row {
        tool: "ioping",
        before: &[],
        run: "ioping -q -D -i 1ms -w 2 data",
        endless: "ioping -q -i 1ms data",
    },
    #[cfg(feature = "databases")]
    Row {
        tool: "slob",
        before: &["slob setup 1 --scale 16M"],
        run: "slob run --run-time 3s --warm-up 500ms --work-unit 4",
        endless: "slob run --run-time 600s --work-unit 4",
    },
];

fn words<'a>(line: &'a str, place: &'a Place) -> Vec<&'a str> {
    let directory = place.path().to_str().expect("a plain path");
    line.split_whitespace().map(|word| if word == "D" { directory } else { word }).collect()
}

fn prepared(row: &Row) -> Place {
    let place = Place::new();
    place.file("data", 64 << 20);
    std::fs::write(place.path().join("t.lun"), "data\n").unwrap();
    for line in row.before {
        place.say(&words(line, &place)).ends(0);
    }
    place
}

#[test]
fn every_run_of_every_tool_has_counters_a_summary_checks_and_a_verdict() {
    let _alone = alone();
    let mut wrong = Vec::new();
    eprintln!(
        "{:<12} {:>10} {:>10} {:>10} {:>8}  verdict",
        "tool", "counters", "figures", "intervals", "checks"
    );
    for row in TOOLS.iter().filter(|row| can_run(row)) {
        let place = prepared(row);
        let said = place.say(&words(row.run, &place));
        if !matches!(said.status, Some(0 | 3)) {
            wrong.push(format!("{}: status {:?}\n{}\n{}", row.tool, said.status, said.out, said.err));
            continue;
        }
        let record: ResultRecord =
            serde_json::from_str(&place.say(&["show", "last", "--json"]).ends(0).out).unwrap();
        let measured = || record.runs.iter().filter(|run| !matches!(run.purpose, Purpose::Layout));
        let disks = |run: &&fathom_record::Run| {
            let text = serde_json::to_string(&run.samples).unwrap();
            text.contains("sectors_read") || text.contains("reads")
        };
        let counters = measured().filter(disks).count();
        let intervals = record.summary.values().filter(|figure| figure.half_width.is_some()).count();
        eprintln!(
            "{:<12} {:>10} {:>10} {:>10} {:>8}  {}",
            row.tool,
            format!("{counters}/{}", measured().count()),
            record.summary.len(),
            intervals,
            record.verdict.checks.len(),
            record.verdict.state
        );
        let holds = [
            (record.tool == row.tool, "its own record"),
            (record.ending == Ending::Complete, "an end"),
            (measured().count() > 0 && counters == measured().count(), "counters of the disks in each run"),
            (!record.summary.is_empty(), "figures"),
            (intervals > 0, "a figure with its interval"),
            (!record.verdict.checks.is_empty(), "checks and a verdict"),
        ];
        let missing = holds.iter().filter(|(holds, _)| !holds);
        wrong.extend(missing.map(|(_, what)| format!("{} has not {what}", row.tool)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_killed_run_of_any_tool_leaves_its_row() {
    let _alone = alone();
    for row in TOOLS.iter().filter(|row| can_run(row)) {
        let place = prepared(row);
        let child = Started::new(place.fathom(&words(row.endless, &place)));
        wait_until(row.tool, Duration::from_secs(60), || state(&place, row.tool).is_some());
        assert_eq!(state(&place, row.tool).as_deref(), Some("in progress"), "{}", row.tool);
        child.signal("KILL");
        let left = state(&place, row.tool);
        eprintln!("{:<12} after kill -9: {}", row.tool, left.as_deref().unwrap_or("nothing"));
        assert_eq!(left.as_deref(), Some("interrupted"), "{}", row.tool);
    }
}

/// The state of the newest run of a tool, if there is one.
fn state(place: &Place, tool: &str) -> Option<String> {
    let listed = place.say(&["history", "--json"]);
    let lines = listed.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut own = lines.filter(|line| line["tool"] == tool);
    own.next().and_then(|line| line["state"].as_str().map(str::to_owned))
}

fn can_run(row: &Row) -> bool {
    if row.tool == "bonnie++" && !is_root() {
        skip("bonnie++ as another user", "only root may be another");
        return false;
    }
    true
}
