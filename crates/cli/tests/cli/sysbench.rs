//! `fathom sysbench`, as a script calls it, and beside the installed sysbench: same words, same streams, same status,
//! same lines but for figures. Each test in a directory of its own, on small files.

use fathom_record::ResultRecord;
use fathom_tidy::{is_root, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Files of every test: 16 of 1 MiB.
const SHAPE: &str = "--file-num=16 --file-total-size=16M";

/// A directory on a real file system (the build's folder: /tmp may be memory).
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn call(&self, program: &Path, words: &str) -> Output {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("FATHOM_STORE", self.path("store.db")).env_remove("FATHOM_NOTES");
        command.output().unwrap()
    }

    fn fathom(&self, words: &str) -> Output {
        self.call(Path::new(env!("CARGO_BIN_EXE_fathom")), &format!("sysbench {words}"))
    }

    /// A run that must succeed: what it printed.
    fn good(&self, words: &str) -> String {
        let output = self.fathom(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", out(&output));
        assert_eq!(err(&output), "", "{words}");
        out(&output)
    }

    fn peer(&self, words: &str) -> Output {
        self.call(Path::new("sysbench"), words)
    }

    fn record(&self) -> ResultRecord {
        let shown = self.call(Path::new(env!("CARGO_BIN_EXE_fathom")), "show last --json");
        serde_json::from_slice(&shown.stdout).unwrap()
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Is the real one here? Nothing, and a counted skip, where it is not.
fn peer_is_here(what: &str) -> bool {
    let found = Command::new("sysbench")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.stdout.starts_with(b"sysbench 1.0.20"));
    if !found {
        skip(&format!("the command line: {what}"), "no sysbench 1.0.20");
    }
    found
}

/// Figures become N; what depends on the moment of the last line, or on how fast the disk is, is one line or none.
fn layout(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let figures =
            line.starts_with("    ") || line.starts_with("[ ") || line.contains(" bytes written in ");
        let masked = if figures { mask(line) } else { line.to_owned() };
        let bucket = masked.contains(" |") && masked.trim_start().starts_with('N');
        let line = if bucket { "a bucket".to_owned() } else { masked };
        let again = lines.last() == Some(&line) && (bucket || line.starts_with("[ "));
        if !again {
            lines.push(line);
        }
    }
    lines
}

/// Every number, with the blanks before it, as one N.
fn mask(line: &str) -> String {
    let mut masked = String::new();
    let mut number = false;
    for letter in line.chars() {
        let part = letter.is_ascii_digit() || (number && letter == '.');
        if part && !number {
            masked.truncate(masked.trim_end().len());
            masked.push_str(" N");
        } else if !part {
            masked.push(letter);
        }
        number = part;
    }
    masked
}

/// The real one and fathom, each in a directory of its own.
fn same_layout((their_place, our_place): &(Place, Place), words: &str) {
    let words = format!("{SHAPE} {words}");
    let (theirs, ours) = (their_place.peer(&words), our_place.fathom(&words));
    assert_eq!(layout(&out(&ours)), layout(&out(&theirs)), "{words}");
    assert_eq!((ours.status.code(), err(&ours)), (theirs.status.code(), err(&theirs)), "{words}");
}

#[test]
fn twelve_command_lines_have_the_layout_of_the_real_one() {
    if !peer_is_here("sysbench: layouts") {
        return;
    }
    let places = (Place::new(), Place::new());
    same_layout(&places, "fileio prepare");
    same_layout(&places, "fileio prepare");
    for words in [
        "fileio --file-test-mode=rndrd --file-extra-flags=direct --events=300 run",
        "fileio --file-test-mode=rndrw --file-extra-flags=direct --time=1 --max-requests=0 run",
        "fileio --file-test-mode=rndwr --events=200 --file-fsync-freq=10 --threads=4 --verbosity=4 run",
        "fileio --file-test-mode=seqrd --time=1 --threads=2 --histogram --percentile=99 run",
        "fileio --file-test-mode=seqrewr --events=100 --file-merged-requests=4 --file-fsync-mode=fdatasync run",
        "fileio --file-test-mode=rndrw --events=100 --file-fsync-all --rand-seed=7 --percentile=0 run",
        "fileio --file-test-mode=rndrw --events=300 --file-io-mode=async --file-extra-flags=direct run",
        "fileio --file-test-mode=rndwr --events=100 --file-io-mode=mmap --file-fsync-end=off run",
        "fileio --file-test-mode=rndrd --time=1 --rate=500 --threads=2 --forced-shutdown=5 run",
        "--num-threads=2 fileio --file-test-mode=rndrd --time=2 --report-checkpoints=1 --file-extra-flags=dsync run",
        "fileio --file-test-mode=seqwr --events=1100 --file-block-size=4KB run",
        "fileio --file-test-mode=bogus prepare",
        "fileio --file-test-mode=rndrd --events=50 --time=0 --forced-shutdown=soon --rand-seed=-7 run",
        "fileio --file-test-mode=rndrd --events=50 --verbosity=2 --histogram run",
        // A file smaller than a block is read and written whole.
        "fileio --file-test-mode=rndrd --events=20 --file-block-size=32M run",
        "fileio --file-test-mode=seqrewr --events=20 --file-block-size=32M run",
        "fileio cleanup",
        "fileio --file-extra-flags=dsync,direct prepare",
    ] {
        same_layout(&places, words);
    }
}

#[test]
fn what_is_wrong_is_said_in_its_words_on_its_stream_with_its_status() {
    if !peer_is_here("sysbench: errors") {
        return;
    }
    let place = Place::new();
    for words in [
        "",
        "fileio",
        "fileio bogus",
        "bogus run",
        "fileio run more",
        "--bogus fileio run",
        "--validate=5 fileio run",
        "--threads=x fileio run",
        "--threads=0 fileio run",
        "--threads=-1 fileio run",
        "--version",
        "fileio help",
        "fileio run",
        "fileio --verbosity=0 run",
        "fileio --file-test-mode=bogus run",
        "fileio --file-test-mode=rndrd --file-io-mode=bogus run",
        "fileio --file-test-mode=rndrd --file-extra-flags=bogus run",
        "fileio --file-test-mode=rndrd --file-extra-flags=sync,direct run",
        "fileio --file-test-mode=rndrd --file-extra-flags=direct,bogus run",
        "fileio --thread-stack-size=x --threads=0 --verbosity=9 run",
        "fileio --report-interval=x run",
        "fileio --max-requests=x run",
        "fileio --file-test-mode=rndrd --file-fsync-mode=bogus run",
        "fileio --file-test-mode=rndrd --file-rw-ratio=-1 run",
        "fileio --file-test-mode=rndrd run",
        "fileio --file-test-mode=rndrd --verbosity=1 run",
        "fileio --file-num=0 prepare",
        "fileio --file-num=x cleanup",
        "fileio --file-total-size=1x prepare",
        "fileio --file-block-size= --file-test-mode=rndrd run",
        "fileio --percentile=101 run",
        "fileio --histogram --percentile=0 run",
        "fileio --report-checkpoints=1,x run",
        "fileio --forced-shutdown=soon run",
        "fileio --rand-type=bogus run",
        "fileio --verbosity=9 run",
        "--test=fileio prepare more",
        "prepare --test=fileio",
        "--num-threads=2 --max-requests=1 --max-time=1 --tx-rate=1 fileio bogus",
        "--time=0 fileio bogus",
        "--config-file=missing fileio bogus",
    ] {
        let (theirs, ours) = (place.peer(words), place.fathom(words));
        assert_eq!((out(&ours), err(&ours)), (out(&theirs), err(&theirs)), "{words}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{words}");
    }
    // A file too small, blocks that direct I/O cannot take, blocks without checksums.
    let place = (Place::new(), Place::new());
    same_layout(&place, "fileio prepare");
    same_layout(&place, "fileio --file-total-size=32M --file-test-mode=rndrd run");
    same_layout(&place, "fileio --file-block-size=1000 --file-extra-flags=direct --file-test-mode=seqrd run");
    same_layout(
        &place,
        "fileio --file-block-size=1000 --file-extra-flags=direct --file-test-mode=seqrewr run",
    );
    same_layout(&place, "fileio --validate --file-test-mode=seqrd run");
}

#[test]
fn the_published_command_lines_run_letter_by_letter() {
    let place = Place::new();
    let prepared = place.fathom("--test=fileio --file-total-size=16M prepare");
    assert_eq!(prepared.status.code(), Some(0));
    assert!(err(&prepared).starts_with("WARNING: the --test option is deprecated."), "{}", err(&prepared));
    assert!(out(&prepared).contains("\n128 files, 128Kb each, 16Mb total\n"), "{}", out(&prepared));
    assert!(out(&prepared).contains("\nCreating file test_file.127\n16777216 bytes written in "));
    let words = "--file-test-mode=rndrw --file-extra-flags=direct --time=1 --max-requests=0 fileio run";
    let mixed = place.good(&format!("--file-total-size=16M {words}"));
    assert!(mixed.contains("\nDoing random r/w test\n"), "{mixed}");
    let notes = place.record().notes;
    let told = notes
        .iter()
        .any(|note| note.text.contains(" I/O per second + ") && note.text.contains(" fsync per second"));
    assert!(told, "{notes:?}");
    let words = "--file-test-mode=seqrd --file-extra-flags=direct --time=1 --max-requests=0 fileio run";
    let sequential = place.good(&format!("--file-total-size=16M {words}"));
    assert!(sequential.contains("    fsyncs/s:                     0.00\n"), "{sequential}");
    place.good("fileio cleanup");
    assert!(!place.path("test_file.0").exists());
}

#[test]
fn each_validates_the_files_of_the_other() {
    if !peer_is_here("sysbench: validation") {
        return;
    }
    let words = format!("{SHAPE} fileio --validate");
    let (prepare, run) =
        (format!("{words} prepare"), format!("{words} --file-test-mode=rndrw --events=400 --threads=2 run"));
    let place = Place::new();
    assert_eq!(place.peer(&prepare).status.code(), Some(0));
    place.good(&run);
    assert_eq!(place.peer(&run).status.code(), Some(0), "what fathom rewrote is good for sysbench");
    place.good(&format!("{SHAPE} fileio cleanup"));
    place.good(&prepare);
    let theirs = place.peer(&run);
    assert_eq!(theirs.status.code(), Some(0), "{}", out(&theirs));
}

/// A control group of processes, and of so many threads; removed at the end.
struct Few(PathBuf);

impl Few {
    fn of(threads: u32) -> Option<Few> {
        let controller = Path::new("/sys/fs/cgroup/pids");
        if !is_root() || !controller.join("cgroup.procs").exists() {
            return None;
        }
        let group = controller.join(format!("fathom-test-few-{}", std::process::id()));
        fs::create_dir(&group).unwrap();
        fs::write(group.join("pids.max"), threads.to_string()).unwrap();
        Some(Few(group))
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        let gone = || fs::remove_dir(&self.0).is_ok();
        crate::place::wait_until("an empty control group", std::time::Duration::from_secs(20), gone);
    }
}

#[test]
fn threads_that_cannot_be_started_are_a_fatal_error_and_nobody_waits_for_them() {
    let what = "threads that cannot be started";
    let Some(few) = Few::of(40) else {
        return skip(what, "it needs root and the pids controller of cgroups");
    };
    if !peer_is_here(what) {
        return;
    }
    let place = Place::new();
    place.good(&format!("{SHAPE} fileio prepare"));
    let ours = format!("{} sysbench", env!("CARGO_BIN_EXE_fathom"));
    let said = ["sysbench", &ours].map(|program| {
        let run = format!("{SHAPE} fileio --file-test-mode=rndrd --threads=100 --time=2 run");
        let script = format!("echo $$ > {}/cgroup.procs; exec {program} {run}", few.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(place.0.path()).stdin(Stdio::null());
        command.env("FATHOM_STORE", place.path("store.db")).env_remove("FATHOM_NOTES");
        let output = command.output().unwrap();
        // A thread of the real one that had started may say so while the others are given up.
        let told = out(&output);
        let lines = told.lines().filter(|line| !line.starts_with("DEBUG: ")).map(mask);
        (output.status.code(), lines.collect::<Vec<String>>(), err(&output))
    });
    assert_eq!(said[0], said[1]);
    let last = said[1].1.last().unwrap();
    assert!(last.starts_with("FATAL: sb_thread_create() for thread #"), "{last}");
}

#[test]
fn a_changed_byte_ends_a_validated_run() {
    let place = Place::new();
    place.good(&format!("{SHAPE} fileio --validate prepare"));
    let mut bytes = fs::read(place.path("test_file.3")).unwrap();
    bytes[16_384 + 7] ^= 1;
    bytes[3 * 16_384 - 8] ^= 1;
    fs::write(place.path("test_file.3"), &bytes).unwrap();
    let output = place.fathom(&format!("{SHAPE} fileio --validate --file-test-mode=seqrd --events=1024 run"));
    let said = out(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(
            "FATAL: Checksum mismatch in block with offset: 16384\nFATAL:     Calculated value: 0x"
        ),
        "{said}"
    );
    assert!(said.ends_with("FATAL: Validation failed on file 3, block offset 16384, exiting...\n"), "{said}");
    bytes[16_384 + 7] ^= 1;
    fs::write(place.path("test_file.3"), &bytes).unwrap();
    let output = place.fathom(&format!("{SHAPE} fileio --validate --file-test-mode=seqrd --events=1024 run"));
    assert!(out(&output).contains(
        "FATAL: Offset mismatch in block:\nFATAL:    Actual offset: 32768    Stored offset: 32769\n"
    ));
}

#[test]
fn the_same_seed_asks_for_the_same_places_in_the_same_order() {
    let place = Place::new();
    let words = "--file-num=4 --file-total-size=64M fileio";
    place.good(&format!("{words} prepare"));
    let places = |more: &str| -> Vec<(String, String, String)> {
        let said = place.good(&format!("{words} --rand-seed=7 --debug {more} run"));
        let lines =
            said.lines().filter_map(|line| line.strip_prefix("DEBUG: Executing request, operation: "));
        let part = |line: &str, from: &str| {
            let rest = line.split_once(from).unwrap().1;
            rest.split_once(',').map_or(rest, |(number, _)| number).to_owned()
        };
        lines
            .map(|line| {
                (line.split(',').next().unwrap().to_owned(), part(line, "file_id: "), part(line, "pos: "))
            })
            .collect()
    };
    let offsets = |seen: &[(String, String, String)]| -> Vec<u64> {
        seen.iter()
            .map(|(_, file, at)| (file.parse::<u64>().unwrap() << 24) + at.parse::<u64>().unwrap())
            .collect()
    };
    // What sysbench 1.0.20 prints for them, a draw thrown away for each event while a percentile is kept.
    let seen = offsets(&places("--file-test-mode=rndrd --events=5"));
    assert_eq!(seen, [36_208_640, 27_361_280, 6_832_128, 50_577_408, 10_649_600]);
    let seen = offsets(&places("--file-test-mode=rndrd --events=5 --percentile=0"));
    assert_eq!(seen, [36_208_640, 44_105_728, 27_361_280, 58_048_512, 6_832_128]);
    // Under a rate the thread that makes the arrivals has the first state.
    let seen = offsets(&places("--file-test-mode=rndrd --events=2 --rate=1000"));
    assert_eq!(seen, [(2 << 24) + 196_608, 5_783_552]);
    let mixed = places("--file-test-mode=rndrw --events=16 --file-fsync-freq=10");
    let letters: String = mixed.iter().map(|(verb, ..)| verb.as_str()).collect();
    assert_eq!(letters, "1212112121333312", "reads, writes, a sync of each file");
    assert_eq!(offsets(&mixed[14..]), [(2 << 24) + 7_454_720, (2 << 24) + 8_929_280]);
}

#[test]
fn asynchronous_latencies_are_those_of_submission_and_the_true_ones_are_kept() {
    let place = Place::new();
    place.good(&format!("{SHAPE} fileio prepare"));
    let words =
        "fileio --file-test-mode=rndrd --file-extra-flags=direct --file-io-mode=async --events=2000 run";
    place.good(&format!("{SHAPE} {words}"));
    let record = place.record();
    let told = record.notes.iter().find(|note| note.text.contains("of the call that submits"));
    assert!(
        told.is_some_and(|note| note.text.contains("from submission to completion")),
        "{:?}",
        record.notes
    );
    let merged = record.runs[0].merged(fathom_spec::StreamId(0)).unwrap();
    let cell = &merged.cells[0].1;
    let (submit, service) = (cell.submit.as_ref().unwrap(), cell.service.as_ref().unwrap());
    assert!(submit.count == 2000 && submit.sum_ns < service.sum_ns);
}

#[test]
fn nothing_is_added_to_its_streams_and_an_unwritable_store_changes_nothing() {
    let place = Place::new();
    place.good(&format!("{SHAPE} fileio prepare"));
    let words = format!("sysbench {SHAPE} fileio --file-test-mode=rndrw --events=20 run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(words.split_whitespace())
        .current_dir(place.0.path())
        .env("FATHOM_STORE", "/dev/null/store.db");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    command.env("FATHOM_NOTES", "1");
    assert!(err(&command.output().unwrap()).contains("note: "));
}

#[test]
fn a_configuration_file_gives_general_options_only() {
    let place = Place::new();
    place.good(&format!("{SHAPE} fileio prepare"));
    fs::write(
        place.path("settings"),
        "# ours\n[default]\nthreads=2\n time=99\nevents=40\nfile-test-mode=rndwr\n",
    )
    .unwrap();
    let said = place.good(&format!("--config-file=settings {SHAPE} fileio --file-test-mode=rndrd run"));
    assert!(said.starts_with("Unknown argument type: 0sysbench 1.0.20 "), "{said}");
    assert!(
        said.contains("\nNumber of threads: 2\n") && said.contains("\nDoing random read test\n"),
        "{said}"
    );
    assert!(said.contains("    total number of events:              40\n"), "{said}");
}

#[test]
fn a_published_report_or_table_is_explained() {
    let place = Place::new();
    let table = "Sysbench random r/w\n\nIOPS\n\n989 1064 969\n\nRead MiB/s\n\n4.1 4.4 4.9\n\nWrite MiB/s\n\n2.7 2.9 2.7\n";
    fs::write(place.path("table.txt"), table).unwrap();
    let said = place.good("--explain table.txt");
    assert!(said.contains("435 I/O per second + 557 fsync per second"), "{said}");
    let missing = place.fathom("--explain nothing.txt");
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        err(&missing).contains("cannot read nothing.txt") && err(&missing).contains("hint: "),
        "{}",
        err(&missing)
    );
    fs::write(place.path("other.txt"), "nothing of that kind").unwrap();
    assert_eq!(place.fathom("--explain other.txt").status.code(), Some(1));
}

#[test]
fn a_link_by_its_name_speaks_its_language() {
    let place = Place::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fathom"), place.path("sysbench")).unwrap();
    let output = place.call(&place.path("sysbench"), "--version");
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), "sysbench 1.0.20\n"));
}
