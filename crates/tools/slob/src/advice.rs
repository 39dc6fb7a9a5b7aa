//! What to do so that the disk answers and no cache. Each advice is enough by itself: random reads of D bytes of which C are held
//! in memory hit it with the probability C / D, so blocks of ten times the memory that can hold them leave nine of ten to the
//! disk. Knows no counters.

use super::run_context::{RunContext, Server};
use fathom_spec::{Bytes, GIB, MIB};
use std::fmt;

/// So many times the memory that can hold blocks are there of blocks.
const TIMES: u64 = 10;

/// Every server works in so much memory, with some sixty sessions.
const LIMIT_LEAST: u64 = 256 * MIB;

/// The least pool that InnoDB takes.
const POOL_LEAST: u64 = 8 * MIB;

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The hot spot, or the hot schema, is always in memory.
    NoHotSpot,
    /// InnoDB past the page cache, its own cache of this size, and blocks of each schema where they are too few for it.
    Pool { direct: bool, pool: Bytes, scale: Option<Bytes> },
    /// A bound on the memory of a server of fathom's own, to be started where none is, and blocks of each schema.
    Limit { start: bool, limit: Bytes, scale: Option<Bytes> },
    /// A memory control group around fathom, in which SQLite works, and blocks of each schema.
    MemoryGroup { limit: Bytes, scale: Option<Bytes> },
    /// At least so many blocks of each schema.
    Scale(Bytes),
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let and = |scale: &Option<Bytes>| {
            scale.map_or(String::new(), |scale| format!(" and SCALE {}", in_words(scale)))
        };
        match self {
            Advice::NoHotSpot => write!(f, "leave the hot spot out"),
            Advice::Pool { direct, pool, scale } => {
                let method = if *direct { "" } else { "innodb_flush_method=O_DIRECT, " };
                let pool = in_words(*pool);
                write!(f, "start the server with {method}innodb_buffer_pool_size={pool}{}", and(scale))
            }
            Advice::Limit { start, limit, scale } => {
                let server = if *start { "--server DIR " } else { "" };
                write!(f, "run with {server}--limit-cache {}{}", in_words(*limit), and(scale))
            }
            Advice::MemoryGroup { limit, scale } => write!(
                f,
                "run fathom in a memory control group (systemd-run --scope -p MemoryMax={}){}",
                in_words(*limit),
                and(scale)
            ),
            Advice::Scale(size) => write!(f, "raise SCALE to at least {}", in_words(*size)),
        }
    }
}

/// Does the database read its files past the page cache?
fn reads_past_the_page_cache(told: &RunContext) -> bool {
    let direct = told.setting("innodb_flush_method").is_some_and(|method| method.starts_with("O_DIRECT"));
    direct || told.setting("debug_io_direct").is_some_and(|what| what.contains("data"))
}

/// The memory that can hold blocks: the database's cache, and the page cache where it reads through that. What was seen to be
/// held counts where it is more, or where nothing else is known.
fn memory(from_disk: f64, told: &RunContext) -> u64 {
    let cache = told.cache.as_ref().map_or(0, |(_, size)| size.0);
    let page = told.page_cache.filter(|_| !reads_past_the_page_cache(told)).map_or(0, |size| size.0);
    let held = (1.0 - from_disk) * told.data().0 as f64;
    (cache + page).max(held as u64)
}

/// A schema's part of so many bytes, whole 2^20 bytes.
fn each(bytes: u64, told: &RunContext) -> Bytes {
    let part = bytes.div_ceil(u64::from(told.settings.schemas.max(1)));
    Bytes(part.div_ceil(MIB) * MIB)
}

/// A tenth of the blocks, and nothing else to change, or the least bound and the SCALE that it needs.
fn bound(least: u64, told: &RunContext) -> (Bytes, Option<Bytes>) {
    let tenth = told.data().0 / TIMES / MIB * MIB;
    match tenth >= least {
        true => (Bytes(tenth), None),
        false => (Bytes(least), Some(each(least * TIMES, told))),
    }
}

/// The ways that there are, the least effort first.
pub fn of(from_disk: f64, told: &RunContext) -> Vec<Advice> {
    let mut ways = Vec::new();
    if told.settings.hotspot.on || told.settings.hot_schema_frequency > 0 {
        ways.push(Advice::NoHotSpot);
    }
    let direct = reads_past_the_page_cache(told);
    if told.setting("innodb_flush_method").is_some() && !told.page_cache_limited {
        let (pool, scale) = bound(POOL_LEAST, told);
        let now = told.cache.as_ref().map_or(0, |(_, size)| size.0);
        if !direct || now > pool.0 {
            ways.push(Advice::Pool { direct, pool, scale });
        }
    }
    let (limit, scale) = bound(LIMIT_LEAST, told);
    match told.server {
        Server::Embedded => {
            ways.push(Advice::MemoryGroup { limit, scale });
            ways.push(Advice::Limit { start: true, limit, scale });
        }
        Server::Own if told.page_cache_limited => {}
        server => ways.push(Advice::Limit { start: server == Server::Running, limit, scale }),
    }
    ways.push(Advice::Scale(each(memory(from_disk, told) * TIMES, told)));
    ways
}

/// As SCALE and the servers' settings take it: `25G`, `1280M`.
fn in_words(size: Bytes) -> String {
    let mebibytes = size.0.div_ceil(MIB);
    match (size.0.is_multiple_of(GIB), mebibytes >= 10 * 1024) {
        (true, _) => format!("{}G", size.0 / GIB),
        (false, true) => format!("{}G", mebibytes.div_ceil(1024)),
        (false, false) => format!("{mebibytes}M"),
    }
}
