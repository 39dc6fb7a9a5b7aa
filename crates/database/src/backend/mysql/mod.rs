//! MySQL and MariaDB with InnoDB: a database `slobN`. InnoDB puts two long rows on a page whatever the fill factor, so twice the
//! rows are loaded in the order of the clustered key and every second is deleted; `MERGE_THRESHOLD=1` keeps InnoDB from merging
//! the half-empty pages. The clustered key is the physical order; a secondary index finds the random key.

mod admin;

use super::statements::Statements;
use super::{Ability, Failure, FailureKind, Session};
use crate::error::{DatabaseError, Result, Trouble};
use crate::rows::write_letters;
use crate::url::{Encryption, Route, Url};
use ::mysql::prelude::Queryable;
use ::mysql::{Conn, Error, OptsBuilder, SslOpts, Statement};
use fathom_spec::Redo;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;
use std::time::Duration;

pub(super) use admin::MysqlAdmin;

fn connect(url: &Url) -> Result<Conn> {
    let user = if url.user.is_empty() { "root" } else { &url.user };
    let database = Some(url.database.clone()).filter(|name| !name.is_empty());
    let options = OptsBuilder::new()
        .user(Some(user))
        .pass(url.password())
        .db_name(database)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(Duration::from_secs(10)));
    let options = match &url.route {
        Route::Host(host) => options.ip_or_hostname(Some(host.clone())).tcp_port(url.port),
        Route::Socket(path) | Route::File(path) => options.socket(Some(path.display().to_string())),
    };
    let options = match url.route {
        Route::Host(_) => options.ssl_opts(encryption(url)),
        Route::Socket(_) | Route::File(_) => options,
    };
    Conn::new(options).map_err(|error| refused("cannot connect", url, &error))
}

/// How a connection by TCP is encrypted; `None`: it is not.
fn encryption(url: &Url) -> Option<SslOpts> {
    let options = SslOpts::default();
    match url.encryption {
        Encryption::Never | Encryption::Offered => None,
        Encryption::Unchecked => {
            Some(options.with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true))
        }
        Encryption::Authority => Some(
            options.with_root_cert_path(url.authorities.clone()).with_danger_skip_domain_validation(true),
        ),
        Encryption::Name => Some(options.with_root_cert_path(url.authorities.clone())),
    }
}

/// What the server or the driver says, without the driver's wrapping.
fn message(error: &Error) -> String {
    match error {
        Error::MySqlError(error) => error.message.clone(),
        Error::IoError(error) => error.to_string(),
        other => other.to_string(),
    }
}

fn refused(what: &str, url: &Url, error: &Error) -> DatabaseError {
    let what = format!("{url}: {what}: {}", message(error));
    let code = match error {
        Error::MySqlError(error) => error.code,
        _ => {
            let hint = "is the server running, and does it listen where the URL says?";
            return DatabaseError::new(Trouble::Connection, what, hint);
        }
    };
    let (kind, hint) = match code {
        1045 | 1698 | 1130 => {
            (Trouble::Password, "check the user, the password, and from which hosts it may come")
        }
        1040 | 1203 | 1226 => (Trouble::TooManySessions, "use fewer sessions, or raise max_connections"),
        1044 | 1142 | 1143 | 1227 | 1370 => (
            Trouble::Rights,
            "GRANT ALL ON `slob%`.* TO the user of the URL, and PROCESS ON *.* for its counters",
        ),
        1021 | 1114 => (Trouble::Full, "make room, or ask for fewer blocks or schemas"),
        1049 => (Trouble::Connection, "leave the database's name out of the URL, or name one that exists"),
        1053 | 1077 | 1927 => (Trouble::Connection, "the server went away; see its log"),
        _ => (Trouble::Statement, "see the server's log"),
    };
    DatabaseError::new(kind, what, hint)
}

fn failure(error: &Error) -> Failure {
    let kind = match error {
        // A deadlock, a wait for a lock that lasted too long, a record that changed since the last read.
        Error::MySqlError(error) if matches!(error.code, 1213 | 1205 | 1020) => FailureKind::Retry,
        // The server shuts down, or killed the connection.
        Error::MySqlError(error) if matches!(error.code, 1053 | 1077 | 1317 | 1927) => FailureKind::Lost,
        Error::MySqlError(_) => FailureKind::Statement,
        _ => FailureKind::Lost,
    };
    Failure { kind, message: message(error) }
}

/// What a session does in a schema: select, update, scan.
fn texts(name: &str, heavy: bool) -> [String; 3] {
    let set = if heavy { "filler = ?, scratch = scratch + 1" } else { "scratch = scratch + 1" };
    let rows = format!("{name}.blocks FORCE INDEX (blocks_key)");
    [
        format!("SELECT COUNT(scratch) FROM {rows} WHERE id BETWEEN ? AND ?"),
        format!("UPDATE {rows} SET {set} WHERE id BETWEEN ? AND ?"),
        format!("SELECT COUNT(scratch) FROM {name}.scan"),
    ]
}

/// One connection.
pub(super) struct MysqlSession {
    connection: Conn,
    statements: Statements<Statement>,
    heavy: Option<Vec<u8>>,
    random: Xoshiro256Plus,
}

impl MysqlSession {
    pub(super) fn open(url: &Url, ability: &Ability) -> Result<Self> {
        let mut connection = connect(url)?;
        let refused = |error| refused("cannot prepare a session", url, &error);
        connection.query_drop("SET SESSION autocommit = 1").map_err(refused)?;
        let heavy = ability.redo == Redo::Heavy;
        let texts = |name: &str| texts(name, heavy);
        let statements = Statements::prepare(ability, texts, |sql| connection.prep(sql)).map_err(refused)?;
        Ok(MysqlSession {
            connection,
            statements,
            heavy: heavy.then(|| vec![b'X'; ability.filler_bytes as usize]),
            random: Xoshiro256Plus::seed_from_u64(ability.seed),
        })
    }

    fn run(&mut self, sql: &str) -> std::result::Result<(), Failure> {
        self.connection.query_drop(sql).map_err(|error| failure(&error))
    }
}

fn keys(first: u64, count: u32) -> (u64, u64) {
    (first, first + u64::from(count) - 1)
}

impl Session for MysqlSession {
    fn select(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        let answer = self.connection.exec_first(self.statements.select(schema), keys(first, count));
        answer.map(|count| count.unwrap_or(0)).map_err(|error| failure(&error))
    }

    fn update(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        self.run("START TRANSACTION")?;
        let statement = self.statements.update(schema)?;
        let (low, high) = keys(first, count);
        let answer = match &mut self.heavy {
            None => self.connection.exec_drop(statement, (low, high)),
            Some(filler) => {
                write_letters(&mut self.random, filler);
                self.connection.exec_drop(statement, (&*filler, low, high))
            }
        };
        answer.map(|()| self.connection.affected_rows()).map_err(|error| failure(&error))
    }

    fn commit(&mut self) -> std::result::Result<(), Failure> {
        self.run("COMMIT")
    }

    fn rollback(&mut self) -> std::result::Result<(), Failure> {
        self.run("ROLLBACK")
    }

    fn scan(&mut self, schema: u32) -> std::result::Result<u64, Failure> {
        let answer = self.connection.exec_first(self.statements.scan(schema)?, ());
        answer.map(|count| count.unwrap_or(0)).map_err(|error| failure(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadlock_may_be_tried_again_and_a_lost_server_may_not() {
        let of = |code: u16| {
            let error = ::mysql::error::MySqlError { state: String::new(), message: String::new(), code };
            failure(&Error::MySqlError(error)).kind
        };
        assert_eq!(
            [of(1213), of(1205), of(1053), of(1146)],
            [FailureKind::Retry, FailureKind::Retry, FailureKind::Lost, FailureKind::Statement]
        );
        let broken = Error::IoError(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(failure(&broken).kind, FailureKind::Lost);
    }
}
