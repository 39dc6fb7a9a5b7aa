//! What the program finds around it: environment variables, the terminal, the time of day, signals. The only
//! place that reads any of them.

use fathom_render::terminal::Style;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable of the environment that a job file asks for by name.
pub fn named_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Bytes of a page, mebibytes of main memory, CPUs that are online.
pub fn machine() -> (u64, u64, u64) {
    let memory = fathom_host::read_machine(&fathom_host::Roots::default()).memory_bytes.unwrap_or(0);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    (rustix::param::page_size() as u64, memory >> 20, cpus)
}

/// The moment: milliseconds since 1970, and the local time as C's `ctime` writes it.
pub fn moment() -> (u64, String) {
    let now = jiff::Zoned::now();
    let since = now.timestamp().as_millisecond().max(0) as u64;
    (since, now.strftime("%a %b %e %H:%M:%S %Y").to_string())
}

/// Where runs are kept: FATHOM_STORE, or the user's data folder; without a home, nowhere.
pub fn store_path(asked: Option<PathBuf>) -> Option<PathBuf> {
    let data = || {
        let own = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        own.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".local/share")))
    };
    asked
        .or_else(|| variable("FATHOM_STORE").map(PathBuf::from))
        .or_else(|| Some(data()?.join("fathom/fathom.db")))
}

/// What stdout can show.
pub fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let width = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    let width =
        if width > 0 { width } else { variable("COLUMNS").and_then(|c| c.parse().ok()).unwrap_or(100) };
    Style {
        colour: terminal
            && variable("NO_COLOR").is_none()
            && variable("TERM").is_none_or(|term| term != "dumb"),
        unicode: locale.contains("utf-8") || locale.contains("utf8"),
        width: width.min(120),
    }
}

/// May progress bars be drawn?
pub fn draws_progress() -> bool {
    std::io::stderr().is_terminal()
}

/// Is stdout a terminal? There a peer draws its own progress.
pub fn stdout_is_seen() -> bool {
    std::io::stdout().is_terminal()
}

/// May a dialect's notes go to stderr? A script around it may take any word there for a failure.
pub fn speaks_notes() -> bool {
    std::io::stderr().is_terminal() || variable("FATHOM_NOTES").is_some_and(|value| value == "1")
}

/// SLOB's own wish for no iostat and the like: NO_OS_PERF_DATA.
pub fn no_os_perf_data() -> bool {
    variable("NO_OS_PERF_DATA").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// A database's password, where its own programs look for it: PGPASSWORD, MYSQL_PWD.
pub fn database_password(postgres: bool) -> Option<String> {
    variable(if postgres { "PGPASSWORD" } else { "MYSQL_PWD" })
}

/// The moment as SLOB's scripts write it: `2026.11.21-07:06:15`.
pub fn slob_moment() -> String {
    jiff::Zoned::now().strftime("%Y.%m.%d-%H:%M:%S").to_string()
}

/// The moment as date(1) writes it in English: `Tue May 22 16:30:36 UTC 2018`.
pub fn date() -> String {
    jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Z %Y").to_string()
}

/// The program of that name on the path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

/// The minute, local time, as ORION names its files: `20110201_1551`.
pub fn minute() -> String {
    jiff::Zoned::now().strftime("%Y%m%d_%H%M").to_string()
}

/// The time of day with its zone, RFC 3339.
pub fn now() -> String {
    let now = jiff::Zoned::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// The time of day as ctime(3) says it.
pub fn ctime() -> String {
    jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// The user's name.
pub fn user() -> String {
    variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "root".to_owned())
}

/// A name for a run that no other has: the moment, and the process.
pub fn run_id() -> String {
    let now = jiff::Timestamp::now();
    format!("{:x}-{:x}", now.as_microsecond(), std::process::id())
}

/// Targets that may be overwritten, whatever they hold: names in FATHOM_WRITE_CONSENT with commas between them. For the
/// peers, whose command lines have no word for it.
pub fn write_consents() -> Vec<String> {
    let names = variable("FATHOM_WRITE_CONSENT").unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Seconds since 1970: a seed that is another one each time.
pub fn seconds() -> u32 {
    jiff::Timestamp::now().as_second() as u32
}

/// The moment, ns since 1970.
pub fn nanoseconds() -> u64 {
    jiff::Timestamp::now().as_nanosecond().max(0) as u64
}

/// A flag that one signal raises, every time anew.
#[derive(Clone, Debug)]
pub struct Signalled(Arc<AtomicBool>);

impl Signalled {
    /// SIGUSR1, from now on.
    pub fn usr1() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGUSR1, flag.clone());
        Signalled(flag)
    }

    /// Has it come since this was asked last?
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Ends the program as SIGINT would have without fathom, so that a shell sees what happened.
pub fn die_of_interrupt() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
}

/// Ends the program as SIGPIPE would have: the reader of a pipe has seen enough.
pub fn die_of_pipe() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// A flag that SIGINT and SIGTERM raise. A second signal ends the program at once, as it would without fathom.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches from now on.
    pub fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
            let _ = signal_hook::flag::register(signal, flag.clone());
        }
        Interrupt(flag)
    }

    /// Watches SIGINT only, for peers that leave the other signals alone; whoever started the program may have said
    /// that it is to be ignored (a shell's `&` does).
    pub fn only_from_the_keyboard() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        if ignored >> (signal_hook::consts::SIGINT - 1) & 1 == 1 {
            return Interrupt(flag);
        }
        let _ = signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, flag.clone());
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, flag.clone());
        Interrupt(flag)
    }

    /// Has one come?
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
