//! What a load of SLOB's is: every parameter with its value, checked as SLOB and pgio check them.

use super::amount::Amount;
use super::parameter_error::{Wrong, wrong};
use super::table::{Row, Script, near, parameter};
use super::values::{amount, choose, count, pause, percent, truth};
use fathom_spec::{Bytes, GIB, MIB, Nanos};
use serde::{Deserialize, Serialize};

/// Whose words the settings were said in: the same number means different things to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// fathom's flags: a work unit of 64 touches 64 blocks.
    #[default]
    Own,
    /// `slob.conf`: `custid > b - 64 and custid < b` touches 63.
    Slob,
    /// `pgio.conf`: `mykey between b and b + 255` touches 256.
    Pgio,
}

/// How much of a row an update writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedoStress {
    /// Two columns.
    #[default]
    Lite,
    /// Nineteen.
    Heavy,
}

/// The report that SLOB would ask the database for; here only the name of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistics {
    /// `awr.txt`.
    #[default]
    Awr,
    /// `statspack.txt`.
    Statspack,
}

/// A part of each schema that is visited more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hotspot {
    /// Is it visited at all?
    pub on: bool,
    /// How large it is, 2^20 bytes.
    pub size_mb: u64,
    /// Where it begins, 2^20 bytes.
    pub offset_mb: u64,
    /// Every so many iterations; 0 never.
    pub frequency: u64,
}

/// Pauses between operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// Where the block's number divides by it; 0 never.
    pub frequency: u64,
    /// The least.
    pub least: Nanos,
    /// The longest.
    pub longest: Nanos,
}

/// Every parameter. Names of the fields say what SLOB's and pgio's names say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // The names are the parameters' own, explained in the table.
pub struct Settings {
    pub words: Words,
    pub update_pct: u32,
    pub scan_pct: u32,
    pub run_time: Nanos,
    pub work_loop: u64,
    pub scale: Amount,
    pub scan_table: Amount,
    pub work_unit: u32,
    pub update_work_unit: Option<u32>,
    pub redo_stress: RedoStress,
    pub load_parallel_degree: u32,
    pub schemas: u32,
    pub threads: u32,
    pub statistics: Statistics,
    pub hotspot: Hotspot,
    pub hot_schema_frequency: u64,
    pub think: Thinking,
    pub obfuscate: bool,
    pub unique_index: bool,
    pub block_size: Option<Bytes>,
    pub external_script: Option<String>,
    pub no_os_perf_data: bool,
    pub user: Option<String>,
    #[serde(skip)]
    pub password: Option<String>,
    pub database: Option<String>,
    #[serde(skip)]
    pub connect: Option<String>,
    /// Lines that did not stand in the file and have the script's own fallback.
    pub notes: Vec<String>,
}

impl Default for Settings {
    /// The values that `slob.conf` is shipped with, one schema, no update before it is asked for.
    fn default() -> Self {
        Settings {
            words: Words::Own,
            update_pct: 0,
            scan_pct: 0,
            run_time: Nanos::from_seconds(300),
            work_loop: 0,
            scale: Amount::Size(Bytes(80 * MIB)),
            scan_table: Amount::Size(Bytes(MIB)),
            work_unit: 64,
            update_work_unit: None,
            redo_stress: RedoStress::Lite,
            load_parallel_degree: 2,
            schemas: 1,
            threads: 1,
            statistics: Statistics::Awr,
            hotspot: Hotspot { on: false, size_mb: 8, offset_mb: 16, frequency: 3 },
            hot_schema_frequency: 0,
            think: Thinking {
                frequency: 0,
                least: Nanos::from_millis(100),
                longest: Nanos::from_millis(500),
            },
            obfuscate: false,
            unique_index: false,
            block_size: None,
            external_script: None,
            no_os_perf_data: false,
            user: None,
            password: None,
            database: None,
            connect: None,
            notes: Vec::new(),
        }
    }
}

/// Sessions and schemas that SLOB allows.
pub const MOST: u32 = 4096;

impl Settings {
    /// What `runit.sh` and `setup.sh` take where the file has no such line.
    pub fn fallbacks(words: Words) -> Self {
        let own = Settings { words, ..Settings::default() };
        match words {
            Words::Own => own,
            Words::Slob => Settings {
                update_pct: 25,
                scale: Amount::Blocks(10_000),
                work_unit: 256,
                load_parallel_degree: 1,
                statistics: Statistics::Statspack,
                hotspot: Hotspot { on: false, size_mb: 10, offset_mb: 0, frequency: 0 },
                ..own
            },
            Words::Pgio => Settings {
                scale: Amount::Size(Bytes(128 * GIB)),
                work_unit: 255,
                update_work_unit: Some(255),
                ..own
            },
        }
    }

    /// Blocks that a select touches.
    pub fn select_touches(&self) -> u32 {
        self.touches(self.work_unit)
    }

    /// Blocks that an update touches.
    pub fn update_touches(&self) -> u32 {
        self.touches(self.update_work_unit.unwrap_or(self.work_unit))
    }

    fn touches(&self, unit: u32) -> u32 {
        match self.words {
            Words::Own => unit,
            Words::Slob => unit.saturating_sub(1).max(1),
            Words::Pgio => unit + 1,
        }
    }

    /// The hot spot in blocks of that size: blocks before it, its blocks, every so many iterations. `None`: there is none.
    pub fn hot_blocks(&self, block: Bytes) -> Option<(u64, u64, u64)> {
        let Hotspot { on, size_mb, offset_mb, frequency } = self.hotspot;
        let blocks = |mb: u64| mb.saturating_mul(MIB) / block.0.max(1);
        (on && frequency > 0).then(|| (blocks(offset_mb), blocks(size_mb), frequency))
    }

    /// Operations of one session, an update and its commit being one. `None`: by time.
    pub fn operations(&self) -> Option<u64> {
        (self.work_loop > 0).then_some(self.work_loop)
    }

    /// Sets one parameter from the text after its `=`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        let row = parameter(name).ok_or_else(|| unknown(name))?;
        let other = match (self.words, row.script) {
            (Words::Slob, Script::Pgio) => Some("pgio.conf"),
            (Words::Pgio, Script::Slob) => Some("slob.conf"),
            _ => None,
        };
        if let Some(file) = other {
            return Err(wrong(
                format!("{name} is a parameter of {file}, and this is the other script's file"),
                format!("{}: keep one script's parameters in one file", row.says),
            ));
        }
        self.put(row, value)
    }

    fn put(&mut self, row: &Row, value: &str) -> Result<(), Wrong> {
        match row.name {
            "UPDATE_PCT" => self.update_pct = percent(row, value)?,
            "SCAN_PCT" => self.scan_pct = percent(row, value)?,
            "RUN_TIME" => self.run_time = self.seconds(row, value)?,
            "WORK_LOOP" => self.work_loop = count(row, value, 0, u64::MAX >> 1)?,
            "SCALE" => self.scale = self.scale_of(row, value)?,
            "SCAN_TABLE_SZ" => self.scan_table = amount(row, value)?,
            "WORK_UNIT" => self.work_unit = self.unit(row, value)?,
            "UPDATE_WORK_UNIT" => self.update_work_unit = Some(self.unit(row, value)?),
            "REDO_STRESS" => {
                self.redo_stress =
                    choose(row, value, &[("LITE", RedoStress::Lite), ("HEAVY", RedoStress::Heavy)])?
            }
            "LOAD_PARALLEL_DEGREE" => self.load_parallel_degree = count(row, value, 1, 256)? as u32,
            "THREADS_PER_SCHEMA" | "NUM_THREADS" => {
                self.threads = count(row, value, 1, u64::from(MOST))? as u32;
            }
            "NUM_SCHEMAS" => self.schemas = count(row, value, 1, u64::from(MOST))? as u32,
            "DATABASE_STATISTICS_TYPE" => {
                let known = &[("awr", Statistics::Awr), ("statspack", Statistics::Statspack)];
                self.statistics = choose(row, value, known)?;
            }
            "DO_HOTSPOT" => self.hotspot.on = truth(row, value)?,
            "HOTSPOT_MB" => self.hotspot.size_mb = count(row, value, 1, 1 << 40)?,
            "HOTSPOT_OFFSET_MB" => self.hotspot.offset_mb = count(row, value, 0, 1 << 40)?,
            "HOTSPOT_FREQUENCY" => self.hotspot.frequency = count(row, value, 0, u64::MAX >> 1)?,
            "HOT_SCHEMA_FREQUENCY" => self.hot_schema_frequency = count(row, value, 0, u64::MAX >> 1)?,
            "THINK_TM_FREQUENCY" => self.think.frequency = count(row, value, 0, u64::MAX >> 1)?,
            "THINK_TM_MIN" => self.think.least = pause(row, value)?,
            "THINK_TM_MAX" => self.think.longest = pause(row, value)?,
            _ => self.put_surroundings(row, value)?,
        }
        Ok(())
    }

    /// What is no load: tables, files, how to connect.
    fn put_surroundings(&mut self, row: &Row, value: &str) -> Result<(), Wrong> {
        let text = (!value.is_empty()).then(|| value.to_owned());
        match row.name {
            "OBFUSCATE_COLUMNS" => self.obfuscate = truth(row, value)?,
            "UNIQUE_INDEX" => self.unique_index = truth(row, value)?,
            "NO_OS_PERF_DATA" => self.no_os_perf_data = truth(row, value)?,
            "BLOCK_SZ" => self.block_size = Some(Bytes(count(row, value, 512, 65_536)?)),
            "EXTERNAL_SCRIPT" => self.external_script = text,
            "DBA_PRIV_USER" => self.user = text,
            "SYSDBA_PASSWD" => self.password = text,
            "DBNAME" => self.database = text,
            "CONNECT_STRING" => self.connect = text,
            "CREATE_BASE_TABLE" => truth(row, value).map(|_| ())?,
            "ADMIN_SQLNET_SERVICE" | "SQLNET_SERVICE_BASE" | "SQLNET_SERVICE_MAX" if text.is_some() => {
                return Err(wrong(
                    format!("{} names Oracle's network services, which nothing here speaks", row.name),
                    "leave it out, and say which database with --db",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the parameters go together.
    pub fn check(&self) -> Result<(), Wrong> {
        if self.update_pct > 0 && self.update_pct + self.scan_pct > 100 && self.scan_pct == 100 {
            return Err(wrong(
                format!("UPDATE_PCT {} and SCAN_PCT 100 are more than everything", self.update_pct),
                "SCAN_PCT is the part of the selects that scan: with 100 nothing is left to update",
            ));
        }
        let sessions = u64::from(self.schemas) * u64::from(self.threads);
        if sessions > u64::from(MOST) {
            return Err(wrong(
                format!(
                    "{} schemas with {} threads each are {sessions} sessions, more than {MOST}",
                    self.schemas, self.threads
                ),
                "SLOB allows so many: take fewer schemas or threads",
            ));
        }
        if self.think.least > self.think.longest {
            return Err(wrong(
                format!(
                    "THINK_TM_MIN {} is longer than THINK_TM_MAX {}",
                    self.think.least, self.think.longest
                ),
                "exchange them",
            ));
        }
        Ok(())
    }

    /// Whether they fit a database with blocks of that size. Answers the blocks of a schema.
    pub fn fit(&self, block: Bytes) -> Result<u64, Wrong> {
        if let Some(asked) = self.block_size.filter(|asked| *asked != block) {
            return Err(wrong(
                format!("BLOCK_SZ={} is asked for, and this database has blocks of {}", asked.0, block.0),
                "leave BLOCK_SZ out: the database's own is taken",
            ));
        }
        let blocks = self.scale.blocks(block);
        let least = match self.words {
            Words::Slob => SLOB_LEAST,
            Words::Own | Words::Pgio => LEAST,
        };
        if blocks < least {
            return Err(wrong(
                format!("SCALE {} is {blocks} blocks of {}, and the least is {least}", self.scale, block),
                format!("raise it, such as SCALE={}M", (least * block.0).div_ceil(MIB)),
            ));
        }
        let reach = u64::from(self.select_touches().max(self.update_touches()));
        if blocks <= 2 * reach {
            return Err(wrong(
                format!(
                    "WORK_UNIT {} does not fit into SCALE {} ({blocks} blocks)",
                    self.work_unit, self.scale
                ),
                "raise SCALE or lower WORK_UNIT",
            ));
        }
        let Hotspot { on, size_mb, offset_mb, .. } = self.hotspot;
        if on && (size_mb + offset_mb).saturating_mul(MIB) / block.0.max(1) > blocks {
            return Err(wrong(
                format!("the hot spot ends at {} MB, behind SCALE {}", size_mb + offset_mb, self.scale),
                "HOTSPOT_OFFSET_MB and HOTSPOT_MB together must fit into SCALE",
            ));
        }
        Ok(blocks)
    }

    fn seconds(&self, row: &Row, value: &str) -> Result<Nanos, Wrong> {
        let parsed = match value.parse::<u64>() {
            Ok(seconds) => seconds.checked_mul(1_000_000_000).map(Nanos),
            Err(_) => value.parse().ok(),
        };
        let time = parsed.filter(|time| (1..=8_640_000_000_000_000).contains(&time.0)).ok_or_else(|| {
            wrong(format!("{}={value} is no length of time", row.name), "seconds, such as 300, or 10s")
        })?;
        if self.words == Words::Slob && time < Nanos::from_seconds(30) {
            return Err(wrong(
                format!("RUN_TIME={value} is less than 30 seconds, and SLOB takes no less"),
                "raise it, or say a shorter one with --run-time",
            ));
        }
        Ok(time)
    }

    fn scale_of(&self, row: &Row, value: &str) -> Result<Amount, Wrong> {
        let amount = amount(row, value)?;
        match (self.words, amount) {
            (Words::Slob, Amount::Blocks(blocks)) if blocks < SLOB_LEAST => Err(wrong(
                format!("SCALE={value} is less than {SLOB_LEAST} blocks, the least that SLOB takes"),
                "raise it, such as SCALE=80M",
            )),
            (_, Amount::Blocks(blocks)) if blocks < LEAST => Err(wrong(
                format!("SCALE={value} is less than {LEAST} blocks"),
                "raise it, such as SCALE=80M: a bare number counts blocks",
            )),
            _ => Ok(amount),
        }
    }

    fn unit(&self, row: &Row, value: &str) -> Result<u32, Wrong> {
        let least = if self.words == Words::Slob { 3 } else { 1 };
        count(row, value, least, if self.words == Words::Pgio { 65_536 } else { 1024 }).map(|n| n as u32)
    }
}

/// The least SCALE of `slob.conf`, blocks.
const SLOB_LEAST: u64 = 10_000;
/// The least SCALE of pgio and of the flags, blocks.
const LEAST: u64 = 1024;

fn unknown(name: &str) -> Wrong {
    let hint = match near(name) {
        Some(near) => format!("did you mean {near}?"),
        None => "docs/tools/slob.md lists every parameter".to_owned(),
    };
    wrong(format!("neither SLOB nor pgio has a parameter {name}"), hint)
}
