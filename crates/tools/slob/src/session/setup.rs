//! `fathom slob setup` and `drop`.

use super::args::{Drop, Setup};
use super::place::{DatabaseTarget, placed_by_setup};
use super::settings::{self, CommandSettings, wrong};
use super::user::User;
use super::work;
use crate::{Words, log};
use anyhow::{Result, bail};
use fathom_database::{Brand, Replace, Settings, Trouble};
use fathom_session::layout::Need;
use fathom_session::measurement::tell_notes;
use fathom_session::watch::Progress;
use fathom_session::{Ended, Session};
use fathom_spec::Bytes;
use std::io::Write;
use std::path::Path;

/// Runs `setup`.
pub fn run(args: &Setup, session: &mut Session<'_>) -> Result<Ended> {
    let mut asked = settings::read(&args.place)?;
    asked.tables(&args.tables)?;
    asked.schemas(args.schemas.as_deref())?;
    let tablespace = asked.setup_words(&args.words)?;
    if args.place.server.is_some() {
        bail!(wrong(
            "a server that is started with --server is removed afterwards, and so would be what setup made\nhint: run and sweep set it up themselves: fathom slob run --server DIR"
        ));
    }
    asked.settings.check().map_err(wrong)?;
    let interrupt = session.environment.interrupt();
    let here =
        DatabaseTarget::open(&args.place, &asked, asked.settings.load_parallel_degree, session, &|| {
            interrupt.raised()
        })?;
    let mut settings = work::meant(&asked, &args.place, &here, 1)?;
    if let Some(name) = tablespace {
        match here.database.url.brand {
            Brand::Postgres => settings.tablespace = Some(name),
            _ => session
                .console
                .complain(format_args!("note: this database has no tablespaces: {name} is not used")),
        }
    }
    let mut directory = here.data_path();
    if let Some(there) = &args.place.data_directory {
        let there = std::fs::canonicalize(there).unwrap_or_else(|_| there.clone());
        settings.tablespace = Some(fathom_database::place(&here.database.url, &there)?);
        directory = Some(there);
    } else if let Some(name) = settings.tablespace.take() {
        let Some((name, path)) = fathom_database::tablespace(&here.database.url, &name)? else {
            bail!(
                "there is no tablespace {name} in {}\nhint: make it (CREATE TABLESPACE), or leave it out",
                here.database.url
            );
        };
        settings.tablespace = Some(name);
        directory = Some(path).filter(|path| path.is_absolute() && here.database.url.is_local());
    }
    let need = need(&settings, &here, directory.as_deref())?;
    refuse_too_much(need.as_ref(), &here)?;
    tell_notes(need.map(|need| need.note()).as_slice(), &session.environment, &session.console);
    let progress = Progress::new(session.progress, &session.console);
    let user = User { progress: &progress, interrupt: &interrupt, console: &session.console };
    let replace = if args.replace { Replace::Shapes } else { Replace::Never };
    let ended = load(&asked, &settings, &here, user, Some(replace));
    progress.clear();
    here.close()?;
    ended
}

/// What the tables take, where it is known on which file system they will lie: one row a block, a hundredth more for the indexes,
/// and on a server what its log may grow to. Schemas that are there in this size take nothing more.
fn need(settings: &Settings, here: &DatabaseTarget, directory: Option<&Path>) -> Result<Option<Need>> {
    let ready = fathom_database::schemas(&here.database.url)?;
    let is_there = |number: u32| {
        ready.iter().any(|schema| schema.number == number && schema.shape.blocks == settings.blocks)
    };
    let missing = (1..=settings.schemas).filter(|number| !is_there(*number)).count() as u64;
    let bytes = (settings.blocks + settings.scan_blocks).saturating_mul(here.block().0);
    let bytes = bytes.saturating_add(bytes / 100).saturating_mul(missing);
    Ok(directory.and_then(|directory| Need::at(directory, Bytes(bytes))))
}

/// A server whose disk is full stops for all of its users; a file of SQLite may take what is there.
fn refuse_too_much(need: Option<&Need>, here: &DatabaseTarget) -> Result<()> {
    let Some(need) = need.filter(|need| need.bytes.0 > 0) else { return Ok(()) };
    let (free, most) = (Bytes(need.room.free_bytes), need.room.most_bytes());
    if need.bytes.0 > free.0 {
        bail!(
            "the tables need {}, and {free} are free where {} keeps them\nhint: ask for a smaller SCALE or fewer schemas, or make room",
            need.bytes,
            here.database.url
        );
    }
    if here.database.url.brand != Brand::Sqlite && need.bytes.0 > most {
        bail!(
            "the tables need {} of {free} that are free where {} keeps them: less than a tenth of the file system would stay, and a server whose log finds no room stops\nhint: ask for a smaller SCALE or fewer schemas, or make room",
            need.bytes,
            here.database.url
        );
    }
    Ok(())
}

/// Loads the schemas. For a setup that the user asked for, which says what it may replace, the scripts' lines go to stdout.
pub fn load(
    asked: &CommandSettings,
    settings: &Settings,
    here: &DatabaseTarget,
    user: User<'_>,
    asked_for: Option<Replace>,
) -> Result<Ended> {
    let (says, replace) = (asked_for.is_some(), asked_for.unwrap_or(Replace::Never));
    let clock = fathom_drive::Clock::start();
    let seconds = || clock.now() / 1_000_000_000;
    let User { progress, interrupt, console } = user;
    let mut out = console.out();
    let said = &asked.settings;
    if says && said.words == Words::Pgio {
        writeln!(
            out,
            "Job info:      Loading {} scale into {} schemas as per pgio.conf->NUM_SCHEMAS.",
            said.scale, said.schemas
        )?;
        writeln!(out, "Batching info: Loading {} schemas per batch ...", said.load_parallel_degree)?;
    }
    let mut ready = 0;
    let mut told = |now: &fathom_database::Progress| {
        let share = now.rows as f64 / now.rows_in_all.max(1) as f64;
        progress.show(&format!("{} of {} schemas, {:?}", now.ready, now.schemas, now.step), share);
        if says && now.ready > ready {
            ready = now.ready;
            let _ = log::loaded(said, ready, seconds(), &mut out);
        }
    };
    let made =
        fathom_database::setup(&here.database.url, settings, replace, &mut told, &|| interrupt.raised());
    match made {
        Ok(made) => {
            if says {
                // Only a count differs between a fresh load and one that found everything there.
                let (loaded, reused) = (made.loaded.len(), made.reused.len());
                if let Some(proof) = made.proofs.first() {
                    writeln!(
                        out,
                        "one row in each block: slob{} has {} rows in {} blocks ({})",
                        proof.number, proof.rows, proof.blocks, proof.how
                    )?;
                }
                // CommandSettings again: now there are tables, which may lie elsewhere than the server's own directory.
                let placed = fathom_database::Database::open(here.database.url.clone())?;
                let below = placed.disks_below().unwrap_or_default();
                let disks: Vec<&str> = below.data.iter().map(|(name, _)| name.as_str()).collect();
                let on = if disks.is_empty() { String::new() } else { format!(" on {}", disks.join(", ")) };
                writeln!(
                    out,
                    "{loaded} schemas loaded, {reused} were there already{on}: {}",
                    here.database.url
                )?;
            }
            Ok(Ended::Done)
        }
        Err(error) if error.kind == Trouble::Interrupted => {
            progress.clear();
            console.complain(&error);
            Ok(Ended::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs `drop`.
pub fn drop_all(args: &Drop, session: &mut Session<'_>) -> Result<Ended> {
    placed_by_setup(&args.place)?;
    let asked = settings::read(&args.place)?;
    if args.place.server.is_some() {
        bail!(wrong(
            "--server starts a new server, in which there is nothing to drop\nhint: say which database with --db"
        ));
    }
    if let Some(file) = args.place.db.as_deref().map_or(Some("slob.db"), |db| db.strip_prefix("sqlite:"))
        && asked.settings.connect.is_none()
        && asked.settings.database.is_none()
        && !std::path::Path::new(file.trim_start_matches("//")).exists()
    {
        bail!("{file} is not there: nothing to drop\nhint: say which database with --db");
    }
    let interrupt = session.environment.interrupt();
    let here = DatabaseTarget::open(&args.place, &asked, 1, session, &|| interrupt.raised())?;
    let dropped = fathom_database::drop_all(&here.database.url)?;
    let mut out = session.console.out();
    match dropped.len() {
        0 => writeln!(out, "nothing of fathom's is in {}", here.database.url)?,
        1 => writeln!(out, "dropped slob{} from {}", dropped[0], here.database.url)?,
        n => writeln!(
            out,
            "dropped {n} schemas, slob{} to slob{}, from {}",
            dropped[0],
            dropped[n - 1],
            here.database.url
        )?,
    }
    if let Some(left) =
        here.database.url.file().and_then(|file| file.metadata().ok()).map(|about| about.len())
        && !dropped.is_empty()
    {
        let what =
            format!("{} stays in the file ({}), which others have tables in", Bytes(left), here.database.url);
        writeln!(out, "{what}\nhint: VACUUM gives back what is free in it")?;
    }
    here.close()?;
    Ok(Ended::Done)
}
