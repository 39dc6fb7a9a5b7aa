//! What may stand in the code, and where: unsafe, clocks, the environment, printing, exits, sizes.

use fathom_tidy::house::{self, File};
use fathom_tidy::source::{layers, lines_with, without_tests};

/// Words of code, the paths under which they may stand, and why not elsewhere.
const PLACES: &[(&[&str], &[&str], &str)] = &[
    (
        &["process::exit", "process::abort"],
        &["crates/cli/src/main.rs", "crates/cluster/src/main.rs"],
        "only main ends the program",
    ),
    (
        &["env::var", "env::var_os", "env::vars", "env::vars_os", "env::set_var"],
        &["crates/session/src/environment.rs"],
        "environment variables only in session's environment: pass the value down",
    ),
    (
        &[
            "Instant::now",
            "SystemTime::now",
            "clock_gettime",
            "Timestamp::now",
            "Zoned::now",
            "UNIX_EPOCH.elapsed",
        ],
        // The time of day, for people and for names, is the environment and no clock of a measurement.
        &["crates/drive/", "crates/cluster/", "crates/session/src/environment.rs"],
        "clocks only in drive (and cluster): pass the time in, or use drive's clock",
    ),
    (
        &["println!", "eprintln!", "print!", "eprint!", "dbg!", "io::stdout", "io::stderr"],
        &[
            "crates/session/src/console.rs",
            // Is it a terminal, and how wide?
            "crates/session/src/environment.rs",
            // Stdout as a file that a load or a report writes to.
            "crates/host/src/output_file.rs",
            "crates/engine/src/preopened.rs",
            "crates/tools/dd/src/session/open.rs",
        ],
        "only the console speaks, so that no text steers a terminal: write to an `impl Write`",
    ),
    (
        &["fs::read", "read_to_string", "read_to_end"],
        &[
            "crates/host/",
            // A record's own text, of the length that stands beside it.
            "crates/store/src/compression.rs",
            // Files that the kernel makes.
            "crates/session/src/signals.rs",
            "crates/session/src/record_writer.rs",
            "crates/tools/fio/src/session/scheduler.rs",
            "crates/tools/bonnie/src/session/cache.rs",
            "crates/tools/slob/src/session/os.rs",
            // Files of throw-away servers that fathom itself has started.
            "crates/database/src/server/",
            // The documents of the project, where they are tested.
            "crates/render/src/record_doc.rs",
            "crates/tools/fio/src/doc.rs",
        ],
        "what a user names is read by host::text_file, up to a limit",
    ),
    (
        &["to_string_lossy"],
        // Names that the kernel makes, and kinds that are told by a name; nothing is opened by them.
        &["crates/host/", "crates/database/src/server/"],
        "a name that is no text is refused by spec::names::text; what is only shown goes through spec::names::shown",
    ),
    (
        &[".unwrap()", "todo!", "unimplemented!"],
        &[],
        "an error says what, where and what to do; an impossible one is an expect(\"reason\")",
    ),
];

/// Ways to open for writing, to rename and to remove.
const WRITES: &[&str] = &[
    "File::create",
    "File::create_new",
    "File::options",
    "OpenOptions",
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::remove_file",
    "fs::remove_dir",
    "fs::remove_dir_all",
    "unlinkat",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "OFlags::CREATE",
    "OFlags::TRUNC",
    "OFlags::APPEND",
    "Connection::open_with_flags",
];

/// Where they may stand, each with its reason: everybody else goes through `host::output_file` or `engine::guard`.
const WRITERS: &[(&str, &str)] = &[
    ("crates/host/src/output_file.rs", "the door itself"),
    ("crates/host/src/scratch.rs", "new files with this process's mark in their names"),
    ("crates/host/src/lock.rs", "locks in their own directory"),
    ("crates/host/src/device_claim.rs", "reads only"),
    ("crates/host/src/command_line.rs", "this process's own arguments, in its own memory"),
    ("crates/host/src/content.rs", "reads only"),
    ("crates/host/src/fabricate.rs", "trees of tests"),
    ("crates/engine/src/guard.rs", "the loads' own door"),
    ("crates/engine/src/open.rs", "a load's targets, each allowed by the guard"),
    ("crates/engine/src/tasks/files.rs", "files that are the load, in a directory that the guard allowed"),
    ("crates/tools/dd/src/session/open.rs", "dd's flags, through the guard"),
    ("crates/tools/bonnie/src/session/test_files.rs", "a directory that this run made"),
    ("crates/store/src/open.rs", "SQLite, after the file was looked at"),
    ("crates/database/src/backend/sqlite.rs", "SQLite, after the file was looked at"),
    ("crates/database/src/server/", "the directory of a server of our own, and its control group"),
    ("crates/engine/src/thread_attributes.rs", "settings of the kernel: control groups"),
    ("crates/tools/bonnie/src/session/cache.rs", "settings of the kernel: control groups"),
    ("crates/tools/fio/src/session/cgroups.rs", "settings of the kernel: control groups"),
    ("crates/tools/fio/src/session/scheduler.rs", "settings of the kernel: I/O schedulers"),
];

/// Where `unsafe` may stand, each with a SAFETY sentence.
const UNSAFE: &[&str] = &[
    "crates/engine/src/sys",
    "crates/drive/src/sys",
    "crates/host/src/sys",
    // SQLite's counters of one connection, which rusqlite does not wrap.
    "crates/database/src/sys",
    "crates/cluster/src/",
];

/// The most lines of code a source file has, tests, comments and blank lines not counted.
const MOST_LINES: usize = 500;

/// Files that are longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

fn production() -> impl Iterator<Item = (File, String)> {
    house::rust_files().into_iter().filter(|file| !house::is_test_file(&file.path)).map(|file| {
        let code = without_tests(&layers(&file.text).code);
        (file, code)
    })
}

#[test]
fn words_of_code_stand_only_where_they_may() {
    let mut wrong = Vec::new();
    for (file, code) in production() {
        for (words, places, why) in PLACES {
            if places.iter().any(|place| file.path.starts_with(place)) {
                continue;
            }
            for word in *words {
                let at = lines_with(&code, word);
                wrong.extend(at.iter().map(|line| format!("{}:{line}: {word} ({why})", file.path)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is in use was overwritten by everything that is not a load: reports, logs, stores.
#[test]
fn files_are_written_through_one_door() {
    let mut wrong = Vec::new();
    let mut used = std::collections::BTreeSet::new();
    for (file, code) in production() {
        let place = WRITERS.iter().find(|(place, _)| file.path.starts_with(place));
        for word in WRITES {
            for line in lines_with(&code, word) {
                match place {
                    Some((place, _)) => drop(used.insert(*place)),
                    None => wrong.push(format!(
                        "{}:{line}: {word} (write through host::output_file, or let engine::guard allow it)",
                        file.path
                    )),
                }
            }
        }
    }
    let idle = WRITERS.iter().filter(|(place, _)| !used.contains(place));
    wrong.extend(idle.map(|(place, _)| format!("{place} writes nothing: take it off the list")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn unsafe_stands_only_in_sys_and_with_its_reason() {
    let mut wrong = Vec::new();
    for file in house::rust_files() {
        let layers = layers(&file.text);
        let allowed =
            UNSAFE.iter().any(|place| file.path.starts_with(place)) || house::is_test_file(&file.path);
        let comments: Vec<&str> = layers.comments.lines().collect();
        let code: Vec<&str> = layers.code.lines().collect();
        for line in lines_with(&layers.code, "unsafe") {
            if !allowed {
                wrong.push(format!("{}:{line}: unsafe outside {UNSAFE:?}", file.path));
            }
            // Functions say it to their callers (`# Safety`, clippy looks); blocks and impls say why they are sound.
            let text = code[line - 1];
            let is_said_elsewhere =
                text.contains("unsafe fn") || text.contains("unsafe extern") || text.contains("#[");
            let near = &comments[line.saturating_sub(10)..line];
            if !is_said_elsewhere && !near.iter().any(|comment| comment.contains("SAFETY")) {
                wrong.push(format!("{}:{line}: unsafe without a SAFETY sentence above it", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn source_files_stay_short() {
    let mut wrong = Vec::new();
    for (file, code) in production() {
        let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
        let reason = LONGER.iter().find(|(path, _)| *path == file.path);
        if lines > MOST_LINES && reason.is_none() {
            wrong.push(format!("{}: {lines} lines of code; look for the seam at {MOST_LINES}", file.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_test_is_ignored() {
    for file in house::rust_files() {
        let lines = lines_with(&layers(&file.text).code, "#[ignore");
        assert!(
            lines.is_empty(),
            "{}:{lines:?}: a test that cannot run says so with fathom_tidy::skip",
            file.path
        );
    }
}

#[test]
fn every_source_file_of_a_crate_says_what_it_is() {
    for file in house::rust_files().iter().filter(|file| file.path.contains("/src/")) {
        assert!(file.text.starts_with("//! "), "{} does not begin with a //! sentence", file.path);
    }
}
