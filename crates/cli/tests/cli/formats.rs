//! Forms of a result, the lists of runs, and what a dry run promises.

use crate::place::{Place, say_to_nobody};

const SIMULATED: &str = "sim:ways=4,service=100us";

#[test]
fn a_result_has_every_form_on_stdout_and_in_a_file() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED, "--label", "mine"]).ends(0);
    for (format, begins) in [
        ("text", "fathom 0."),
        ("brief", SIMULATED),
        ("kv", "id="),
        ("json", "{\n"),
        ("csv", "id,tool,started,host,device,target,label,figure,value"),
        ("csv-curves", "id,tool,started,host,device,target,label,curve,"),
        ("csv-series", "run,stream,"),
        ("html", "<!DOCTYPE html>"),
        ("markdown", "## calibrate of sim:"),
        ("oracle", "max_iops = 40000\nlatency  = 0.100\nmax_mbps = "),
        ("openmetrics", "# TYPE fathom_operations_per_second gauge\n"),
    ] {
        let shown = place.say(&["show", "--format", format]).ends(0);
        assert!(shown.out.starts_with(begins), "{format}: {}", shown.out);
        let said = place.say(&["show", "--format", format, "-o", "result"]).ends(0);
        assert_eq!((said.out.as_str(), said.err.as_str()), ("", "written: result\n"), "{format}");
        assert_eq!(std::fs::read_to_string(place.path().join("result")).unwrap(), shown.out, "{format}");
    }
    place.say(&["show", "--format", "pdf"]).ends(2);
    place.say(&["history", "--format", "html"]).ends(2);
    place.say(&["show", "--format", "kv", "--json"]).ends(2);
}

/// Regression: `show --html FILE | head` wrote no page and said nothing.
#[test]
fn a_reader_that_leaves_early_takes_no_page_away() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED]).ends(0);
    let said = say_to_nobody(place.fathom(&["show", "--html", "page.html"])).ends(0);
    assert!(said.err.contains("written: page.html"), "{}", said.err);
    assert!(std::fs::read_to_string(place.path().join("page.html")).unwrap().contains("<svg"));
    assert!(!place.say(&["show"]).ends(0).out.contains("saved"), "nothing was saved");
}

/// Regression: `show` of dt, iozone and bonnie++ had no figures, that of ORION no verdict.
#[test]
fn show_tells_figures_and_verdict_of_every_tool() {
    let place = Place::new();
    std::fs::write(place.path().join("o.lun"), "sim:ways=4,service=100us\n").unwrap();
    for line in [
        "dt of=x limit=64k bs=4k",
        "iozone -s 64k -r 4k -i 0 -f f",
        "bonnie++ -u root -s 16 -r 8 -n 0 -f -d . -q",
        "dd if=/dev/zero of=y bs=64k count=64",
        "orion -run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -testname o",
    ] {
        place.say(&line.split(' ').collect::<Vec<_>>()).measures();
        let shown = place.say(&["show", "last"]).ends(0).out;
        assert!(shown.contains("RELIABLE  ") || shown.contains("INCONCLUSIVE  "), "{line}: {shown}");
        assert!(shown.contains(" result "), "{line}: {shown}");
    }
}

#[test]
fn the_history_shows_whole_targets_and_is_chosen_by_them() {
    let place = Place::new();
    place.file("data", 4 << 20);
    place.say(&["run", "--read", "random", "--time", "200ms", "data"]).measures();
    place.say(&["calibrate", SIMULATED]).ends(0);
    let path = std::path::absolute(place.path().join("data")).unwrap();
    let listed = place.say(&["history", "--target", "data", "--json"]).ends(0).json();
    assert_eq!(listed["targets"], serde_json::json!([path.to_str().unwrap()]));
    assert!(listed["device"].is_string() && listed["host"].is_string(), "{listed}");
    let all = place.say(&["history", "--since", "1h", "--state", "complete"]).ends(0).out;
    assert_eq!(all.lines().count(), 3, "{all}");
    for words in [&["--since", "2200-01-01"][..], &["--state", "failed"], &["--host", "nowhere"]] {
        let said = place.say(&[&["history"], words].concat()).ends(0);
        assert!(said.out.is_empty() && said.err.contains("no run is like that"), "{words:?}: {}", said.out);
    }
    place.say(&["history", "--since", "yesterday"]).ends(2);
}

/// Regression: a dry run on data files listed commits and writes, which the run would not have made.
#[test]
fn a_dry_run_plans_what_would_be_done() {
    let place = Place::new();
    place.file("users.dbf", 4 << 20);
    for words in [&["--data-files", "*.dbf"][..], &["users.dbf"], &["--read-only", "users.dbf"]] {
        let said = place.say(&[&["calibrate", "--dry-run", "--sustain", "5m"], words].concat()).ends(0);
        assert!(said.out.contains("Nothing will be written.") && said.out.contains("4 MiB"), "{}", said.out);
        assert!(!said.out.contains("commits") && !said.out.contains("writes"), "{}", said.out);
        assert!(said.out.contains("sustained"), "{}", said.out);
    }
    let consent = ["calibrate", "--dry-run", "--write-consent", "users.dbf", "users.dbf"];
    let said = place.say(&consent).ends(0).out;
    assert!(said.contains("WRITTEN") && said.contains("random writes"), "{said}");
    assert!(place.say(&["calibrate", "--dry-run", "."]).ends(0).out.contains("commits by fdatasync"));
    place.say(&["calibrate", "--dry-run", "--mix", "70/30", "users.dbf"]).refuses(1, &["consent"]);
}

#[test]
fn an_expectation_that_is_missed_ends_with_3_and_stands_under_the_verdict() {
    let place = Place::new();
    let words = ["calibrate", SIMULATED, "--expect", "iops=30000,latency=1ms"];
    let said = place.say(&words).ends(0);
    assert_eq!(said.out.matches("reached: ").count(), 2, "{}", said.out);
    let said = place.say(&["calibrate", SIMULATED, "--expect", "iops=50000"]).ends(3);
    let line = said.out.lines().find(|line| line.starts_with("expected  ")).unwrap_or_default();
    assert!(
        line.contains("NOT REACHED: iops of at least 50,000 /s; measured 40,000 /s, 20 % less"),
        "{}",
        said.out
    );
    assert!(said.out.contains("\nRELIABLE  "), "the figures are: {}", said.out);
    place.say(&["calibrate", SIMULATED, "--expect", "tps=3"]).ends(2);
}

/// Regression: of two reads in a tenth of a second one had a line.
#[test]
fn every_read_of_a_ping_has_a_line() {
    let place = Place::new();
    place.file("data", 4 << 20);
    let said = place.say(&["ping", "-c", "5", "-i", "10ms", "data"]).ends(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 6, "{}", said.out);
    for (at, line) in lines[..5].iter().enumerate() {
        assert!(
            line.starts_with("4 KiB from data (") && line.contains(&format!("): {}  ", at + 1)),
            "{line}"
        );
    }
    assert!(lines[5].starts_with("5 reads   min ") && lines[5].contains("   median "), "{}", lines[5]);
    let record = place.say(&["ping", "-c", "3", "-i", "1ms", "--format", "json", "data"]).ends(0).json();
    assert_eq!(
        record.pointer("/summary/read_latency/latency/count"),
        Some(&3.into()),
        "the last one as well"
    );
}

#[test]
fn every_command_of_its_own_has_three_examples_in_its_help() {
    let place = Place::new();
    for command in ["calibrate", "run", "ping", "status", "history", "show", "sql"] {
        let help = place.say(&[command, "--help"]).ends(0).out;
        let examples = help.split_once("Examples:\n").map_or("", |(_, rest)| rest);
        let named = examples.lines().filter(|line| line.contains(&format!("fathom {command}"))).count();
        assert_eq!(named, 3, "{command}: {help}");
    }
    let help = place.say(&["calibrate", "--help"]).ends(0).out;
    let at =
        |heading: &str| help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}: {help}"));
    let order = ["Target", "Load", "Time and precision", "Safety", "Output"].map(at);
    assert!(order.is_sorted(), "{help}");
}
