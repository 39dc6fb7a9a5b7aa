//! What `fathom dt` says while it runs: keep-alive messages, its own messages at the end of passes, the history.

use crate::place::{Lab, Place, Said, Started, say, wait_until};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

fn dt(place: &Place, words: &[&str]) -> Said {
    let mut command = place.fathom(&["dt"]);
    command.args(words).env("LC_ALL", "C").env_remove("FATHOM_NOTES");
    say(command)
}

#[test]
fn keep_alive_messages_come_at_their_time_or_at_the_end_of_each_half() {
    let place = Place::new();
    let message = "keepalive=%d %i %c of %C, %l blocks, pass %p/%P";
    let said = dt(&place, &["of=f", "limit=64k", "bs=4k", "stats=none", message]).ends(0);
    assert_eq!(
        said.out,
        "dt (j:1 t:1): f write 16 of 16, 128 blocks, pass 0/1\ndt (j:1 t:1): f read 16 of 32, 128 blocks, pass 1/1\n"
    );
    // 24 records at 10 a second: 2.4 s, so two messages in the first half.
    let words = ["of=f", "limit=96k", "bs=4k", "iops=10", "disable=verify", "stats=none", "keepalivet=1"];
    let said = dt(&place, &words).ends(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", said.out);
    for (line, second) in lines.iter().zip(["01.", "02."]) {
        assert!(line.starts_with("dt (j:1 t:1): f Stats: mode write, blocks "), "{line}");
        assert!(line.contains(&format!("pass 0/1, elapsed 00m{second}")), "{line}");
    }
    let words = [
        "of=f",
        "limit=64k",
        "bs=4k",
        "disable=pstats",
        "stats=full",
        "pkeepalive=%r read, %w written",
        "--layout",
        "2008",
    ];
    let said = dt(&place, &words).ends(0);
    assert!(
        said.out.starts_with("End of Write 0 read, 16 written\nEnd of Read 16 read, 0 written\n"),
        "{}",
        said.out
    );
    let said = dt(&place, &["of=f", "limit=64k", "bs=4k", "stats=brief", "tkeepalive=%d %K %E %C"]).ends(0);
    assert!(
        said.out.starts_with("dt (j:1 t:1): f 128.000 1 32\ndt (j:1 t:1): Command Line:\n"),
        "{}",
        said.out
    );
}

#[test]
fn the_history_is_told_upon_an_error_and_at_the_end_where_that_is_asked_for() {
    let place = Place::new();
    let words = ["of=f", "limit=64k", "bs=8k", "pattern=iot", "dispose=keep", "stats=none", "flags=direct"];
    assert_eq!(dt(&place, &words).ends(0).out, "");
    let words =
        ["if=f", "limit=64k", "bs=8k", "pattern=iot", "stats=none", "history=3", "enable=hdump", "hdsize=8"];
    let said = dt(&place, &words).ends(0);
    let expected = "dt (j:1 t:1): 
dt (j:1 t:1): Dumping History Data (3 entries):
dt (j:1 t:1): 
dt (j:1 t:1): Record #8 - Read 8192 bytes (16 blocks) Relative LBA's 112 - 127 (offset 57344)
dt (j:1 t:1):          0 | 70 00 00 00 71 01 01 01                         \"p...q...\"
dt (j:1 t:1): Record #7 - Read 8192 bytes (16 blocks) Relative LBA's 96 - 111 (offset 49152)
dt (j:1 t:1):          0 | 60 00 00 00 61 01 01 01                         \"`...a...\"
dt (j:1 t:1): Record #6 - Read 8192 bytes (16 blocks) Relative LBA's 80 - 95 (offset 40960)
dt (j:1 t:1):          0 | 50 00 00 00 51 01 01 01                         \"P...Q...\"
";
    assert_eq!(said.out, expected);
    let file = std::fs::OpenOptions::new().write(true).open(place.path().join("f")).expect("it is there");
    file.write_all_at(&[0xff], 30_000).expect("it can be written");
    let words =
        ["if=f", "limit=64k", "bs=8k", "pattern=iot", "retryDC_delay=0", "history=2", "enable=htiming"];
    let said = dt(&place, &words).ends(255);
    let told: Vec<&str> = said.out.lines().filter(|line| line.contains("Record #")).collect();
    assert_eq!(told.len(), 2, "{}", said.out);
    // The bad record is among the last two: reading goes on while it is compared.
    assert!(
        told.iter().any(|line| line
            .contains(") Record #4 - Read 8192 bytes (16 blocks) Relative LBA's 48 - 63 (offset 24576)")),
        "{told:?}"
    );
    assert!(said.out.contains("Dumping History Data (2 entries):"), "{}", said.out);
}

#[test]
fn workloads_are_shown_and_stand_for_their_options() {
    let place = Place::new();
    let said = dt(&place, &["workloads", "oltp"]).ends(0);
    assert_eq!(
        said.out,
        "Valid Workloads:\n\n    oltp_db: Online Transaction Processing (OLTP) Workload\n        bs=8k readp=70 randp=100 disable=verify flags=direct\n\n"
    );
    let said = dt(&place, &["of=f", "limit=1m", "workload=dt_acid"]).ends(255);
    assert!(
        said.err.contains("ERROR: Option 'workload=dt_acid' is dt's, and fathom dt does not do it: "),
        "{}",
        said.err
    );
}

/// A file system on which nothing is written as long as this lives.
struct Frozen(String);

impl Frozen {
    fn new(mount: &str) -> Option<Self> {
        let done = Command::new("fsfreeze").args(["--freeze", mount]).status();
        done.is_ok_and(|status| status.success()).then(|| Frozen(mount.to_owned()))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").args(["--unfreeze", &self.0]).status();
    }
}

#[test]
fn a_test_that_does_not_move_is_told_and_runs_its_trigger_once() {
    let Some(lab) = Lab::open("dt-frozen") else { return };
    let place = Place::new();
    let folder = place.path().display().to_string();
    let made = lab.make(&["loop", "create", "--size", "32M", "--mount", "--fs", "ext4", "--dir", &folder]);
    let mount = made("mount");
    let file = format!("{mount}/f");
    let name = format!("of={file}");
    let mut command = place.fathom(&["dt", &name, "limit=1200k", "bs=4k", "iops=150", "disable=verify"]);
    command.args(["stats=none", "flags=direct", "noprogt=1", "noprogtt=2", "trigger=cmd:echo triggered"]);
    command.env("FATHOM_WRITE_CONSENT", "trigger").env_remove("FATHOM_NOTES");
    let said = place.path().join("said");
    let started = Started::into_file(command, &said);
    let length = || std::fs::metadata(&file).map_or(0, |about| about.len());
    wait_until("the file is laid out", Duration::from_secs(20), || length() == 1200 << 10);
    let Some(frozen) = Frozen::new(&mount) else {
        return fathom_tidy::skip("a frozen file system", "fsfreeze is not there");
    };
    let text = || std::fs::read_to_string(&said).unwrap_or_default();
    wait_until("the third second", Duration::from_secs(30), || text().contains(" for 3 seconds "));
    drop(frozen);
    started.ended().ends(0);
    let text = text();
    for seconds in 1..=3 {
        let line =
            format!("dt (j:1 t:1): WARNING: No progress made on {file} for {seconds} seconds (write, ");
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert!(text.contains(" records done, 1 I/Os outstanding)\n"), "{text}");
    let ran = text.lines().filter(|line| *line == format!("triggered {file} noprog 512 0 0")).count();
    assert_eq!(ran, 1, "{text}");
}
