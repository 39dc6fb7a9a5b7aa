//! PostgreSQL: a schema `slobN` with tables of fillfactor 10, so that each block takes one row; an index finds the random key.

mod admin;
mod counters;

use super::statements::Statements;
use super::{Ability, Failure, FailureKind, Session, SharedWork};
use crate::error::{DatabaseError, Result, Trouble};
use crate::rows::write_letters;
use crate::tls;
use crate::url::{Encryption, Route, Url};
use fathom_spec::Redo;
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Client, NoTls, Statement};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;
use std::error::Error as _;
use std::time::Duration;

pub(super) use admin::PostgresAdmin;

/// Our schemas, as a pattern.
const OURS: &str = "^slob[1-9][0-9]*$";

/// What sessions call themselves in `pg_stat_activity`.
const SESSION: &str = "fathom session";

/// What those that set up and read counters call themselves.
const ADMIN: &str = "fathom";

/// Short names of the server's processes.
const PROCESSES: [&str; 2] = ["postgres", "postmaster"];

fn connect(url: &Url, application: &str) -> Result<Client> {
    let mut config = postgres::Config::new();
    let user = if url.user.is_empty() { "postgres" } else { &url.user };
    let database = if url.database.is_empty() { "postgres" } else { &url.database };
    config.user(user).dbname(database).port(url.port).application_name(application);
    config.connect_timeout(Duration::from_secs(10));
    match &url.route {
        Route::Host(host) => config.host(host),
        Route::Socket(path) | Route::File(path) => config.host_path(path),
    };
    if let Some(password) = url.password() {
        config.password(password);
    }
    let by_network = matches!(url.route, Route::Host(_));
    config.ssl_mode(match url.encryption {
        Encryption::Never => SslMode::Disable,
        _ if !by_network => SslMode::Disable,
        Encryption::Offered => SslMode::Prefer,
        Encryption::Unchecked | Encryption::Authority | Encryption::Name => SslMode::Require,
    });
    let connected = match url.encryption {
        Encryption::Never => config.connect(NoTls),
        _ if !by_network => config.connect(NoTls),
        _ => config.connect(tls::connector(url)?),
    };
    connected.map_err(|error| refused("cannot connect", url, &error))
}

/// All that the driver says, without repeating itself.
fn message(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => {
            let cause = error.source().map(|source| format!(": {source}"));
            let text = error.to_string();
            let cause = cause.filter(|cause| !text.ends_with(cause.as_str()));
            format!("{text}{}", cause.unwrap_or_default())
        }
    }
}

fn refused(what: &str, url: &Url, error: &postgres::Error) -> DatabaseError {
    let what = format!("{url}: {what}: {}", message(error));
    let Some(code) = error.code() else {
        let missing = what.contains("password missing") || what.contains("password");
        return match missing {
            true => DatabaseError::new(
                Trouble::Password,
                what,
                "set PGPASSWORD, or put the password into ~/.pgpass or into the URL",
            ),
            false => DatabaseError::new(
                Trouble::Connection,
                what,
                "is the server running, and does it listen where the URL says?",
            ),
        };
    };
    match code {
        code if *code == SqlState::INVALID_PASSWORD
            || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
        {
            DatabaseError::new(Trouble::Password, what, "check the user, the password and pg_hba.conf")
        }
        code if *code == SqlState::TOO_MANY_CONNECTIONS => {
            DatabaseError::new(Trouble::TooManySessions, what, "use fewer sessions, or raise max_connections")
        }
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            DatabaseError::new(Trouble::Rights, what, "GRANT CREATE ON DATABASE ... TO the user of the URL")
        }
        code if *code == SqlState::DISK_FULL => {
            DatabaseError::new(Trouble::Full, what, "make room, or ask for fewer blocks or schemas")
        }
        code if *code == SqlState::INVALID_CATALOG_NAME => {
            DatabaseError::new(Trouble::Connection, what, "make it (createdb), or name one that exists")
        }
        code if code.code().starts_with("57P") || code.code().starts_with("08") => {
            DatabaseError::new(Trouble::Connection, what, "the server went away; see its log")
        }
        _ => DatabaseError::new(Trouble::Statement, what, "see the server's log"),
    }
}

fn failure(client: &Client, error: &postgres::Error) -> Failure {
    let kind = match error.code() {
        _ if client.is_closed() || error.is_closed() => FailureKind::Lost,
        Some(code)
            if *code == SqlState::T_R_DEADLOCK_DETECTED || *code == SqlState::T_R_SERIALIZATION_FAILURE =>
        {
            FailureKind::Retry
        }
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => FailureKind::Retry,
        Some(code) if code.code().starts_with("57P") => FailureKind::Lost,
        Some(_) => FailureKind::Statement,
        None => FailureKind::Lost,
    };
    Failure { kind, message: message(error) }
}

/// One connection.
pub(super) struct PostgresSession {
    client: Client,
    statements: Statements<Statement>,
    heavy: Option<Vec<u8>>,
    random: Xoshiro256Plus,
}

/// One block at a time by the index: no prefetching bitmap, no parallel helpers, one plan for all keys.
const SETTINGS: &str = "SELECT set_config(name, CASE name WHEN 'plan_cache_mode' THEN 'force_generic_plan' \
     WHEN 'max_parallel_workers_per_gather' THEN '0' ELSE 'off' END, false) FROM pg_settings \
     WHERE name IN ('plan_cache_mode', 'max_parallel_workers_per_gather', 'enable_bitmapscan', 'enable_seqscan', 'jit')";

/// What a session does in a schema: select, update, scan.
fn texts(name: &str, heavy: bool) -> [String; 3] {
    let set = if heavy { "scratch = scratch + 1, filler = $3" } else { "scratch = scratch + 1" };
    [
        format!("SELECT count(scratch) FROM {name}.blocks WHERE key BETWEEN $1 AND $2"),
        format!("UPDATE {name}.blocks SET {set} WHERE key BETWEEN $1 AND $2"),
        format!("SELECT count(scratch) FROM {name}.scan"),
    ]
}

impl PostgresSession {
    pub(super) fn open(url: &Url, ability: &Ability, work: &SharedWork) -> Result<Self> {
        let mut client = connect(url, SESSION)?;
        let refused = |error| refused("cannot prepare a session", url, &error);
        client.query(SETTINGS, &[]).map_err(refused)?;
        // Only some users may; then the server's own setting decides whether reads are timed.
        let _ = client.batch_execute("SET track_io_timing = on");
        let process = client.query_one("SELECT pg_backend_pid()", &[]).map_err(refused)?;
        work.add_process(process.get::<_, i32>(0).unsigned_abs());
        let heavy = ability.redo == Redo::Heavy;
        let texts = |name: &str| texts(name, heavy);
        let statements = Statements::prepare(ability, texts, |sql| client.prepare(sql)).map_err(refused)?;
        Ok(PostgresSession {
            client,
            statements,
            heavy: heavy.then(|| vec![b'X'; ability.filler_bytes as usize]),
            random: Xoshiro256Plus::seed_from_u64(ability.seed),
        })
    }
}

fn keys(first: u64, count: u32) -> (i64, i64) {
    (first as i64, first as i64 + i64::from(count) - 1)
}

impl Session for PostgresSession {
    fn select(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        let (low, high) = keys(first, count);
        match self.client.query_one(self.statements.select(schema), &[&low, &high]) {
            Ok(row) => Ok(row.get::<_, i64>(0) as u64),
            Err(error) => Err(failure(&self.client, &error)),
        }
    }

    fn update(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        let (low, high) = keys(first, count);
        let statement = self.statements.update(schema)?;
        let answer = self.client.batch_execute("BEGIN").and_then(|()| match &mut self.heavy {
            None => self.client.execute(statement, &[&low, &high]),
            Some(filler) => {
                write_letters(&mut self.random, filler);
                let filler = String::from_utf8_lossy(filler);
                self.client.execute(statement, &[&low, &high, &filler.as_ref()])
            }
        });
        answer.map_err(|error| failure(&self.client, &error))
    }

    fn commit(&mut self) -> std::result::Result<(), Failure> {
        self.client.batch_execute("COMMIT").map_err(|error| failure(&self.client, &error))
    }

    fn rollback(&mut self) -> std::result::Result<(), Failure> {
        self.client.batch_execute("ROLLBACK").map_err(|error| failure(&self.client, &error))
    }

    fn scan(&mut self, schema: u32) -> std::result::Result<u64, Failure> {
        match self.client.query_one(self.statements.scan(schema)?, &[]) {
            Ok(row) => Ok(row.get::<_, i64>(0) as u64),
            Err(error) => Err(failure(&self.client, &error)),
        }
    }
}
