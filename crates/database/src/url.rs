//! Where a database is: `postgres://`, `mysql://`, `sqlite:FILE`. A password that stands in a URL is used to connect and
//! nowhere else: it is neither printed, nor shown by `Debug`, nor part of a name.

use crate::error::{DatabaseError, Result, Trouble};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Which family of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brand {
    Postgres,
    /// MySQL and MariaDB, with InnoDB.
    Mysql,
    /// SQLite, inside this process.
    Sqlite,
}

impl Brand {
    /// The library that speaks to it.
    pub fn driver(self) -> &'static str {
        match self {
            Brand::Postgres => "prepared statements by the postgres library",
            Brand::Mysql => "prepared statements by the mysql library",
            Brand::Sqlite => "SQLite inside this process",
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// By TCP, at a host's name or address.
    Host(String),
    /// By a socket: PostgreSQL's directory of it, MySQL's file.
    Socket(PathBuf),
    /// A file of this machine (SQLite).
    File(PathBuf),
}

/// Whether a connection by TCP is encrypted, and what of the server's certificate is checked. Sockets of this machine are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    Never,
    /// Where the server offers it (PostgreSQL's own default; MySQL's connections then have none).
    #[default]
    Offered,
    /// Always, by whatever certificate.
    Unchecked,
    /// Always, by a certificate of an authority that is trusted.
    Authority,
    /// And for the name that was connected to.
    Name,
}

/// A database, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub brand: Brand,
    pub route: Route,
    /// TCP port, and part of PostgreSQL's socket name.
    pub port: u16,
    /// As whom. Empty: the server's custom (`postgres`, `root`).
    pub user: String,
    /// Name of the database in the server; empty for SQLite. MySQL's is never changed, only connected to.
    pub database: String,
    password: Option<String>,
    /// What was said and not supposed.
    host_said: bool,
    port_said: bool,
    service: Option<String>,
    pub(crate) encryption: Encryption,
    /// A file of the authorities that are trusted; `None`: the system's.
    pub(crate) authorities: Option<PathBuf>,
}

/// What a client is told beside a URL. Shown without the password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Credentials { user, password, database, host, port, socket } = self;
        let password = password.as_ref().map(|_| "...");
        write!(f, "{user:?} {password:?} {database:?} {host:?} {port:?} {socket:?}")
    }
}

const FORMS: &str = "say postgres://USER@HOST/DATABASE, postgres:///DATABASE?host=/run/postgresql, mysql://USER@HOST or sqlite:FILE";

fn wrong(what: impl Into<String>) -> DatabaseError {
    DatabaseError::new(Trouble::Url, what, FORMS)
}

impl Url {
    /// A SQLite file.
    pub fn sqlite(file: impl Into<PathBuf>) -> Self {
        Url {
            brand: Brand::Sqlite,
            route: Route::File(file.into()),
            port: 0,
            user: String::new(),
            database: String::new(),
            password: None,
            host_said: true,
            port_said: true,
            service: None,
            encryption: Encryption::default(),
            authorities: None,
        }
    }

    /// A server behind a socket of this machine.
    pub fn socket(brand: Brand, socket: impl Into<PathBuf>, user: &str, database: &str) -> Self {
        Url {
            brand,
            route: Route::Socket(socket.into()),
            port: default_port(brand),
            user: user.to_owned(),
            database: database.to_owned(),
            password: None,
            host_said: true,
            port_said: false,
            service: None,
            encryption: Encryption::default(),
            authorities: None,
        }
    }

    /// The same with a password from elsewhere (a prompt, a file, the environment), if it has none yet.
    pub fn with_password(mut self, password: Option<String>) -> Self {
        self.password = self.password.or(password);
        self
    }

    /// The name of PostgreSQL's service that it asks for.
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// The same with what it does not say from elsewhere.
    pub fn with_defaults(mut self, from: Credentials) -> Self {
        let Credentials { user, password, database, host, port, socket } = from;
        if self.user.is_empty() {
            self.user = user.unwrap_or_default();
        }
        if self.database.is_empty() {
            self.database = database.unwrap_or_default();
        }
        if let (false, Some(host)) = (self.host_said, host) {
            (self.route, self.host_said) = (route(&host), true);
        }
        if let (false, Some(socket)) = (self.host_said, socket) {
            (self.route, self.host_said) = (Route::Socket(socket), true);
        }
        if let (false, Some(port)) = (self.port_said, port) {
            (self.port, self.port_said) = (port, true);
        }
        self.with_password(password)
    }

    /// Where passwords stand in a URL as it was typed, in bytes from its beginning.
    pub fn passwords_in(text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let begin = text.find("://").map_or(0, |at| at + 3);
        let (place, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        if let Some(at) = place.rfind('@').filter(|at| *at >= begin)
            && let Some(colon) = text[begin..at].find(':')
        {
            found.push(begin + colon + 1..at);
        }
        let mut from = place.len();
        for pair in query.split_inclusive(['?', '&']) {
            if let Some(value) = pair.strip_prefix("password=") {
                let value = value.trim_end_matches('&');
                found.push(from + 9..from + 9 + value.len());
            }
            from += pair.len();
        }
        found.retain(|range| !range.is_empty());
        found
    }

    /// Does it have a password?
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// The password; for drivers only.
    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Is the server on this machine, so that its files and disks can be looked at?
    pub fn is_local(&self) -> bool {
        match &self.route {
            Route::Socket(_) | Route::File(_) => true,
            Route::Host(host) => matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1"),
        }
    }

    /// The file of SQLite.
    pub fn file(&self) -> Option<&Path> {
        match &self.route {
            Route::File(file) => Some(file),
            _ => None,
        }
    }
}

fn default_port(brand: Brand) -> u16 {
    match brand {
        Brand::Postgres => 5432,
        Brand::Mysql => 3306,
        Brand::Sqlite => 0,
    }
}

impl fmt::Display for Url {
    /// As it could be typed again, without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.brand {
            Brand::Postgres => "postgres://",
            Brand::Mysql => "mysql://",
            Brand::Sqlite => "sqlite:",
        };
        let at = if self.user.is_empty() { String::new() } else { format!("{}@", encoded(&self.user)) };
        match &self.route {
            Route::File(file) => write!(f, "{scheme}{}", file.display()),
            Route::Host(host) => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                let port = match self.port == default_port(self.brand) {
                    true => String::new(),
                    false => format!(":{}", self.port),
                };
                write!(f, "{scheme}{at}{host}{port}/{}", encoded(&self.database))
            }
            Route::Socket(path) => {
                let key = if self.brand == Brand::Postgres { "host" } else { "socket" };
                let port = match self.port == default_port(self.brand) {
                    true => String::new(),
                    false => format!("&port={}", self.port),
                };
                write!(f, "{scheme}{at}/{}?{key}={}{port}", encoded(&self.database), path.display())
            }
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

impl FromStr for Url {
    type Err = DatabaseError;

    /// No error text repeats what was typed beyond the scheme and the names of parameters: it may hold a password.
    fn from_str(text: &str) -> Result<Self> {
        let (scheme, rest) =
            text.split_once(':').ok_or_else(|| wrong("a database's URL begins with its scheme"))?;
        let brand = match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => Brand::Postgres,
            "mysql" | "mariadb" => Brand::Mysql,
            "sqlite" => return sqlite(rest),
            _ => return Err(wrong(format!("fathom does not know databases of the scheme {scheme:?}"))),
        };
        let rest = rest.strip_prefix("//").ok_or_else(|| wrong(format!("after {scheme}: comes //")))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user_info, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        // Else its tail would be taken for the database's name, and be shown with it.
        if database.contains('@') || database.contains('#') || host.contains('#') {
            return Err(DatabaseError::new(
                Trouble::Url,
                "the URL has @, / or # where they cannot stand",
                "in a user's name or a password write %40 for @, %2F for /, %23 for #, %3A for :, %3F for ?, %25 for %",
            ));
        }
        let (user, password) = match user_info.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (user_info, None),
        };
        let (host, port) = host_and_port(host)?;
        let host = decoded(host)?;
        let mut url = Url {
            brand,
            route: route(&host),
            port: port.unwrap_or(default_port(brand)),
            user: decoded(user)?,
            database: decoded(database)?,
            password,
            host_said: !host.is_empty(),
            port_said: port.is_some(),
            service: None,
            encryption: Encryption::default(),
            authorities: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| wrong("a parameter of the URL has no value"))?;
            url.parameter(key, decoded(value)?)?;
        }
        Ok(url)
    }
}

fn sqlite(rest: &str) -> Result<Url> {
    let file = rest.strip_prefix("//").unwrap_or(rest);
    match file {
        "" => Err(wrong("sqlite: needs the name of a file")),
        ":memory:" => Err(wrong("a database in memory has no storage to measure")),
        file => Ok(Url::sqlite(file)),
    }
}

fn route(host: &str) -> Route {
    match host {
        "" => Route::Host("localhost".to_owned()),
        path if path.starts_with('/') => Route::Socket(path.into()),
        host => Route::Host(host.to_owned()),
    }
}

fn host_and_port(text: &str) -> Result<(&str, Option<u16>)> {
    let number = |port: &str| port.parse().map_err(|_| wrong("the port is no number up to 65535"));
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return Ok((host, rest.strip_prefix(':').map(number).transpose()?));
    }
    match text.split_once(':') {
        Some((host, port)) => Ok((host, Some(number(port)?))),
        None => Ok((text, None)),
    }
}

impl Url {
    fn parameter(&mut self, key: &str, value: String) -> Result<()> {
        match (self.brand, key) {
            (Brand::Postgres, "host") => (self.route, self.host_said) = (route(&value), true),
            (Brand::Postgres, "service") => self.service = Some(value),
            (Brand::Mysql, "socket") => (self.route, self.host_said) = (Route::Socket(value.into()), true),
            (_, "port") => {
                self.port = value.parse().map_err(|_| wrong("the port is no number up to 65535"))?;
                self.port_said = true;
            }
            (_, "user") => self.user = value,
            (_, "password") => self.password = Some(value),
            (Brand::Postgres, "sslmode") => self.encryption = encryption(&value)?,
            (Brand::Mysql, "ssl-mode") => self.encryption = encryption(&value)?,
            (Brand::Postgres, "sslrootcert") => {
                self.authorities = Some(value).filter(|file| file != "system").map(PathBuf::from);
            }
            (Brand::Mysql, "ssl-ca") => self.authorities = Some(value.into()),
            (_, key) => return Err(wrong(format!("the URL's parameter {key:?} is not known"))),
        }
        Ok(())
    }
}

/// By libpq's words, or by MySQL's.
fn encryption(word: &str) -> Result<Encryption> {
    Ok(match word.to_ascii_lowercase().as_str() {
        "disable" | "disabled" => Encryption::Never,
        "allow" | "prefer" | "preferred" => Encryption::Offered,
        "require" | "required" => Encryption::Unchecked,
        "verify-ca" | "verify_ca" => Encryption::Authority,
        "verify-full" | "verify_identity" => Encryption::Name,
        _ => {
            return Err(DatabaseError::new(
                Trouble::Url,
                "the URL's sslmode or ssl-mode is none that is known",
                "PostgreSQL: disable, prefer, require, verify-ca or verify-full; MySQL: DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
            ));
        }
    })
}

fn decoded(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let (Some(high), Some(low)) = (tail.first().and_then(digit), tail.get(1).and_then(digit)) else {
            return Err(wrong("after % come two hexadecimal digits; % itself is %25"));
        };
        bytes.push((high * 16 + low) as u8);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong("the URL is not UTF-8 once decoded"))
}

fn encoded(text: &str) -> String {
    let keep = |c: &u8| c.is_ascii_alphanumeric() || b"-._~".contains(c);
    text.bytes().map(|b| if keep(&b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_url_is_read_with_its_parts() {
        let full = url("postgresql://me:s%40crt@db.example:6000/bench?sslmode=prefer");
        assert_eq!((full.brand, full.port, full.user.as_str()), (Brand::Postgres, 6000, "me"));
        assert_eq!((&full.route, full.database.as_str()), (&Route::Host("db.example".into()), "bench"));
        assert_eq!(full.password(), Some("s@crt"));
        assert_eq!(
            url("postgres:///bench?host=/run/postgresql").route,
            Route::Socket("/run/postgresql".into())
        );
        assert_eq!(url("postgres://%2Frun%2Fpg/bench").route, Route::Socket("/run/pg".into()));
        assert_eq!(url("mysql://root@[::1]:3307").route, Route::Host("::1".into()));
        assert_eq!(url("mysql://root@/?socket=/run/my.sock").route, Route::Socket("/run/my.sock".into()));
        assert_eq!(url("sqlite:data/slob.db").file(), Some(Path::new("data/slob.db")));
        assert_eq!(url("mysql://localhost").port, 3306);
        assert!(url("mysql://localhost").is_local() && !full.is_local());
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in ["postgres://me:hunter2@db/bench", "mysql://me@db/?password=hunter2"] {
            let url = url(text);
            let shown = format!("{url} {url:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
            assert_eq!(url.password(), Some("hunter2"));
        }
        // The tail of one that is not encoded was printed as the database's name.
        for text in ["postgres://bench:p@ss/hunter2:rd#1@127.0.0.1/x", "mysql://me:a/hunter2@db"] {
            let error = text.parse::<Url>().unwrap_err();
            assert!(!error.to_string().contains("hunter2") && error.hint.contains("%2F"), "{error}");
        }
        let wrong =
            ["postgres:me:hunter2@db", "mysql://me:hunter2@db:port", "mysql://me:hunter2%@db", "x:hunter2"];
        for text in wrong {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn passwords_are_found_in_a_url_as_it_was_typed() {
        let found = |text: &str| {
            Url::passwords_in(text).into_iter().map(|at| text[at].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("postgres://me:s%40crt@db/bench?port=1"), ["s%40crt"]);
        assert_eq!(found("mysql://me@db/?password=hunter2&port=1"), ["hunter2"]);
        assert_eq!(found("postgres://me:p@ss/w@db/bench"), ["p@ss/w"]);
        assert_eq!(found("sqlite:slob.db"), [] as [&str; 0]);
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for text in [
            "postgres://me@db.example:6000/bench",
            "postgres:///bench?host=/run/postgresql&port=6000",
            "mysql://root@[::1]:3307/",
            "sqlite:/srv/slob.db",
        ] {
            let url = url(text);
            assert_eq!(url.to_string().parse::<Url>().unwrap().to_string(), url.to_string());
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        for (text, says) in [
            ("oracle://db", "oracle"),
            ("postgres://db/x?sslmode=perhaps", "sslmode"),
            ("mysql://db?ssl=1", "\"ssl\""),
            ("sqlite:", "file"),
            ("sqlite::memory:", "memory"),
            ("postgres:/db", "//"),
            ("db", "scheme"),
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert!(error.what.contains(says), "{text}: {error}");
            assert_eq!(error.kind, Trouble::Url);
        }
    }
}
