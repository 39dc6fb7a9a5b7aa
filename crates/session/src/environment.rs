//! What the program finds around it: environment variables, the terminal, the time of day, signals. A value, so that a
//! test has its own; the only place that reads any of them from the process.

use crate::signals::{Interrupt, Signalled};
use fathom_render::terminal::Style;
use jiff::Zoned;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

/// What a command finds around it.
#[derive(Clone, Debug)]
pub struct Environment {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// This process's own.
    Process,
    /// A test's.
    Given(Box<Given>),
}

#[derive(Clone, Debug)]
struct Given {
    variables: BTreeMap<String, String>,
    now: Zoned,
    interrupt: Interrupt,
    usr1: Signalled,
}

/// Where a database's own client programs look for what they were not told.
#[derive(Clone, Debug, Default)]
pub struct DatabaseClient {
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    /// PGSERVICE: a name in the service file.
    pub service: Option<String>,
    pub service_file: Option<PathBuf>,
    /// ~/.pgpass
    pub password_file: Option<PathBuf>,
    /// ~/.my.cnf
    pub option_file: Option<PathBuf>,
}

impl Environment {
    /// That of this process.
    pub fn process() -> Self {
        Environment { source: Source::Process }
    }

    /// One with these variables alone, no terminal, a clock that stands at the beginning of 2026, and signals that come
    /// when the test raises them.
    pub fn given(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let now = jiff::Timestamp::from_second(1_767_225_600).unwrap_or_default();
        let given = Given {
            variables: variables.collect(),
            now: now.to_zoned(jiff::tz::TimeZone::UTC),
            interrupt: Interrupt::default(),
            usr1: Signalled::default(),
        };
        Environment { source: Source::Given(Box::new(given)) }
    }

    /// The moment, in the local time zone.
    pub fn zoned(&self) -> Zoned {
        match &self.source {
            Source::Process => Zoned::now(),
            Source::Given(given) => given.now.clone(),
        }
    }

    /// A variable that names a file, whose bytes need not be text.
    fn path_variable(&self, name: &str) -> Option<PathBuf> {
        match &self.source {
            Source::Process => std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
            Source::Given(_) => self.variable(name).map(PathBuf::from),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.named_variable(name).filter(|value| !value.is_empty())
    }

    /// A variable of the environment that a job file asks for by name.
    pub fn named_variable(&self, name: &str) -> Option<String> {
        match &self.source {
            Source::Process => std::env::var(name).ok(),
            Source::Given(given) => given.variables.get(name).cloned(),
        }
    }

    /// Is it that of this process?
    pub fn is_process(&self) -> bool {
        matches!(self.source, Source::Process)
    }

    /// SIGINT, SIGTERM and SIGHUP from now on.
    pub fn interrupt(&self) -> Interrupt {
        match &self.source {
            Source::Process => Interrupt::watch(),
            Source::Given(given) => given.interrupt.clone(),
        }
    }

    /// SIGINT alone from now on, for peers that leave the other signals alone.
    pub fn keyboard_interrupt(&self) -> Interrupt {
        match &self.source {
            Source::Process => Interrupt::only_from_the_keyboard(),
            Source::Given(given) => given.interrupt.clone(),
        }
    }

    /// SIGUSR1 from now on.
    pub fn usr1(&self) -> Signalled {
        match &self.source {
            Source::Process => Signalled::usr1(),
            Source::Given(given) => given.usr1.clone(),
        }
    }

    /// Bytes of a page, mebibytes of main memory, CPUs that are online.
    pub fn machine(&self) -> (u64, u64, u64) {
        let memory = fathom_host::read_machine(&fathom_host::Roots::default()).memory_bytes.unwrap_or(0);
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        (rustix::param::page_size() as u64, memory >> 20, cpus)
    }

    /// The moment: milliseconds since 1970, and the local time as C's `ctime` writes it.
    pub fn moment(&self) -> (u64, String) {
        let since = self.zoned().timestamp().as_millisecond().max(0) as u64;
        (since, self.ctime())
    }

    /// Where runs are kept: FATHOM_STORE, or the user's data folder; without a home, nowhere.
    pub fn store_path(&self, asked: Option<PathBuf>) -> Option<PathBuf> {
        let data = || {
            let own = self.path_variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
            own.or_else(|| self.path_variable("HOME").map(|home| home.join(".local/share")))
        };
        asked
            .or_else(|| self.path_variable("FATHOM_STORE"))
            .or_else(|| Some(data()?.join("fathom/fathom.db")))
    }

    /// The user's own directory for files of running programs.
    pub fn runtime_directory(&self) -> Option<PathBuf> {
        self.path_variable("XDG_RUNTIME_DIR").filter(|path| path.is_absolute() && path.is_dir())
    }

    /// What stdout can show.
    pub fn style(&self) -> Style {
        let terminal = self.stdout_is_terminal();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| self.variable(name))
            .unwrap_or_default()
            .to_ascii_lowercase();
        let window =
            if self.is_process() { rustix::termios::tcgetwinsize(std::io::stdout()).ok() } else { None };
        let width = window.map_or(0, |size| usize::from(size.ws_col));
        let columns = || self.variable("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(100);
        let width = if width > 0 { width } else { columns() };
        Style {
            colour: terminal
                && self.variable("NO_COLOR").is_none()
                && self.variable("TERM").is_none_or(|term| term != "dumb"),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            width: width.min(120),
        }
    }

    /// May progress bars be drawn?
    pub fn draws_progress(&self) -> bool {
        self.is_process() && std::io::stderr().is_terminal()
    }

    /// Is stdout a terminal? There a peer draws its own progress.
    pub fn stdout_is_terminal(&self) -> bool {
        self.is_process() && std::io::stdout().is_terminal()
    }

    /// May a tool's notes go to stderr? A script around it may take any word there for a failure.
    pub fn speaks_notes(&self) -> bool {
        self.draws_progress() || self.variable("FATHOM_NOTES").is_some_and(|value| value == "1")
    }

    /// SLOB's own wish for no iostat and the like: NO_OS_PERF_DATA.
    pub fn no_os_perf_data(&self) -> bool {
        self.variable("NO_OS_PERF_DATA").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// What PostgreSQL's own programs take where a URL does not say it.
    pub fn postgres_client(&self) -> DatabaseClient {
        let home = self.path_variable("HOME");
        let at_home = |name: &str| home.as_ref().map(|home| home.join(name));
        DatabaseClient {
            user: self.variable("PGUSER"),
            password: self.variable("PGPASSWORD"),
            database: self.variable("PGDATABASE"),
            service: self.variable("PGSERVICE"),
            service_file: self.path_variable("PGSERVICEFILE").or_else(|| at_home(".pg_service.conf")),
            password_file: self.path_variable("PGPASSFILE").or_else(|| at_home(".pgpass")),
            option_file: None,
        }
    }

    /// What MySQL's and MariaDB's own programs take.
    pub fn mysql_client(&self) -> DatabaseClient {
        let home = self.path_variable("HOME");
        DatabaseClient {
            password: self.variable("MYSQL_PWD"),
            option_file: home.map(|home| home.join(".my.cnf")),
            ..DatabaseClient::default()
        }
    }

    /// The moment as SLOB's scripts write it: `2026.11.21-07:06:15`.
    pub fn slob_moment(&self) -> String {
        self.zoned().strftime("%Y.%m.%d-%H:%M:%S").to_string()
    }

    /// The moment as date(1) writes it in English: `Tue May 22 16:30:36 UTC 2018`.
    pub fn date(&self) -> String {
        self.zoned().strftime("%a %b %e %H:%M:%S %Z %Y").to_string()
    }

    /// The program of that name on the path.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let path = self.path_variable("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
    }

    /// The minute, local time, as ORION names its files: `20110201_1551`.
    pub fn minute(&self) -> String {
        self.zoned().strftime("%Y%m%d_%H%M").to_string()
    }

    /// The time of day with its zone, RFC 3339.
    pub fn now(&self) -> String {
        self.zoned().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    }

    /// The moment so long ago, RFC 3339.
    pub fn before(&self, ago: fathom_spec::Nanos) -> String {
        let now = self.zoned().timestamp();
        let then = now.as_nanosecond().saturating_sub(i128::from(ago.0));
        jiff::Timestamp::from_nanosecond(then).unwrap_or(now).to_string()
    }

    /// The time of day as ctime(3) says it.
    pub fn ctime(&self) -> String {
        self.zoned().strftime("%a %b %e %H:%M:%S %Y").to_string()
    }

    /// The user's name.
    pub fn user(&self) -> String {
        self.variable("USER").or_else(|| self.variable("LOGNAME")).unwrap_or_else(|| "root".to_owned())
    }

    /// A name for a run that no other has: the moment, and the process.
    pub fn run_id(&self) -> String {
        format!("{:x}-{:x}", self.zoned().timestamp().as_microsecond(), std::process::id())
    }

    /// Targets that may be overwritten, whatever they hold: names in FATHOM_WRITE_CONSENT with commas between them. For
    /// the peers, whose command lines have no word for it.
    pub fn write_consents(&self) -> Vec<String> {
        let names = self.variable("FATHOM_WRITE_CONSENT").unwrap_or_default();
        names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Layout of ORION's files for scripts that read an older one: FATHOM_ORION_CSV, `11.1` or `11.2`.
    pub fn orion_csv(&self) -> Option<String> {
        self.variable("FATHOM_ORION_CSV")
    }

    /// May commands be run that a file or a tool's words name? FATHOM_EXEC_CONSENT=1, for languages without `--allow-exec`.
    pub fn exec_consent(&self) -> bool {
        self.variable("FATHOM_EXEC_CONSENT").is_some_and(|value| value == "1")
    }

    /// Seconds since 1970: a seed that is another one each time.
    pub fn seconds(&self) -> u32 {
        self.zoned().timestamp().as_second() as u32
    }

    /// The moment, ns since 1970.
    pub fn nanoseconds(&self) -> u64 {
        self.zoned().timestamp().as_nanosecond().max(0) as u64
    }
}
