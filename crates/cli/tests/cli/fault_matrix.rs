//! Every fault times every tool. After each: it has ended, and not by a crash; no file is left but what the tool leaves; no process;
//! the store is whole; the record says how it ended. FATHOM_KILLS=200 kills at random moments besides, over all tools.

mod tools;

use crate::place::{Lab, Place, Said, Started, alone, wait_until, write_noise};
use fathom_tidy::{is_root, skip};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tools::{Row, TOOLS};

/// What is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The device fails from its middle on.
    ReadError,
    /// The device takes only so many bytes.
    WriteError,
    /// The file system is smaller than the files that are to be made.
    NoSpace,
    /// The file system is read-only.
    ReadOnly,
    /// The file system stands still, and the user interrupts.
    Stall,
    /// The file is cut to nothing while it is read or written, and the user interrupts.
    CutFile,
    /// The device loses all its blocks and its size while it is read.
    Vanished,
    /// kill -9 while it lays out its files.
    KillInLayout,
    /// kill -9 while it runs.
    KillInRun,
    /// kill -9 after it was told to end, while it sums up.
    KillInSummary,
    /// The store's file system is full.
    FullStore,
    /// The store's file system gets full while it runs.
    FullStoreAtEnd,
    /// The store's file system is read-only.
    ReadOnlyStore,
    /// The file system of its report is full.
    FullReport,
    /// The file system of its report is read-only.
    ReadOnlyReport,
}

const FAULTS: [Fault; 15] = [
    Fault::ReadError,
    Fault::WriteError,
    Fault::NoSpace,
    Fault::ReadOnly,
    Fault::Stall,
    Fault::CutFile,
    Fault::Vanished,
    Fault::KillInLayout,
    Fault::KillInRun,
    Fault::KillInSummary,
    Fault::FullStore,
    Fault::FullStoreAtEnd,
    Fault::ReadOnlyStore,
    Fault::FullReport,
    Fault::ReadOnlyReport,
];

/// A file system of 64 MiB for the runs, and a place for their store.
struct Bench {
    lab: Lab,
    mount: PathBuf,
}

impl Bench {
    fn open() -> Option<Bench> {
        let lab = Lab::open("faultmatrix")?;
        let mount = PathBuf::from(lab.make(&["loop", "create", "--size", "64M", "--mount"])("mount"));
        Some(Bench { lab, mount })
    }
}

/// One run: a directory on the bench, and a store of its own.
struct Cell<'a> {
    row: &'a Row,
    place: Place,
    directory: PathBuf,
    device: String,
    size: &'a str,
    /// Where reports go.
    reports: PathBuf,
    store: PathBuf,
}

impl<'a> Cell<'a> {
    fn new(row: &'a Row, bench: &Bench, device: &str) -> Cell<'a> {
        let directory = bench.mount.join(row.tool);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).expect("it is mounted");
        let place = Place::new();
        let (store, reports, device) = (place.store(), directory.clone(), device.to_owned());
        let cell = Cell { row, place, directory, device, size: "16m", reports, store };
        write_noise(&cell.directory.join("data"), 4 << 20);
        for (name, lun) in [("t.lun", "data"), ("v.lun", cell.device.as_str()), ("new.lun", "new")] {
            std::fs::write(cell.directory.join(name), format!("{lun}\n")).expect("there is room");
        }
        if !row.before.is_empty() {
            cell.say(row.before).ends(0);
        }
        cell
    }

    fn command(&self, line: &str) -> Command {
        let directory = self.directory.to_str().expect("a plain path");
        let mib = self.size.trim_end_matches('m');
        let word = |word: &str| match word {
            "D" => directory.to_owned(),
            word if word.contains("R/") => word.replace("R/", &format!("{}/", self.reports.display())),
            word if word.ends_with("=S") && word.starts_with("count") => word.replace('S', mib),
            word => {
                word.replace("=V", &format!("={}", self.device)).replace("=S", &format!("={}", self.size))
            }
        };
        let whole = |text: &str| match text {
            "V" => self.device.clone(),
            "S" => self.size.to_owned(),
            text => word(text),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args(line.split_whitespace().map(whole));
        self.place.at_home(&mut command);
        command.current_dir(&self.directory).env_remove("FATHOM_NOTES").env("FATHOM_STORE", &self.store);
        command.env("FATHOM_WRITE_CONSENT", &self.device);
        command
    }

    fn say(&self, line: &str) -> Said {
        crate::place::say(self.command(line))
    }

    /// Starts what goes on until it is ended, and waits until its row is there.
    fn start(&self, line: &str) -> Started {
        let child = Started::new(self.command(line));
        wait_until(self.row.tool, Duration::from_secs(60), || self.state(self.row.tool).is_some());
        child
    }

    fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(&self.directory).expect("it is mounted").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// What the files take, in 512 bytes.
    fn blocks(&self) -> u64 {
        let about = |name: &String| std::fs::metadata(self.directory.join(name)).ok();
        self.files().iter().filter_map(about).map(|about| about.blocks()).sum()
    }

    /// The state of the newest run of a tool, if there is one.
    fn state(&self, tool: &str) -> Option<String> {
        let listed = self.say("history --json");
        let lines =
            listed.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line["tool"] == tool).find_map(|line| line["state"].as_str().map(str::to_owned))
    }

    /// Processes that were started with this cell's store.
    fn processes(&self) -> Vec<String> {
        let own = format!("FATHOM_STORE={}", self.store.display());
        let entries = std::fs::read_dir("/proc").expect("it is mounted").flatten();
        let of_ours = |entry: &std::fs::DirEntry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == own.as_bytes())
        };
        entries.filter(of_ours).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// What is not as it should be after a run. `before` are the files that were there.
    fn complaints(&self, said: &Said, before: &BTreeSet<String>, killed: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        if said.err.contains("panicked") || said.out.contains("panicked") {
            wrong.push("it panicked".to_owned());
        }
        // dd and a second signal end by SIGINT itself.
        if said.status.is_none() && !killed && self.row.tool != "dd" {
            wrong.push("a signal ended it".to_owned());
        }
        let processes = self.processes();
        if !processes.is_empty() {
            wrong.push(format!("processes {processes:?} are left"));
        }
        let scratch = |name: &String| name.starts_with(".fathom-scratch-") && !killed;
        let own = |name: &String| self.row.leaves.iter().any(|own| name.starts_with(own)) && !scratch(name);
        let strays: Vec<_> = self.files().difference(before).filter(|name| !own(name)).cloned().collect();
        if !strays.is_empty() {
            wrong.push(format!("files {strays:?} are left"));
        }
        if self.store.exists() {
            let mut check = self.command("sql");
            check.arg("pragma integrity_check");
            let whole = crate::place::say(check);
            // Killed while it was made, or without room: nothing stands in it.
            let none = ["there is no store", "nothing has been kept yet"];
            let is_lost = killed || self.store != self.place.store();
            let none_yet = is_lost && none.iter().any(|said| whole.err.contains(said));
            if !whole.out.contains("ok") && !none_yet {
                wrong.push(format!("the store: {}{}", whole.out, whole.err));
            }
            if self.state(self.row.tool).as_deref() == Some("in progress") {
                wrong.push("its record is in progress".to_owned());
            }
        }
        wrong
    }
}

impl Drop for Cell<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// What came of a cell: what the table shows, and what is wrong.
type Outcome = (String, Vec<String>);

fn shown(said: &Said, cell: &Cell<'_>) -> String {
    let status = said.status.map_or("signal".to_owned(), |status| status.to_string());
    let state = cell.state(cell.row.tool).unwrap_or_else(|| "-".to_owned());
    format!("{status} {}", state.split(' ').next().unwrap_or_default())
}

/// A command that is to fail, and say why.
fn fails(cell: &Cell<'_>, line: &str, words: &[&str]) -> Outcome {
    let before = cell.files();
    let said = cell.say(line);
    let mut wrong = cell.complaints(&said, &before, false);
    if said.status == Some(0) {
        wrong.push("it ended well".to_owned());
    }
    let text = format!("{}{}", said.out, said.err);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !words.iter().any(|word| text.contains(word)) {
        wrong.push(format!("none of {words:?} in {text}"));
    }
    (shown(&said, cell), wrong)
}

/// Does harm to a run that goes on, and interrupts it, in case that it still goes on then.
fn harmed(cell: &Cell<'_>, line: &str, harm: impl FnOnce(), mend: impl FnOnce()) -> (Said, Outcome) {
    let before = cell.files();
    let child = cell.start(line);
    harm();
    std::thread::sleep(Duration::from_millis(100));
    send(&child, "INT");
    mend();
    let said = child.ended();
    let outcome = (shown(&said, cell), cell.complaints(&said, &before, false));
    (said, outcome)
}

fn send(child: &Started, signal: &str) {
    let _ = Command::new("kill").args(["-s", signal, &child.id().to_string()]).output();
}

fn freeze(mount: &Path, how: &str) {
    let done = Command::new("fsfreeze").arg(how).arg(mount).status();
    assert!(done.expect("util-linux").success());
}

fn remount(mount: &Path, options: &str) {
    let done = Command::new("mount").args(["-o", options]).arg(mount).status();
    assert!(done.expect("util-linux").success());
}

/// A file system of 1 MiB.
fn small_file_system(bench: &Bench) -> PathBuf {
    PathBuf::from(bench.lab.make(&["tmpfs", "create", "--size", "1M"])("mount"))
}

fn fill(directory: &Path) {
    let _ = std::fs::write(directory.join("filler"), vec![1; 2 << 20]);
}

/// Runs a short command with its store on a file system that is full or read-only.
fn on_bad_store(mut cell: Cell<'_>, bench: &Bench, fault: Fault) -> Outcome {
    let place = small_file_system(bench);
    match fault {
        Fault::FullStore => fill(&place),
        _ => remount(&place, "remount,ro"),
    }
    let before = cell.files();
    cell.store = place.join("runs.db");
    let said = cell.say(cell.row.short);
    remount(&place, "remount,rw");
    let mut wrong = cell.complaints(&said, &before, false);
    if !matches!(said.status, Some(0 | 3)) {
        wrong.push(format!("status {:?}: {}{}", said.status, said.out, said.err));
    }
    let status = said.status.map_or("signal".to_owned(), |status| status.to_string());
    (format!("{status} not kept"), wrong)
}

/// The store has no room left when the run ends: what stands in it stays whole, and the row tells that its run is over.
fn without_room_at_the_end(mut cell: Cell<'_>, bench: &Bench) -> Outcome {
    let place = small_file_system(bench);
    cell.store = place.join("runs.db");
    harmed(&cell, cell.row.endless, || fill(&place), || ()).1
}

/// Runs a short command with a report where none can be written.
fn on_bad_report(mut cell: Cell<'_>, bench: &Bench, fault: Fault) -> Outcome {
    cell.reports = small_file_system(bench);
    std::fs::copy(cell.directory.join("t.lun"), cell.reports.join("t.lun")).expect("there is room");
    let words = match fault {
        Fault::FullReport => {
            fill(&cell.reports);
            ["No space left", "disk is full"]
        }
        _ => {
            remount(&cell.reports, "remount,ro");
            ["Read-only file system", "read-only"]
        }
    };
    let outcome = fails(&cell, cell.row.report, &words);
    remount(&cell.reports, "remount,rw");
    outcome
}

/// Reads from a device while it loses its blocks, and then its size, as one that is pulled out does.
fn vanished(row: &Row, bench: &Bench) -> Outcome {
    let made = bench.lab.make(&["loop", "create", "--size", "256M"]);
    let device = made("device");
    let cell = Cell::new(row, bench, &device);
    let image = Path::new(&made("folder")).join("disk.img");
    let pull = || {
        let file = std::fs::OpenOptions::new().write(true).open(image).expect("it is the lab's");
        file.set_len(0).expect("a file can be cut");
        std::thread::sleep(Duration::from_millis(300));
        let _ = Command::new("losetup").args(["--set-capacity", &device]).status();
        std::thread::sleep(Duration::from_millis(300));
    };
    let (said, (table, mut wrong)) = harmed(&cell, row.reads, pull, || ());
    if said.status == Some(0) {
        wrong.push(format!("it ended well: {}{}", said.out, said.err));
    }
    wrong.extend(names_no_fault(&cell));
    let _ = bench.lab.command(&["remove", &device]).output();
    (table, wrong)
}

/// A complaint, unless the record names a fault: an error, or an operation that fell short.
fn names_no_fault(cell: &Cell<'_>) -> Option<String> {
    let record = cell.say("show last --json").out;
    let record = record.split_whitespace().collect::<String>();
    let says =
        record.contains("\"errno\":5") || record.contains("\"errno\":28") || record.contains("\"fault\":{");
    (!says).then(|| "the record does not name the fault".to_owned())
}

/// Waits until files grow, or until that took too long.
fn wait_for_layout(cell: &Cell<'_>, before: u64) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) && cell.blocks() <= before {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// kill -9 in a phase of a run, or after a time.
fn killed(cell: &Cell<'_>, line: &str, when: impl FnOnce(&Started)) -> Outcome {
    let before = cell.files();
    let child = Started::new(cell.command(line));
    when(&child);
    let said = child.signal("KILL");
    let table = shown(&said, cell);
    let mut wrong = cell.complaints(&said, &before, true);
    // The next run in the directory removes what a killed one of fathom's own left behind.
    if cell.files().iter().any(|name| name.starts_with(".fathom-scratch-")) {
        let next = cell.say("run --read random --time 100ms --size 16m D");
        if !next.out.contains("which a killed run left behind") {
            wrong.push(format!("nothing is said of what was left: {}{}", next.out, next.err));
        }
        if cell.files().iter().any(|name| name.starts_with(".fathom-scratch-")) {
            wrong.push("a scratch file is left".to_owned());
        }
    }
    (table, wrong)
}

/// `None`: the tool has nothing that this fault could meet.
fn cell_of(fault: Fault, row: &Row, bench: &Bench) -> Option<Outcome> {
    let full = ["No space left", "disk is full", "less than a tenth", "are free where"];
    let line = match fault {
        Fault::ReadError => row.device,
        Fault::WriteError => row.writes,
        Fault::Vanished => row.reads,
        Fault::CutFile => row.file,
        Fault::FullReport | Fault::ReadOnlyReport => row.report,
        _ => row.endless,
    };
    if line.is_empty() {
        return None;
    }
    Some(match fault {
        Fault::ReadError | Fault::WriteError => {
            let made = match fault {
                Fault::ReadError => bench.lab.make(&["cut-loop", "create", "--size", "32M", "--keep", "16M"]),
                _ => bench.lab.make(&["full-loop", "create", "--size", "64M", "--room", "16M"]),
            };
            let cell = Cell::new(row, bench, &made("device"));
            let words = ["Input/output error", "No space left", "failed; they count in no figure"];
            let mut outcome = fails(&cell, line, &words);
            outcome.1.extend(names_no_fault(&cell));
            let _ = bench.lab.command(&["remove", &made("device")]).output();
            outcome
        }
        Fault::Vanished => vanished(row, bench),
        Fault::NoSpace => {
            let mut cell = Cell::new(row, bench, "none");
            cell.size = "128m";
            fails(&cell, row.fills, &full)
        }
        Fault::ReadOnly => {
            let cell = Cell::new(row, bench, "none");
            remount(&bench.mount, "remount,ro");
            let refused = ["Read-only file system", "Can't open file", "unable to open", "readonly"];
            let outcome = fails(&cell, row.fills, &refused);
            remount(&bench.mount, "remount,rw");
            outcome
        }
        Fault::Stall => {
            let cell = Cell::new(row, bench, "none");
            let (still, goes) = (|| freeze(&bench.mount, "--freeze"), || freeze(&bench.mount, "--unfreeze"));
            harmed(&cell, row.endless, still, goes).1
        }
        Fault::CutFile => {
            let cell = Cell::new(row, bench, "none");
            let path = cell.directory.join(row.file);
            let cut = || {
                let there = std::fs::OpenOptions::new().write(true).open(&path);
                there.and_then(|file| file.set_len(0)).unwrap_or_default();
            };
            harmed(&cell, row.endless, cut, || ()).1
        }
        Fault::KillInLayout => {
            let mut cell = Cell::new(row, bench, "none");
            cell.size = "24m";
            let before = cell.blocks();
            killed(&cell, row.fills, |_| wait_for_layout(&cell, before))
        }
        Fault::KillInRun => {
            let cell = Cell::new(row, bench, "none");
            killed(&cell, row.endless, |_| std::thread::sleep(Duration::from_millis(400)))
        }
        Fault::KillInSummary => {
            let cell = Cell::new(row, bench, "none");
            killed(&cell, row.endless, |child| {
                wait_until(row.tool, Duration::from_secs(60), || cell.state(row.tool).is_some());
                send(child, "INT");
                // It looks for signals ten times a second.
                std::thread::sleep(Duration::from_millis(110));
            })
        }
        Fault::FullStore | Fault::ReadOnlyStore => on_bad_store(Cell::new(row, bench, "none"), bench, fault),
        Fault::FullStoreAtEnd => without_room_at_the_end(Cell::new(row, bench, "none"), bench),
        Fault::FullReport | Fault::ReadOnlyReport => {
            on_bad_report(Cell::new(row, bench, "none"), bench, fault)
        }
    })
}

fn tools() -> impl Iterator<Item = &'static Row> {
    TOOLS.iter().filter(|row| row.tool != "bonnie++" || is_root())
}

#[test]
fn every_fault_of_every_tool_leaves_nothing_behind_and_a_record_that_says_so() {
    let _alone = alone();
    let Some(bench) = Bench::open() else { return };
    if Command::new("fsfreeze").arg("--version").output().is_err() {
        return skip("the fault matrix", "no fsfreeze");
    }
    let (mut wrong, begun) = (Vec::new(), Instant::now());
    let names: Vec<String> = FAULTS.iter().map(|fault| format!("{fault:?}")).collect();
    let line = |cells: &[String]| cells.iter().map(|cell| format!("{cell:<19}")).collect::<String>();
    let mut table = format!("{:<10}{}\n", "tool", line(&names));
    for row in tools() {
        let mut cells = Vec::new();
        for fault in FAULTS {
            let (seen, bad) = cell_of(fault, row, &bench).unwrap_or_else(|| ("-".to_owned(), Vec::new()));
            cells.push(if bad.is_empty() { seen } else { format!("!{seen}") });
            wrong.extend(bad.into_iter().map(|what| format!("{} {fault:?}: {what}", row.tool)));
        }
        table += &format!("{:<10}{}\n", row.tool, line(&cells));
    }
    table += "exit status, then the state of its record; -: it meets no such fault\n";
    // Past the test harness, which keeps to itself what a test that passes prints.
    let _ = writeln!(std::io::stderr(), "{table}{:?}", begun.elapsed());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn kill_9_at_random_moments_leaves_a_whole_store_and_nothing_that_the_next_run_does_not_remove() {
    let Some(kills) = std::env::var("FATHOM_KILLS").ok().and_then(|kills| kills.parse::<u64>().ok()) else {
        return;
    };
    let _alone = alone();
    let Some(bench) = Bench::open() else { return };
    let (rows, mut wrong, mut random) = (tools().collect::<Vec<_>>(), Vec::new(), 0x9E37_79B9_7F4A_7C15_u64);
    for kill in 0..kills {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let row = rows[kill as usize % rows.len()];
        let cell = Cell::new(row, &bench, "none");
        // A run, a layout, or a short run with its summary.
        let (line, most_ms) =
            [(row.endless, 3000), (row.fills, 500), (row.short, 500)][kill as usize / rows.len() % 3];
        let (_, bad) = killed(&cell, line, |_| std::thread::sleep(Duration::from_millis(random % most_ms)));
        wrong.extend(bad.into_iter().map(|what| format!("{kill} {}: {what}", row.tool)));
    }
    eprintln!("{kills} kills, {} of them clean", kills as usize - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
