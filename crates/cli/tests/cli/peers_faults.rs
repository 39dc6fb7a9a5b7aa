//! The other tools' languages on a disk of which a part cannot be read, or that is full: what is said, where, and the exit
//! status, beside the tools themselves where they are there.

use crate::place::{Lab, Place, Said, alone, say, wait_until};
use fathom_tidy::skip;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// An ext4 on a loop device whose backing file can be cut.
struct Cut {
    // The file system goes before the lab that made it.
    place: Place,
    mount: PathBuf,
    file: PathBuf,
    _lab: Lab,
}

impl Cut {
    fn new(name: &str) -> Option<Self> {
        let lab = Lab::open(name)?;
        let (mount, file) = {
            let made = lab.make(&["loop", "create", "--size", "64M", "--fs", "ext4", "--mount"]);
            (PathBuf::from(made("mount")), PathBuf::from(made("file")))
        };
        // A journal that is written behind the cut would lengthen the file again.
        let quiet = Command::new("mount").args(["-o", "remount,noatime"]).arg(&mount).status();
        assert!(quiet.expect("util-linux").success());
        Some(Cut { place: Place::new(), mount, file, _lab: lab })
    }

    /// Runs a command on the mount.
    fn say(&self, program: &Path, words: &str) -> Said {
        let mut command = Command::new(program);
        command.args(words.split_whitespace());
        self.place.at_home(&mut command);
        command.current_dir(&self.mount).env_remove("FATHOM_NOTES");
        say(command)
    }

    fn fathom(&self, words: &str) -> Said {
        self.say(Path::new(env!("CARGO_BIN_EXE_fathom")), words)
    }

    fn files_of_bonnie(&self) -> impl Iterator<Item = PathBuf> {
        let files =
            std::fs::read_dir(&self.mount).expect("it is mounted").flatten().map(|entry| entry.path());
        files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("Bonnie")))
    }

    fn holds_a_file_of_bonnie(&self) -> bool {
        self.files_of_bonnie().next().is_some()
    }

    /// The page cache holds bonnie++'s file no more.
    fn forget(&self) {
        for path in self.files_of_bonnie() {
            let file = std::fs::File::open(path).expect("it is there");
            file.sync_all().expect("it can be synced");
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a hint");
        }
    }

    /// The second half of the device can be read no more.
    fn cut(&self) {
        let synced = Command::new("sync").arg("-f").arg(&self.mount).status();
        assert!(synced.expect("coreutils").success());
        let file = std::fs::OpenOptions::new().write(true).open(&self.file).expect("the lab made it");
        file.set_len(32 << 20).expect("it can be cut");
    }
}

/// Is the tool itself there to be compared with? A counted skip if not.
fn is_there(tool: &str, what: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        skip(&format!("{tool} {what}"), "it is not installed");
    }
    there
}

/// Lines with their numbers masked: how far a run came is no layout.
fn fatal(said: &Said) -> Vec<String> {
    let lines = said.out.lines().filter(|line| line.contains("FATAL"));
    lines.map(|line| line.replace(|c: char| c.is_ascii_digit(), "")).collect()
}

#[test]
fn sysbench_tells_of_a_read_that_failed_in_its_words_with_its_status() {
    let _alone = alone();
    let Some(cut) = Cut::new("sysbencheio") else { return };
    let shape = "fileio --file-num=1 --file-total-size=40M";
    cut.fathom(&format!("sysbench {shape} prepare")).ends(0);
    cut.cut();
    let asynchronous = "rndrd --file-io-mode=async";
    for (mode, threads) in [("seqrd", 1), ("rndrd", 1), ("rndrd", 4), (asynchronous, 1)] {
        let words = format!(
            "{shape} --file-test-mode={mode} --threads={threads} --file-extra-flags=direct --rand-seed=3 --time=5 run"
        );
        let ours = cut.fathom(&format!("sysbench {words}")).ends(1);
        assert!(
            ours.out.contains("\nFATAL: Failed to read file! file: 3 pos: ")
                && ours.out.ends_with(" errno = 5 (Input/output error)\n"),
            "{}",
            ours.out
        );
        assert_eq!(ours.err, "");
        if !is_there("sysbench", "on a disk that fails") {
            continue;
        }
        let theirs = cut.say(Path::new("sysbench"), &words).ends(1);
        // How many threads fail before they see that another has is a race there.
        let (ours, theirs) = (fatal(&ours), fatal(&theirs));
        if mode == asynchronous {
            // The real one has lost errno by then.
            assert_eq!((&ours[0], ours.len()), (&theirs[0], theirs.len()));
            continue;
        }
        assert_eq!(ours.len(), 1);
        assert!(theirs.len() <= threads && theirs.iter().all(|line| *line == ours[0]), "{theirs:?} {ours:?}");
    }
}

#[test]
fn iozone_dd_and_dt_tell_of_a_read_that_failed_and_end_badly() {
    let _alone = alone();
    let Some(cut) = Cut::new("iozoneeio") else { return };
    cut.fathom("iozone -i 0 -s 40m -r 1m -w -f data").ends(0);
    cut.cut();
    let said = cut.fathom("iozone -i 1 -s 40m -r 1m -I -w -f data");
    assert_ne!(said.status, Some(0), "{}", said.out);
    assert!(format!("{}{}", said.out, said.err).contains("Input/output error"), "{}{}", said.out, said.err);
    let said = cut.fathom("dd if=data of=/dev/null bs=1M iflag=direct").ends(1);
    assert!(said.err.contains("Input/output error"), "{}", said.err);
    let said = cut.fathom("dt if=data limit=40m bs=1m flags=direct disable=compare").ends(255);
    for words in ["ERROR: Error number 1 occurred on ", "data: read failed at offset ", "Input/output error"]
    {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(said.out.contains(" 1/1\n"), "{}", said.out);
}

#[test]
fn dt_and_iozone_leave_nothing_on_a_disk_that_is_full() {
    let _alone = alone();
    let Some(disk) = Cut::new("dtfull") else { return };
    for words in
        ["of=f limit=128m bs=1m", "of=f limit=128m bs=1m threads=2", "of=f limit=128m bs=1m dispose=keep"]
    {
        let said = disk.fathom(&format!("dt {words}")).ends(255);
        assert!(said.err.contains("No space left on device") && said.err.contains(" limit="), "{}", said.err);
    }
    for words in ["-i 0 -s 128m -r 1m", "-i 0 -s 128m -r 1m -t 2", "-i 6 -s 128m -r 1m"] {
        let said = disk.fathom(&format!("iozone {words} -f f")).ends(74);
        assert!(said.out.contains("\nError writing block "), "{}", said.out);
        assert_eq!(said.err, "write: No space left on device\n");
    }
    let left: Vec<_> = std::fs::read_dir(&disk.mount)
        .expect("it is mounted")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["lost+found"]);
}

/// Runs bonnie++, which asks for a line before each of its tests, and does harm to what lies under it when these tests have
/// ended. The real one may be broken off: after a read that failed it tries again for ever.
fn harmed_after(
    tests: &[&str],
    harm: fn(&Cut),
    cut: &Cut,
    (program, words): (&str, &[&str]),
    break_off: bool,
) -> Said {
    let (out, err) = (cut.place.path().join("out"), cut.place.path().join("err"));
    let mut command = Command::new(program);
    command.args(words);
    cut.place.at_home(&mut command);
    command.current_dir(&cut.mount).env_remove("FATHOM_NOTES").stdin(Stdio::piped());
    let into = |path: &Path| std::fs::File::create(path).expect("a place can be written");
    let mut child = command.stdout(into(&out)).stderr(into(&err)).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    for done in tests {
        stdin.write_all(b"\n").expect("it reads");
        wait_until(done, Duration::from_secs(60), || text(&err).ends_with(done));
    }
    harm(cut);
    drop(stdin);
    if break_off {
        wait_until("an error", Duration::from_secs(60), || text(&err).ends_with("Input/output error\n"));
        child.kill().expect("it runs");
    }
    wait_until("its end", Duration::from_secs(60), || child.try_wait().expect("it is a child").is_some());
    let status = child.wait().expect("it ends").code();
    Said { status, out: text(&out), err: text(&err) }
}

const WRITTEN: &str = "Writing intelligently...done\n";
const REWRITTEN: &str = "Rewriting...done\n";

#[test]
fn bonnie_tells_of_a_file_that_was_cut_short_behind_its_back_as_the_real_one_does() {
    let _alone = alone();
    let words = ["-u", "root", "-s", "40:64k", "-r", "16", "-n", "0", "-f", "-yp", "-m", "host"];
    let own = [&["bonnie++"][..], &words].concat();
    let shorten = |cut: &Cut| {
        for path in cut.files_of_bonnie() {
            let file = std::fs::OpenOptions::new().write(true).open(path).expect("it is there");
            file.set_len(1 << 20).expect("it can be cut short");
        }
    };
    let Some(cut) = Cut::new("bonnieshort") else { return };
    for (tests, says) in [
        (&[WRITTEN][..], "Rewriting...Can't read a full block, only got 0 bytes.\n"),
        (
            &[WRITTEN, REWRITTEN],
            "Reading intelligently...Can't read a full block, only got 0 bytes.\n\
             Bonnie: drastic I/O error (read(2)): No such file or directory\n",
        ),
    ] {
        let ours = harmed_after(tests, shorten, &cut, (env!("CARGO_BIN_EXE_fathom"), &own), false).ends(1);
        assert!(ours.err.ends_with(says), "{}", ours.err);
        assert!(!cut.holds_a_file_of_bonnie());
        if is_there("bonnie++", "on a file that was cut short") {
            assert_eq!(ours.err, harmed_after(tests, shorten, &cut, ("bonnie++", &words), false).ends(1).err);
        }
    }
}

#[test]
fn bonnie_tells_of_a_read_that_failed_in_its_words_and_ends() {
    let _alone = alone();
    let words = ["-u", "root", "-s", "40:64k", "-r", "16", "-n", "0", "-f", "-yp", "-m", "host"];
    let Some(cut) = Cut::new("bonnieeio") else { return };
    let own = [&["bonnie++"][..], &words].concat();
    let broken = |cut: &Cut| {
        cut.forget();
        cut.cut();
    };
    let after = [WRITTEN, REWRITTEN];
    let ours = harmed_after(&after, broken, &cut, (env!("CARGO_BIN_EXE_fathom"), &own), false).ends(1);
    let says = "Reading intelligently...Bonnie: drastic I/O error (re-write read): Input/output error\n";
    assert!(ours.err.ends_with(says), "{}", ours.err);
    assert!(!cut.holds_a_file_of_bonnie());
    assert_eq!(cut.place.say(&["show", "last", "--json"]).ends(0).json()["ending"], "failed");
    if !is_there("bonnie++", "on a disk that fails") {
        return;
    }
    let Some(cut) = Cut::new("bonnieeiotheirs") else { return };
    let theirs = harmed_after(&after, broken, &cut, ("bonnie++", &words), true);
    assert_eq!(ours.err, theirs.err);
}

/// Words with a digit in them masked: how many blocks and files found room, and the letters of names, are each program's own.
fn masked(text: &str) -> String {
    let mask = |word: &str| if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word }.to_owned();
    text.split_whitespace().map(mask).collect::<Vec<_>>().join(" ")
}

#[test]
fn sysbench_and_bonnie_tell_of_a_disk_that_is_full_in_their_words_with_their_status() {
    let _alone = alone();
    let Some(disk) = Cut::new("peersfull") else { return };
    let prepare = "fileio --file-num=2 --file-total-size=128M prepare";
    let ours = disk.fathom(&format!("sysbench {prepare}")).ends(1);
    assert!(
        ours.out.ends_with("\nFATAL: Failed to write file! errno = 28 (No space left on device)\n"),
        "{}",
        ours.out
    );
    if is_there("sysbench", "on a full disk") {
        disk.fathom("sysbench fileio --file-num=2 cleanup").ends(0);
        let theirs = disk.say(Path::new("sysbench"), prepare).ends(1);
        assert_eq!((fatal(&ours), ours.err), (fatal(&theirs), theirs.err));
    }
    disk.fathom("sysbench fileio --file-num=2 cleanup").ends(0);
    let words = "-u root -s 128:64k -r 16 -n 0 -f -m host";
    let ours = disk.fathom(&format!("bonnie++ {words}")).ends(1);
    assert!(
        ours.err.contains("...Can't write block.: No space left on device\nCan't write block "),
        "{}",
        ours.err
    );
    assert!(!disk.holds_a_file_of_bonnie());
    let words = [words, "-u root -s 0 -n 8:100000 -m host", "-u root -s 0 -n 256 -m host"];
    for words in words.into_iter().filter(|_| is_there("bonnie++", "on a full disk")) {
        let ours = disk.fathom(&format!("bonnie++ {words}")).ends(1);
        let theirs = disk.say(Path::new("bonnie++"), words).ends(1);
        assert_eq!(
            (ours.out.as_str(), masked(&ours.err)),
            (theirs.out.as_str(), masked(&theirs.err)),
            "{words}"
        );
    }
}

/// What cannot be reserved beforehand was an error; in fio only what cannot be written is one.
#[test]
fn fio_writes_what_fits_and_stops_laying_out_where_the_real_one_does() {
    let _alone = alone();
    let Some(disk) = Cut::new("fiofull") else { return };
    let shape = "--name=a --filename=f --size=128m --bs=64k";
    for (kind, says) in [
        ("--rw=write", "error=No space left on device"),
        ("--rw=read", "fio: ENOSPC on laying out file, stopping"),
        ("--rw=read --fallocate=none", "fio: ENOSPC on laying out file, stopping"),
        ("--rw=write --fallocate=posix", "fio: posix_fallocate fails: No space left on device"),
    ] {
        let words = format!("{shape} {kind}");
        for who in ["fathom", "fio"] {
            let said = match who {
                "fathom" => disk.fathom(&format!("fio {words}")),
                _ if is_there("fio", "on a full disk") => disk.say(Path::new("fio"), &words),
                _ => continue,
            };
            assert_eq!(said.status, Some(1), "{who} {kind}: {}", said.err);
            assert!(
                format!("{}{}", said.out, said.err).contains(says),
                "{who} {kind}: {}{}",
                said.out,
                said.err
            );
            std::fs::remove_file(disk.mount.join("f")).expect("both leave what was written");
        }
    }
}
