//! Loads schemas with one row per block, proves it, and drops them again: only what bears our mark.

use crate::backend::{self, Told};
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Proof, Schema, Shape, State};
use crate::settings::Settings;
use crate::url::{Brand, Url};
use fathom_host::{OpenFiles, Roots};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// How far a setup has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Schemas that are ready, reused ones included.
    pub ready: u32,
    /// Schemas that were asked for.
    pub schemas: u32,
    /// Rows loaded so far, of all schemas and both tables.
    pub rows: u64,
    /// Rows to load in all.
    pub rows_in_all: u64,
    /// What was told last.
    pub step: Step,
}

/// What a setup does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Rows are loaded into this schema.
    Loading(u32),
    /// Its index is built, or the database settles.
    Indexing(u32),
    /// The database is asked for the proof.
    Proving(u32),
    Ready(u32),
}

/// What a setup did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Schemas that were loaded now.
    pub loaded: Vec<u32>,
    /// Schemas that stood ready from before, in the same shape.
    pub reused: Vec<u32>,
    /// The proof of each schema that was loaded now, in order.
    pub proofs: Vec<Proof>,
    /// Bytes of each row's block.
    pub block_bytes: u32,
}

/// What becomes of schemas of ours that are ready and of another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// They are kept, and the setup is refused.
    Never,
    /// Those that are asked for are loaded anew.
    Shapes,
}

/// Makes the schemas that settings ask for. Ready ones of the same shape are kept, half loaded ones of ours are loaded anew; ready
/// ones of another shape by `replace`; further ones are left. Nothing is dropped before it is known that all of it may be. An interrupt ends it with `Trouble::Interrupted`: the schemas that are ready
/// stay, so that another setup goes on from there, and what was half loaded is removed.
pub fn setup(
    url: &Url,
    settings: &Settings,
    replace: Replace,
    progress: &mut dyn FnMut(&Progress),
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Setup> {
    settings.check()?;
    check_brand(url, settings)?;
    let mut admin = backend::admin(url)?;
    let shape = Shape::of(settings, admin.filler_bytes()?);
    let block_bytes = admin.facts()?.block_bytes;
    let all = admin.schemas()?;
    let asked = |schema: &&Schema| schema.number <= settings.schemas;
    if let Some(schema) = all.iter().filter(asked).find(|schema| schema.state == State::Foreign) {
        return Err(foreign(url, schema.number));
    }
    if !all.iter().any(|schema| asked(&schema))
        && let Some(file) = url.file()
    {
        check_others(file)?;
    }
    let is_ready = |schema: &&Schema| schema.state == State::Ready && schema.shape == shape;
    let is_other = |schema: &&Schema| schema.state == State::Ready && schema.shape != shape;
    if let (Replace::Never, Some(other)) = (replace, all.iter().filter(asked).find(is_other)) {
        return Err(another_shape(url, other, &shape));
    }
    let reused: Vec<u32> = all.iter().filter(asked).filter(is_ready).map(|schema| schema.number).collect();
    let gone: Vec<u32> = all
        .iter()
        .filter(|schema| asked(schema) && schema.state != State::Foreign && !is_ready(schema))
        .map(|schema| schema.number)
        .collect();
    drop_schemas(&mut *admin, &gone)?;
    drop(admin);
    let wanted: Vec<u32> = (1..=settings.schemas).filter(|number| !reused.contains(number)).collect();
    let parallel = match url.brand {
        Brand::Sqlite => 1,
        Brand::Postgres | Brand::Mysql => settings.parallel.clamp(1, wanted.len().max(1) as u32),
    };
    let job =
        Job { url, shape: &shape, seed: settings.seed, wanted: Mutex::new(wanted.clone()), interrupted };
    let (sender, told) = channel();
    let first = Progress {
        ready: reused.len() as u32,
        schemas: settings.schemas,
        rows: 0,
        rows_in_all: (shape.blocks + shape.scan_blocks) * wanted.len() as u64,
        step: Step::Loading(wanted.first().copied().unwrap_or(0)),
    };
    let (mut proofs, failure) = std::thread::scope(|scope| {
        for _ in 0..parallel {
            let sender = sender.clone();
            let job = &job;
            scope.spawn(move || job.work(&sender));
        }
        drop(sender);
        listen(first, &told, progress)
    });
    if let Some(error) = failure {
        return Err(error);
    }
    proofs.sort_by_key(|proof| proof.number);
    Ok(Setup { loaded: wanted, reused, proofs, block_bytes })
}

/// A file that has no schema of ours gets none while another program works with it, nor is one made among a database's files.
fn check_others(file: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let roots = Roots::default();
    let open = OpenFiles::read(&roots);
    let refuse = |why: String| {
        let what = format!("sqlite:{}: {why}", file.display());
        Err(DatabaseError::new(
            Trouble::Foreign,
            what,
            "name a file that does not exist yet, in another directory",
        ))
    };
    match file.metadata() {
        Ok(about) => match open.of_file(about.dev(), about.ino()).first() {
            Some(opener) => refuse(format!("process {} ({}) has it open", opener.pid, opener.name)),
            None => Ok(()),
        },
        Err(_) => match file.parent().and_then(|directory| open.database_of(&roots, directory)) {
            Some((database, _)) => refuse(format!("its directory is {database}")),
            None => Ok(()),
        },
    }
}

/// What only PostgreSQL has is refused elsewhere, not dropped.
fn check_brand(url: &Url, settings: &Settings) -> Result<()> {
    let is_directory = settings.tablespace.as_ref().is_some_and(|space| space.starts_with('/'));
    let asked = [
        (settings.tablespace.is_some() && !(is_directory && url.brand == Brand::Mysql), "a tablespace"),
        (settings.unlogged, "tables without a log"),
    ];
    match asked.iter().find(|(asked, _)| *asked && url.brand != Brand::Postgres) {
        None => Ok(()),
        Some((_, what)) => Err(DatabaseError::new(
            Trouble::Settings,
            format!("{url}: {what} can be had in PostgreSQL only"),
            "place the server's data directory, or SQLite's file, on the disk that is meant",
        )),
    }
}

fn foreign(url: &Url, number: u32) -> DatabaseError {
    DatabaseError::new(
        Trouble::Foreign,
        format!("{url}: there is a schema or table slob{number} that fathom did not make"),
        "it is left as it is; rename it, or use another database",
    )
}

fn another_shape(url: &Url, schema: &Schema, wanted: &Shape) -> DatabaseError {
    let Schema { number, shape, .. } = schema;
    let how = match shape.blocks == wanted.blocks {
        false => format!("{} blocks, and {} are asked for", shape.blocks, wanted.blocks),
        true => "other tables than are asked for (scan table, filler, log, index or tablespace)".to_owned(),
    };
    DatabaseError::new(
        Trouble::Settings,
        format!("{url}: slob{number} is loaded with {how}"),
        "add --replace to load it anew, or ask for what is there",
    )
}

/// Drops schemas that bear our mark, all or none: what stands in the way of one is found before any is dropped.
fn drop_schemas(admin: &mut dyn backend::Admin, numbers: &[u32]) -> Result<()> {
    numbers.iter().try_for_each(|number| admin.check_drop(*number))?;
    numbers.iter().try_for_each(|number| admin.drop_schema(*number))
}

/// What the threads of a setup share.
struct Job<'a> {
    url: &'a Url,
    shape: &'a Shape,
    seed: u64,
    /// Numbers that nobody has begun yet.
    wanted: Mutex<Vec<u32>>,
    interrupted: &'a (dyn Fn() -> bool + Sync),
}

enum Message {
    Rows(u32, u64),
    Step(Step),
    Ready(Proof),
    Failed(DatabaseError),
}

impl Job<'_> {
    fn next(&self) -> Option<u32> {
        let mut wanted = self.wanted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if wanted.is_empty() { None } else { Some(wanted.remove(0)) }
    }

    fn work(&self, sender: &Sender<Message>) {
        while let Some(number) = self.next() {
            let message = match self.load(number, sender) {
                Ok(proof) => Message::Ready(proof),
                Err(error) => {
                    // The other threads begin nothing more.
                    self.wanted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
                    Message::Failed(error)
                }
            };
            let _ = sender.send(message);
        }
    }

    fn load(&self, number: u32, sender: &Sender<Message>) -> Result<Proof> {
        let told = Told {
            rows: &|rows| drop(sender.send(Message::Rows(number, rows))),
            indexing: &|| drop(sender.send(Message::Step(Step::Indexing(number)))),
            interrupted: self.interrupted,
        };
        let mut admin = backend::admin(self.url)?;
        let seed = self.seed ^ u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let _ = sender.send(Message::Step(Step::Loading(number)));
        let loaded = admin.load(number, self.shape, seed, &told).and_then(|()| {
            let _ = sender.send(Message::Step(Step::Proving(number)));
            let proof = admin.prove(number, self.shape, &told)?;
            admin.mark_ready(number)?;
            Ok(proof)
        });
        if loaded.is_err() {
            self.remove(number);
        }
        loaded
    }

    /// Removes what was half loaded, on a fresh connection: the old one may be in the middle of something. What cannot be
    /// removed now bears the mark "partial", and the next setup removes it.
    fn remove(&self, number: u32) {
        let Ok(mut admin) = backend::admin(self.url) else { return };
        let ours = |schema: &Schema| schema.number == number && schema.state == State::Partial;
        if admin.schemas().is_ok_and(|schemas| schemas.iter().any(ours)) && admin.check_drop(number).is_ok() {
            let _ = admin.drop_schema(number);
        }
    }
}

/// Hears the threads out, passes on how far they are, and answers the proofs and the first failure.
fn listen(
    mut now: Progress,
    told: &Receiver<Message>,
    progress: &mut dyn FnMut(&Progress),
) -> (Vec<Proof>, Option<DatabaseError>) {
    let (mut proofs, mut failure) = (Vec::new(), None);
    for message in told {
        match message {
            Message::Rows(number, rows) => {
                now.rows += rows;
                now.step = Step::Loading(number);
            }
            Message::Step(step) => now.step = step,
            Message::Ready(proof) => {
                now.ready += 1;
                now.step = Step::Ready(proof.number);
                proofs.push(proof);
            }
            Message::Failed(error) => {
                failure.get_or_insert(error);
                continue;
            }
        }
        progress(&now);
    }
    (proofs, failure)
}

/// Prepares a directory of the machine of a running server for tables. Answers what stands for it as
/// [`Settings::tablespace`]: a tablespace that was made there (PostgreSQL), or the directory itself (MySQL, MariaDB).
pub fn place(url: &Url, directory: &Path) -> Result<String> {
    backend::admin(url)?.place(directory)
}

/// A tablespace by its name as it was typed, which the server may have folded to small letters: its own name, and its directory.
/// `None` where there is none of that name.
pub fn tablespace(url: &Url, name: &str) -> Result<Option<(String, PathBuf)>> {
    backend::admin(url)?.tablespace(name)
}

/// The statements of a session in the first schema, and what the server plans for each, in its own words.
pub fn plans(url: &Url) -> Result<Vec<(String, String)>> {
    backend::admin(url)?.plans()
}

/// Asks a database what it is.
pub fn inspect(url: &Url) -> Result<Facts> {
    backend::admin(url)?.facts()
}

/// Which schemas `slobN` there are, by number.
pub fn schemas(url: &Url) -> Result<Vec<Schema>> {
    backend::admin(url)?.schemas()
}

/// Asks the database again whether each block of a schema that is ready has one row. After updates it may have changed.
pub fn prove(url: &Url, schema: &Schema) -> Result<Proof> {
    let told = Told { rows: &|_| {}, indexing: &|| {}, interrupted: &|| false };
    backend::admin(url)?.prove(schema.number, &schema.shape, &told)
}

/// Drops every schema that bears our mark and answers their numbers. What has no mark stays. A SQLite file in which nothing
/// else is left goes too.
pub fn drop_all(url: &Url) -> Result<Vec<u32>> {
    let mut admin = backend::admin(url)?;
    let ours: Vec<u32> = admin
        .schemas()?
        .iter()
        .filter(|schema| schema.state != State::Foreign)
        .map(|schema| schema.number)
        .collect();
    drop_schemas(&mut *admin, &ours)?;
    admin.unplace();
    Ok(ours)
}
