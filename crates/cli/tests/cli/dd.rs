//! `fathom dd` beside coreutils' dd: the same files, the same words on stderr, the same exit status.

use crate::place::{Place, Said};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// One command line each, as a shell reads it.
const LINES: &str = r#"
    if=t of=b
    if=nope
    if=t of=/nope/b
    if=t of=b bs=0
    if=t of=b bs=x
    foo=1
    foo
    if=t of=b conv=foo
    if=t of=b iflag=foo
    if=t of=b status=foo
    if=t of=b bs=0x10
    if=t of=b conv=ascii,ebcdic
    if=t of=b conv=excl,nocreat
    if=t of=b skip=300
    if=t of=b count=2B
    if=t of=b ibs=2 obs=3
    if=t of=b iflag=direct,nocache
    if=t of=b conv=block cbs=3
    --foo
    -h
    if=t of=b bs=1 count=0
    iflag=append if=t
    if=t of=b oflag=fullblock
    if=t of=b conv=lcase,ucase
    if=t of=b conv=block
    if=t of=b conv=sync,block cbs=2 ibs=2
    if=t of=b conv=excl
    if=t of=zz conv=nocreat
    if=dir of=b
    if=t of=dir
    if=t of=b oflag=direct
    if=t of=/dev/full
    if=t of=/dev/full bs=4
    if=t of=b iflag=directory
    if=t of=b status=none,noxfer
    if=t of=b status=none
    if=t of=b status=noxfer
    if=t of=b iflag=direct bs=3
    if=t of=b skip=10
    if=t of=b seek=9223372036854775807 bs=1
    if=t of=b seek=9223372036854775807
    if=t of=b skip=9223372036854775807
    if=t conv=block cbs=5
    if=t conv=block cbs=5 ibs=3 obs=4
    if=t conv=ebcdic cbs=5
    if=t conv=block,ebcdic cbs=5
    if=t conv=block,sync cbs=5 ibs=8
    if=t conv=unblock cbs=4
    if=t conv=swab bs=5
    if=t conv=swab ibs=3
    if=t conv=sync bs=12
    if=t conv=sync,unblock bs=12 cbs=5
    if=t conv=ucase,block cbs=4
    if=t conv=ascii,unblock cbs=3
    if=t conv=swab,sync ibs=5
    if=all conv=ascii
    if=all conv=ebcdic
    if=all conv=ibm
    if=all conv=ebcdic,lcase
    if=all conv=ascii,ucase
    if=all conv=ebcdic,sync,block cbs=10 ibs=100
    if=t skip=1 bs=4 count=2
    if=t skip=3B bs=4 count=5B
    if=t iflag=skip_bytes,count_bytes skip=3 count=5 bs=4
    if=t cbs=4 conv=ascii,block
    if=t of=p bs=4 seek=2 conv=sparse
    if=/dev/zero of=z bs=4k count=4 conv=sparse
    if=/dev/zero of=z bs=4k count=4
    bs=4 skip=2 of=b
    bs=4 skip=20 of=b
    if=t bs=4 seek=2
    if=t of=b ibs=1 bs=5 obs=2 count=2
    if=t of=/dev/null conv=fsync
    if=t of=/dev/null conv=fdatasync
    if=t of=b conv=fsync,fdatasync
    if=t of=/dev/null skip=17 bs=1
    if=t of=/dev/null skip=18 bs=1
    if=t of=/dev/null status=progress,none
    if=t of=/dev/null iflag=count_bytes,skip_bytes oflag=seek_bytes seek=3 count=4
    if=t of=zz oflag=seek_bytes seek=3 count=4
    if=t of=zz seek=3B
    if=t of=b oflag=append conv=notrunc
    if=t of=b oflag=append
    if=t of=b status=none oflag=append
    if=t of=/dev/null skip=9 status=none
    skip=9 of=/dev/null status=none
    of=b oflag=directory,sync
    iflag=directory of=b
    if=t oflag=directory
    if=/dev/zero of=/dev/full count=2
    if=/dev/zero of=/dev/full bs=1k count=2 conv=noerror
    if=t of=b bs=2 seek=1 conv=notrunc
    if=t of=b bs=4 count=0 seek=2
    if=t of=b bs=4 seek=2
    if=t of=/dev/null status=progress bs=1
    if=/dev/zero of=z bs=1M count=3 oflag=direct
    if=/dev/zero of=z bs=1M count=3 oflag=dsync
    if=/dev/zero of=z bs=1M count=3 oflag=nocache
    if=t of=b iflag=nocache count=0
    if=t of=b count=99999999999999999999
    if="no'pe"
    if="$(printf 'a\nb')"
    if="$(printf '\n\t\001x')"
    if="$(printf 'a\n')'b"
    of="$(printf 'dir/x\033/y')"
    if='no pe'
    of="x y" if=t skip=9 count=1
    iflag=fullblock bs=20 of=b
    bs=20 count=1 of=b
    of=b count=1kB
    of=/dev/stdout if=t
    if=t of=b --
    -- if=t of=b
    if=t of=b conv=noerror,sync bs=4
    if=/dev/zero of=b count=1k bs=1kB
    bs=100 of=b if=all iflag=noatime,nofollow,noctty,nonblock,sync,dsync
    if=t of=b bs=3 conv=notrunc,swab
    if=t of=b obs=4 conv=sync,ucase ibs=7
    if=t of=b cbs=1 conv=unblock
    if=t of=b cbs=100 conv=unblock,lcase
    if=/dev/zero bs=2 count=3 conv=unblock cbs=2
    if=t if=all of=q of=b bs=1 bs=2 count=4 count=3
    iseek=1 oseek=1 bs=2 if=t of=b
    if=t of=b skip=1x2 bs=1Bx3
"#;

/// A directory with the files that the lines name.
fn laid_out(place: &Place, name: &str) -> std::path::PathBuf {
    let directory = place.path().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(directory.join("dir")).expect("the place can be written");
    let all: Vec<u8> = (0..=255).collect();
    for (name, bytes) in [("t", &b"one\ntwo two two\nx"[..]), ("all", &all), ("b", b"previous content of b")]
    {
        std::fs::write(directory.join(name), bytes).expect("the place can be written");
    }
    directory
}

/// Runs a line with a program in a directory; answers its status, stdout, and stderr without figures of time.
fn ran(program: &str, line: &str, directory: &Path, place: &Place) -> (Option<i32>, Vec<u8>, String) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{program} {line}"));
    place.at_home(&mut command);
    command.current_dir(directory).env("LC_ALL", "C").env_remove("FATHOM_NOTES");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a shell is there");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A program that does not read it closes it.
    let _ = stdin.write_all(b"one\ntwo two two\nxone\ntwo two two\nx");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    let err = err.lines().map(|line| line.split(" copied, ").next().unwrap_or_default().to_owned() + "\n");
    (output.status.code(), output.stdout, err.collect())
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).expect("it is there").flatten();
    let named = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).unwrap_or_default())
    });
    named.collect()
}

#[test]
fn a_hundred_command_lines_do_and_say_what_coreutils_does_and_says() {
    let place = Place::new();
    let ours = format!("{} dd", env!("CARGO_BIN_EXE_fathom"));
    for line in LINES.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (theirs_at, ours_at) = (laid_out(&place, "theirs"), laid_out(&place, "ours"));
        let theirs = ran("dd", line, &theirs_at, &place);
        let ours = ran(&ours, line, &ours_at, &place);
        assert_eq!(ours, theirs, "dd {line}");
        assert_eq!(files(&ours_at), files(&theirs_at), "dd {line}");
    }
}

/// With the signal of the limit ignored, and without: then it ends either program.
#[test]
fn a_write_that_fails_half_way_is_counted_and_named_as_coreutils_does() {
    let place = Place::new();
    for limit in ["ulimit -f 20; trap '' XFSZ; exec", "ulimit -f 20; exec"] {
        let ours = format!("{limit} {} dd", env!("CARGO_BIN_EXE_fathom"));
        for sizes in ["bs=6k", "ibs=6k obs=6k", "obs=6k", "bs=6k conv=swab", "bs=6k conv=sync", "bs=5k"] {
            let line = format!("if=/dev/zero of=f count=100 {sizes}");
            let (theirs_at, ours_at) = (laid_out(&place, "theirs"), laid_out(&place, "ours"));
            let theirs = ran(&format!("{limit} dd"), &line, &theirs_at, &place);
            assert_eq!(ran(&ours, &line, &ours_at, &place), theirs, "dd {line}");
            assert_eq!(files(&ours_at), files(&theirs_at), "dd {line}");
        }
    }
}

#[test]
fn a_pipe_that_nobody_writes_to_has_ended_for_who_will_not_wait() {
    let place = Place::new();
    let ours = format!("mkfifo p; {} dd", env!("CARGO_BIN_EXE_fathom"));
    let line = "if=p of=q iflag=nonblock; rm p";
    let (theirs_at, ours_at) = (laid_out(&place, "theirs"), laid_out(&place, "ours"));
    let theirs = ran("mkfifo p; dd", line, &theirs_at, &place);
    assert_eq!(ran(&ours, line, &ours_at, &place), theirs);
    assert_eq!(files(&ours_at), files(&theirs_at));
}

fn dd(place: &Place, words: &str) -> Command {
    let mut command = place.fathom(&[]);
    command.arg("dd").args(words.split_whitespace()).env("LC_ALL", "C");
    command
}

/// The same, hearing interrupts although whoever started the tests ignores them (a shell does that to what it starts in the
/// background, and dd, as other programs do, leaves it so).
fn dd_that_hears(place: &Place, words: &str) -> Command {
    let deaf = dd(place, words);
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(deaf.get_program()).args(deaf.get_args());
    if let Some(folder) = deaf.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in deaf.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// A copy that has written `hello`, and waits for more.
fn waiting_for_more(place: &Place, stderr: impl Into<Stdio>) -> (Child, ChildStdin) {
    let mut command = dd_that_hears(place, "of=out bs=512");
    command.stdin(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"hello").expect("it reads");
    let written = || std::fs::read(place.path().join("out")).is_ok_and(|bytes| bytes.len() == 5);
    crate::place::wait_until("the first block", Duration::from_secs(20), written);
    (child, stdin)
}

#[test]
fn sigusr1_tells_what_was_copied_so_far_and_the_copy_goes_on() {
    let place = Place::new();
    let told = place.path().join("told");
    let stderr = std::fs::File::create(&told).expect("a place can be written");
    let (child, mut stdin) = waiting_for_more(&place, stderr);
    let sent = Command::new("kill").args(["-s", "USR1", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let err = || std::fs::read_to_string(&told).unwrap_or_default();
    crate::place::wait_until("the lines", Duration::from_secs(20), || err().lines().count() >= 3);
    stdin.write_all(b"world").expect("it reads on");
    drop(stdin);
    Said::from(child.wait_with_output().expect("it ends")).ends(0);
    let err = err();
    let lines: Vec<&str> = err.lines().map(|line| line.split(" copied").next().unwrap_or("")).collect();
    let expected =
        ["0+1 records in", "0+1 records out", "5 bytes", "0+2 records in", "0+2 records out", "10 bytes"];
    assert_eq!(lines, expected);
    assert_eq!(std::fs::read(place.path().join("out")).expect("written"), b"helloworld");
}

#[test]
fn an_interrupt_tells_what_was_copied_and_ends_the_program_by_the_signal() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let mut command = dd_that_hears(&place, "if=/dev/zero of=/dev/null bs=64k");
    command.stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let counters = format!("/proc/{}/io", child.id());
    crate::place::wait_until("a hundred blocks", Duration::from_secs(20), || {
        let text = std::fs::read_to_string(&counters).unwrap_or_default();
        let written = text.lines().find_map(|line| line.strip_prefix("wchar: ")).and_then(|n| n.parse().ok());
        written.unwrap_or(0) > 100 * (64u64 << 10)
    });
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.signal(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains(" records out\n") && err.contains(" copied, "), "{err}");
    assert_eq!(place.say(&["show", "last", "--json"]).ends(0).json()["ending"], "interrupted");
}

#[test]
fn an_interrupt_ends_a_copy_that_waits_for_its_input() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let (child, stdin) = waiting_for_more(&place, Stdio::piped());
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    assert_eq!(output.status.signal(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("0+1 records in\n0+1 records out\n5 bytes copied, "), "{err}");
}

#[test]
fn a_reader_that_has_gone_ends_it_by_the_signal_without_a_word() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    let mut command = dd(&place, "if=/dev/zero bs=64k");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    drop(command);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.signal(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(13), ""));
}

#[test]
fn notes_are_silent_unless_asked_for_and_kept_with_the_run() {
    let place = Place::new();
    let said = crate::place::say(dd(&place, "if=/dev/zero of=f bs=4k count=100")).ends(0);
    assert_eq!(said.err.lines().count(), 3, "{}", said.err);
    let mut loud = dd(&place, "if=/dev/zero of=f bs=4k count=100");
    loud.env("FATHOM_NOTES", "1");
    let said = crate::place::say(loud).ends(0);
    assert!(said.err.contains("note: what was written is zeros"), "{}", said.err);
    assert!(said.err.trim_end().lines().rev().take(3).all(|line| !line.starts_with("note: ")));
    let shown = place.say(&["show", "last"]).ends(0);
    assert!(
        shown.out.starts_with("100+0 records in\n100+0 records out\n409600 bytes (410 kB, 400 KiB) copied, ")
    );
    assert!(shown.out.contains("note: writes: 100 of them, mean "), "{}", shown.out);
}

#[test]
fn an_unwritable_store_does_not_change_what_dd_does() {
    let place = Place::new();
    let mut command = dd(&place, "if=/dev/zero of=f bs=4k count=1");
    command.env("FATHOM_STORE", "/proc/nowhere/runs.db");
    let said = crate::place::say(command).ends(0);
    assert_eq!(said.err.lines().count(), 3, "{}", said.err);
}

#[test]
fn the_classic_test_shows_both_ways_side_by_side_and_leaves_nothing_behind() {
    let _alone = crate::place::alone();
    let place = Place::new();
    let said = place.say(&["dd", "--classic", "--size", "8m"]).ends(0);
    for line in [
        "write, through the page cache",
        "read, past it (iflag=direct, oflag=direct)",
        "% of that figure is memory",
    ] {
        assert!(said.out.contains(line), "{}", said.out);
    }
    let left = std::fs::read_dir(place.path()).expect("it is there").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().contains("scratch"));
    assert_eq!(left.count(), 0);
    place.say(&["dd", "--classic", "--size", "1000"]).refuses(1, &["no multiple of 1 MiB"]);
}

#[test]
fn a_device_that_holds_something_is_written_only_with_consent() {
    let Some(lab) = crate::place::Lab::open("dd") else { return };
    let place = Place::new();
    let directory = place.path().to_str().expect("plain").to_owned();
    let device = lab.make(&["loop", "create", "--size", "8M", "--dir", &directory])("device");
    std::fs::write(&device, [7u8; 4096]).expect("root may write");
    let words = format!("if=/dev/zero of={device} bs=4k count=1");
    let said = crate::place::say(dd(&place, &words)).ends(1);
    assert!(
        said.err.contains("will not write to") && said.err.contains("FATHOM_WRITE_CONSENT="),
        "{}",
        said.err
    );
    let mut consented = dd(&place, &words);
    consented.env("FATHOM_WRITE_CONSENT", &device);
    let said = crate::place::say(consented).ends(0);
    assert!(said.err.starts_with("1+0 records in\n1+0 records out\n4096 bytes "), "{}", said.err);
    let read =
        crate::place::say(dd(&place, &format!("if={device} of=back bs=4k count=1 iflag=direct"))).ends(0);
    assert!(read.err.starts_with("1+0 records in"));
    assert_eq!(std::fs::read(place.path().join("back")).expect("copied"), [0; 4096]);
}
