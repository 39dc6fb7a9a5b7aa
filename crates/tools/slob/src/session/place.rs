//! Which database, and what lies below it: one that is there, or a server that is started for this and removed afterwards.

use super::args::{Kind, Place};
use super::settings::{CommandSettings, wrong};
use anyhow::{Context as _, Result, anyhow, bail};
use fathom_database::{
    Brand, Credentials, Database, DatabaseError, Leftover, Server, ServerKind, ServerOptions, Url,
    credentials,
};
use fathom_host::{DeviceNumber, Roots, command_line, directory_of, resolve, text_file};
use fathom_record::{ExecuteError, Note};
use fathom_session::Session;
use fathom_session::environment::DatabaseClient;
use fathom_session::preflight::{self, Found};
use fathom_session::targets::Ready;
use fathom_spec::Bytes;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A database, ready to be asked.
pub struct DatabaseTarget {
    /// The database.
    pub database: Database,
    /// Disks below its data.
    pub disks: Vec<(String, DeviceNumber)>,
    /// Disks below its log that are not below its data.
    pub log_disks: Vec<(String, DeviceNumber)>,
    /// All of them: their counters are sampled while sessions run.
    pub sampled_disks: Vec<(String, DeviceNumber)>,
    /// The machine and its storage, and what the user should know of them.
    pub found: Found,
    /// What else the user should know.
    pub notes: Vec<Note>,
    /// The bound on the memory of the server and the page cache of its files.
    pub limit: Option<Bytes>,
    /// The name of the setting that sizes the database's own cache.
    pub cache_name: &'static str,
    server: Option<Server>,
}

/// Words that cannot be had together.
fn check(place: &Place) -> Result<()> {
    if place.limit_cache.is_some() && place.server.is_none() {
        bail!(wrong(
            "--limit-cache bounds the memory of a server that fathom started itself\nhint: add --server DIR; a server that runs already is bounded where it is started, such as by systemctl set-property postgresql MemoryMax=512M"
        ));
    }
    Ok(())
}

/// Only a setup places the data of a running server.
pub fn placed_by_setup(place: &Place) -> Result<()> {
    if place.data_directory.is_some() && place.server.is_none() {
        bail!(wrong(
            "the data of a running server is placed by setup, and found by itself afterwards\nhint: fathom slob setup --data-directory DIR; here leave it out, or add --server DIR"
        ));
    }
    Ok(())
}

/// Where the database is, passwords put into it and nowhere else.
fn url(place: &Place, asked: &CommandSettings, session: &Session<'_>) -> Result<Url> {
    let settings = &asked.settings;
    let said = place.db.clone().or_else(|| settings.connect.clone()).or_else(|| settings.database.clone());
    let text = match said {
        None => "sqlite:slob.db".to_owned(),
        Some(text) if text.contains("://") || text.starts_with("sqlite:") => text,
        Some(text) if place.db.is_some() => text,
        Some(text) if text.contains('=') => bail!(wrong(
            "CONNECT_STRING is a list of words, and fathom reads URLs\nhint: write it as postgres://USER@HOST/NAME, or say --db"
        )),
        Some(name) => match Path::new("/var/run/postgresql").is_dir() {
            true => format!("postgres:///{name}?host=/var/run/postgresql"),
            false => format!("postgres://localhost/{name}"),
        },
    };
    hide_passwords(place, session);
    let mut url: Url = text.parse().map_err(wrong)?;
    if let Some(user) = settings.user.clone().filter(|_| url.user.is_empty()) {
        url.user = user;
        url = url.with_password(settings.password.clone());
    }
    match url.brand {
        Brand::Postgres => as_postgres_clients(url, &session.environment.postgres_client()),
        Brand::Mysql => as_mysql_clients(url, &session.environment.mysql_client()),
        Brand::Sqlite => Ok(url),
    }
}

/// A password that was typed does not stand in the list of processes while the run lasts.
fn hide_passwords(place: &Place, session: &Session<'_>) {
    let Some(typed) = &place.db else { return };
    for at in Url::passwords_in(typed) {
        if let Err(error) = command_line::hide(&Roots::default(), &typed.as_bytes()[at]) {
            session.console.complain(format_args!(
                "note: the password on the command line can be seen by others (ps): {error}\nhint: set PGPASSWORD or MYSQL_PWD, or use ~/.pgpass or ~/.my.cnf"
            ));
        }
    }
}

/// What a file says, where it is there.
fn text_of(path: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = path.filter(|path| path.exists()) else { return Ok(None) };
    let text = text_file::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(text))
}

/// As libpq does it: the URL, then the service, then the environment, then the password file.
fn as_postgres_clients(mut url: Url, client: &DatabaseClient) -> Result<Url> {
    let service = url.service().map(str::to_owned).or_else(|| client.service.clone());
    if let Some(name) = service {
        let file = client.service_file.as_deref();
        let found = text_of(file)?.and_then(|text| credentials::service(&text, &name));
        let Some(found) = found else {
            let file = file.map_or("~/.pg_service.conf".to_owned(), |file| file.display().to_string());
            bail!("there is no service {name} in {file}\nhint: PGSERVICEFILE names another file");
        };
        url = url.with_defaults(found);
    }
    let (user, password, database) = (client.user.clone(), client.password.clone(), client.database.clone());
    url = url.with_defaults(Credentials { user, password, database, ..Credentials::default() });
    let Some(file) = &client.password_file else { return Ok(url) };
    let Some(text) = text_of(Some(file))? else { return Ok(url) };
    let open = file.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0);
    match credentials::password(&text, &url) {
        Some(_) if open && !url.has_password() => bail!(
            "{} may be read by others, so its password is not used, as psql does it\nhint: chmod 600 {}",
            file.display(),
            file.display()
        ),
        found => Ok(url.with_password(found)),
    }
}

/// As the programs of MySQL and MariaDB do it: the URL, then the option file, then the environment.
fn as_mysql_clients(mut url: Url, client: &DatabaseClient) -> Result<Url> {
    if let Some(text) = text_of(client.option_file.as_deref())? {
        url = url.with_defaults(credentials::options(&text));
    }
    Ok(url.with_password(client.password.clone()))
}

fn start(
    place: &Place,
    directory: &Path,
    asked: &CommandSettings,
    sessions: u32,
    interrupted: &dyn Fn() -> bool,
) -> Result<Server> {
    let mut settings = Vec::new();
    for pair in &place.server_setting {
        let Some((name, value)) = pair.split_once('=') else {
            bail!(wrong(format!("--server-setting {pair} is no NAME=VALUE\nhint: such as max_wal_size=4GB")));
        };
        settings.push((name.to_owned(), value.to_owned()));
    }
    let kind = match place.server_kind {
        Kind::Postgres => ServerKind::Postgres,
        Kind::Mariadb => ServerKind::Mariadb,
    };
    // A few more than the sessions: for setup and for reading counters.
    if sessions > 80 && !settings.iter().any(|(name, _)| name == "max_connections") {
        settings.push(("max_connections".to_owned(), (sessions + 20).to_string()));
    }
    let options = ServerOptions {
        kind,
        directory: place.data_directory.clone().unwrap_or_else(|| directory.to_owned()),
        user: place.server_user.clone(),
        cache: place.cache,
        limit: place.limit_cache,
        sessions: sessions.max(asked.settings.load_parallel_degree),
        settings,
    };
    Ok(Server::start(&options, interrupted)?)
}

/// What was found of a server whose fathom was killed.
fn leftover(found: &Leftover) -> Note {
    let home = found.home.display();
    match &found.trouble {
        None => {
            Note { text: format!("a server that a killed fathom had left in {home} was removed"), hint: None }
        }
        Some(why) => Note {
            text: format!("a server that a killed fathom left in {home} cannot be removed: {why}"),
            hint: Some("end its processes, and remove it by hand".to_owned()),
        },
    }
}

impl DatabaseTarget {
    /// Connects, and looks at what lies below. `sessions` is what a server of our own must take.
    pub fn open(
        place: &Place,
        asked: &CommandSettings,
        sessions: u32,
        session: &Session<'_>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self> {
        check(place)?;
        let server = match &place.server {
            Some(directory) => Some(start(place, directory, asked, sessions, interrupted)?),
            None => None,
        };
        let url = match &server {
            Some(server) => server.url().clone(),
            None => url(place, asked, session)?,
        };
        let database = Database::open(url)?;
        let mut notes: Vec<Note> =
            asked.settings.notes.iter().map(|text| Note { text: text.clone(), hint: None }).collect();
        notes.extend(server.iter().flat_map(Server::leftovers).map(leftover));
        let below = database.disks_below().unwrap_or_else(|why| {
            let hint = match database.url.is_local() {
                false => "run fathom on the server's own machine to see what its disks do",
                true => "GRANT pg_monitor to the user (PostgreSQL), and run fathom as one who may look into the data directory",
            };
            notes.push(Note {
                text: format!("the disks below the database cannot be told: {why}"),
                hint: Some(hint.to_owned()),
            });
            Default::default()
        });
        let others = |disk: &&(String, DeviceNumber)| !below.data.iter().any(|(name, _)| *name == disk.0);
        let log_disks: Vec<_> = below.log.iter().filter(others).cloned().collect();
        let sampled_disks = below.data.iter().chain(&log_disks).cloned().collect();
        let found = preflight::look(&Roots::default(), &ready(&database));
        let cache_name = match database.url.brand {
            Brand::Postgres => "shared_buffers",
            Brand::Mysql => "innodb_buffer_pool_size",
            Brand::Sqlite => "the cache of each session",
        };
        Ok(DatabaseTarget {
            disks: below.data,
            log_disks,
            sampled_disks,
            found,
            notes,
            limit: place.limit_cache,
            cache_name,
            server,
            database,
        })
    }

    /// Is it a server that was started for this?
    pub fn is_own(&self) -> bool {
        self.server.is_some()
    }

    /// An error with what a server of our own has to say to it: it goes with its log.
    pub fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(server) = &self.server else { return error };
        if let (true, Some(limit)) = (server.is_starved(), self.limit) {
            let what = match (error.downcast_ref::<DatabaseError>(), error.downcast_ref::<ExecuteError>()) {
                (Some(error), _) => error.what.clone(),
                (_, Some(error)) => error.what(),
                _ => error.to_string(),
            };
            return anyhow!(
                "{what}\nhint: the kernel killed processes of the server, which need more than --limit-cache {limit}: raise it"
            );
        }
        error
    }

    /// Stops a server of our own and removes it.
    pub fn close(self) -> Result<()> {
        match self.server {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }

    /// Bytes of a block.
    pub fn block(&self) -> Bytes {
        Bytes(u64::from(self.database.facts.block_bytes.max(1)))
    }

    /// The directory or file that its data is in, when it is on this machine.
    pub fn data_path(&self) -> Option<PathBuf> {
        data_path(&self.database)
    }
}

fn data_path(database: &Database) -> Option<PathBuf> {
    let file = database.url.file().map(Path::to_path_buf);
    file.or_else(|| database.facts.data.clone()).filter(|_| database.url.is_local())
}

/// The storage of its data, as the preflight looks at it.
fn ready(database: &Database) -> Vec<Ready> {
    let Some(path) = data_path(database) else { return Vec::new() };
    // A file that is not there yet stands on its directory.
    let directory = if path.is_file() || !path.exists() { directory_of(&path) } else { &path };
    let storage = resolve(&Roots::default(), directory);
    storage.ok().map(|storage| Ready::Existing { path, storage: Box::new(storage) }).into_iter().collect()
}

/// The command line without what may be secret: the URL as it is printed.
pub fn without_secrets(command: &[String], place: &Place, url: &Url) -> Vec<String> {
    let Some(typed) = &place.db else { return command.to_vec() };
    command.iter().map(|word| word.replace(typed.as_str(), &url.to_string())).collect()
}
