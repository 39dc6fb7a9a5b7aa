//! Throw-away servers from the machine's own binaries: private socket, no TCP, removed afterwards. A server ends with the thread
//! that started it, also when that is killed; what is left of it then is removed by the next start in the same directory.

mod group;
mod leftover;
mod limit;
mod program;

pub use leftover::Leftover;

use crate::backend;
use crate::error::{DatabaseError, Result, Trouble};
use crate::url::{Brand, Url};
use fathom_host::database_directory::database_directory;
use fathom_host::scratch::Mark;
use fathom_host::{Roots, end_with_this_thread};
use fathom_spec::Bytes;
use group::MemoryGroup;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL: `initdb` and `postgres`, of the newest version here.
    Postgres,
    /// MariaDB: `mariadb-install-db` and `mariadbd`.
    Mariadb,
}

/// How a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    pub kind: ServerKind,
    /// A directory in which the server gets one of its own, which is removed afterwards. Made when it is missing.
    pub directory: PathBuf,
    /// As whom it runs when this process is root, which PostgreSQL refuses. `None`: the owner of the directory, or, when that
    /// is root, `postgres` or `mysql`.
    pub user: Option<String>,
    /// Bytes of its own cache (`shared_buffers`, `innodb_buffer_pool_size`). `None`: the server's default, or a quarter of
    /// the limit.
    pub cache: Option<Bytes>,
    /// Most memory for the server and the page cache of its files, by a memory control group. Needs root.
    pub limit: Option<Bytes>,
    /// Sessions that it will have at a time, those that load included: a limit that is too little for them is refused.
    pub sessions: u32,
    /// Further settings, as the server names them: `("max_connections", "200")`.
    pub settings: Vec<(String, String)>,
}

impl ServerOptions {
    /// A server with its own defaults.
    pub fn new(kind: ServerKind, directory: impl Into<PathBuf>) -> Self {
        ServerOptions {
            kind,
            directory: directory.into(),
            user: None,
            cache: None,
            limit: None,
            sessions: 1,
            settings: Vec::new(),
        }
    }
}

/// A running server of ours. Stopped and removed by [`Server::stop`], or when it is dropped.
#[derive(Debug)]
pub struct Server {
    url: Url,
    kind: ServerKind,
    folders: Folders,
    child: Option<Child>,
    group: Option<MemoryGroup>,
    cleared: Vec<Leftover>,
    /// The mark in its folder, locked.
    _owner: Option<File>,
}

/// Folders that are ours to remove.
#[derive(Debug)]
struct Folders {
    home: PathBuf,
    /// Where the socket is, when the home's path is too long for one.
    socket: Option<PathBuf>,
    /// The directory that was asked for, when it was missing.
    made: Option<PathBuf>,
}

/// Looks at a starting or stopping program, 20 ms apart: two minutes.
const LOOKS: u32 = 6000;
const LOOK: Duration = Duration::from_millis(20);
/// The longest path of a socket, with room for PostgreSQL's `.s.PGSQL.5432`.
const SOCKET_MOST: usize = 90;

fn wrong(what: impl Into<String>, hint: &str) -> DatabaseError {
    DatabaseError::new(Trouble::Server, what, hint)
}

/// Numbers the servers of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Is such a server installed here?
    pub fn installed(kind: ServerKind) -> Result<()> {
        program::programs(kind).map(|_| ())
    }

    /// Makes a data directory and starts a server on it. `interrupted` is asked now and then. What killed processes left in the
    /// directory is removed first. The server ends with the thread that calls this.
    pub fn start(options: &ServerOptions, interrupted: &dyn Fn() -> bool) -> Result<Self> {
        program::check_settings(&options.settings)?;
        let cache = program::cache(options)?;
        limit::check(options)?;
        let (make, serve) = program::programs(options.kind)?;
        if let Some(database) = database_directory(&options.directory) {
            return Err(wrong(
                format!("{} is {database}", options.directory.display()),
                "name a directory that belongs to no database",
            ));
        }
        let roots = Roots::default();
        let own = Mark::own(&roots).map_err(|error| wrong(error.to_string(), "is /proc mounted?"))?;
        let is_new = !options.directory.exists();
        fs::create_dir_all(&options.directory).map_err(|error| {
            wrong(format!("cannot make {}: {error}", options.directory.display()), "name another directory")
        })?;
        let directory = fs::canonicalize(&options.directory).unwrap_or(options.directory.clone());
        let cleared = leftover::clear(&directory, &roots, &own);
        let made = (is_new || cleared.made).then(|| options.directory.clone());
        let name = leftover::name(&own, NUMBER.fetch_add(1, Relaxed));
        let identity = program::identity(options, &directory)?;
        // From here on dropping the value removes what there is.
        let mut server = Server {
            url: Url::sqlite(""),
            kind: options.kind,
            folders: Folders { home: directory.join(&name), socket: None, made },
            child: None,
            group: None,
            cleared: cleared.leftovers,
            _owner: None,
        };
        let socket = server.folders.make(&name, identity)?;
        server._owner = Some(server.folders.mark(&own)?);
        let data = server.folders.home.join("data");
        let run = |program: &Path| program::command(program, &server.folders.home, identity);
        let mut making = run(&make);
        making.args(program::words_to_make(options.kind, &data));
        server.make_data(making, &make, interrupted)?;
        let mut serving = program::command(&serve, &server.folders.home, identity);
        serving.args(program::words_to_serve(options, &data, &socket, cache));
        server.url = match options.kind {
            ServerKind::Postgres => Url::socket(Brand::Postgres, socket, "postgres", "postgres"),
            ServerKind::Mariadb => Url::socket(Brand::Mysql, socket.join("s"), "root", ""),
        };
        server.group = options.limit.map(|limit| MemoryGroup::make(&name, limit)).transpose()?;
        server.serve(serving, &serve, interrupted)?;
        Ok(server)
    }

    /// Where it answers.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Memory that it and the page cache of its files use, where they are bounded.
    pub fn memory(&self) -> Option<Bytes> {
        self.group.as_ref()?.usage()
    }

    /// What killed processes had left in its directory, and was found at its start.
    pub fn leftovers(&self) -> &[Leftover] {
        &self.cleared
    }

    /// Has the kernel killed processes of it because the limit on its memory was too little?
    pub fn is_starved(&self) -> bool {
        self.group.as_ref().and_then(MemoryGroup::killed).is_some_and(|killed| killed > 0)
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        let text = fs::read(self.folders.home.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(6)..].join("\n")
    }

    /// Stops it and removes all that it left. What could not be stopped or removed is the error.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn spawn(&mut self, mut command: Command, program: &Path) -> Result<Child> {
        let cannot = |error: std::io::Error| {
            let what = format!("cannot start {}: {error}", program.display());
            wrong(
                what,
                "every folder above the server's directory must let the server's user through (chmod a+x)",
            )
        };
        let log =
            File::options().create(true).append(true).open(self.folders.home.join("log")).map_err(cannot)?;
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(cannot)?).stderr(log);
        end_with_this_thread(&mut command, self.ends_at());
        command.spawn().map_err(cannot)
    }

    fn make_data(&mut self, command: Command, program: &Path, interrupted: &dyn Fn() -> bool) -> Result<()> {
        let mut child = self.spawn(command, program)?;
        for _ in 0..LOOKS {
            if let Ok(Some(status)) = child.try_wait() {
                return match status.success() {
                    true => Ok(()),
                    false => Err(self.failed(&format!("{} ended with {status}", program.display()))),
                };
            }
            if interrupted() {
                break;
            }
            std::thread::sleep(LOOK);
        }
        end_group(&mut child, Signal::KILL);
        Err(interruption())
    }

    fn serve(&mut self, command: Command, program: &Path, interrupted: &dyn Fn() -> bool) -> Result<()> {
        let child = self.spawn(command, program)?;
        let pid = child.id();
        self.child = Some(child);
        if let Some(group) = &self.group
            && let Err(error) = group.add(pid)
        {
            let what = format!("cannot move the server into {}: {error}", group.path().display());
            return Err(wrong(what, "run as root, or leave the limit out"));
        }
        for _ in 0..LOOKS {
            if backend::admin(&self.url).is_ok() {
                return Ok(());
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                return Err(self.failed(&format!("{} ended with {status}", program.display())));
            }
            if interrupted() {
                return Err(interruption());
            }
            std::thread::sleep(LOOK);
        }
        Err(self.failed("the server does not answer"))
    }

    /// The signal that ends it. Nothing of it is kept, so it need not write what it has in memory: PostgreSQL ends at once and
    /// frees its shared memory; InnoDB has none.
    fn ends_at(&self) -> Signal {
        match self.kind {
            ServerKind::Postgres => Signal::QUIT,
            ServerKind::Mariadb => Signal::KILL,
        }
    }

    fn failed(&self, what: &str) -> DatabaseError {
        wrong(format!("{what}\n{}", self.log()), "those were the last lines of its log")
    }

    fn end(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            end_group(&mut child, self.ends_at());
        }
        let gone = self.group.take().is_none_or(|group| group.remove());
        self.folders.remove().map_err(|error| {
            let what = format!("cannot remove {}: {error}", self.folders.home.display());
            wrong(what, "remove it by hand")
        })?;
        match gone {
            true => Ok(()),
            false => {
                Err(wrong("the server's memory control group is still busy", "remove it by hand (rmdir)"))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn interruption() -> DatabaseError {
    DatabaseError::new(
        Trouble::Interrupted,
        "the start of the server was interrupted",
        "nothing of it was kept",
    )
}

/// Ends a process and its group (its leader is the process itself) and waits for it; harshly after five seconds.
fn end_group(child: &mut Child, signal: Signal) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // PostgreSQL's postmaster tells its children itself; the signal is for it alone then.
    let first = match signal {
        Signal::KILL => kill_process_group(pid, signal),
        _ => rustix::process::kill_process(pid, signal),
    };
    for _ in 0..250 {
        if first.is_err() || !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = child.wait();
}

impl Folders {
    /// Makes the home, and answers where the socket goes.
    fn make(&mut self, name: &str, identity: Option<program::Identity>) -> Result<PathBuf> {
        let make = |path: &Path| -> std::io::Result<()> {
            fs::create_dir(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
            match identity {
                Some(identity) => chown(path, Some(identity.uid), Some(identity.gid)),
                None => Ok(()),
            }
        };
        let cannot = |path: &Path, error: std::io::Error| {
            wrong(format!("cannot make {}: {error}", path.display()), "name a directory that can be written")
        };
        make(&self.home).map_err(|error| cannot(&self.home, error))?;
        if self.home.as_os_str().len() <= SOCKET_MOST {
            return Ok(self.home.clone());
        }
        let short = Path::new("/tmp").join(name);
        make(&short).map_err(|error| cannot(&short, error))?;
        self.socket = Some(short.clone());
        Ok(short)
    }

    /// Marks the home as this process's.
    fn mark(&self, own: &Mark) -> Result<File> {
        leftover::mark(&self.home, own, self.made.is_some()).map_err(|error| {
            let what = format!("cannot mark {}: {error}", self.home.display());
            wrong(what, "name a directory that can be written")
        })
    }

    fn remove(&mut self) -> std::io::Result<()> {
        if let Some(socket) = self.socket.take() {
            fs::remove_dir_all(socket)?;
        }
        if self.home.exists() {
            fs::remove_dir_all(&self.home)?;
        }
        if let Some(made) = self.made.take() {
            // Somebody may have put something there meanwhile: then it stays.
            let _ = fs::remove_dir(made);
        }
        Ok(())
    }
}
