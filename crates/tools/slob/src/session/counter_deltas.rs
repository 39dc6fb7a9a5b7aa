//! What a run's counters say: figures with their errors, and what the reports need.

use super::place::DatabaseTarget;
use super::settings::CommandSettings;
use crate::DatabaseCounters;
use crate::counter_deltas::{growth as growth_between, window_begins};
use crate::run_context::Server;
use crate::verdict::Judged;
use crate::{Agreement, Counted, Device, RunContext};
use fathom_calibrate::sessions::{done_between, growth, rate, rate_of_operations, share};
use fathom_database::{Brand, Change, Counters};
use fathom_record::{Counts, Figure, FigureName, Run, SampleOf, Unit};
use fathom_spec::{Bytes, MIB, Nanos, Verb};
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

/// The readings of the part of a run that counts, and that part, ns since the run's start.
struct Window {
    readings: Vec<(u64, Counters)>,
    from_ns: u64,
    to_ns: u64,
}

/// From the reading nearest to the end of the warm-up to the last one, which is taken when the sessions have gone and all of
/// their counts are there: it stands for the end of the run.
fn window(run: &Run) -> Option<Window> {
    let mut all = readings(run);
    let begins = window_begins(run);
    let first = all.iter().enumerate().min_by_key(|(_, (at, _))| at.abs_diff(begins)).map_or(0, |(i, _)| i);
    // A run that is over before the second reading after its warm-up counts from the one before.
    let first = first.min(all.len().saturating_sub(2));
    all.drain(..first);
    let from_ns = if first == 0 { 0 } else { all.first()?.0 };
    let to_ns = all.last()?.0.min(run.length_ns);
    (to_ns > from_ns).then_some(Window { readings: all, from_ns, to_ns })
}

/// By what the counters of the schemas must be multiplied to be those of the window. PostgreSQL's sessions hand them over up to
/// a second late, and so do ours of SQLite; the rows counted with them tell by how much, for how many the sessions touched is
/// known. 1 where the server counts at once.
fn lateness(counted: Option<u64>, touched: u64) -> f64 {
    match counted {
        Some(counted) if counted > 0 && touched > 0 => touched as f64 / counted as f64,
        _ => 1.0,
    }
}

/// Time of the schemas' reads, ns. With the server's setting on everybody's reads are timed: then ours take their part; else
/// only our sessions' are.
fn read_wait(change: &Change, here: &DatabaseTarget, physical: Option<u64>) -> Option<u64> {
    let wait = change.read_wait_ns.filter(|ns| *ns > 0)?;
    let of_all = here.database.facts.setting("track_io_timing") == Some("on");
    match change.timed_reads.filter(|reads| of_all && *reads > 0) {
        Some(reads) => Some((wait as f64 / reads as f64 * physical? as f64) as u64),
        None => Some(wait),
    }
}

/// What the server and the sessions say of one whole run.
fn agreement(run: &Run, here: &DatabaseTarget) -> Option<Agreement> {
    let all = readings(run);
    let ((_, first), (last_ns, last)) = (all.first()?, all.last()?);
    let change = last.since(first);
    let mut own = Counts::default();
    let (mut selects, mut updates) = (0, 0);
    for (verb, counts) in run.workers.iter().flat_map(|worker| &worker.counts) {
        match verb {
            Verb::Select | Verb::Scan => selects += counts.operations,
            Verb::Update => updates += counts.operations,
            _ => continue,
        }
        own.merge(counts);
    }
    let others = |of_all: Option<u64>, own: u64| Some(of_all?.saturating_sub(own));
    Some(Agreement {
        rows_touched: own.bytes / here.block().0,
        rows_counted: change.rows_fetched,
        statements: selects + updates,
        statements_of_others: others(change.selects, selects)
            .zip(others(change.updates, updates))
            .map(|(selects, updates)| selects + updates)
            .filter(|_| change.timed_writes.is_none()),
        seconds_counted: Nanos(*last_ns).seconds(),
        seconds: Nanos(run.length_ns).seconds(),
    })
}

/// What was counted, of one run.
pub fn counted(run: &Run, here: &DatabaseTarget) -> Counted {
    let agreement = agreement(run, here);
    let Some(Window { readings, from_ns, to_ns }) = window(run) else {
        return Counted { agreement, ..Counted::default() };
    };
    let (Some((_, first)), Some((_, last))) = (readings.first(), readings.last()) else {
        return Counted { agreement, ..Counted::default() };
    };
    // Processes are looked at once a second too, at other moments.
    let near = (from_ns.saturating_sub(500_000_000), to_ns + 500_000_000);
    let of_processes = |name: &str| {
        let (grew, seconds) = growth_between(&run.samples, &SampleOf::Processes, name, near)?;
        Some((grew as f64 * Nanos(to_ns - from_ns).seconds() / seconds) as u64)
    };
    let change = last.since(first);
    let end = if to_ns == run.length_ns { u64::MAX } else { to_ns };
    let touched = done_between(run, from_ns, end).bytes / here.block().0;
    let late = lateness(change.rows_fetched, touched);
    let now = |count: Option<u64>| count.map(|count| (count as f64 * late).round() as u64);
    let table = change.table_reads(touched);
    let physical = now(change.physical_reads);
    let names =
        |disks: &[(String, _)]| -> Vec<String> { disks.iter().map(|(name, _)| name.clone()).collect() };
    let states = last.raw.iter().filter(|(of, _, _)| of == "waits").filter_map(|(of, name, value)| {
        let before = first.get(of, name).unwrap_or(0);
        Some((name.clone(), value.checked_sub(before).filter(|n| *n > 0)?))
    });
    Counted {
        seconds: Nanos(to_ns - from_ns).seconds(),
        logical: now(change.logical_reads),
        physical,
        table_logical: table.map(|(logical, _)| logical),
        table_physical: now(change.table_physical.or(change.physical_reads))
            .map(|physical| physical.min(touched)),
        written: change.physical_writes,
        read_requests: now(change.read_requests),
        write_requests: change.write_requests,
        redo_bytes: change.log_bytes,
        redo_writes: change.log_writes,
        redo_syncs: change.log_syncs,
        read_wait_ns: read_wait(&change, here, physical),
        write_wait_ns: change.write_wait_ns,
        timed_writes: change.timed_writes,
        commits: change.commits,
        deadlocks: change.deadlocks,
        checkpoints: change.checkpoints,
        autovacuums: change.autovacuums,
        log_page_images: change.log_page_images,
        logical_of_all: change.logical_reads_of_all,
        physical_of_all: change.physical_reads_of_all,
        states: states.collect(),
        cpu_ns: of_processes("cpu_ns"),
        background_cpu_ns: of_processes("background_cpu_ns"),
        process_read_bytes: of_processes("read_bytes"),
        device: Device::of(run, &names(&here.disks), (from_ns, to_ns)),
        log_device: Device::of(run, &names(&here.log_disks), (from_ns, to_ns)),
        agreement,
    }
}

/// The same of everybody in the database, where no load of ours is.
pub fn counted_of_all(run: &Run, here: &DatabaseTarget) -> Counted {
    let own = counted(run, here);
    let change =
        window(run).and_then(|window| Some(window.readings.last()?.1.since(&window.readings.first()?.1)));
    let change = change.unwrap_or_default();
    Counted {
        logical: own.logical_of_all,
        physical: own.physical_of_all,
        read_requests: change.timed_reads.or(own.physical_of_all),
        read_wait_ns: change.read_wait_ns.filter(|ns| *ns > 0),
        agreement: None,
        ..own
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
    let readings = window(run).map_or(Vec::new(), |window| window.readings);
    let changes: Vec<(Change, f64)> = readings
        .windows(2)
        .map(|pair| (pair[1].1.since(&pair[0].1), Nanos(pair[1].0 - pair[0].0).seconds()))
        .collect();
    let per_second = |value: fn(&Change) -> Option<u64>, unit: Unit| {
        let scale = if unit == Unit::MebibytesPerSecond { MIB as f64 } else { 1.0 };
        let grew: Vec<(f64, f64)> =
            changes.iter().filter_map(|(c, seconds)| Some((value(c)? as f64 / scale, *seconds))).collect();
        rate(&grew, unit, run.load, index)
    };
    let by_operation = here.database.url.brand != Brand::Mysql && operations.is_some();
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

/// The counters that pgio shows, of everybody in this database, before and after the whole run.
pub fn shown(run: &Run) -> Option<(DatabaseCounters, DatabaseCounters)> {
    let all = readings(run);
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
        let (logical, physical) = (change.logical_reads_of_all?, change.physical_reads_of_all?);
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
        server: match url.brand {
            Brand::Sqlite => Server::Embedded,
            _ if here.is_own() => Server::Own,
            _ => Server::Running,
        },
        server_settings: facts.settings.clone(),
        plans: Vec::new(),
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
