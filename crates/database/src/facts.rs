//! What a database is and what has been set up in it.

use crate::settings::Settings;
use std::path::PathBuf;

/// What a server says of itself. Paths are the server's: on this machine only when the URL is local.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name and version: `PostgreSQL 15.8`, `MariaDB 10.11.6`, `SQLite 3.50.2`.
    pub product: String,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes of the database's own cache: shared_buffers, innodb_buffer_pool_size, SQLite's cache of each session.
    pub cache_bytes: u64,
    /// Sessions that may exist at a time.
    pub sessions_most: Option<u32>,
    /// Sessions that exist now, this one included.
    pub sessions_now: Option<u32>,
    /// Where the data is. `None` when the user has no right to ask.
    pub data: Option<PathBuf>,
    /// Where the log is, when that is known; it may be on another disk.
    pub log: Option<PathBuf>,
    /// Settings that decide what a measurement means, as the server names them.
    pub settings: Vec<(String, String)>,
    /// The server's first process (PostgreSQL's postmaster), when it is one of this machine.
    pub server_process: Option<u32>,
}

impl Facts {
    /// A setting's value as the server prints it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// How far a schema has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Ours, loaded and proven.
    Ready,
    /// Ours, and its loading was broken off.
    Partial,
    /// It has the name, and not our mark: never touched.
    Foreign,
}

/// One schema `slobN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// N.
    pub number: u32,
    /// How far it has come.
    pub state: State,
    /// What it was loaded as; zeros where it is not ours.
    pub shape: Shape,
}

/// What a schema is loaded as. Two schemas of one shape are the same but for their random order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Rows, one a block.
    pub blocks: u64,
    /// Rows of the scan table, one a block.
    pub scan_blocks: u64,
    /// Bytes of filler.
    pub filler_bytes: u32,
    /// Filler of random letters.
    pub random_filler: bool,
    /// PostgreSQL: without WAL.
    pub unlogged: bool,
    /// The index on the key is a unique one.
    pub unique_index: bool,
    /// PostgreSQL: in which tablespace; MySQL, MariaDB: in which directory; empty: the database's own.
    pub tablespace: String,
}

impl Shape {
    /// What settings ask for, with the filler that a database takes when none is named.
    pub(crate) fn of(settings: &Settings, filler_bytes: u32) -> Self {
        Shape {
            blocks: settings.blocks,
            scan_blocks: settings.scan_blocks,
            filler_bytes: settings.filler_bytes.unwrap_or(filler_bytes),
            random_filler: settings.random_filler,
            unlogged: settings.unlogged,
            unique_index: settings.unique_index,
            tablespace: settings.tablespace.clone().unwrap_or_default(),
        }
    }

    /// As the mark keeps it.
    pub(crate) fn text(&self) -> String {
        let Shape { blocks, scan_blocks, filler_bytes, random_filler, unlogged, unique_index, tablespace } =
            self;
        let unique = if *unique_index { UNIQUE } else { "" };
        format!("{blocks} {scan_blocks} {filler_bytes} {random_filler} {unlogged}{unique} {tablespace}")
    }

    /// From a mark; `None` when it is not as expected.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(6, ' ');
        let mut next = || words.next();
        let (blocks, scan_blocks, filler_bytes) = (next()?, next()?, next()?);
        let (random_filler, log, tablespace) = (next()?, next()?, next()?);
        Some(Shape {
            blocks: blocks.parse().ok()?,
            scan_blocks: scan_blocks.parse().ok()?,
            filler_bytes: filler_bytes.parse().ok()?,
            random_filler: random_filler.parse().ok()?,
            unlogged: log.strip_suffix(UNIQUE).unwrap_or(log).parse().ok()?,
            unique_index: log.ends_with(UNIQUE),
            tablespace: tablespace.to_owned(),
        })
    }

    /// `UNIQUE` or nothing, as it stands in SQL.
    pub(crate) fn unique(&self) -> &'static str {
        if self.unique_index { "UNIQUE" } else { "" }
    }
}

/// Stands in a mark behind the word for the log, so that marks without it are as they were before there was a choice.
const UNIQUE: &str = "+unique";

/// The database's own word that each block has one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub number: u32,
    /// Rows that the database counts.
    pub rows: u64,
    /// Blocks of the table that hold rows (InnoDB: blocks of the clustered index).
    pub blocks: u64,
    /// How it was asked, in words.
    pub how: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_gives_the_shape_back() {
        let settings = Settings { tablespace: Some("fast disk".into()), ..Settings::default() };
        let unique = Shape { unique_index: true, unlogged: true, ..Shape::default() };
        assert_eq!(Shape::of(&settings, 9).text(), "10240 128 9 false false fast disk");
        for shape in [Shape::of(&settings, 5000), Shape::default(), unique] {
            assert_eq!(Shape::parse(&shape.text()), Some(shape));
        }
        assert_eq!(Shape::parse("1 2 x"), None);
    }
}
