//! What setup makes and what sessions do, in SLOB's terms, and the plan that they mean. Pure.

use crate::error::{DatabaseError, Result, Trouble};
use crate::url::Url;
use fathom_spec::*;

/// What is loaded, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Schemas, `slob1` and up (SLOB's n, pgio's NUM_SCHEMAS).
    pub schemas: u32,
    /// Blocks, of one row each, of a schema's table (SCALE).
    pub blocks: u64,
    /// Blocks of a schema's scan table, which has no index (SCAN_TABLE_SZ); 0: none.
    pub scan_blocks: u64,
    /// Bytes of a row's filler. `None`: what makes one row per block in this database: 1,024 in PostgreSQL (with
    /// fillfactor 10), 7,900 in InnoDB, 5,000 in SQLite (with pages of 8 KiB).
    pub filler_bytes: Option<u32>,
    /// Filler of random letters and not of one letter (OBFUSCATE_COLUMNS): no compression below can shrink it.
    pub random_filler: bool,
    /// Schemas that are loaded at a time (LOAD_PARALLEL_DEGREE). SQLite has one writer, so there it is 1.
    pub parallel: u32,
    /// PostgreSQL: the tablespace in which the tables and indexes are made. MySQL, MariaDB: the directory, an absolute path.
    pub tablespace: Option<String>,
    /// PostgreSQL: tables without WAL (NOLOGGING); updates of them make none either.
    pub unlogged: bool,
    /// A unique index on the key, which has no two rows (UNIQUE_INDEX).
    pub unique_index: bool,
    /// Seed of the order of the keys, of the filler, and of what sessions draw.
    pub seed: u64,
    /// Sessions of each schema (THREADS_PER_SCHEMA).
    pub threads: u32,
    /// Blocks that one select touches. (SLOB's own statement touches WORK_UNIT - 1, pgio's WORK_UNIT + 1.)
    pub work_unit: u32,
    /// Blocks that one update touches (UPDATE_WORK_UNIT).
    pub update_unit: u32,
    /// Share of updates, percent (UPDATE_PCT): 0 to 50, or 100.
    pub update_percent: f64,
    /// Share of scans among the rest, percent (SCAN_PCT): 0 to 50, or 100.
    pub scan_percent: f64,
    /// How much of a row an update changes (REDO_STRESS).
    pub redo: Redo,
    /// DO_HOTSPOT and what belongs to it.
    pub hotspot: Option<Hotspot>,
    /// HOT_SCHEMA_FREQUENCY; 0: never.
    pub hot_schema_every: u32,
    /// THINK_TM_FREQUENCY, THINK_TM_MIN, THINK_TM_MAX.
    pub think: Option<RandomThink>,
}

impl Default for Settings {
    /// One schema of 10,240 blocks (80 MiB of 8 KiB blocks), one session that selects one block at a time.
    fn default() -> Self {
        Settings {
            schemas: 1,
            blocks: 10_240,
            scan_blocks: 128,
            filler_bytes: None,
            random_filler: false,
            parallel: 2,
            tablespace: None,
            unlogged: false,
            unique_index: false,
            seed: 1,
            threads: 1,
            work_unit: 1,
            update_unit: 1,
            update_percent: 0.0,
            scan_percent: 0.0,
            redo: Redo::Light,
            hotspot: None,
            hot_schema_every: 0,
            think: None,
        }
    }
}

/// How long a run lasts, at what rate, and what of it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// It ends after this long, the warm-up included.
    pub time: Option<Nanos>,
    /// Or after so many operations of each session (WORK_LOOP); an update and its commit are one.
    pub operations: Option<u64>,
    /// Not counted at the start.
    pub warm_up: Nanos,
    /// Operations a second of all sessions together, at random (Poisson); `None`: each as soon as the one before ended.
    pub rate: Option<f64>,
}

/// SLOB's limits of schemas and of sessions.
pub const SESSIONS_MOST: u32 = 4096;
/// The fewest blocks of a schema. SLOB's own least (10,000) and pgio's (1,024) are their languages' to ask for.
pub const BLOCKS_LEAST: u64 = 64;

fn wrong(what: impl Into<String>, hint: &str) -> DatabaseError {
    DatabaseError::new(Trouble::Settings, what, hint)
}

impl Settings {
    /// Sessions in all.
    pub fn sessions(&self) -> u32 {
        self.schemas.saturating_mul(self.threads)
    }

    /// Says what contradicts itself, before anything is touched.
    pub fn check(&self) -> Result<()> {
        let percent = |name: &str, value: f64| match (0.0..=50.0).contains(&value) || value == 100.0 {
            true => Ok(()),
            false => Err(wrong(
                format!("{name} is {value} percent"),
                "it may be 0 to 50, or 100: with 51 to 99 the quota of each hundred could not be kept",
            )),
        };
        percent("the share of updates", self.update_percent)?;
        percent("the share of scans", self.scan_percent)?;
        if !(1..=SESSIONS_MOST).contains(&self.schemas) || !(1..=SESSIONS_MOST).contains(&self.sessions()) {
            return Err(wrong(
                format!("{} schemas with {} sessions each", self.schemas, self.threads),
                "there may be 1 to 4096 schemas, and 1 to 4096 sessions in all",
            ));
        }
        if self.blocks < BLOCKS_LEAST {
            return Err(wrong(
                format!("{} blocks of a schema", self.blocks),
                "a schema has at least 64 blocks",
            ));
        }
        let unit = u64::from(self.work_unit.max(self.update_unit));
        if self.work_unit == 0 || self.update_unit == 0 || unit > self.blocks {
            return Err(wrong(
                format!("units of {} and {} blocks", self.work_unit, self.update_unit),
                "a unit has at least one block, and no more than a schema",
            ));
        }
        if let Some(spot) = self.hotspot
            && (spot.every == 0
                || spot.blocks < unit
                || spot.offset.saturating_add(spot.blocks) > self.blocks)
        {
            return Err(wrong(
                format!("a hotspot of {} blocks after {}", spot.blocks, spot.offset),
                "it must hold one unit, lie inside the schema, and have a frequency of at least 1",
            ));
        }
        if self.scan_percent > 0.0 && self.scan_blocks == 0 {
            return Err(wrong("scans of a scan table of no blocks", "give the scan table a size"));
        }
        match self.think {
            Some(think) if think.every == 0 || think.least > think.most => {
                Err(wrong("think time that ends before it begins", "its least must not be above its most"))
            }
            _ => Ok(()),
        }
    }

    /// The sessions' work on the first target of a plan.
    pub fn session(&self) -> Session {
        Session {
            target: TargetId(0),
            schemas: self.schemas,
            blocks: self.blocks,
            work_unit: self.work_unit,
            update_unit: self.update_unit,
            update_percent: self.update_percent,
            scan_percent: self.scan_percent,
            redo: self.redo,
            hotspot: self.hotspot,
            hot_schema_every: self.hot_schema_every,
            think: self.think,
        }
    }

    /// One stream of all sessions on a database. With a rate, response times are kept beside service times. Slots are of
    /// 100 ms, intervals of 1 s.
    pub fn plan(&self, url: &Url, length: Length) -> Plan {
        let mut plan = Plan::new(self.seed);
        plan.slot = Nanos::from_millis(100);
        plan.targets.push(Target::Database(url.to_string()));
        let workers = self.sessions();
        let arrival = match length.rate {
            None => Arrival::Closed { think: None },
            Some(rate) => {
                let rate = Rate::Operations(rate / f64::from(workers.max(1)));
                Arrival::Open(vec![Timetable { verb: Verb::Select, rate, spacing: Spacing::Poisson }])
            }
        };
        plan.add_stream(Stream {
            name: "sessions".to_owned(),
            group: GroupId(0),
            workers,
            start: Start::default(),
            work: Work::Session(self.session()),
            arrival,
            depth: Depth::Fixed(1),
            batch: Batch::default(),
            stop: Stop { time: length.time, operations: length.operations, ..Stop::default() },
            window: match length.warm_up {
                Nanos(0) => Window::Everything,
                ramp => Window::After(ramp),
            },
            after_last: Vec::new(),
            keep: Keep { service: true, response: length.rate.is_some(), ..Keep::default() },
            placement: Placement::Any(Vec::new()),
            errors: ErrorPolicy::default(),
            thread: ThreadAttributes::default(),
        });
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_themselves_are_told() {
        let good = Settings::default();
        assert_eq!(good.check(), Ok(()));
        let spot = |offset, blocks, every| Some(Hotspot { offset, blocks, every });
        for (bad, says) in [
            (Settings { update_percent: 51.0, ..good.clone() }, "updates"),
            (Settings { update_percent: 99.0, ..good.clone() }, "updates"),
            (Settings { scan_percent: f64::NAN, ..good.clone() }, "scans"),
            (Settings { schemas: 65, threads: 64, ..good.clone() }, "65 schemas"),
            (Settings { schemas: 0, ..good.clone() }, "0 schemas"),
            (Settings { blocks: 63, ..good.clone() }, "63 blocks"),
            (Settings { work_unit: 0, ..good.clone() }, "units of 0"),
            (Settings { hotspot: spot(10_000, 241, 3), ..good.clone() }, "hotspot"),
            (Settings { scan_percent: 1.0, scan_blocks: 0, ..good.clone() }, "scan table"),
        ] {
            let error = bad.check().unwrap_err();
            assert!(error.what.contains(says) && error.kind == Trouble::Settings, "{error}");
        }
        assert_eq!(Settings { update_percent: 100.0, hotspot: spot(0, 10_240, 1), ..good }.check(), Ok(()));
    }

    #[test]
    fn a_plan_names_its_database_without_the_password_and_shares_the_rate_among_sessions() {
        let settings = Settings { schemas: 2, threads: 4, ..Settings::default() };
        let url: Url = "postgres://me:hunter2@db/bench".parse().unwrap();
        let length = Length {
            time: Some(Nanos::from_seconds(3)),
            operations: None,
            warm_up: Nanos::from_seconds(1),
            rate: Some(800.0),
        };
        let plan = settings.plan(&url, length);
        assert_eq!(plan.targets, [Target::Database("postgres://me@db/bench".into())]);
        let Arrival::Open(tables) = &plan.streams[0].arrival else { panic!("closed") };
        assert_eq!((tables[0].rate, plan.streams[0].workers), (Rate::Operations(100.0), 8));
        assert!(plan.streams[0].keep.response);
    }
}
