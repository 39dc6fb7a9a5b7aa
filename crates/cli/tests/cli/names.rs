//! File names are bytes. One that is no text is refused by name; the file whose name is nearest to it is never opened.

use crate::place::{Place, Said, say};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

const NAMED: &[u8] = b"caf\xe9";
/// What the other would be called if its last byte were replaced.
const OTHER: &str = "caf\u{fffd}";

/// A place with the named file, empty, and the other one.
fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.path().join(OsStr::from_bytes(NAMED)), "").unwrap();
    std::fs::write(place.path().join(OTHER), "PRECIOUS").unwrap();
    place
}

fn by_link(place: &Place, tool: &str, before: &[u8]) -> Said {
    let link = place.path().join(tool);
    symlink(env!("CARGO_BIN_EXE_fathom"), &link).unwrap();
    let mut command = std::process::Command::new(&link);
    place.at_home(&mut command);
    command.arg(OsStr::from_bytes(&[before, NAMED].concat()));
    say(command)
}

#[test]
fn called_by_a_link_every_tool_refuses_a_name_that_is_no_text_and_opens_no_other() {
    let place = place();
    for (tool, before) in [
        ("dd", &b"of="[..]),
        ("dt", b"of="),
        ("fio", b"--filename="),
        ("iozone", b"-f"),
        ("orion", b"-testname="),
        ("bonnie++", b"-d"),
        ("ioping", b""),
        ("sysbench", b"--config-file="),
        ("slob", b"--conf="),
    ] {
        let said = by_link(&place, tool, before).ends(1);
        let escaped = String::from_utf8([before, b"caf\\xE9"].concat()).unwrap();
        assert!(
            said.err.contains(&format!("{tool}: the name \"{escaped}\" is not UTF-8 text")),
            "{}",
            said.err
        );
        assert!(said.err.contains("hint: "), "{}", said.err);
    }
    assert_eq!(std::fs::read(place.path().join(OTHER)).unwrap(), b"PRECIOUS");
    assert_eq!(std::fs::read(place.path().join(OsStr::from_bytes(NAMED))).unwrap(), b"");
    let made = std::fs::read_dir(place.path()).unwrap().flatten();
    let strange =
        made.filter(|entry| entry.file_name().to_str().is_none_or(|name| name.contains('\u{fffd}')));
    assert_eq!(strange.count(), 2, "nothing of another name was made");
}

fn noise(path: &Path) {
    crate::place::write_noise(path, 2 << 20);
}

#[test]
fn a_file_that_is_found_in_a_directory_is_not_taken_for_another() {
    let place = Place::new();
    let directory = place.path().join("data");
    std::fs::create_dir(&directory).unwrap();
    noise(&directory.join(OsStr::from_bytes(NAMED)));
    place.say(&["ping", "-c", "1", "data"]).refuses(1, &["caf\\xE9", "not UTF-8 text"]);
    let said = place.say(&["calibrate", "--data-files", "data"]);
    said.refuses(1, &["no file of 1 MiB or more in data can be read"]);
}

#[test]
fn the_store_may_have_any_name() {
    let place = Place::new();
    let store = place.path().join(OsStr::from_bytes(b"runs\xe9.db"));
    let words = ["run", "--read", "random", "--time", "100ms", "sim:ways=2,service=100us"];
    let mut by_variable = place.fathom(&words);
    by_variable.env("FATHOM_STORE", &store);
    say(by_variable).measures();
    assert!(store.is_file());
    std::fs::remove_file(&store).unwrap();
    let mut by_word = place.fathom(&[]);
    by_word.arg("--store").arg(&store).args(["dd", "if=/dev/zero", "of=/dev/null", "count=1"]);
    say(by_word).ends(0);
    assert!(store.is_file());
}

/// What each tool says of a name, and of a path, that the kernel finds too long; the words before the name, and the status.
const LONG: [(&str, i32); 13] = [
    ("run --read random --time 100ms ", 1),
    ("run --write random --time 100ms --size 1m ", 1),
    ("calibrate --time 5s ", 1),
    ("ping -c 1 ", 1),
    ("fio --name=a --rw=read --size=1m --filename=", 1),
    ("fio --name=a --rw=write --size=1m --filename=", 1),
    ("dt if=", 255),
    ("dt limit=1m of=", 255),
    ("dd if=", 1),
    ("dd if=/dev/zero count=1 of=", 1),
    ("iozone -i 0 -s 64k -r 4k -f ", 44),
    ("ioping -c 1 ", 2),
    ("bonnie++ -u root -d ", 1),
];

/// fio and dt were tried on a path of more than 4096 bytes in the findings; now every tool is.
#[test]
fn a_name_or_a_path_that_is_too_long_is_an_error_that_says_so_and_leaves_nothing() {
    let place = Place::new();
    let existing = "d".repeat(200);
    let mut whole = place.path().to_owned();
    while whole.as_os_str().len() < 3800 {
        whole.push(&existing);
    }
    std::fs::create_dir_all(&whole).unwrap();
    let below: Vec<&str> = [existing.as_str(); 3].to_vec();
    let names = ["n".repeat(300), format!("{}/{}", whole.display(), below.join("/"))];
    for (words, status) in LONG {
        for name in &names {
            let (before, last) = words.rsplit_once(' ').unwrap();
            let last = format!("{last}{name}");
            let words: Vec<&str> = before.split_whitespace().chain([last.as_str()]).collect();
            let said = place.say(&words).ends(status);
            let text = format!("{}{}", said.out, said.err);
            let says =
                ["File name too long", "Can't change to directory"].iter().any(|word| text.contains(word));
            assert!(says, "{before}: {text}");
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    let own = |name: &std::ffi::OsString| *name == *existing || name.to_string_lossy().starts_with("runs.db");
    assert!(left.iter().all(own), "{left:?}");
}

/// A new line in a name began a line that looked like one of ours.
#[test]
fn a_name_begins_no_line_of_an_error() {
    let place = Place::new();
    let name = "x\nhint: all is well\u{1b}[2J";
    let fio = format!("--filename={name}");
    for words in [
        &["run", "--read", "random", name][..],
        &["calibrate", name],
        &["ping", name],
        &["--store", "/dev/null/x\nhint: all is well\u{1b}[2J", "history"],
        &["fio", "--name=a", "--rw=read", "--size=1m", "--directory=/dev/null", &fio],
        &["dt", &format!("if={name}")],
        &["dd", &format!("if={name}")],
    ] {
        let said = place.say(words);
        assert_ne!(said.status, Some(0), "{words:?}");
        assert!(said.err.contains("x"), "{words:?}: {}", said.err);
        assert!(!said.err.contains("\nhint: all"), "{words:?}: {}", said.err);
        assert!(!said.err.contains('\u{1b}'), "{words:?}: {}", said.err);
    }
}
