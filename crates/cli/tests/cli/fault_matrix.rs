//! Every fault times every tool. After each: it has ended, and not by a crash; no file is left but what the tool leaves; no process;
//! the store is whole; the record says how it ended. FATHOM_KILLS=200 kills at random moments besides, over all tools.

use crate::place::{Lab, Place, Said, Started, alone, wait_until, write_noise};
use fathom_tidy::{is_root, skip};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The device fails from its middle on.
    ReadError,
    /// The file system is smaller than the files that are to be made.
    NoSpace,
    /// The file system is read-only.
    ReadOnly,
    /// The file system stands still, and the user interrupts.
    Stall,
    /// The file is cut to nothing while it is read or written, and the user interrupts.
    CutFile,
    /// All of the device is gone while it is used.
    Vanished,
    /// kill -9 while it runs.
    Kill,
    /// The store's file system is full.
    FullStore,
    /// The store's file system is read-only.
    ReadOnlyStore,
}

const FAULTS: [Fault; 9] = [
    Fault::ReadError,
    Fault::NoSpace,
    Fault::ReadOnly,
    Fault::Stall,
    Fault::CutFile,
    Fault::Vanished,
    Fault::Kill,
    Fault::FullStore,
    Fault::ReadOnlyStore,
];

/// A tool's command lines: `D` is the directory, `V` a device, `S` a size. Nothing where it cannot be: bonnie++ and sysbench take no
/// device, slob and bonnie++ make the files themselves that they read.
struct Row {
    tool: &'static str,
    /// Done first, for `endless` and `short`.
    before: &'static str,
    /// Files on a device that it reads.
    device: &'static str,
    /// Makes files of S.
    fills: &'static str,
    /// Goes on until it is ended.
    endless: &'static str,
    /// The file that `endless` works on.
    file: &'static str,
    /// Ends by itself at once.
    short: &'static str,
    /// Files that stay behind after a kill, as the tool's own would; names' beginnings.
    leaves: &'static [&'static str],
}

const TOOLS: &[Row] = &[
    Row {
        tool: "calibrate",
        before: "",
        device: "calibrate V --time 5s --while-busy",
        fills: "calibrate D --time 5s --size S --while-busy",
        endless: "calibrate D --time 10m --size 16m --while-busy",
        file: "",
        short: "calibrate sim:ways=2,service=100us --time 5s",
        leaves: &[".fathom-scratch-"],
    },
    Row {
        tool: "run",
        before: "",
        device: "run --read random --time 300ms V",
        fills: "run --write random --time 300ms --size S D",
        endless: "run --write random --time 600s --write-consent data data",
        file: "data",
        short: "run --read random --time 100ms data",
        leaves: &[".fathom-scratch-"],
    },
    Row {
        tool: "orion",
        before: "",
        device: "orion -run advanced -testname v -matrix point -num_small 4 -num_large 0 -duration 1",
        fills: "orion -run advanced -testname new -create S -matrix point -num_small 1 -num_large 0 -duration 1",
        endless: "orion -run advanced -testname t -matrix point -num_small 1 -num_large 0 -duration 600",
        file: "data",
        short: "orion -run advanced -testname t -matrix point -num_small 1 -num_large 0 -duration 1",
        leaves: &["t_", "v_", "new_"],
    },
    Row {
        tool: "fio",
        before: "",
        device: "fio --name=a --filename=V --rw=read --bs=64k",
        fills: "fio --name=a --filename=out --rw=write --bs=64k --size=S",
        endless: "fio --name=a --filename=data --rw=randrw --size=4m --time_based --runtime=600",
        file: "data",
        short: "fio --name=a --filename=data --rw=randread --size=1m",
        leaves: &["out"],
    },
    Row {
        tool: "sysbench",
        before: "sysbench fileio --file-num=1 --file-total-size=4M prepare",
        device: "",
        fills: "sysbench fileio --file-num=1 --file-total-size=S prepare",
        endless: "sysbench fileio --file-num=1 --file-total-size=4M --file-test-mode=rndrw --time=600 run",
        file: "test_file.0",
        short: "sysbench fileio --file-num=1 --file-total-size=4M --file-test-mode=rndrd --events=100 run",
        leaves: &["test_file."],
    },
    Row {
        tool: "dd",
        before: "",
        device: "dd if=V of=/dev/null bs=64k iflag=direct",
        fills: "dd if=/dev/zero of=out bs=1M count=S",
        endless: "dd if=/dev/zero of=data bs=4k oflag=dsync conv=notrunc,nocreat count=1000000000",
        file: "data",
        short: "dd if=data of=out bs=64k status=none",
        leaves: &["out"],
    },
    Row {
        tool: "dt",
        before: "",
        device: "dt if=V bs=64k flags=direct disable=compare",
        fills: "dt of=out limit=S bs=1m",
        endless: "dt of=out limit=1m bs=4k passes=10000000 disable=pstats",
        file: "out",
        short: "dt of=out limit=1m bs=64k disable=pstats",
        leaves: &["out"],
    },
    Row {
        tool: "bonnie++",
        before: "",
        device: "",
        fills: "bonnie++ -u root -d D -s S -r 8M -n 0 -D -q",
        endless: "bonnie++ -u root -d D -s 16M -r 8M -n 0 -q -x 1000",
        file: "",
        short: "bonnie++ -u root -d D -s 0 -n 1:10:10:1 -q",
        leaves: &["Bonnie."],
    },
    Row {
        tool: "iozone",
        before: "",
        device: "iozone -i 1 -s 32m -r 64k -I -w -f V",
        fills: "iozone -i 0 -s S -r 1m -f out",
        endless: "iozone -i 0 -i 1 -i 2 -r 4k -s 24m -I -f out --budget 600",
        file: "out",
        short: "iozone -i 0 -s 64k -r 4k -f out",
        leaves: &["out"],
    },
    Row {
        tool: "ioping",
        before: "",
        device: "ioping -q -D -i 0 -c 2000 -s 64k V",
        fills: "ioping -c 1 -S S D",
        endless: "ioping -q -i 1ms data",
        file: "data",
        short: "ioping -q -i 0 -c 5 data",
        leaves: &["ioping."],
    },
    #[cfg(feature = "databases")]
    Row {
        tool: "slob",
        before: "slob setup 1 --scale 8M",
        device: "",
        fills: "slob setup 1 --scale S",
        endless: "slob run --run-time 600s --work-unit 4",
        file: "",
        short: "slob run --run-time 300ms --warm-up 100ms --work-unit 4",
        leaves: &["slob", "awr", "iostat", "vmstat", "mpstat"],
    },
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
}

impl<'a> Cell<'a> {
    fn new(row: &'a Row, bench: &Bench, device: &str) -> Cell<'a> {
        let directory = bench.mount.join(row.tool);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).expect("it is mounted");
        let cell = Cell { row, place: Place::new(), directory, device: device.to_owned(), size: "16m" };
        write_noise(&cell.directory.join("data"), 4 << 20);
        for (name, lun) in [("t.lun", "data"), ("v.lun", device), ("new.lun", "new")] {
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
        command.current_dir(&self.directory).env_remove("FATHOM_NOTES");
        command
    }

    fn say(&self, line: &str) -> Said {
        crate::place::say(self.command(line))
    }

    /// Starts what goes on until it is ended, and waits until its row is there.
    fn start(&self) -> Started {
        let child = Started::new(self.command(self.row.endless));
        wait_until(self.row.tool, Duration::from_secs(60), || self.state(self.row.tool).is_some());
        child
    }

    fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(&self.directory).expect("it is mounted").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The state of the newest run of a tool, if there is one.
    fn state(&self, tool: &str) -> Option<String> {
        let listed = self.place.say(&["history", "--json"]);
        let lines =
            listed.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line["tool"] == tool).find_map(|line| line["state"].as_str().map(str::to_owned))
    }

    /// Processes that were started with this cell's store.
    fn processes(&self) -> Vec<String> {
        let own = format!("FATHOM_STORE={}", self.place.store().display());
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
        if self.place.store().exists() {
            let whole = self.place.say(&["sql", "pragma integrity_check"]);
            // Killed while it was made: nothing stands in it yet.
            let none = ["there is no store", "nothing has been kept yet"];
            let none_yet = killed && none.iter().any(|said| whole.err.contains(said));
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

/// Does harm to a run that goes on, and interrupts it; `None` where the run has no place for that harm.
fn harmed(cell: &Cell<'_>, harm: impl FnOnce(), mend: impl FnOnce()) -> Outcome {
    let before = cell.files();
    let child = cell.start();
    harm();
    std::thread::sleep(Duration::from_millis(100));
    let id = child.id().to_string();
    let _ = Command::new("kill").args(["-s", "INT", &id]).output();
    mend();
    let said = child.ended();
    (shown(&said, cell), cell.complaints(&said, &before, false))
}

fn freeze(mount: &Path, how: &str) {
    let done = Command::new("fsfreeze").arg(how).arg(mount).status();
    assert!(done.expect("util-linux").success());
}

fn remount(mount: &Path, options: &str) {
    let done = Command::new("mount").args(["-o", options]).arg(mount).status();
    assert!(done.expect("util-linux").success());
}

/// Runs a short command with its store on a file system that is full or read-only.
fn on_bad_store(cell: &Cell<'_>, bench: &Bench, fault: Fault) -> Outcome {
    let store = PathBuf::from(bench.lab.make(&["tmpfs", "create", "--size", "1M"])("mount"));
    match fault {
        Fault::FullStore => {
            let _ = std::fs::write(store.join("filler"), vec![1; 2 << 20]);
        }
        _ => remount(&store, "remount,ro"),
    }
    let before = cell.files();
    let mut command = cell.command(cell.row.short);
    command.env("FATHOM_STORE", store.join("runs.db"));
    let said = crate::place::say(command);
    let mut wrong = cell.complaints(&said, &before, false);
    if !matches!(said.status, Some(0 | 3)) {
        wrong.push(format!("status {:?}: {}{}", said.status, said.out, said.err));
    }
    remount(&store, "remount,rw");
    let status = said.status.map_or("signal".to_owned(), |status| status.to_string());
    (format!("{status} not kept"), wrong)
}

fn killed(cell: &Cell<'_>, after: Duration) -> Outcome {
    let before = cell.files();
    let child = Started::new(cell.command(cell.row.endless));
    std::thread::sleep(after);
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
    match fault {
        Fault::ReadError | Fault::Vanished if row.device.is_empty() => None,
        Fault::CutFile if row.file.is_empty() => None,
        Fault::ReadError | Fault::Vanished => {
            let keep = if fault == Fault::ReadError { "16M" } else { "4K" };
            let made = bench.lab.make(&["cut-loop", "create", "--size", "32M", "--keep", keep]);
            let cell = Cell::new(row, bench, &made("device"));
            let words = ["Input/output error", "failed; they count in no figure"];
            let mut outcome = fails(&cell, row.device, &words);
            let record = cell.place.say(&["show", "last", "--json"]).out;
            // EIO, or a read that fell short where the device's last whole block is.
            let record = record.split_whitespace().collect::<String>();
            let says = record.contains("\"errno\":5") || record.contains("\"fault\":{");
            outcome.1.extend((!says).then(|| "the record does not name the fault".to_owned()));
            let _ = bench.lab.command(&["remove", &made("device")]).output();
            Some(outcome)
        }
        Fault::NoSpace => {
            let mut cell = Cell::new(row, bench, "none");
            cell.size = "128m";
            Some(fails(&cell, row.fills, &full))
        }
        Fault::ReadOnly => {
            let cell = Cell::new(row, bench, "none");
            remount(&bench.mount, "remount,ro");
            let refused = ["Read-only file system", "Can't open file", "unable to open", "readonly"];
            let outcome = fails(&cell, row.fills, &refused);
            remount(&bench.mount, "remount,rw");
            Some(outcome)
        }
        Fault::Stall => {
            let cell = Cell::new(row, bench, "none");
            let (still, goes) = (|| freeze(&bench.mount, "--freeze"), || freeze(&bench.mount, "--unfreeze"));
            Some(harmed(&cell, still, goes))
        }
        Fault::CutFile => {
            let cell = Cell::new(row, bench, "none");
            let path = cell.directory.join(row.file);
            let cut = || {
                let there = std::fs::OpenOptions::new().write(true).open(&path);
                there.and_then(|file| file.set_len(0)).unwrap_or_default();
            };
            Some(harmed(&cell, cut, || ()))
        }
        Fault::Kill => {
            let cell = Cell::new(row, bench, "none");
            Some(killed(&cell, Duration::from_millis(400)))
        }
        Fault::FullStore | Fault::ReadOnlyStore => {
            let cell = Cell::new(row, bench, "none");
            Some(on_bad_store(&cell, bench, fault))
        }
    }
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
    eprintln!("{:<10}{}", "tool", line(&names));
    for row in tools() {
        let mut cells = Vec::new();
        for fault in FAULTS {
            let (table, bad) = cell_of(fault, row, &bench).unwrap_or_else(|| ("-".to_owned(), Vec::new()));
            cells.push(if bad.is_empty() { table } else { format!("!{table}") });
            wrong.extend(bad.into_iter().map(|what| format!("{} {fault:?}: {what}", row.tool)));
        }
        eprintln!("{:<10}{}", row.tool, line(&cells));
    }
    eprintln!("exit status, then the state of its record; -: it meets no such fault; {:?}", begun.elapsed());
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
        let (_, bad) = killed(&cell, Duration::from_millis(random % 3000));
        wrong.extend(bad.into_iter().map(|what| format!("{kill} {}: {what}", row.tool)));
    }
    eprintln!("{kills} kills, {} of them clean", kills as usize - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
