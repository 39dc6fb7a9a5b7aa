//! A directory of its own for each test, the program to run in it, and disks made by the lab.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub use fathom_tidy::lab::Lab;

/// One measurement at a time: two processors measure badly side by side.
static MEASURING: Mutex<()> = Mutex::new(());

/// Waits until nobody else measures here.
pub fn alone() -> MutexGuard<'static, ()> {
    MEASURING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What a command said.
pub struct Said {
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    /// The status is this, and nothing panicked.
    #[track_caller]
    pub fn ends(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Measured: there are figures, whether the machine was calm enough to believe them (0) or not (3).
    #[track_caller]
    pub fn measures(self) -> Self {
        let status = if self.status == Some(3) { 3 } else { 0 };
        self.ends(status)
    }

    /// Refused or failed: this status, the words, and a hint of what to do.
    #[track_caller]
    pub fn refuses(self, status: i32, words: &[&str]) -> Self {
        let said = self.ends(status);
        assert!(said.err.starts_with("error: ") || said.err.contains("\nerror: "), "{}", said.err);
        for word in words.iter().chain(&["hint: "]) {
            assert!(said.err.contains(word), "no {word:?} in {}", said.err);
        }
        said
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what fathom prints is UTF-8");
        Said { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A directory that is removed with the test, and a store in it.
pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// A new one, on the file system of the build (/tmp may be memory).
    pub fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build can be written");
        Place { directory }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The test's store.
    pub fn store(&self) -> PathBuf {
        self.path().join("runs.db")
    }

    /// A file of so many bytes that are not zero.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        write_noise(&self.path().join(name), bytes)
    }

    /// The program with some words, in this place and with its store, without a terminal.
    pub fn fathom(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args(words);
        self.at_home(&mut command);
        command
    }

    /// Gives any command this place's surroundings.
    pub fn at_home(&self, command: &mut Command) {
        command.current_dir(self.path()).env("FATHOM_STORE", self.store());
        for name in ["NO_COLOR", "CI", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
    }

    /// Runs the program and waits for it.
    pub fn say(&self, words: &[&str]) -> Said {
        say(self.fathom(words))
    }
}

/// Runs a command to its end, at most four minutes. A lock that another program on this machine holds on a
/// shared disk is waited for.
pub fn say(command: Command) -> Said {
    let mut command = assert_cmd::Command::from_std(command);
    command.timeout(Duration::from_secs(240));
    let begun = Instant::now();
    loop {
        let said = Said::from(command.output().expect("the program can be started"));
        let foreign = said.err.contains("another calibration is running")
            && !said.err.contains(env!("CARGO_BIN_EXE_fathom"));
        if !foreign || begun.elapsed() > Duration::from_secs(250) {
            return said;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Runs a command whose reader has gone before it says anything.
pub fn say_to_nobody(mut command: Command) -> Said {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
    drop(command);
    Said::from(child.and_then(Child::wait_with_output).expect("the program can be started"))
}

/// A program that runs beside the test, and ends with it.
pub struct Started {
    child: Option<Child>,
}

impl Started {
    /// Starts a command; its output is kept for later.
    pub fn new(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Started { child: Some(command.spawn().expect("the program can be started")) }
    }

    /// Starts a command that prints into a file, which can be read meanwhile.
    pub fn into_file(mut command: Command, path: &Path) -> Self {
        let file = std::fs::File::create(path).expect("a place can be written");
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::piped());
        Started { child: Some(command.spawn().expect("the program can be started")) }
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Sends it a signal and answers what it said in the end.
    pub fn signal(mut self, name: &str) -> Said {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        self.wait()
    }

    /// What it said in the end.
    pub fn ended(mut self) -> Said {
        self.wait()
    }

    fn wait(&mut self) -> Said {
        let child = self.child.take().expect("it is waited for once");
        Said::from(child.wait_with_output().expect("it can be waited for"))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Looks until something is so, at most for so long.
#[track_caller]
pub fn wait_until(what: &str, at_most: Duration, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < at_most, "waited {at_most:?} for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A file of bytes without a pattern.
pub fn write_noise(path: &Path, bytes: usize) -> PathBuf {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    noise.truncate(bytes);
    std::fs::write(path, noise).expect("there is room for a small file");
    std::fs::File::open(path).and_then(|file| file.sync_all()).expect("it can be synced");
    path.to_owned()
}

/// The names of fathom's scratch files in a directory.
pub fn scratch_files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".fathom-scratch-")).collect()
}
