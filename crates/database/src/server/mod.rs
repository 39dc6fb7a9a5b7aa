//! Throw-away servers from the machine's own binaries: private socket, no TCP, removed afterwards.

use crate::error::{DatabaseError, Result, Trouble};
use crate::url::Url;
use fathom_spec::Bytes;
use std::path::PathBuf;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL: `initdb` and `postgres`, on the path or in Debian's `/usr/lib/postgresql/*/bin`.
    Postgres,
    /// MariaDB: `mariadb-install-db` and `mariadbd`.
    Mariadb,
}

/// How a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Which.
    pub kind: ServerKind,
    /// A directory in which the server gets one of its own, which is removed afterwards.
    pub directory: PathBuf,
    /// As whom it runs when this process is root, which PostgreSQL refuses. `None`: the owner of the directory, or, when that
    /// is root, `postgres` or `mysql`.
    pub user: Option<String>,
    /// Bytes of its own cache (`shared_buffers`, `innodb_buffer_pool_size`). `None`: the server's default, or a quarter of
    /// the limit.
    pub cache: Option<Bytes>,
    /// Most memory for the server and the page cache of its files, by a memory control group.
    pub limit: Option<Bytes>,
    /// Further settings, as the server names them: `("max_connections", "200")`.
    pub settings: Vec<(String, String)>,
}

/// A running server of ours. Stopped and removed by [`Server::stop`], or when it is dropped.
#[derive(Debug)]
pub struct Server {
    url: Url,
}

impl Server {
    /// Makes a data directory and starts a server on it. `interrupted` is asked now and then.
    pub fn start(_options: &ServerOptions, _interrupted: &dyn Fn() -> bool) -> Result<Self> {
        Err(DatabaseError::new(Trouble::Server, "servers cannot be started yet", "give a URL"))
    }

    /// Where it answers.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Stops it and removes all that it left. What could not be stopped or removed is the error.
    pub fn stop(self) -> Result<()> {
        Ok(())
    }
}
