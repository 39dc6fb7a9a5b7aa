//! The keys of `json` and `json+`, in fio's order, with fio's types and units.

use super::buckets::{EDGES, shares};
use super::job::{ReportJob, SteadyState, Unified};
use super::latency::latency;
use super::priorities;
use super::tally::{Direction, Series, Tally, directions};
use super::tree::{Tree, object};
use super::{Disk, Entry, PEER_VERSION, Report, percent};
use std::io::{self, Write};

/// The whole document; `plus` adds the bins.
pub fn document(report: &Report<'_>, plus: bool) -> Tree {
    let mut tree = object([("fio version", Tree::from(PEER_VERSION))]);
    tree.push("timestamp", report.moment.unix_ms / 1000);
    tree.push("timestamp_ms", report.moment.unix_ms);
    tree.push("time", report.moment.time.as_str());
    if let Some(options) = options(report.global) {
        tree.push("global options", options);
    }
    let entries = report.entries();
    let rates = group_rates(&entries);
    let jobs = entries.iter().map(|entry| job(entry, report, &rates, plus));
    tree.push("jobs", Tree::Array(jobs.collect()));
    if !report.disks.is_empty() {
        tree.push("disk_util", Tree::Array(report.disks.iter().flat_map(disk).collect()));
    }
    if let Some(idleness) = report.idleness {
        tree.push("cpu_idleness", idleness.tree());
    }
    if let Some(extras) = report.extras {
        tree.push("fathom", extras.tree(report));
    }
    tree
}

/// Writes the document.
pub fn write(report: &Report<'_>, plus: bool, out: &mut impl Write) -> io::Result<()> {
    document(report, plus).write(out)
}

/// KiB a second of a group in each direction, its longest runtime taken: what `bw_agg` is a share of.
pub(crate) fn group_rates(entries: &[Entry<'_>]) -> Vec<(u32, [f64; 4])> {
    let mut groups: Vec<(u32, [Direction; 4])> = Vec::new();
    for Entry { job, tally } in entries {
        let [read, write, trim] = tally.directions.each_ref();
        let all = [read, write, trim, &tally.mixed()].map(|d| Direction {
            bytes: d.bytes,
            runtime_ms: d.runtime_ms,
            ..Direction::default()
        });
        match groups.iter_mut().find(|(group, _)| *group == job.group.0) {
            Some((_, sums)) => sums.iter_mut().zip(&all).for_each(|(sum, one)| sum.merge(one)),
            None => groups.push((job.group.0, all)),
        }
    }
    let rate = |direction: Direction| direction.bytes_per_second() as f64 / 1024.0;
    groups.into_iter().map(|(group, sums)| (group, sums.map(rate))).collect()
}

/// The share of its group's rate that a job had in a direction, percent, at most 100.
pub(crate) fn share_of_group(rates: &[(u32, [f64; 4])], job: &ReportJob, name: &str, series: &Series) -> f64 {
    let at = ["read", "write", "trim", "mixed"].iter().position(|known| *known == name).unwrap_or(0);
    let rate = rates.iter().find(|(group, _)| *group == job.group.0).map_or(0.0, |(_, rates)| rates[at]);
    percent(series.mean(), rate).min(100.0)
}

/// Options as fio echoes them: a flag typed without a value has an empty one, and of an option typed twice the last value
/// stands, once. `None` when nothing was typed.
fn options(pairs: &[(String, String)]) -> Option<Tree> {
    let mut told: Vec<(&str, &str)> = Vec::new();
    for (key, value) in pairs {
        match told.iter_mut().find(|(known, _)| known == key) {
            Some(known) => known.1 = value,
            None => told.push((key, value)),
        }
    }
    (!pairs.is_empty()).then(|| object(told.into_iter().map(|(key, value)| (key, Tree::from(value)))))
}

fn job(entry: &Entry<'_>, report: &Report<'_>, rates: &[(u32, [f64; 4])], plus: bool) -> Tree {
    let Entry { job, tally } = entry;
    let mut tree = object([("jobname", Tree::from(job.name.as_str()))]);
    tree.push("groupid", job.group.0);
    tree.push("job_start", job_start_ms(job, report));
    tree.push("error", tally.error());
    tree.push("eta", i32::MAX);
    tree.push("elapsed", report.moment.elapsed_seconds);
    if let Some(options) = options(&job.options) {
        tree.push("job options", options);
    }
    let shown = directions(tally, job.unified);
    let part = |(name, direction): &(&str, Direction)| {
        let share = share_of_group(rates, job, name, &direction.bandwidth);
        ((*name).to_owned(), self::direction(job, direction, share, plus))
    };
    for each in shown.iter().filter(|(name, _)| *name != "mixed") {
        let (name, value) = part(each);
        tree.push(name, value);
    }
    if job.unified != Unified::Mixed {
        let wanted = job.with_percentiles.clat || job.with_percentiles.lat;
        let lat = latency(&tally.sync.lat, wanted.then_some(job), plus);
        tree.push("sync", object([("total_ios", Tree::from(tally.sync.operations)), ("lat_ns", lat)]));
    }
    for each in shown.iter().filter(|(name, _)| *name == "mixed") {
        let (name, value) = part(each);
        tree.push(name, value);
    }
    usage(&mut tree, tally);
    distributions(&mut tree, tally);
    if job.continue_on_error {
        tree.push("total_err", tally.errors);
        tree.push("first_error", tally.first_error);
    }
    if tally.began {
        tree.push("latency_depth", job.latency_target.depth);
        tree.push("latency_target", job.latency_target.target_ns);
        tree.push("latency_target_ns", job.latency_target.target_ns);
        tree.push("latency_percentile", job.latency_target.percentile);
        tree.push("latency_window", job.latency_target.window_us);
        tree.push("latency_window_us", job.latency_target.window_us);
    }
    if let Some(description) = &job.description {
        tree.push("desc", description.as_str());
    }
    if let Some(state) = &job.steady_state {
        tree.push("steadystate", steady_state(state));
    }
    tree
}

/// When a job began, ms since its clock's beginning.
fn job_start_ms(job: &ReportJob, report: &Report<'_>) -> u64 {
    let mine = report.run.workers.iter().filter(|worker| job.streams.contains(&worker.stream));
    let began_ns = mine.map(|worker| worker.span_ns.0).min().unwrap_or(0).min(report.run.length_ns);
    let ago_ms = (report.run.length_ns - began_ns) / 1_000_000;
    report.moment.unix_ms.saturating_sub(ago_ms).saturating_add_signed(job.clock_offset_ms)
}

fn usage(tree: &mut Tree, tally: &Tally) {
    let (user, system) = cpu_shares(tally);
    tree.push("job_runtime", tally.runtime_ms);
    tree.push("usr_cpu", user);
    tree.push("sys_cpu", system);
    tree.push("ctx", tally.switches);
    tree.push("majf", tally.page_faults.0);
    tree.push("minf", tally.page_faults.1);
}

/// CPU time in user mode and in the kernel, percent of the runtime.
pub(crate) fn cpu_shares(tally: &Tally) -> (f64, f64) {
    let runtime_ns = tally.runtime_ms as f64 * 1e6;
    (percent(tally.user_ns as f64, runtime_ns), percent(tally.system_ns as f64, runtime_ns))
}

/// Keys of the depth classes, and of the classes of submissions and completions.
pub(crate) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
pub(crate) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// Shares of the depth classes, of submissions and of completions, percent.
pub(crate) fn depth_shares(tally: &Tally) -> [[f64; 7]; 3] {
    let sum = |counts: &[u64; 7]| counts.iter().sum::<u64>();
    [
        shares(&tally.depths, tally.operations(), 0.1),
        shares(&tally.submitted, sum(&tally.submitted), 0.1),
        shares(&tally.completed, sum(&tally.completed), 0.1),
    ]
}

fn distributions(tree: &mut Tree, tally: &Tally) {
    let keyed = |keys: &[&str], values: &[f64]| {
        object(keys.iter().zip(values).map(|(key, value)| (*key, Tree::from(*value))))
    };
    let [depths, submitted, completed] = depth_shares(tally);
    tree.push("iodepth_level", keyed(&DEPTHS, &depths));
    tree.push("iodepth_submit", keyed(&BATCHES, &submitted));
    tree.push("iodepth_complete", keyed(&BATCHES, &completed));
    let (classes, total) = (tally.classes(), tally.operations());
    let edges = EDGES.map(|edge| edge.to_string());
    let mut keys: Vec<&str> = edges.iter().map(String::as_str).collect();
    tree.push("latency_ns", keyed(&keys, &shares(&classes.nanoseconds, total, 0.01)));
    tree.push("latency_us", keyed(&keys, &shares(&classes.microseconds, total, 0.01)));
    keys.extend(["2000", ">=2000"]);
    tree.push("latency_ms", keyed(&keys, &shares(&classes.milliseconds, total, 0.01)));
}

fn direction(job: &ReportJob, direction: &Direction, share: f64, plus: bool) -> Tree {
    let Direction {
        operations, bytes, short, failed: _, runtime_ms, slat, clat, lat, bandwidth, iops, ..
    } = direction;
    let rate = direction.bytes_per_second();
    let with = |wanted: bool| wanted.then_some(job);
    let mut tree = object([
        ("io_bytes", Tree::from(*bytes)),
        ("io_kbytes", Tree::from(bytes / 1024)),
        ("bw_bytes", Tree::from(rate)),
        ("bw", Tree::from(rate / 1024)),
        ("iops", Tree::from(direction.operations_per_second())),
        ("runtime", Tree::from(*runtime_ms)),
        ("total_ios", Tree::from(*operations)),
        ("short_ios", Tree::from(*short)),
        ("drop_ios", Tree::from(0)),
        ("slat_ns", latency(slat, with(job.with_percentiles.slat), plus)),
        ("clat_ns", latency(clat, with(job.with_percentiles.clat), plus)),
        ("lat_ns", latency(lat, with(job.with_percentiles.lat), plus)),
    ]);
    if let Some(prios) = priorities::tree(job, direction, plus) {
        tree.push("prios", prios);
    }
    for (key, value) in [
        ("bw_min", Tree::from(bandwidth.least())),
        ("bw_max", Tree::from(bandwidth.most())),
        ("bw_agg", Tree::from(share)),
        ("bw_mean", Tree::from(bandwidth.mean())),
        ("bw_dev", Tree::from(bandwidth.deviation())),
        ("bw_samples", Tree::from(bandwidth.samples)),
        ("iops_min", Tree::from(iops.least())),
        ("iops_max", Tree::from(iops.most())),
        ("iops_mean", Tree::from(iops.mean())),
        ("iops_stddev", Tree::from(iops.deviation())),
        ("iops_samples", Tree::from(iops.samples)),
    ] {
        tree.push(key, value);
    }
    tree
}

fn steady_state(state: &SteadyState) -> Tree {
    let unit = if state.in_percent { "%" } else { "" };
    let mean = |values: &[u64]| values.iter().sum::<u64>() / (values.len() as u64).max(1);
    let list = |values: &[u64]| Tree::Array(values.iter().map(|value| Tree::from(*value)).collect());
    let data = object([
        ("bw_mean", Tree::from(mean(&state.bandwidth))),
        ("iops_mean", Tree::from(mean(&state.iops))),
        ("iops", list(&state.iops)),
        ("bw", list(&state.bandwidth)),
    ]);
    object([
        ("ss", Tree::from(format!("{}:{:.6}{unit}", state.of, state.limit).as_str())),
        ("duration", Tree::from(state.duration_seconds)),
        ("attained", Tree::from(i32::from(state.attained))),
        ("criterion", Tree::from(format!("{:.6}{unit}", state.criterion).as_str())),
        ("max_deviation", Tree::from(state.max_deviation)),
        ("slope", Tree::from(state.slope)),
        ("data", data),
    ])
}

/// A disk with what lies below it, the disks below following as entries of their own.
fn disk(disk: &Disk) -> Vec<Tree> {
    let mut tree = object([("name", Tree::from(disk.name.as_str()))]);
    let mut add = |prefix: &str, write_merges: &str, disk: &Disk| {
        let pairs = [
            ("read_ios", disk.ios.0),
            ("write_ios", disk.ios.1),
            ("read_sectors", disk.sectors.0),
            ("write_sectors", disk.sectors.1),
            ("read_merges", disk.merges.0),
            (write_merges, disk.merges.1),
            ("read_ticks", disk.ticks.0),
            ("write_ticks", disk.ticks.1),
            ("in_queue", disk.in_queue),
        ];
        for (key, value) in pairs {
            tree.push(format!("{prefix}{key}"), value);
        }
        tree.push(format!("{prefix}util"), disk.util);
    };
    add("", "write_merges", disk);
    if let Some(sum) = disk.aggregate() {
        // The singular is the peer's own spelling.
        add("aggr_", "write_merge", &sum);
    }
    std::iter::once(tree).chain(disk.below.iter().flat_map(self::disk)).collect()
}
