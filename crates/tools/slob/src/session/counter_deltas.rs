//! What a run's counters say: figures with their errors, and what the reports need.

use super::place::DatabaseTarget;
use super::settings::CommandSettings;
use crate::DatabaseCounters;
use crate::counter_deltas::{growth as growth_between, window_begins};
use crate::verdict::Judged;
use crate::{Counted, Device, RunContext};
use fathom_calibrate::sessions::{done_between, growth, rate, rate_of_operations, share};
use fathom_database::{Brand, Change, Counters};
use fathom_record::{Figure, FigureName, Run, SampleOf, Unit};
use fathom_spec::{Bytes, MIB, Nanos};
use std::collections::BTreeMap;

/// All readings of the database's counters, in order of time.
fn readings(run: &Run) -> Vec<(u64, Counters)> {
    let mut all: BTreeMap<u64, Counters> = BTreeMap::new();
    for sample in &run.samples {
        if let SampleOf::Database(of) = &sample.of {
            let reading = all.entry(sample.at_ns).or_default();
            reading.raw.push((of.clone(), sample.name.to_string(), sample.value));
        }
    }
    all.into_iter().collect()
}

/// The readings of the part of a run that counts: from the one nearest to the end of the warm-up on.
///
/// PostgreSQL's sessions hand over their counters once a second, and all that is left when they end: a reading after their end
/// would hold up to a second more than the first one, so the last reading during the load ends the window.
fn counting(run: &Run, here: &DatabaseTarget) -> Vec<(u64, Counters)> {
    let mut all = readings(run);
    let begins = window_begins(run);
    let first = all.iter().enumerate().min_by_key(|(_, (at, _))| at.abs_diff(begins)).map_or(0, |(i, _)| i);
    // A run that is over before the second reading after its warm-up counts from the one before.
    all.drain(..first.min(all.len().saturating_sub(2)));
    if here.database.url.brand == Brand::Postgres && all.len() > 3 {
        all.pop();
    }
    all
}

/// By what the counters of PostgreSQL's sessions must be multiplied to be those of the window: they are handed over up to a
/// second late, and the transactions counted with them tell by how much, for how many there were is known. 1 elsewhere.
fn lateness(change: &Change, operations: u64, here: &DatabaseTarget) -> f64 {
    match change.commits {
        Some(commits)
            if here.database.url.brand == Brand::Postgres && commits >= 100 && operations >= 100 =>
        {
            (operations as f64 / commits as f64).clamp(0.5, 2.0)
        }
        _ => 1.0,
    }
}

/// What was counted, of one run.
pub fn counted(run: &Run, here: &DatabaseTarget) -> Counted {
    let all = counting(run, here);
    let (Some((from_ns, first)), Some((to_ns, last))) = (all.first(), all.last()) else {
        return Counted::default();
    };
    let window = (*from_ns, *to_ns);
    // Processes are looked at once a second too, at other moments.
    let near = (from_ns.saturating_sub(500_000_000), to_ns + 500_000_000);
    let of_processes = |name: &str| {
        let (grew, seconds) = growth_between(&run.samples, &SampleOf::Processes, name, near)?;
        Some((grew as f64 * Nanos(to_ns - from_ns).seconds() / seconds) as u64)
    };
    let change = last.since(first);
    let done = done_between(run, *from_ns, *to_ns);
    let table = change.table_reads(done.bytes / here.block().0);
    let late = lateness(&change, done.operations, here);
    let now = |count: Option<u64>| count.map(|count| (count as f64 * late).round() as u64);
    let names =
        |disks: &[(String, _)]| -> Vec<String> { disks.iter().map(|(name, _)| name.clone()).collect() };
    Counted {
        seconds: Nanos(to_ns - from_ns).seconds(),
        logical: now(change.logical_reads),
        physical: now(change.physical_reads),
        table_logical: now(table.map(|(logical, _)| logical)),
        table_physical: now(table.map(|(_, physical)| physical)),
        written: change.physical_writes,
        read_requests: now(change.read_requests),
        write_requests: change.write_requests,
        redo_bytes: change.log_bytes,
        redo_writes: change.log_writes,
        redo_syncs: change.log_syncs,
        read_wait_ns: change.read_wait_ns,
        commits: change.commits,
        deadlocks: change.deadlocks,
        cpu_ns: of_processes("cpu_ns"),
        process_read_bytes: of_processes("read_bytes"),
        device: Device::of(run, &names(&here.disks), window),
        log_device: Device::of(run, &names(&here.log_disks), window),
    }
}

/// The figures of a run's counters. `index` is the run's in the record, `operations` the figure of its operations.
pub fn figures(
    run: &Run,
    index: usize,
    here: &DatabaseTarget,
    (counted, judged): (&Counted, &Judged),
    operations: Option<&Figure>,
) -> Vec<(FigureName, Figure)> {
    let all = counting(run, here);
    let changes: Vec<(Change, f64)> = all
        .windows(2)
        .map(|pair| (pair[1].1.since(&pair[0].1), Nanos(pair[1].0 - pair[0].0).seconds()))
        .collect();
    let per_second = |value: fn(&Change) -> Option<u64>, unit: Unit| {
        let scale = if unit == Unit::MebibytesPerSecond { MIB as f64 } else { 1.0 };
        let grew: Vec<(f64, f64)> =
            changes.iter().filter_map(|(c, seconds)| Some((value(c)? as f64 / scale, *seconds))).collect();
        rate(&grew, unit, run.load, index)
    };
    let by_operation = here.database.url.brand == Brand::Postgres && operations.is_some();
    let blocks = |count: Option<u64>, value: fn(&Change) -> Option<u64>| match by_operation {
        true => Some(rate_of_operations(counted.rate(count)?, operations, run.load, index)),
        false => per_second(value, Unit::PerSecond),
    };
    let owners = |disks: &mut dyn Iterator<Item = &(String, fathom_host::DeviceNumber)>| -> Vec<SampleOf> {
        disks.map(|(name, _)| SampleOf::Disk(name.clone())).collect()
    };
    let from_ns = window_begins(run);
    let device = |owners: Vec<SampleOf>, name: &str| {
        rate(&growth(&run.samples, &owners, name, from_ns), Unit::PerSecond, run.load, index)
    };
    let below_data = owners(&mut here.disks.iter());
    let below_both = owners(&mut here.disks.iter().chain(&here.log_disks));
    let found = [
        (FigureName::LogicalReads, blocks(counted.logical, |c| c.logical_reads)),
        (FigureName::PhysicalReads, blocks(counted.physical, |c| c.physical_reads)),
        (FigureName::PhysicalWrites, per_second(|c| c.physical_writes, Unit::PerSecond)),
        (FigureName::LogMbps, per_second(|c| c.log_bytes, Unit::MebibytesPerSecond)),
        (FigureName::DeviceReads, device(below_data, "reads")),
        (FigureName::DeviceWrites, device(below_both, "writes")),
        (FigureName::FromDisk, judged.from_disk.map(|value| share(value, run.load, index))),
    ];
    found.into_iter().filter_map(|(name, figure)| Some((name, figure?))).collect()
}

/// The counters that pgio shows, before and after.
pub fn shown(run: &Run, here: &DatabaseTarget) -> Option<(DatabaseCounters, DatabaseCounters)> {
    let all = counting(run, here);
    let of = |counters: &Counters| -> Option<DatabaseCounters> {
        let get = |name: &str| counters.get("database", name);
        Some(DatabaseCounters {
            blocks_hit: get("blks_hit")?,
            blocks_read: get("blks_read")?,
            rows_returned: get("tup_returned").or(get("rows_returned")).unwrap_or(0),
            rows_fetched: get("tup_fetched").or(get("rows_fetched")).unwrap_or(0),
            rows_updated: get("tup_updated").or(get("rows_updated")).unwrap_or(0),
        })
    };
    let (first, last) = (&all.first()?.1, &all.last()?.1);
    // A database of another kind: what it asked of its cache and what it missed.
    let generic = || {
        let change = last.since(first);
        let (logical, physical) = (change.logical_reads?, change.physical_reads?);
        let after = DatabaseCounters {
            blocks_hit: logical.saturating_sub(physical),
            blocks_read: physical,
            rows_updated: change.rows_updated.unwrap_or(0),
            ..DatabaseCounters::default()
        };
        Some((DatabaseCounters::default(), after))
    };
    of(first).zip(of(last)).or_else(generic)
}

/// What the reports need beside the runs.
pub fn told(asked: &CommandSettings, here: &DatabaseTarget, blocks: u64, warm_up: Nanos) -> RunContext {
    let facts = &here.database.facts;
    let machine = &here.found.machine;
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".to_owned());
    let cache = Some(Bytes(facts.cache_bytes)).filter(|size| size.0 > 0);
    let url = &here.database.url;
    let limited = here.limit.map(|limit| Bytes(limit.0.saturating_sub(facts.cache_bytes)));
    RunContext {
        settings: asked.settings.clone(),
        product: facts.product.clone(),
        connect: url.to_string(),
        database: match url.file() {
            Some(file) => file.display().to_string(),
            None => url.database.clone(),
        },
        block: here.block(),
        blocks,
        cache: cache.map(|size| (here.cache_name.to_owned(), size)),
        page_cache: limited.or_else(|| machine.memory_available_bytes.map(Bytes).filter(|_| url.is_local())),
        page_cache_limited: limited.is_some(),
        disks: here.disks.iter().map(|(name, _)| name.clone()).collect(),
        log_disks: here.log_disks.iter().map(|(name, _)| name.clone()).collect(),
        host: name(&machine.hostname),
        kernel: name(&machine.kernel),
        cpus: machine.cpus_online.unwrap_or(1),
        memory: machine.memory_bytes.map(Bytes),
        warm_up_ns: warm_up.0,
        counted: Vec::new(),
        shown: None,
        diskstats: None,
    }
}
