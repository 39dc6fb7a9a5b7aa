//! The three families of databases behind one seam: [`Admin`] sets up, proves, drops and reads counters; [`Session`] does the
//! work that is timed.

mod mysql;
mod postgres;
mod sqlite;
mod statements;

use crate::counters::Counters;
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Proof, Schema, Shape, State};
use crate::url::{Brand, Url};
use fathom_spec::Redo;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use sqlite::Pager;

/// What the sessions of a database have in common, and whoever watches them: SQLite's counters, and the server's processes that
/// serve them.
#[derive(Debug, Default)]
pub(crate) struct SharedWork {
    pub(crate) pager: Pager,
    processes: Mutex<BTreeSet<u32>>,
}

impl SharedWork {
    pub(crate) fn add_process(&self, process: u32) {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).insert(process);
    }

    /// Those of all sessions so far, also of those that have ended.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How a statement of a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// A deadlock or a lock that was not had: it may be tried again.
    Retry,
    /// The statement itself: trying again is no use.
    Statement,
    /// The connection is gone.
    Lost,
}

/// A statement that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

/// One session. Rows that were touched are answered, so that a schema that changed under it is noticed.
pub(crate) trait Session {
    /// Reads the rows with `count` keys from `first` on, by the index.
    fn select(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure>;
    /// Begins a transaction and changes the rows.
    fn update(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure>;
    /// Commits it.
    fn commit(&mut self) -> std::result::Result<(), Failure>;
    /// Gives it up.
    fn rollback(&mut self) -> std::result::Result<(), Failure>;
    /// Reads the whole scan table.
    fn scan(&mut self, schema: u32) -> std::result::Result<u64, Failure>;
}

/// What a session is to be able to do.
#[derive(Clone, Debug)]
pub(crate) struct Ability {
    /// Schemas, counted from 0.
    pub(crate) schemas: Vec<u32>,
    pub(crate) redo: Redo,
    pub(crate) filler_bytes: u32,
    /// With statements for updates and scans.
    pub(crate) updates: bool,
    pub(crate) scans: bool,
    /// For the filler of heavy updates.
    pub(crate) seed: u64,
}

/// Whoever loads is told, and asked whether to go on.
pub(crate) struct Told<'a> {
    /// So many more rows were loaded.
    pub(crate) rows: &'a dyn Fn(u64),
    /// Loading is over, indexing begins.
    pub(crate) indexing: &'a dyn Fn(),
    /// End it?
    pub(crate) interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl Told<'_> {
    /// The error of an interrupt, when there is one.
    pub(crate) fn go_on(&self) -> Result<()> {
        match (self.interrupted)() {
            true => Err(DatabaseError::new(
                Trouble::Interrupted,
                "the setup was interrupted",
                "run it again: the schemas that are ready are kept",
            )),
            false => Ok(()),
        }
    }
}

/// A connection that administers.
pub(crate) trait Admin: Send {
    fn facts(&mut self) -> Result<Facts>;
    /// The filler that makes one row per block.
    fn filler_bytes(&mut self) -> Result<u32>;
    fn schemas(&mut self) -> Result<Vec<Schema>>;
    /// Makes the schema with its mark, state partial, and loads it.
    fn load(&mut self, number: u32, shape: &Shape, seed: u64, told: &Told) -> Result<()>;
    fn prove(&mut self, number: u32, shape: &Shape, told: &Told) -> Result<Proof>;
    fn mark_ready(&mut self, number: u32) -> Result<()>;
    /// Is a schema that bears our mark free of what others put there?
    fn check_drop(&mut self, number: u32) -> Result<()>;
    /// Drops a schema that bears our mark, when it was checked. Called for no other.
    fn drop_schema(&mut self, number: u32) -> Result<()>;
    /// Prepares a directory of the server's machine for tables, and answers the tablespace to load them into.
    fn place(&mut self, directory: &Path) -> Result<String>;
    /// A tablespace's own name, and its directory.
    fn tablespace(&mut self, _name: &str) -> Result<Option<(String, PathBuf)>> {
        Ok(None)
    }
    /// Takes back what `place` made, when nothing is in it any more.
    fn unplace(&mut self) {}
    fn counters(&mut self) -> Result<Counters>;
    /// In what states sessions that are at work are now, as the server names them, and how many in each: those of our runs, or
    /// everybody's but those that read counters. `None` where the server does not tell.
    fn waits(&mut self, _ours: bool) -> Result<Option<Vec<(String, u64)>>> {
        Ok(None)
    }
    /// The statements of a session in the first schema, and the server's plan of each.
    fn plans(&mut self) -> Result<Vec<(String, String)>>;
    /// Have the sessions of a run gone, so that all of their counts are in the counters?
    fn sessions_gone(&mut self) -> bool;
}

/// Connects to administer.
pub(crate) fn admin(url: &Url) -> Result<Box<dyn Admin>> {
    Ok(match url.brand {
        Brand::Postgres => Box::new(postgres::PostgresAdmin::open(url)?),
        Brand::Mysql => Box::new(mysql::MysqlAdmin::open(url)?),
        Brand::Sqlite => Box::new(sqlite::SqliteAdmin::open(url)?),
    })
}

/// Connects to work.
pub(crate) fn session(url: &Url, ability: &Ability, work: &Arc<SharedWork>) -> Result<Box<dyn Session>> {
    Ok(match url.brand {
        Brand::Postgres => Box::new(postgres::PostgresSession::open(url, ability, work)?),
        Brand::Mysql => Box::new(mysql::MysqlSession::open(url, ability)?),
        Brand::Sqlite => Box::new(sqlite::SqliteSession::open(url, ability, work.clone())?),
    })
}

/// The schema's name; `number` from 1.
pub(crate) fn name(number: u32) -> String {
    format!("slob{number}")
}

/// N of `slobN` in its only spelling.
pub(crate) fn number(name: &str) -> Option<u32> {
    let number: u32 = name.strip_prefix("slob")?.parse().ok()?;
    (number > 0 && self::name(number) == name).then_some(number)
}

/// The schemas among some names. `mark` answers the shape of one that bears our mark, and whether it is ready.
pub(crate) fn schemas_of(
    names: impl IntoIterator<Item = String>,
    mut mark: impl FnMut(&str) -> Result<Option<(Shape, bool)>>,
) -> Result<Vec<Schema>> {
    let mut schemas = Vec::new();
    for name in names {
        let Some(number) = number(&name) else { continue };
        let (state, shape) = match mark(&name)? {
            None => (State::Foreign, Shape::default()),
            Some((shape, ready)) => (if ready { State::Ready } else { State::Partial }, shape),
        };
        schemas.push(Schema { number, state, shape });
    }
    schemas.sort_by_key(|schema| schema.number);
    Ok(schemas)
}

/// The name of what a schema's owner put there besides our tables.
pub(crate) fn not_ours(number: u32, found: &str) -> DatabaseError {
    DatabaseError::new(
        Trouble::Foreign,
        format!("the schema slob{number} holds {found}, which fathom did not make"),
        "nothing was dropped; move it away, or use another database",
    )
}

/// The error of a table that has not one row per block.
pub(crate) fn not_one_row(proof: &Proof) -> DatabaseError {
    let Proof { number, rows, blocks, how } = proof;
    DatabaseError::new(
        Trouble::NotOneRowPerBlock,
        format!("schema slob{number} has {rows} rows in {blocks} blocks ({how})"),
        "change the filler's length so that one row fills more than half a block, or leave it to fathom",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schemas_number_has_one_spelling() {
        for (name, is) in [("slob1", Some(1)), ("slob12", Some(12))] {
            assert_eq!(number(name), is);
        }
        for name in ["slob", "slob0", "slob01", "slob+1", "slobs", "Slob1", "slob1_scan"] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}
