//! Files that are missing, damaged, foreign, newer, read-only, held by others, or left by a killed process.

mod common;

use common::*;
use fathom_store::{Filter, LAYOUT, State, Store, StoreError};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CHILD_STORE: &str = "FATHOM_STORE_OF_CHILD";

/// Runs one test of this program again in a process of its own, with a store to work on.
fn child_of(program: &Path, test: &str, store: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD_STORE, store);
    command
}

fn child(test: &str, store: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    child_of(&program, test, store).stdout(Stdio::piped()).spawn().unwrap()
}

fn has_hint(error: &StoreError) {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("hint: "), "{text}");
}

#[test]
fn a_missing_store_is_made_with_a_private_directory() {
    let (directory, path) = place();
    let error = Store::open_read_only(&path).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }));
    has_hint(&error);
    Store::open(&path).unwrap();
    let mode = fs::metadata(directory.path().join("data")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_store_that_everybody_may_read_is_made_private_and_one_of_a_group_stays() {
    let (_directory, path) = place();
    for (found, left) in [(0o644, 0o600), (0o666, 0o600), (0o640, 0o640), (0o600, 0o600)] {
        drop(Store::open(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(found)).unwrap();
        drop(Store::open(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, left, "{found:o}");
    }
}

#[test]
fn an_empty_file_is_migrated_to_the_newest_layout_in_wal_mode() {
    let (_directory, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    drop(Store::open(&path).unwrap());
    let pragma = |name: &str| {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
    };
    assert_eq!(pragma("user_version"), LAYOUT.into());
    assert_eq!(pragma("application_id"), 0x6674_6d31_i64.into());
    assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
    drop(Store::open(&path).unwrap());
}

#[test]
fn an_empty_file_is_no_store_until_it_was_written_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.db");
    fs::write(&path, "").unwrap();
    let error = Store::open_read_only(&path).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    has_hint(&error);
}

#[test]
fn a_newer_layout_is_refused_and_left_alone() {
    let (_directory, path) = place();
    drop(Store::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", LAYOUT + 1).unwrap();
    let before = fs::read(&path).unwrap();
    for error in [Store::open(&path).unwrap_err(), Store::open_read_only(&path).unwrap_err()] {
        assert!(matches!(error, StoreError::Newer { found, .. } if found == LAYOUT + 1), "{error}");
        has_hint(&error);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn another_programs_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE results (x); PRAGMA user_version = 1")
        .unwrap();
    let before = fs::read(&path).unwrap();
    for error in [Store::open(&path).unwrap_err(), Store::open_read_only(&path).unwrap_err()] {
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        has_hint(&error);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.db");
    fs::write(&path, "dear diary, ".repeat(1000)).unwrap();
    for error in [Store::open(&path).unwrap_err(), Store::open_read_only(&path).unwrap_err()] {
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        has_hint(&error);
    }
}

#[test]
fn a_store_whose_pages_were_overwritten_is_called_damaged() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = match Store::open(&path) {
        Err(error) => error,
        Ok(store) => store.list(&Filter::default(), &lives).unwrap_err(),
    };
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_record_that_cannot_be_understood_is_named() {
    let (_directory, path) = place();
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    for damage in [
        "size_bytes = size_bytes - 1",
        "size_bytes = 1000000000000",
        "zlib = x'789c00'",
        "zlib = CAST('{}' AS BLOB), size_bytes = 2",
    ] {
        let sql = format!("UPDATE record_data SET {damage}");
        Connection::open(&path).unwrap().execute(&sql, []).unwrap();
        let error = store.get("aa-1", &lives).unwrap_err();
        assert!(matches!(&error, StoreError::Record { id, .. } if id == "aa-1"), "{damage}: {error}");
    }
    assert_eq!(store.list(&Filter::default(), &lives).unwrap().len(), 1);
}

#[test]
fn a_path_that_cannot_be_written_says_why() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("plain"), "").unwrap();
    for (path, why) in [
        (directory.path().to_path_buf(), "directory"),
        (directory.path().join("plain/f.db"), "plain is not a directory"),
        ("/proc/fathom/f.db".into(), "No such file"),
    ] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(&error, StoreError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
        has_hint(&error);
    }
}

/// Root may write everywhere, so a child without privileges looks at a store of root's.
#[test]
fn a_read_only_file_or_directory_is_read_but_not_written() {
    if let Some(path) = std::env::var_os(CHILD_STORE) {
        return look_at_read_only_store(Path::new(&path));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("with space/ä%.db");
    let mut store = Store::open(&path).unwrap();
    store.finish(&calibration("aa-1")).unwrap();
    drop(store);
    let program = directory.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for (entry, mode) in [(directory.path(), 0o755), (path.parent().unwrap(), 0o555), (&path, 0o444)] {
        fs::set_permissions(entry, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = child_of(&program, "a_read_only_file_or_directory_is_read_but_not_written", &path);
    if is_root(directory.path()) {
        command.uid(65_534).gid(65_534);
    }
    let output = command.current_dir("/").output().unwrap();
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn is_root(own: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(own).unwrap().uid() == 0
}

fn look_at_read_only_store(path: &Path) {
    let store = Store::open_read_only(path).unwrap();
    assert_eq!(store.get("last", &lives).unwrap().record, calibration("aa-1"));
    drop(store);
    for path in [path.to_path_buf(), path.with_file_name("new.db"), path.with_file_name("below/new.db")] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
        has_hint(&error);
    }
}

#[test]
fn two_processes_write_at_once_and_nothing_is_lost() {
    if let Some(path) = std::env::var_os(CHILD_STORE) {
        for number in 0..20 {
            let id = format!("{}-{number}", std::process::id());
            let mut store = Store::open(&path).unwrap();
            store.begin(&beginning(&id), &owner(), None).unwrap();
            store.save_partial(&calibration(&id)).unwrap();
            store.finish(&calibration(&id)).unwrap();
        }
        return;
    }
    let (_directory, path) = place();
    let test = "two_processes_write_at_once_and_nothing_is_lost";
    let children = [child(test, &path), child(test, &path)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open(&path).unwrap();
    let listed = store.list(&Filter::default(), &is_dead).unwrap();
    assert_eq!(listed.len(), 40);
    assert!(listed.iter().all(|listing| listing.state == State::Complete));
}

#[test]
fn a_killed_process_leaves_what_it_saved_and_no_half_written_run() {
    if let Some(path) = std::env::var_os(CHILD_STORE) {
        let mut store = Store::open(&path).unwrap();
        store.begin(&beginning("aa-1"), &owner(), None).unwrap();
        store.save_partial(&calibration("aa-1")).unwrap();
        let raw = Connection::open(&path).unwrap();
        raw.execute_batch("BEGIN IMMEDIATE; DELETE FROM results").unwrap();
        kill_this_process();
        unreachable!("the signal cannot be ignored");
    }
    let (_directory, path) = place();
    let status =
        child("a_killed_process_leaves_what_it_saved_and_no_half_written_run", &path).wait().unwrap();
    assert_eq!(status.signal(), Some(9));
    for store in [Store::open_read_only(&path).unwrap(), Store::open(&path).unwrap()] {
        let found = store.get("last", &is_dead).unwrap();
        assert_eq!(found.listing.state, State::Interrupted);
        assert_eq!(found.record.runs, calibration("aa-1").runs);
    }
}

/// Ends this very process with a signal that it cannot catch.
fn kill_this_process() {
    Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
}
