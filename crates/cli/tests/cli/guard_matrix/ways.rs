//! Ways to write to a target: commands that name it.

use super::targets::Target;
use crate::place::{Place, say};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// A way by which bytes may reach a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Run,
    Calibrate,
    Fio,
    FioTrim,
    FioLayout,
    FioUnlink,
    FioOutput,
    FioIolog,
    DdOf,
    DdStdout,
    /// Standard output is a device whose node is gone.
    DdNodeGone,
    /// The shell that redirected it has it open too.
    DdShell,
    Dt,
    Orion,
    Sysbench,
    Iozone,
    Ioping,
    Bonnie,
    SlobSqlite,
    Html,
    Store,
}

impl Way {
    /// All of them: a new one has its place here, or this does not compile.
    pub fn all() -> impl Iterator<Item = Way> {
        let next = |way: &Way| match way {
            Way::Run => Some(Way::Calibrate),
            Way::Calibrate => Some(Way::Fio),
            Way::Fio => Some(Way::FioTrim),
            Way::FioTrim => Some(Way::FioLayout),
            Way::FioLayout => Some(Way::FioUnlink),
            Way::FioUnlink => Some(Way::FioOutput),
            Way::FioOutput => Some(Way::FioIolog),
            Way::FioIolog => Some(Way::DdOf),
            Way::DdOf => Some(Way::DdStdout),
            Way::DdStdout => Some(Way::DdNodeGone),
            Way::DdNodeGone => Some(Way::DdShell),
            Way::DdShell => Some(Way::Dt),
            Way::Dt => Some(Way::Orion),
            Way::Orion => Some(Way::Sysbench),
            Way::Sysbench => Some(Way::Iozone),
            Way::Iozone => Some(Way::Ioping),
            Way::Ioping => Some(Way::Bonnie),
            Way::Bonnie if cfg!(feature = "databases") => Some(Way::SlobSqlite),
            Way::Bonnie | Way::SlobSqlite => Some(Way::Html),
            Way::Html => Some(Way::Store),
            Way::Store => None,
        };
        std::iter::successors(Some(Way::Run), next)
    }

    /// Does it make sense for block devices only?
    pub fn is_for_devices(self) -> bool {
        matches!(self, Way::FioTrim | Way::DdNodeGone)
    }

    /// For files only?
    pub fn is_for_files(self) -> bool {
        self == Way::Bonnie
    }

    /// Tries it; answers what was said, for whoever reads of a failure.
    pub fn run(self, place: &Place, target: &Target, consent: bool) -> String {
        let path = target.path.to_str().expect("a path of this test is plain");
        let mut command = self.command(place, path);
        if consent {
            match self {
                Way::Run | Way::Calibrate => drop(command.args(["--write-consent", path])),
                Way::Orion => drop(command.args(["-write-consent", path])),
                Way::Sysbench => drop(command.env("FATHOM_WRITE_CONSENT", format!("{path},test_file.0"))),
                _ => drop(command.env("FATHOM_WRITE_CONSENT", path)),
            }
        }
        if matches!(self, Way::DdStdout | Way::DdNodeGone) {
            let file =
                if self == Way::DdStdout { open(&target.path) } else { open_without_node(place, path) };
            let said = command.stdout(file).output().expect("the program can be started");
            return format!("{:?} {}", said.status.code(), String::from_utf8_lossy(&said.stderr));
        }
        let said = say(command);
        format!("{:?} {} {}", said.status, said.out, said.err)
    }

    fn command(self, place: &Place, path: &str) -> Command {
        let of = |words: &str| {
            let words: Vec<String> =
                words.split_whitespace().map(|word| word.replace("TARGET", path)).collect();
            place.fathom(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        match self {
            Way::Run => of("run --write random --block 4k --size 2m --time 100ms --no-preflight TARGET"),
            Way::Calibrate => of("calibrate --time 5s --while-busy --mix 50/50 TARGET"),
            Way::Fio => of("fio --name=x --rw=write --bs=64k --size=4m --filename=TARGET"),
            Way::FioTrim => of("fio --name=x --rw=trim --bs=64k --size=4m --filename=TARGET"),
            Way::FioLayout => {
                of("fio --name=x --rw=read --bs=64k --size=8m --create_only=1 --filename=TARGET")
            }
            Way::FioUnlink => of("fio --name=x --rw=read --bs=64k --size=1m --unlink=1 --filename=TARGET"),
            Way::FioOutput => of("fio --name=x --ioengine=null --rw=read --size=64k --output=TARGET"),
            Way::FioIolog => of("fio --name=x --ioengine=null --rw=read --size=64k --write_iolog=TARGET"),
            Way::DdOf => of("dd if=/dev/urandom of=TARGET bs=64k count=4 conv=notrunc status=none"),
            Way::DdShell => {
                let line = r#"exec 3<>"$1"; "$0" dd if=/dev/urandom bs=64k count=4 status=none >&3; exit $?"#;
                let mut command = Command::new("sh");
                command.args(["-c", line, env!("CARGO_BIN_EXE_fathom"), path]);
                place.at_home(&mut command);
                command
            }
            Way::DdStdout | Way::DdNodeGone => of("dd if=/dev/urandom bs=64k count=4 status=none"),
            Way::Dt => of("dt of=TARGET bs=64k limit=256k disable=stats dispose=keep"),
            Way::Orion => {
                fs::write(place.path().join("t.lun"), format!("{path}\n")).expect("a place can be written");
                // The six files of an earlier trial are named by the minute.
                let entries = fs::read_dir(place.path()).expect("a place can be listed").flatten();
                for old in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("t_")) {
                    fs::remove_file(old.path()).expect("a report can be removed");
                }
                of(
                    "orion -run advanced -testname t -matrix point -num_small 1 -num_large 0 -duration 1 -write 100",
                )
            }
            Way::Sysbench => {
                let link = place.path().join("test_file.0");
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(path, link).expect("a place can be written");
                of(
                    "sysbench fileio --file-num=1 --file-total-size=1M --file-test-mode=rndwr --file-block-size=4096 --events=20 --max-requests=20 run",
                )
            }
            Way::Iozone => of("iozone -i 0 -s 256k -r 64k -w -f TARGET"),
            Way::Ioping => of("ioping -WWW -L -c 4 -i 0 -s 64k TARGET"),
            Way::Bonnie => {
                let directory = Path::new(path).parent().expect("a file is in a directory");
                let mut command = of("bonnie++ -s 0 -n 1:10:10:1 -u root -q -d");
                command.arg(directory);
                command
            }
            Way::SlobSqlite => of("slob setup --no-conf --scale 1024 --schemas 1 --db sqlite:TARGET"),
            Way::Html => of("show last --html TARGET"),
            Way::Store => of("run --read random --time 20ms --store TARGET null"),
        }
    }
}

fn open(path: &Path) -> File {
    File::options().write(true).open(path).expect("a target can be opened")
}

/// The device by another node, which is removed at once.
fn open_without_node(place: &Place, path: &str) -> File {
    let number = fs::metadata(path).expect("a target is there").rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let node = place.path().join("node");
    let made =
        Command::new("mknod").arg(&node).arg("b").args([major.to_string(), minor.to_string()]).status();
    assert!(made.expect("mknod is in coreutils").success());
    let file = open(&node);
    fs::remove_file(node).expect("it was made just now");
    file
}
