//! What settings mean for a database: sessions and tables, in its blocks.

use super::args::Place;
use super::place::DatabaseTarget;
use super::settings::{CommandSettings, wrong};
use crate::{Amount, RedoStress};
use anyhow::{Result, bail};
use fathom_database::{Brand, Schema, Settings, State};
use fathom_spec::{Bytes, Hotspot, RandomThink, Redo};

/// Tables and sessions in the database's own terms.
pub fn meant(asked: &CommandSettings, place: &Place, here: &DatabaseTarget, seed: u64) -> Result<Settings> {
    let said = &asked.settings;
    let block = here.block();
    let blocks = said.fit(block).map_err(wrong)?;
    let whole = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let hot = said.hot_blocks(block);
    if here.database.url.brand != Brand::Postgres && (place.unlogged || place.tablespace.is_some()) {
        bail!(wrong(
            "--tablespace and --unlogged are PostgreSQL's\nhint: leave them out: MySQL's data is where the server keeps it, SQLite's is the file itself"
        ));
    }
    Ok(Settings {
        schemas: said.schemas,
        blocks,
        scan_blocks: said.scan_table.blocks(block).max(1),
        random_filler: said.obfuscate,
        parallel: said.load_parallel_degree,
        tablespace: place.tablespace.clone(),
        unlogged: place.unlogged,
        unique_index: said.unique_index,
        seed,
        threads: said.threads,
        work_unit: said.select_touches(),
        update_unit: said.update_touches(),
        update_percent: f64::from(said.update_pct),
        scan_percent: f64::from(said.scan_pct),
        redo: match said.redo_stress {
            RedoStress::Lite => Redo::Light,
            RedoStress::Heavy => Redo::Heavy,
        },
        hotspot: hot.map(|(offset, blocks, every)| Hotspot { offset, blocks, every: whole(every) }),
        hot_schema_every: whole(said.hot_schema_frequency),
        think: (said.think.frequency > 0).then(|| RandomThink {
            least: said.think.least,
            most: said.think.longest,
            every: whole(said.think.frequency),
        }),
        ..Settings::default()
    })
}

/// Takes over what setup made: as many schemas as there are, unless a number was said, and their SCALE.
pub fn take_over(asked: &mut CommandSettings, schemas: &[Schema], block: Bytes) -> Result<()> {
    let ready: Vec<&Schema> = schemas.iter().filter(|schema| schema.state == State::Ready).collect();
    let Some(first) = ready.first() else {
        let foreign = schemas.iter().find(|schema| schema.state == State::Foreign);
        match foreign {
            Some(schema) => bail!(
                "slob{} is there and is not fathom's: nothing was set up here\nhint: name another database, or remove it yourself",
                schema.number
            ),
            None => bail!(
                "nothing was set up in this database\nhint: fathom slob setup --schemas 4 --scale 80M, with the same --db"
            ),
        }
    };
    // Those behind one of another size make no set with it.
    let is_next = |(schema, number): &(&&Schema, u32)| {
        schema.number == *number && schema.shape.blocks == first.shape.blocks
    };
    let run_of = ready.iter().zip(1..).take_while(is_next).count() as u32;
    if !asked.schemas_said {
        asked.settings.schemas = run_of.max(1);
    }
    if asked.settings.schemas > run_of {
        bail!(
            "{} schemas are asked for, and {run_of} of one size are set up\nhint: fathom slob setup --schemas {}, with the same --db",
            asked.settings.schemas,
            asked.settings.schemas
        );
    }
    let there = first.shape.blocks;
    let wanted = asked.settings.scale.blocks(block);
    if asked.scale_said && wanted != there {
        bail!(
            "SCALE is {} ({wanted} blocks), and the schemas were set up with {there} blocks\nhint: run setup again with this SCALE",
            asked.settings.scale
        );
    }
    if !asked.scale_said {
        asked.settings.scale = Amount::Blocks(there);
    }
    asked.settings.scan_table = Amount::Blocks(first.shape.scan_blocks.max(1));
    Ok(())
}
