//! Where a server's programs are, as whom they run, and how they are asked to make and to serve a data directory.

use super::{ServerKind, ServerOptions};
use crate::error::{DatabaseError, Result, Trouble};
use fathom_host::users::{self, UserIds};
use fathom_spec::Bytes;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As whom a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

fn wrong(what: impl Into<String>, hint: &str) -> DatabaseError {
    DatabaseError::new(Trouble::Server, what, hint)
}

/// Folders of programs, those of PostgreSQL's newest version first. Debian keeps its servers off the path.
fn folders() -> Vec<PathBuf> {
    let version = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.trim_start_matches("pgsql-").parse::<f64>().unwrap_or(0.0)
    };
    let below = |parent: &str, prefix: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
            .collect();
        found.sort_by(|a, b| version(b).total_cmp(&version(a)));
        found.into_iter().map(|path| path.join("bin")).collect()
    };
    let mut folders = below("/usr/lib/postgresql", "");
    folders.extend(below("/usr", "pgsql-"));
    let common = [
        "/usr/local/pgsql/bin",
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/opt/mariadb/bin",
    ];
    folders.extend(common.map(PathBuf::from));
    folders
}

/// The program that makes a data directory and the one that serves it: PostgreSQL's from one folder.
pub(super) fn programs(kind: ServerKind) -> Result<(PathBuf, PathBuf)> {
    let folders = folders();
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    match kind {
        ServerKind::Postgres => folders
            .iter()
            .map(|folder| (folder.join("initdb"), folder.join("postgres")))
            .find(|(make, serve)| make.is_file() && serve.is_file())
            .ok_or_else(|| {
                wrong(
                    "there is no PostgreSQL server here (initdb and postgres)",
                    "apt-get install postgresql",
                )
            }),
        ServerKind::Mariadb => find("mariadb-install-db").zip(find("mariadbd")).ok_or_else(|| {
            let what = "there is no MariaDB server here (mariadb-install-db and mariadbd)";
            wrong(what, "apt-get install mariadb-server")
        }),
    }
}

/// As whom to run: nobody else when this process is not root.
pub(super) fn identity(options: &ServerOptions, owner_of: &Path) -> Result<Option<Identity>> {
    if !rustix::process::geteuid().is_root() {
        return match &options.user {
            Some(user) => Err(wrong(
                format!("only root can start a server as {user}"),
                "run as root, or leave the server's user out",
            )),
            None => Ok(None),
        };
    }
    let owner = fs::metadata(owner_of).ok().filter(|about| about.uid() != 0);
    if let (None, Some(about)) = (&options.user, owner) {
        return Ok(Some(Identity { uid: about.uid(), gid: about.gid() }));
    }
    let custom = match options.kind {
        ServerKind::Postgres => "postgres",
        ServerKind::Mariadb => "mysql",
    };
    let user = options.user.as_deref().unwrap_or(custom);
    let other = "name another user with --server-user";
    match users::user(user) {
        Ok(Some(UserIds { user: 0, .. })) if options.kind == ServerKind::Postgres => {
            Err(wrong("PostgreSQL refuses to run as root", other))
        }
        Ok(Some(UserIds { user, group })) => Ok(Some(Identity { uid: user, gid: group })),
        Ok(None) => Err(wrong(format!("there is no user {user} on this machine"), other)),
        Err(error) => Err(wrong(format!("cannot look up the user {user}: {error}"), other)),
    }
}

/// The server's own cache: what was asked for, or a quarter of the limit. More than half of the limit is refused: the page
/// cache and the sessions need the rest.
pub(super) fn cache(options: &ServerOptions) -> Result<Option<Bytes>> {
    match (options.cache, options.limit) {
        (Some(cache), Some(limit)) if cache.0 > limit.0 / 2 => Err(wrong(
            format!("the server's cache of {cache} is more than half of the limit of {limit}"),
            "lower the cache (shared_buffers, innodb_buffer_pool_size), or raise the limit",
        )),
        (Some(cache), _) => Ok(Some(cache)),
        (None, Some(limit)) => Ok(Some(Bytes(limit.0 / 4))),
        (None, None) => Ok(None),
    }
}

/// Settings that a private server must keep: it would answer elsewhere, or to others.
const KEPT: [&str; 14] = [
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "data_directory",
    "hba_file",
    "config_file",
    "datadir",
    "socket",
    "skip_networking",
    "bind_address",
    "user",
    "pid_file",
    "shared_buffers",
    "innodb_buffer_pool_size",
];

/// Refuses settings that would open the server to others, or that have a word of their own.
pub(super) fn check_settings(settings: &[(String, String)]) -> Result<()> {
    for (name, _) in settings {
        let plain = name.to_ascii_lowercase().replace('-', "_");
        if KEPT.contains(&plain.as_str()) {
            return Err(wrong(
                format!("the setting {name} of a throw-away server is not to be chosen"),
                "its place and its socket are fathom's; its cache is said with the cache's own option",
            ));
        }
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if plain.is_empty() || plain.starts_with('_') || !name.chars().all(word) {
            return Err(wrong(format!("{name:?} is no name of a setting"), "say name=value"));
        }
    }
    Ok(())
}

/// Runs as the identity, with a plain environment of words and in the server's own folder.
pub(super) fn command(program: &Path, home: &Path, identity: Option<Identity>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env("LC_ALL", "C").env("TMPDIR", home);
    for name in ["PGDATA", "PGPORT", "PGHOST", "PGUSER", "PGOPTIONS", "MYSQL_HOME", "MYSQL_UNIX_PORT"] {
        command.env_remove(name);
    }
    if let Some(Identity { uid, gid }) = identity {
        command.uid(uid).gid(gid);
    }
    // A Ctrl-C in the terminal is for fathom: it stops its server itself.
    command.process_group(0);
    command
}

/// The words with which a data directory is made.
pub(super) fn words_to_make(kind: ServerKind, data: &Path) -> Vec<String> {
    let data = data.display();
    let words = match kind {
        ServerKind::Postgres => format!(
            "--pgdata={data}|--username=postgres|--auth=trust|--encoding=UTF8|--no-locale|--no-sync|--no-instructions"
        ),
        ServerKind::Mariadb => {
            format!("--no-defaults|--datadir={data}|--auth-root-authentication-method=normal|--skip-test-db")
        }
    };
    words.split('|').map(str::to_owned).collect()
}

/// The words with which it is served, on a socket and nowhere else.
pub(super) fn words_to_serve(
    options: &ServerOptions,
    data: &Path,
    socket: &Path,
    cache: Option<Bytes>,
) -> Vec<String> {
    let mut words = Vec::new();
    match options.kind {
        ServerKind::Postgres => {
            let mut set =
                |name: &str, value: &str| words.extend(["-c".to_owned(), format!("{name}={value}")]);
            set("listen_addresses", "");
            set("unix_socket_directories", &socket.display().to_string());
            set("port", "5432");
            set("logging_collector", "off");
            // Loading then makes no log; nobody copies or archives a throw-away server.
            set("wal_level", "minimal");
            set("max_wal_senders", "0");
            if let Some(cache) = cache {
                set("shared_buffers", &format!("{}kB", (cache.0 / 1024).max(128)));
            }
            if let Some(limit) = options.limit {
                // Several indexes are built at a time while schemas are loaded.
                set("maintenance_work_mem", &format!("{}kB", (limit.0 / 32_768).clamp(1024, 65_536)));
            }
            options.settings.iter().for_each(|(name, value)| set(name, value));
            words.splice(0..0, ["-D".to_owned(), data.display().to_string()]);
        }
        ServerKind::Mariadb => {
            words.extend(["--no-defaults".to_owned(), format!("--datadir={}", data.display())]);
            words.push(format!("--socket={}", socket.join("s").display()));
            words.push(format!("--pid-file={}", socket.join("pid").display()));
            words.extend(["--skip-networking".to_owned(), "--skip-name-resolve".to_owned()]);
            if let Some(cache) = cache {
                words.push(format!("--innodb-buffer-pool-size={}", cache.0));
            }
            words.extend(options.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ServerOptions {
        ServerOptions::new(ServerKind::Postgres, "/srv")
    }

    #[test]
    fn a_cache_of_more_than_half_the_limit_is_refused() {
        let with = |cache: Option<u64>, limit: Option<u64>| {
            cache_of(&ServerOptions { cache: cache.map(Bytes), limit: limit.map(Bytes), ..options() })
        };
        fn cache_of(options: &ServerOptions) -> Option<Option<u64>> {
            cache(options).ok().map(|cache| cache.map(|bytes| bytes.0))
        }
        assert_eq!(with(Some(51), Some(100)), None);
        assert_eq!(with(Some(50), Some(100)), Some(Some(50)));
        assert_eq!(with(None, Some(100)), Some(Some(25)));
        assert_eq!(with(None, None), Some(None));
    }

    #[test]
    fn a_private_server_stays_private() {
        for name in ["listen_addresses", "port", "skip-networking", "Bind-Address", "", "-c x", "a b"] {
            assert!(check_settings(&[(name.to_owned(), "1".to_owned())]).is_err(), "{name}");
        }
        let settings = [("max_connections".to_owned(), "7".to_owned())];
        assert_eq!(check_settings(&settings), Ok(()));
        let options = ServerOptions { settings: settings.to_vec(), ..options() };
        let words = words_to_serve(&options, Path::new("/d"), Path::new("/s"), Some(Bytes(1 << 20)));
        for word in
            ["listen_addresses=", "unix_socket_directories=/s", "shared_buffers=1024kB", "max_connections=7"]
        {
            assert!(words.iter().any(|w| w == word), "{words:?}");
        }
        assert_eq!(words[..2], ["-D", "/d"]);
        let maria = ServerOptions { kind: ServerKind::Mariadb, ..options };
        let words = words_to_serve(&maria, Path::new("/d"), Path::new("/s"), None);
        assert_eq!(words[0], "--no-defaults");
        assert!(
            words.contains(&"--skip-networking".to_owned())
                && words.contains(&"--max_connections=7".to_owned())
        );
    }
}
