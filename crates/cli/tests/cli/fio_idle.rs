//! `--idle-prof` and `--profile`: what fio 3.33 prints for them, and the jobs that are built in.

use crate::fio::{counts, fio, peer};
use crate::place::{Place, alone};

/// Lines with every figure made one sign.
fn masked<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let one = |line: &str| {
        let mut masked = String::new();
        for letter in line.chars() {
            let figure = letter.is_ascii_digit() || letter == '.';
            match (figure, masked.ends_with('#')) {
                (true, true) => {}
                (true, false) => masked.push('#'),
                (false, _) => masked.push(letter),
            }
        }
        masked
    };
    lines.map(one).collect()
}

/// What a normal report says of the processors.
fn of_idleness(report: &str) -> Vec<String> {
    masked(report.lines().skip_while(|line| !line.starts_with("CPU idleness")))
}

const JOB: &str = "--name=x --ioengine=null --size=1g --time_based --runtime=300ms --rate_iops=100";

#[test]
fn idleness_is_told_as_the_peer_tells_it() {
    let (place, _quiet) = (Place::new(), alone());
    for asked in ["system", "percpu"] {
        let words = format!("--idle-prof={asked} {JOB}");
        let ours = of_idleness(&fio(&place, &words).ends(0).out);
        assert!(ours.len() >= 3, "{ours:?}");
        if let Some(theirs) = peer(&place, &words, 0) {
            assert_eq!(ours, of_idleness(&theirs.out), "{asked}");
        }
        let words = format!("{words} --output-format=json");
        let ours = fio(&place, &words).ends(0).json()["cpu_idleness"].clone();
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().expect("an object").keys().cloned().collect()
        };
        let share = ours["system"].as_f64().expect("a share");
        assert!((0.0..=100.0).contains(&share) && ours["unit_mean"].as_f64() > Some(0.0), "{ours}");
        if let Some(theirs) = peer(&place, &words, 0) {
            assert_eq!(keys(&ours), keys(&theirs.json()["cpu_idleness"]), "{asked}");
        }
    }
}

#[test]
fn each_report_of_the_status_interval_tells_idleness() {
    let (place, _quiet) = (Place::new(), alone());
    let job = "--name=x --ioengine=null --size=1g --time_based --runtime=1300ms --rate_iops=100";
    let said = fio(&place, &format!("--idle-prof=system --status-interval=400ms {job}")).ends(0).out;
    let shares: Vec<f64> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  system: ")?.strip_suffix('%')?.parse().ok())
        .collect();
    assert_eq!(shares.len(), said.matches("Run status group 0").count(), "{said}");
    assert!(shares.len() >= 2 && shares.iter().all(|share| (0.0..=100.0).contains(share)), "{shares:?}");
}

#[test]
fn calibration_alone_runs_no_job() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--idle-prof=calibrate --name=x --ioengine=null --size=1g";
    let ours = masked(fio(&place, words).ends(0).out.lines());
    if let Some(theirs) = peer(&place, words, 0) {
        assert_eq!(ours, masked(theirs.out.lines()));
    }
    fio(&place, &format!("--idle-prof=always {JOB}")).refuses(1, &["calibrate, system or percpu"]);
}

#[test]
fn tiobench_writes_and_reads_four_files_one_job_after_the_other() {
    let (place, _quiet) = (Place::new(), alone());
    let said = fio(&place, "--profile=tiobench --size=1 --threads=2 --output-format=json").ends(0);
    let counted = |name: &str, reads, writes| (name.to_owned(), reads, writes, 0);
    assert_eq!(
        counts(&said),
        [
            counted("seqwrite", 0, 512),
            counted("randwrite", 0, 512),
            counted("seqread", 512, 0),
            counted("randread", 512, 0)
        ]
    );
    for number in 1..=4 {
        let about = std::fs::metadata(place.path().join(format!(".fio.tio.{number}"))).unwrap();
        assert_eq!(about.len(), 262_144);
    }
    fio(&place, "--profile=act --device-names=x")
        .refuses(1, &["--profile=act is known and not supported here"]);
    fio(&place, "--profile=tiobench --bs=8k").refuses(1, &["the profile's jobs take no bs"]);
    let help = fio(&place, "--profile=tiobench --cmdhelp").ends(0).out;
    assert!(help.starts_with("size                    : "), "{help}");
}
