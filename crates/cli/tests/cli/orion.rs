//! `fathom orion`, as a user and as a script calls it: each test in a directory of its own.

use fathom_orion::{Grid, read_grid};
use fathom_record::ResultRecord;
use fathom_spec::StreamId;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A directory on a real file system (the build's folder: /tmp may be memory).
struct Place(TempDir);

impl Place {
    /// With `t.lun` naming these LUNs.
    fn new(luns: &str) -> Self {
        let place = Place(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        fs::write(place.path("t.lun"), luns).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A LUN file of so many KiB, and `t.lun` naming it.
    fn with_file(kib: usize) -> Self {
        let place = Place::new("lun1\n");
        fs::write(place.path("lun1"), vec![0u8; kib << 10]).unwrap();
        place
    }

    fn command(&self, program: &Path, words: &str) -> Command {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("FATHOM_STORE", self.path("store.db")).env_remove("FATHOM_NOTES");
        command
    }

    fn orion(&self, words: &str) -> Output {
        let words = format!("orion {words}");
        self.command(Path::new(env!("CARGO_BIN_EXE_fathom")), &words).output().unwrap()
    }

    /// The file of the only run.
    fn file(&self, end: &str) -> String {
        let found = fs::read_dir(self.0.path()).unwrap().flatten().map(|entry| entry.path());
        let mut found = found.filter(|path| path.to_string_lossy().ends_with(&format!("_{end}")));
        let path = found.next().unwrap_or_else(|| panic!("no file {end}"));
        assert_eq!(found.next(), None, "one {end}");
        fs::read_to_string(path).unwrap()
    }

    fn grid(&self, end: &str) -> Grid {
        read_grid(&self.file(end)).unwrap()
    }

    fn say(&self, words: &str) -> Output {
        self.command(Path::new(env!("CARGO_BIN_EXE_fathom")), words).output().unwrap()
    }

    fn record(&self) -> ResultRecord {
        serde_json::from_slice(&self.say("show last --json").stdout).unwrap()
    }

    /// Takes away what earlier runs left.
    fn sweep(&self) {
        for entry in fs::read_dir(self.0.path()).unwrap().flatten() {
            if entry.file_name() != "t.lun" {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// Nothing but what a run was given is there.
    fn is_untouched(&self) -> bool {
        let names = fs::read_dir(self.0.path()).unwrap().flatten().map(|e| e.file_name());
        names.map(|name| name.to_string_lossy().into_owned()).all(|name| !name.ends_with(".csv"))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn refused(place: &Place, words: &str, says: &[&str]) {
    let output = place.orion(words);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in says {
        assert!(told.contains(part), "{part:?} is not in:\n{told}");
    }
    assert!(told.contains("\nhint: "), "{told}");
    assert!(place.is_untouched());
}

#[test]
fn a_simulated_device_has_exactly_the_figures_it_must() {
    let place = Place::new("sim:ways=4,service=1ms\n");
    let output = place.orion("-run simple -testname t -duration 10");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let iops = place.grid("iops.csv");
    let row: Vec<_> = iops.columns.iter().map(|small| iops.at(*small, 0)).collect();
    assert_eq!(row, [1000.0, 2000.0, 3000.0, 4000.0, 4000.0].map(Some));
    assert_eq!(place.grid("lat.csv").at(4, 0), Some(1000.0));
    // A large I/O of 1 MiB takes sixteen times as long.
    let mbps = place.grid("mbps.csv");
    assert_eq!((mbps.at(0, 1), mbps.at(0, 2)), (Some(62.5), Some(125.0)));
    let stdout = text(&output.stdout);
    let opening = "ORION: ORacle IO Numbers -- Version 11.2.0.2.0\nt_";
    assert!(stdout.starts_with(opening), "{stdout}");
    for line in [
        "Calibration will take approximately 2 minutes.",
        "Maximum Large MBPS=125.00 @ Small=0 and Large=2",
        "Maximum Small IOPS=4000 @ Small=4 and Large=0",
        "Minimum Small Latency=1000 usecs @ Small=1 and Large=0",
    ] {
        assert!(stdout.lines().any(|found| found == line), "{line}\n{stdout}");
    }
    assert!(place.file("summary.txt").contains("Maximum Small IOPS=4000"));
    assert_eq!(place.file("hist.txt").matches("Latency Histogram @").count(), 7);
    assert_eq!(place.file("trace.txt").matches("\nPoint ").count(), 7);
}

#[test]
fn the_matrix_keeps_each_kind_at_its_own_number_outstanding() {
    let place = Place::with_file(32 << 10);
    let output = place
        .orion("-run advanced -testname t -matrix point -num_small 8 -num_large 2 -duration 1 -csv 11.1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = place.record();
    let run = &record.runs[0];
    assert_eq!((record.tool.as_str(), run.load.small, run.load.large), ("orion", 8, 2));
    let most: Vec<_> = run.workers.iter().map(|w| (w.stream, w.outstanding_most)).collect();
    assert_eq!(most, [(StreamId(0), 8), (StreamId(1), 2)]);
    // Every submission while the point was measured, by classes 1, 2-3, 4-7, 8-15: none left more outstanding, and
    // the queue was full again after nearly all of them.
    for (stream, class) in [(StreamId(0), 3), (StreamId(1), 1)] {
        let mut seen = vec![0; 17];
        for interval in run.intervals.iter().filter(|i| i.stream == stream) {
            interval.outstanding.iter().enumerate().for_each(|(at, count)| seen[at] += count);
        }
        let (all, full) = (seen.iter().sum::<u64>(), seen[class]);
        assert!(full > 0 && full == all, "{stream:?}: {seen:?}");
    }
    let iops = place.grid("iops.csv");
    assert!(iops.at(8, 2).is_some_and(|iops| iops > 0.0));
    assert!(place.grid("mbps.csv").at(8, 2).is_some_and(|mbps| mbps > 0.0));
}

#[test]
fn sequential_streams_each_keep_their_own_ios_outstanding() {
    let place = Place::with_file(8 << 10);
    fs::copy(place.path("lun1"), place.path("lun2")).unwrap();
    fs::write(place.path("t.lun"), "lun1\nlun2\n").unwrap();
    let words = "-run advanced -testname t -type seq -num_streamIO 3 -simulate raid0 -stripe 128 -size_large 64k \
        -matrix point -num_small 0 -num_large 2 -duration 1 -cache_size 4";
    let output = place.orion(words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = place.record();
    assert_eq!(record.runs.len(), 1);
    let most: Vec<_> = record.runs[0].workers.iter().map(|w| (w.worker, w.outstanding_most)).collect();
    assert_eq!(most, [(0, 3), (1, 3)]);
    assert!(place.grid("mbps.csv").at(0, 2).is_some_and(|mbps| mbps > 0.0));
    assert!(place.file("summary.txt").contains("Number of concurrent IOs per stream: 3"));
}

#[test]
fn a_link_named_orion_speaks_the_same() {
    let place = Place::new("sim:ways=4,service=1ms\n");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fathom"), place.path("orion")).unwrap();
    let program = place.path("orion");
    let output =
        place.command(&program, "-run oltp -testname t -duration 1 -write 20 -csv 11.1").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(place.grid("iops.csv").at(20, 0), Some(4000.0));
    assert!(text(&output.stdout).ends_with("minutes\nLarger caches may take longer\n"));
    let help = place.command(&program, "-help").output().unwrap();
    assert!(help.status.success() && text(&help.stdout).contains("-num_streamIO N"));
}

#[test]
fn missing_lun_files_are_made_and_need_no_consent_while_others_do() {
    let place = Place::new("lun1\nlun2\n");
    let words = "-run advanced -testname t -matrix max -num_small 1 -num_large 1 -size_large 64 -duration 1 -write 50";
    refused(&place, words, &["cannot open LUN lun1", "-create SIZE"]);
    let output = place.orion(&format!("{words} -create 8m -simulate raid0 -html page.html"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::metadata(place.path("lun2")).unwrap().len(), 8 << 20);
    assert!(fs::read(place.path("lun1")).unwrap().chunks(4096).all(|b| b.iter().any(|byte| *byte != 0)));
    assert!(text(&output.stdout).contains("Small Write Latency: avg="));
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Over small and large load") && page.contains("<rect"));
    let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
    let shown = place.command(program, "show last --html again.html").output().unwrap();
    assert!(text(&shown.stdout).starts_with(&text(&output.stdout)), "{}", text(&shown.stdout));
    assert_eq!(fs::read_to_string(place.path("again.html")).unwrap(), page);
}

#[test]
fn a_lun_that_holds_something_is_written_only_with_consent_for_it() {
    let place = Place::with_file(8 << 10);
    let mut swap = vec![0u8; 8 << 20];
    swap[4086..4096].copy_from_slice(b"SWAPSPACE2");
    swap[1024..1028].copy_from_slice(&1u32.to_le_bytes());
    fs::write(place.path("lun1"), &swap).unwrap();
    let words = "-run oltp -testname t -num_disks 1 -write 100 -duration 10ms";
    refused(&place, words, &["LUN lun1 of 8 MiB: will not write to lun1", "say -write-consent lun1"]);
    assert_eq!(fs::read(place.path("lun1")).unwrap(), swap);
    refused(&place, &format!("{words} -write-consent lun2"), &["will not write to lun1"]);
    let output = place.orion(&format!("{words} -write-consent lun1"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_ne!(fs::read(place.path("lun1")).unwrap(), swap);
}

#[test]
fn writes_fall_on_every_block_alike() {
    const BLOCKS: usize = 8192;
    let place = Place::with_file(BLOCKS * 8);
    let words =
        "-run advanced -testname t -matrix point -num_small 16 -num_large 0 -write 100 -duration 1 -adaptive";
    let output = place.orion(words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written: u64 =
        place.record().runs[0].workers.iter().flat_map(|w| &w.counts).map(|(_, c)| c.operations).sum();
    let bytes = fs::read(place.path("lun1")).unwrap();
    let touched: Vec<f64> =
        bytes.chunks(8192).map(|b| f64::from(u8::from(b.iter().any(|byte| *byte != 0)))).collect();
    // Of n uniform draws a share exp(-n / blocks) of the blocks stays untouched, within five deviations.
    let share = 1.0 - (-(written as f64) / BLOCKS as f64).exp();
    let deviation = (share * (1.0 - share) / BLOCKS as f64).sqrt() + 1.0 / BLOCKS as f64;
    let found = touched.iter().sum::<f64>() / BLOCKS as f64;
    assert!((found - share).abs() < 5.0 * deviation, "{found} of {share} after {written} writes");
    // And no part of the LUN is favoured.
    for part in touched.chunks(BLOCKS / 16) {
        let found = part.iter().sum::<f64>() / part.len() as f64;
        assert!((found - share).abs() < 5.0 * 4.0 * deviation, "{found} of {share}");
    }
}

#[test]
fn a_point_in_which_ios_fail_is_marked_and_the_next_one_is_measured() {
    let place = Place::new("sim:ways=4,service=1ms,fail=2500\n");
    let output = place.orion("-run simple -testname t -duration 1");
    assert_eq!(output.status.code(), Some(1));
    let iops = place.grid("iops.csv");
    assert_eq!((iops.at(2, 0), iops.at(3, 0)), (Some(2000.0), None));
    assert!(place.grid("mbps.csv").at(0, 2).is_some_and(|mbps| (124.0..=126.0).contains(&mbps)));
    let marked = "Errors @ Small=3 and Large=0: Read of sim:";
    assert!(place.file("summary.txt").contains(marked) && text(&output.stdout).contains(marked));
    assert!(place.file("trace.txt").contains("errors: Read of sim:"));
    assert!(place.file("summary.txt").contains("Maximum Small IOPS=2000 @ Small=2"));
}

#[test]
fn adaptive_finds_the_same_maxima_in_a_quarter_of_the_time() {
    let (full, quick) = (Place::new("sim:ways=4,service=1ms\n"), Place::new("sim:ways=4,service=1ms\n"));
    for line in ["simple", "normal", "oltp"] {
        for (place, more) in [(&full, ""), (&quick, "-adaptive")] {
            let words = format!("-run {line} -testname t -duration 10 {more}");
            place.sweep();
            assert!(place.orion(&words).status.success());
        }
        let seconds = |place: &Place| {
            let runs = place.record().runs;
            runs.iter().map(|run| run.length_ns as f64 / 1e9).sum::<f64>()
        };
        let most = |place: &Place| {
            let grid = place.grid("iops.csv");
            let cells = grid.rows.iter().flat_map(|(_, cells)| cells.iter().flatten());
            cells.fold(0.0, |most: f64, cell| most.max(*cell))
        };
        assert_eq!(most(&full), 4000.0, "{line}");
        assert!((most(&quick) / 4000.0 - 1.0).abs() < 0.01, "{line}: {}", most(&quick));
        let (long, short) = (seconds(&full), seconds(&quick));
        assert!(short <= long / 4.0, "{line}: {short} s of {long} s");
    }
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    for _ in 0..600 {
        if there() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what} did not happen within 30 s");
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn an_interrupted_run_leaves_valid_files_with_the_points_it_has() {
    let place = Place::with_file(8 << 10);
    let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
    let words = "orion -run oltp -testname t -duration 1 -verbose";
    let child = place.command(program, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the second point", || {
        let mut names = fs::read_dir(place.0.path()).unwrap().flatten().map(|entry| entry.path());
        let trace = names.find(|path| path.to_string_lossy().ends_with("_trace.txt"));
        trace.is_some_and(|path| fs::read_to_string(path).unwrap().contains("Point 2 "))
    });
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let iops = place.grid("iops.csv");
    assert!(iops.at(1, 0).is_some() && iops.at(2, 0).is_some() && iops.at(20, 0).is_none());
    assert!(place.file("summary.txt").contains("Test interrupted"));
    assert!(text(&output.stdout).contains("Maximum Small IOPS="));
    assert_eq!(place.record().ending, fathom_record::Ending::Interrupted);
}

#[test]
fn a_store_that_cannot_be_written_never_fails_a_run() {
    let place = Place::new("sim:ways=4,service=1ms\n");
    fs::create_dir(place.path("store.db")).unwrap();
    let quiet = place.orion("-run simple -testname t -duration 1");
    assert_eq!((quiet.status.code(), text(&quiet.stderr)), (Some(0), String::new()));
    fs::copy(place.path("t.lun"), place.path("u.lun")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
    let words = "orion -run simple -testname u -duration 1";
    let told = place.command(program, words).env("FATHOM_NOTES", "1").output().unwrap();
    assert!(text(&told.stderr).contains("note: this run is not kept"), "{}", text(&told.stderr));
}

#[test]
fn what_is_wrong_with_the_luns_is_named() {
    let place = Place::new("lun1\n");
    refused(&place, "-run simple -testname u", &["Failure in opening .lun file u.lun"]);
    refused(&place, "-run simple -testname t", &["cannot open LUN lun1"]);
    for (luns, says) in [
        ("", "t.lun names no LUN"),
        ("\n  \n\n", "t.lun names no LUN"),
        ("/dev/raw/raw1\n", "raw devices are gone: name the block device"),
        (".\n", "LUN . is neither a block device nor a file"),
        ("sim:ways\n", "sim:ways"),
        ("sim:size=512k\n", "holds 512 KiB, less than one I/O of 1 MiB"),
    ] {
        let place = Place::new(luns);
        refused(&place, "-run simple -testname t", &[says]);
    }
    let blank = Place::new("\nsim:ways=4,service=1ms\n\n");
    assert!(blank.orion("-run simple -testname t -duration 1").status.success());
    assert!(blank.file("summary.txt").contains("1 files found."));
    let two = Place::new("sim:size=64m\nsim:size=96m\n");
    assert!(two.orion("-run simple -testname t -duration 1").status.success());
    assert!(two.file("summary.txt").contains("Total Data Points: 15"));
}

#[test]
fn what_is_wrong_with_the_loads_is_named() {
    let place = Place::new("sim:ways=4\n");
    for (words, says) in [
        ("-run simple -testname t -write 101", "-write 101"),
        ("-run advanced -testname t -matrix point", "-num_small"),
        ("-run advanced -testname t -matrix point -num_small 0 -num_large 0", "leave nothing to measure"),
        ("-run advanced -testname t -matrix max -num_small 0 -num_large 0", "leave nothing to measure"),
        ("-testname t", "-run is missing"),
        ("-run simple -testname t -durtion 3", "did you mean -duration?"),
        ("-run simple -testname t -storax asmlib", "-storax asmlib"),
    ] {
        refused(&place, words, &[says]);
    }
}

#[test]
fn a_lun_that_may_not_be_opened_is_named() {
    if fathom_tidy::is_root() {
        // Root opens everything; a file on read-only media refuses even him.
        let place = Place::new("/proc/version\n");
        refused(&place, "-run simple -testname t -write 10", &["/proc/version"]);
        return;
    }
    let place = Place::with_file(4 << 10);
    let mut mode = fs::metadata(place.path("lun1")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o000);
    fs::set_permissions(place.path("lun1"), mode).unwrap();
    refused(&place, "-run simple -testname t", &["cannot open LUN lun1 for reading"]);
}

#[test]
fn a_second_run_of_the_same_minute_has_files_of_its_own() {
    let place = Place::new("sim:ways=4,service=1ms\n");
    let names = || {
        let all = fs::read_dir(place.0.path()).unwrap().flatten().map(|e| e.path());
        let mut names: Vec<_> = all.filter(|p| p.extension().is_some_and(|x| x == "csv")).collect();
        names.sort();
        names
    };
    assert!(place.orion("-run simple -testname t -duration 1").status.success());
    let first: Vec<_> = names().into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
    let again = place.orion("-run oltp -testname t -duration 1");
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(names().len(), 6);
    for (content, path) in first {
        assert_eq!(fs::read(path).unwrap(), content);
    }
    // Its name is on stdout, and the files are called so.
    let stdout = text(&again.stdout);
    let name = stdout.lines().nth(1).unwrap();
    assert!(place.path(&format!("{name}_iops.csv")).exists(), "{name}");
    assert_eq!(text(&place.say("show last").stdout).lines().nth(1), Some(name));
}

#[test]
fn a_variable_chooses_the_layout_and_the_command_line_comes_before_it() {
    let sim = "sim:ways=4,service=1ms\n";
    let run = |words: &str, version: &str| {
        let place = Place::new(sim);
        let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
        let mut command =
            place.command(program, &format!("orion -run simple -testname t -duration 1 {words}"));
        let output = command.env("FATHOM_ORION_CSV", version).output().unwrap();
        (place, output)
    };
    let (place, output) = run("", "11.1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bare = place.file("iops.csv");
    assert!(bare.starts_with("Large/Small,      1,"), "{bare}");
    assert!(place.file("summary.txt").contains("-run simple -testname t -duration 1 \n"));
    let shown = text(&place.say("show last").stdout);
    assert!(shown.starts_with("ORION: ORacle IO Numbers -- Version 11.1.0.7.0\n"), "{shown}");
    let (place, _) = run("-csv 11.2", "11.1");
    assert!(place.file("iops.csv").starts_with("\nThis comma-separated-value file"));
    let (place, output) = run("", "10.2");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: FATHOM_ORION_CSV=10.2 is not known\nhint: one of 11.2, 11.1\n");
    assert!(place.is_untouched());
}

#[test]
fn a_lun_cut_short_ends_the_run_and_what_is_left_of_it_is_no_maximum() {
    let place = Place::with_file(64 << 10);
    let program = Path::new(env!("CARGO_BIN_EXE_fathom"));
    let words = "orion -run advanced -testname t -matrix row -num_large 0 -num_disks 2 -duration 2 -csv 11.1";
    let mut command = place.command(program, words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let measured = |place: &Place| {
        let found = fs::read_dir(place.0.path()).unwrap().flatten().map(|e| e.path());
        let mut found = found.filter(|path| path.to_string_lossy().ends_with("_trace.txt"));
        found.next().is_some_and(|path| fs::read_to_string(path).unwrap().contains("Point 1 "))
    };
    wait_for("the first point", || measured(&place));
    fs::OpenOptions::new().write(true).open(place.path("lun1")).unwrap().set_len(1 << 20).unwrap();
    let output = child.wait_with_output().unwrap();
    let (told, summary) = (text(&output.stderr), place.file("summary.txt"));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("The file is shorter than it was\nhint: nothing after this point"), "{told}");
    let iops = place.grid("iops.csv");
    assert!(iops.at(1, 0).is_some());
    assert_eq!(iops.at(10, 0), None, "later points are not measured");
    let at = summary.lines().find(|line| line.starts_with("Maximum Small IOPS=")).unwrap();
    let best = iops.at(1, 0).unwrap().max(iops.at(2, 0).unwrap_or(0.0));
    assert!(at.starts_with(&format!("Maximum Small IOPS={best:.0} @ ")), "{summary}");
    assert!(
        summary.contains("The file is shorter than it was")
            && summary.contains("Test aborted due to errors.")
    );
    assert_eq!(place.record().ending, fathom_record::Ending::Failed);
}

#[test]
fn the_files_and_the_record_tell_the_same_figures() {
    let place = Place::new("sim:ways=4,service=700us,spread=exponential\n");
    let output = place.orion("-run advanced -matrix detailed -testname t -duration 2 -write 30");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (iops, mbps, lat) = (place.grid("iops.csv"), place.grid("mbps.csv"), place.grid("lat.csv"));
    let record = place.record();
    let mut compared = 0;
    for point in record.curves.iter().flat_map(|curve| &curve.points) {
        let fathom_record::Load { small, large } = point.load;
        if let Some(cell) = iops.at(small, large) {
            assert!((cell - point.iops).abs() <= 0.5, "{:?}: {cell} {}", point.load, point.iops);
            let us = point.latency.mean_ns / 1e3;
            assert!((lat.at(small, large).unwrap() - us).abs() <= 0.01, "{:?} {us}", point.load);
            compared += 1;
        }
        if let Some(cell) = mbps.at(small, large) {
            assert!((cell - point.mbps).abs() <= 0.01, "{:?}: {cell} {}", point.load, point.mbps);
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * 3 + 6 * 2);
}
