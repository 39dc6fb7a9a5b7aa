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
