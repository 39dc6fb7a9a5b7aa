//! `fathom bonnie++` beside Debian's bonnie++: the same table with other figures, the same refusals, a CSV line that its
//! own `bon_csv2html` can read.

use crate::place::{Place, Said, Started, alone, say};
use fathom_tidy::{is_root, skip};
use std::process::Command;

/// The peer, in the same place, if it is there.
fn peer(place: &Place, words: &[&str]) -> Option<Said> {
    let there = Command::new("bonnie++").arg("-Q").output().is_ok();
    if !there {
        skip("comparison with bonnie++", "it is not installed");
        return None;
    }
    let mut command = Command::new("bonnie++");
    command.args(words);
    place.at_home(&mut command);
    Some(say(command))
}

fn user() -> Vec<&'static str> {
    if is_root() { vec!["-u", "root"] } else { Vec::new() }
}

/// Rates, percentages and latencies as what they are: columns stay, figures go.
fn layout(text: &str) -> Vec<String> {
    let masked = |word: &str| {
        let digits = word.trim_end_matches(['k', 'm', 'g', 'u', 's']);
        let figure = digits.parse::<f64>().is_ok() || ["+++++", "+++"].contains(&word);
        if figure { "#".to_owned() } else { word.to_owned() }
    };
    // In a line of figures only the right end of each column stands still.
    text.lines()
        .map(|line| match line.contains(',') {
            true => line.split(',').map(masked).collect::<Vec<_>>().join(","),
            false => line.split_whitespace().map(masked).collect::<Vec<_>>().join(" "),
        })
        .collect()
}

#[test]
fn seven_command_lines_have_bonnies_layout_on_both_streams() {
    let _alone = alone();
    let lines: [&[&str]; 7] = [
        &["-s", "16", "-r", "8", "-n", "1", "-f", "-m", "host", "-z", "7"],
        &["-s", "16:4k:64:2", "-r", "8", "-n", "0", "-f", "-b", "-m", "host", "-z", "7", "-q"],
        &["-s", "0", "-n", "1:100:100", "-m", "host", "-z", "7", "-x", "2"],
        &["-s", "0", "-n", "1:-1", "-m", "host", "-z", "7"],
        &["-s", "0", "-n", "1:-2", "-b", "-m", "host", "-z", "7"],
        &["-s", "16:4k:64:2", "-r", "8", "-n", "1:300", "-f", "-c", "2", "-m", "host", "-z", "7"],
        &["-s", "0", "-n", "1", "-yp", "-m", "host", "-z", "7"],
    ];
    for line in lines {
        let place = Place::new();
        let words = [line, &user()].concat();
        let ours = place.say(&[&["bonnie++"], &words[..]].concat()).ends(0);
        let left: Vec<_> =
            std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("Bonnie")), "{left:?}");
        let Some(theirs) = peer(&place, &words) else { return };
        assert_eq!(layout(&ours.out), layout(&theirs.out), "{words:?}");
        assert_eq!(layout(&ours.err), layout(&theirs.err), "{words:?}");
        let whole = |said: &Said| said.out.lines().chain(said.err.lines()).map(str::len).collect::<Vec<_>>();
        let csv = |said: &Said| said.out.lines().filter(|line| line.contains(',')).count();
        assert_eq!((whole(&ours).len(), csv(&ours)), (whole(&theirs).len(), csv(&theirs)));
    }
}

#[test]
fn refusals_are_bonnies_words_and_statuses() {
    let lines: [&[&str]; 15] = [
        &["-d", "."],
        &["-u", "root", "-Q"],
        &["-u", "root", "-s"],
        &["-u", "root", "extra"],
        &["-u", "root", "-d", "/nonexistent"],
        &["-u", "root", "-s", "4", "-r", "8"],
        &["-u", "root", "-s", "16:100", "-r", "8"],
        &["-u", "root", "-s", "0", "-n", "0"],
        &["-u", "nosuchuser", "-d", "."],
        &["-u", "root", "-Z", "missing", "-s", "0", "-n", "1"],
        &["-u", "root", "-s", "16", "-r", "8", "-n", "1:1:2"],
        &["-u", "root", "-p", "2", "-ys"],
        // Single bytes past the page cache cannot be written.
        &["-u", "root", "-D", "-s", "16", "-r", "8", "-n", "0"],
        &["-u", "root", "-D", "-s", "16:256", "-r", "8", "-n", "0", "-f"],
        &["-u", "nosuchuser", "-Z", "missing"],
    ];
    if !is_root() {
        skip("bonnie++ as another user", "only root may be another");
        return;
    }
    let place = Place::new();
    for line in lines {
        let ours = place.say(&[&["bonnie++"], line].concat()).ends(1);
        let Some(theirs) = peer(&place, line) else { return };
        assert_eq!(theirs.status, Some(1));
        assert_eq!((ours.out, ours.err), (theirs.out, theirs.err), "{line:?}");
    }
}

#[test]
fn where_the_user_may_not_write_it_is_said_in_bonnies_words() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        skip("bonnie++ as another user", "only root may be another");
        return;
    }
    let place = Place::new();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let figures = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let lines: [&[&str]; 3] = [
        &["-s", "16", "-r", "8", "-n", "0", "-f"],
        &["-s", "16", "-r", "8", "-n", "0", "-q"],
        &["-s", "0", "-n", "1"],
    ];
    for line in lines {
        let words = [line, &["-u", "nobody"]].concat();
        let ours = place.say(&[&["bonnie++"], &words[..]].concat()).ends(1);
        let Some(theirs) = peer(&place, &words) else { return };
        // What it says then of the directory that it has not made is left out.
        let said = theirs.err.replace("Bonnie: drastic I/O error (rmdir): No such file or directory\n", "");
        assert_eq!((ours.out, figures(&ours.err)), (theirs.out, figures(&said)), "{words:?}");
        assert_eq!(theirs.status, Some(1));
    }
}

#[test]
fn processes_meet_at_semaphores_before_each_test_also_with_the_real_ones() {
    if !is_root() {
        skip("bonnie++ as another user", "only root may be another");
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let other = Place::new();
    let root = |words: &[&'static str]| [words, &["-u", "root"]].concat();
    let bonnie = |words: &[&'static str]| place.say(&[&["bonnie++"][..], &root(words)].concat());
    bonnie(&["-p", "-1"]);
    let none = bonnie(&["-ys", "-s", "0", "-n", "1"]).ends(1);
    assert!(none.err.ends_with("Can't get semaphore ID: No such file or directory\n"), "{}", none.err);
    assert!(
        bonnie(&["-p", "40000"])
            .ends(1)
            .err
            .ends_with("Can't set semaphore value: Numerical result out of range\n")
    );
    assert_eq!(bonnie(&["-p2"]).ends(0).out, "Creating semaphore for 2 procs.\n");
    let words = root(&["-ys", "-s", "0", "-n", "1", "-m", "host"]);
    let waits = Started::new(place.fathom(&[&["bonnie++"][..], &words].concat()));
    let second = match peer(&other, &["-p", "x", "-s", "0", "-n", "0", "-u", "root"]) {
        // The real one is the second.
        Some(_) => peer(&other, &words).expect("it is there"),
        None => other.say(&[&["bonnie++"][..], &words].concat()),
    };
    assert_eq!((second.status, waits.ended().status), (Some(0), Some(0)));
    assert_eq!(bonnie(&["-p", "-1"]).ends(0).out, "Semaphore removed.\n");
}

#[test]
fn each_copy_works_beside_the_others_and_leaves_nothing() {
    let _alone = alone();
    let place = Place::new();
    let words = ["bonnie++", "-s", "16", "-r", "8", "-n", "1", "-f", "-c", "3", "-m", "host", "-q"];
    let said = place.say(&[&words[..], &user()].concat()).ends(0);
    assert!(said.out.starts_with("1.98,2.00a,host,3,"), "{}", said.out);
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    let runs = kept["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["plan"]["streams"].as_array().unwrap().len() == 3));
    let seeks = runs.iter().find(|run| run["name"] == "seeks").unwrap();
    assert_eq!(seeks["workers"].as_array().unwrap().len(), 15);
    let left = std::fs::read_dir(place.path()).unwrap().flatten();
    assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("Bonnie")));
}

#[test]
fn the_line_is_read_by_bon_csv2html_and_the_run_is_kept() {
    let _alone = alone();
    let place = Place::new();
    let words =
        [&["bonnie++", "-s", "16", "-r", "8", "-n", "1", "-q", "-m", "host", "-f1"][..], &user()].concat();
    let said = place.say(&words).ends(0);
    assert_eq!(said.out.trim_end().split(',').count(), 50, "{}", said.out);
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    let names: Vec<&str> =
        kept["runs"].as_array().unwrap().iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(names.len(), 12);
    assert_eq!((names[0], names[2], names[11]), ("putc", "rewrite", "ran_del"));
    place.say(&["show", "last"]).ends(0);
    if Command::new("bon_csv2html").arg("--help").output().is_err() {
        skip("bon_csv2html", "it is not installed");
        return;
    }
    let page = assert_cmd::Command::new("bon_csv2html").write_stdin(said.out).output().unwrap();
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("host") && page.contains("16M"), "{page}");
}

#[test]
fn a_cache_of_32_mib_makes_a_file_of_64_large_enough() {
    if !is_root() || !std::path::Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists() {
        skip("a limited page cache", "it needs root and the memory controller of cgroups");
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let line = ["bonnie++", "-u", "root", "-s", "64", "-n", "0", "-f", "-q", "--limit-cache", "32m"];
    let said = place.say(&line).ends(0);
    assert!(said.out.contains(",64M,"), "{}", said.out);
    let groups = std::fs::read_dir("/sys/fs/cgroup/memory").unwrap().flatten();
    assert!(
        !groups.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("fathom-bonnie"))
    );
    let refused =
        place.say(&["bonnie++", "-u", "root", "-s", "63", "-n", "0", "--limit-cache", "32m"]).ends(1);
    assert!(refused.err.contains("RAM is 32M"), "{}", refused.err);
}
