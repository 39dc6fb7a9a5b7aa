//! The options that came after fio 3.33, until 3.42: each works or is refused by name with its reason.

use fathom_fio::options::{State, find};
use fathom_fio::{Parts, Surroundings, jobfile, understood};

/// What is wrong with a job of one option, if anything is.
fn wrong(option: &str) -> Option<String> {
    let around = Surroundings {
        variable: &|_| None,
        include: &|_| Err("none".to_owned()),
        page_size: 4096,
        memory_mebibytes: 1024,
        cpus: 2,
    };
    let text = format!("[a]\nsize=1m\nrw=randread\n{option}\n");
    let read = jobfile::parse("t.fio", &text, &around).and_then(|sections| {
        let parts = Parts { files: vec![sections], ..Parts::default() };
        understood(parts, &[], &|_, _| Err("none".to_owned()))
    });
    read.err().map(|troubles| troubles[0].to_string())
}

#[test]
fn some_work() {
    for option in [
        "log_window_value=both",
        "log_max_value=1",
        "log_issue_time=1",
        "verify_write_sequence=0",
        "verify_header_seed=0",
        "job_start_clock_id=1",
    ] {
        let name = option.split('=').next().unwrap();
        assert_eq!(find(name).map(|id| id.option().state), Some(State::Works), "{option}");
        assert_eq!(wrong(option), None, "{option}");
    }
}

#[test]
fn the_others_are_refused_by_name_with_the_reason() {
    for (option, reason) in [
        ("sprandom=1", "garbage collection"),
        ("random_sequence_stride=2", "sequence"),
        ("thinkcycles=9", "thinktime_spin"),
        ("ramp_size=1m", "ramp_time"),
        ("end_syncfs=1", "end_fsync"),
        ("steadystate_check_interval=5", "each second"),
        ("verify_pattern_interval=512", "begins with its block"),
        ("verify_policy=x", "state"),
        ("priohint=1", "kernel"),
        ("fdp=1", "passthrough"),
        ("data_placement=fdp", "passthrough"),
        ("num_range=4", "one range"),
    ] {
        let told = wrong(option).unwrap_or_default();
        let name = option.split('=').next().unwrap();
        assert!(told.contains(name) && told.contains(reason), "{option}: {told}");
    }
}

#[test]
fn what_asks_for_nothing_is_accepted() {
    for option in ["sprandom=0", "num_range=1", "rwmixcycle=200", "spr_op=0.2", "ramp_size=0"] {
        assert_eq!(wrong(option), None, "{option}");
    }
}

#[test]
fn values_that_are_not_honoured_are_refused_by_name() {
    for (option, name) in [
        ("verify=pattern_hdr", "pattern_hdr"),
        ("random_distribution=sequence:4k", "sequence"),
        ("steadystate=lat:10%", "lat"),
        ("steadystate=lat_slope:10%", "lat_slope"),
    ] {
        let told = wrong(option).unwrap_or_default();
        assert!(told.contains(&format!("{name} is known and not supported here")), "{option}: {told}");
    }
}
