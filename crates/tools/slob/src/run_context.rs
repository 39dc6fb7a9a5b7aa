//! What the reports need besides the runs: it is kept with the record, so that they can be written again.

use super::counter_deltas::Counted;
use super::database_counters::DatabaseCounters;
use super::settings::Settings;
use fathom_spec::Bytes;
use serde::{Deserialize, Serialize};

/// Whose server a database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// One that ran already.
    #[default]
    Running,
    /// One that fathom started for this run.
    Own,
    /// None: the database works inside fathom's process.
    Embedded,
}

/// Facts of one run of `slob`, as they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunContext {
    /// What was asked for.
    pub settings: Settings,
    /// The database and its version: `PostgreSQL 15.14`.
    pub product: String,
    /// How it was reached, without a password.
    pub connect: String,
    /// The database's own name.
    pub database: String,
    /// Bytes of one of its blocks.
    pub block: Bytes,
    /// Blocks of each schema.
    pub blocks: u64,
    /// The database's own cache, and the parameter that sets it: `shared_buffers`.
    pub cache: Option<(String, Bytes)>,
    /// What the kernel may keep of its files: a limit that was set, or the memory that was free.
    pub page_cache: Option<Bytes>,
    /// Was that a limit that fathom set?
    pub page_cache_limited: bool,
    /// Whose server it is.
    #[serde(default)]
    pub server: Server,
    /// The server's settings that decide what a measurement means, as it names them.
    #[serde(default)]
    pub server_settings: Vec<(String, String)>,
    /// The statements of a session, and the server's plan of each, in its own words.
    #[serde(default)]
    pub plans: Vec<(String, String)>,
    /// Disks below its data, and below its log.
    pub disks: Vec<String>,
    /// Disks below its log, where they are others.
    pub log_disks: Vec<String>,
    /// Name of this host.
    pub host: String,
    /// Kernel's release.
    pub kernel: String,
    /// Processors.
    pub cpus: u32,
    /// Memory of this host.
    pub memory: Option<Bytes>,
    /// Length of the warm-up, which no figure contains, ns.
    pub warm_up_ns: u64,
    /// What was counted in each run, in the record's order.
    #[serde(default)]
    pub counted: Vec<Counted>,
    /// The counters that pgio shows, before and after the whole of the first run.
    #[serde(default)]
    pub shown: Option<(DatabaseCounters, DatabaseCounters)>,
    /// `/proc/diskstats` before and after the run, where pgio's files are left.
    #[serde(default)]
    pub diskstats: Option<(String, String)>,
}

impl RunContext {
    /// Sessions in all.
    pub fn sessions(&self) -> u32 {
        self.settings.schemas * self.settings.threads
    }

    /// A setting of the server.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.server_settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Bytes of all schemas' rows.
    pub fn data(&self) -> Bytes {
        Bytes(u64::from(self.settings.schemas) * self.blocks * self.block.0)
    }
}
