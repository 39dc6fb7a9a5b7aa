//! What is printed, where it goes, and readers that leave early.

use crate::place::{Place, say, say_to_nobody};

const SIMULATED: &str = "sim:ways=4,service=100us";

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED]).ends(0);
    for words in [
        &["history"][..],
        &["history", "--json"],
        &["status"],
        &["show"],
        &["show", "--json"],
        &["show", "--csv", "series"],
        &["sql", "select 1"],
        &["completions", "bash"],
        &["man"],
        &["calibrate", "--dry-run", "."],
        &["calibrate", SIMULATED],
        &["calibrate", SIMULATED, "--json"],
        &["run", "--read", "random", "--dry-run", SIMULATED],
        &["run", "--read", "random", "--time", "1s", SIMULATED],
        &["--help"],
    ] {
        let said = say_to_nobody(place.fathom(words)).ends(0);
        assert!(!said.err.contains("error"), "{words:?}: {}", said.err);
    }
}

/// Command lines that speak on stdout, and whether a run is kept of them.
const SPEAKERS: [(&str, bool); 29] = [
    ("fio --name=a --ioengine=null --size=1m", true),
    ("fio --name=a --ioengine=null --size=1m --output-format=json", true),
    ("fio --name=a --ioengine=null --size=1m --minimal", true),
    ("fio --help", false),
    ("fio --version", false),
    ("fio --cmdhelp=rw", false),
    ("sysbench fileio --file-num=1 --file-total-size=1m --file-test-mode=rndrd --events=10 run", true),
    ("sysbench --version", false),
    ("sysbench fileio help", false),
    ("dd --help", false),
    ("dd --version", false),
    ("dt of=x limit=64k bs=4k", true),
    ("dt help", false),
    ("iozone -s 64k -r 4k -i 0 -f f", true),
    ("iozone -h", false),
    ("bonnie++ -u root -s 0 -n 1:100:10:1 -d . -q", true),
    ("ioping -c 1 -i 0.01 .", true),
    ("ioping -h", false),
    ("orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -testname o", true),
    ("orion -help", false),
    ("calibrate sim:ways=4,service=100us", true),
    ("run --read random --time 1s sim:ways=4,service=100us", true),
    ("run --read random --dry-run sim:ways=4", false),
    ("history", false),
    ("show", false),
    ("sql select", false),
    ("completions bash", false),
    ("man", false),
    ("--help", false),
];

#[test]
fn stdout_that_fails_is_a_failure_of_every_tool_and_says_where_the_run_is_kept() {
    let place = Place::new();
    for name in ["o.lun", "p.lun"] {
        std::fs::write(place.path().join(name), "sim:ways=4,service=100us\n").unwrap();
    }
    place.say(&["sysbench", "fileio", "--file-num=1", "--file-total-size=1m", "prepare"]).ends(0);
    place.say(&["calibrate", SIMULATED]).ends(0);
    for (line, keeps) in SPEAKERS {
        let words: Vec<&str> = match line {
            "sql select" => vec!["sql", "select 1"],
            line => line.split(' ').collect(),
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = place.fathom(&words);
        let child = command
            .stdin(std::process::Stdio::null())
            .stdout(full)
            .stderr(std::process::Stdio::piped())
            .spawn();
        let said = crate::place::Said::from(child.unwrap().wait_with_output().unwrap());
        assert_eq!(said.status, Some(1), "{line}: {}", said.err);
        assert!(said.err.contains("write error: No space left on device"), "{line}: {}", said.err);
        assert_eq!(said.err.contains("hint: the run is kept: run "), keeps, "{line}: {}", said.err);
        // ORION names its files by the minute.
        let words: Vec<&str> = words.into_iter().map(|word| if word == "o" { "p" } else { word }).collect();
        let said = say_to_nobody(place.fathom(&words));
        let is_tool =
            ["fio", "sysbench", "dd", "dt", "iozone", "bonnie++", "ioping", "orion"].contains(&words[0]);
        // As fio, sysbench, dd and bonnie++ end: by SIGPIPE, which has no status.
        assert_eq!(said.status, (!is_tool).then_some(0), "{line}: {}", said.err);
        assert!(
            !said.err.to_lowercase().contains("error") && !said.err.contains("Broken"),
            "{line}: {}",
            said.err
        );
    }
}

#[test]
fn a_store_is_for_its_users_eyes() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    place.say(&["run", "--read", "random", "--time", "100ms", SIMULATED]).measures();
    assert_eq!(std::fs::metadata(place.store()).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_label_cannot_begin_a_line_of_the_history_or_steer_a_terminal() {
    let place = Place::new();
    let label = "\u{1b}]0;pwned\u{7}\n1  forged";
    place.say(&["run", "--read", "random", "--time", "100ms", "--label", label, SIMULATED]).measures();
    let said = place.say(&["history"]).ends(0);
    assert!(said.out.contains(r"\u{1b}]0;pwned\u{7}\n1  forged"), "{}", said.out);
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
}

#[test]
fn an_error_that_nobody_reads_is_told_by_the_exit_status() {
    let place = Place::new();
    for (words, status) in [
        (&["dd", "if=missing", "of=out"][..], 1),
        (&["dt", "if=missing", "bs=4k"], 255),
        (&["iozone", "-i", "8"], 1),
        (&["bonnie++", "-Q"], 1),
        (&["sysbench", "fileio"], 1),
        (&["fio", "missing"], 1),
        (&["calibrate", "missing"], 1),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.fathom(words);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(writer);
        assert_eq!(command.status().expect("it starts").code(), Some(status), "{words:?}");
    }
}

#[test]
fn the_record_is_json_with_the_paths_that_scripts_read() {
    let place = Place::new();
    let said = place.say(&["calibrate", SIMULATED, "--json", "--label", "mine"]).ends(0);
    let record = said.json();
    assert!(record.pointer("/summary/max_iops/value").is_some_and(|v| v.is_f64()));
    assert!(record.pointer("/summary/max_mbps/value").is_some_and(|v| v.is_f64()));
    assert!(record.pointer("/verdict/state").is_some_and(|v| v.is_string()));
    assert_eq!(record["label"], "mine");
    assert_eq!(said.err, "", "nothing but the record is said");
}

#[test]
fn the_three_lines_of_calibrate_io_begin_lines_of_their_own() {
    let out = Place::new().say(&["calibrate", SIMULATED, "--format", "oracle"]).ends(0).out;
    for head in ["max_iops = ", "latency  = ", "max_mbps = "] {
        assert_eq!(out.lines().filter(|line| line.starts_with(head)).count(), 1, "{head}: {out}");
    }
}

#[test]
fn what_goes_to_no_terminal_has_no_escapes_and_neither_has_what_goes_to_one_with_no_color() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED]).ends(0);
    for words in
        [&["calibrate", SIMULATED][..], &["show"], &["history"], &["--help"], &["calibrate", "--nope"]]
    {
        let said = place.say(words);
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{words:?}");
    }
    for (no_color, escapes) in [(Some("1"), false), (None, true)] {
        let mut command = std::process::Command::new("script");
        let line = format!("{} history", env!("CARGO_BIN_EXE_fathom"));
        command.args(["-q", "-e", "-c", &line, "/dev/null"]);
        place.at_home(&mut command);
        command.env("TERM", "xterm").envs(no_color.map(|value| ("NO_COLOR", value)));
        let said = say(command).ends(0);
        assert!(said.out.contains("40,000"), "{}", said.out);
        assert_eq!(said.out.contains('\u{1b}'), escapes, "NO_COLOR={no_color:?}: {:?}", said.out);
    }
}

#[test]
fn the_page_is_one_file_that_needs_no_other() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED, "--html", "page.html"]).ends(0);
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.to_ascii_lowercase().starts_with("<!doctype html>") && page.contains("<svg"));
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http://", "https://", "<link", "src=", "@import", "url("] {
        assert!(!without_names.contains(foreign), "the page asks for something else: {foreign}");
    }
    place.say(&["show", "--html", "again.html"]).ends(0);
    assert!(place.path().join("again.html").exists());
    place.say(&["calibrate", SIMULATED, "--html", "/no/such/page.html"]).refuses(1, &["/no/such/page.html"]);
    assert_eq!(place.say(&["history", "--json"]).ends(0).out.lines().count(), 2, "the run itself is kept");
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Place::new();
    place.file("data", 1 << 20);
    let said = place.say(&["calibrate", "--dry-run", "."]).ends(0);
    assert!(said.out.contains("nothing was done") && said.out.contains("layout"), "{}", said.out);
    let said = place.say(&["run", "--write", "random", "--dry-run", "data"]).ends(0);
    assert!(said.json().get("streams").is_some());
    let names: Vec<_> = std::fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["data"], "neither a scratch file nor a store");
}

#[test]
fn completions_and_the_manual_come_from_the_command_line() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.say(&["completions", shell]).ends(0).out.contains("calibrate"), "{shell}");
    }
    place.say(&["completions", "dos"]).ends(2);
    let page = place.say(&["man"]).ends(0).out;
    assert!(page.starts_with(".ie") || page.contains(".TH fathom"), "{page}");
    assert!(page.contains("calibrate"));
    assert!(place.say(&["--version"]).ends(0).out.starts_with("fathom "));
}
