//! What keeps a figure from being more: the device, this host, the link, our own control group, the queue, or the
//! latency that the user tolerates. Takes facts as numbers; finds none itself.

use crate::observe::Observed;
use fathom_record::{Bound, BoundBy, Phase, Run, SampleOf};
use fathom_spec::LatencyLimit;
use serde::{Deserialize, Serialize};

/// Within this share of a control group's limit the limit is what was measured.
const CGROUP_NEAR: f64 = 0.03;
/// From this share of a link's speed on the link is what was measured: its protocol takes the rest.
const LINK_NEAR: f64 = 0.90;
/// From this share on a CPU counts as busy.
const CPU_BUSY: f64 = 0.95;
/// Ticks of one CPU in a second, as `/proc/stat` counts them (`USER_HZ`, proc(5)).
const TICKS_PER_SECOND: f64 = 100.0;
/// A worker that computes for this share of its time cannot ask for more.
const WORKER_BUSY: f64 = 0.90;
/// A greater load gave so much more, but over the latency limit.
const WOULD_GIVE_MORE: f64 = 1.02;

/// What is known of the way to the device. Limits that are not known or do not exist are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Our control group's limits for these devices.
    pub read_iops_limit: Option<f64>,
    /// The same for writes.
    pub write_iops_limit: Option<f64>,
    /// The same for bytes read per second.
    pub read_bytes_per_second_limit: Option<f64>,
    /// The same for bytes written per second.
    pub write_bytes_per_second_limit: Option<f64>,
    /// CPUs that our control group lets us use, where it limits them.
    pub cpu_limit: Option<f64>,
    /// The link's speed, bytes per second.
    pub link_bytes_per_second: Option<f64>,
    /// Requests that the device's queue takes (`nr_requests`).
    pub queue_requests: Option<u32>,
    /// The greatest load that was allowed for small I/Os.
    pub small_most: Option<u32>,
    /// The greatest load that was allowed for large I/Os.
    pub large_most: Option<u32>,
    /// A simulated device: this host's CPUs say nothing of it.
    pub simulated: bool,
    /// Limits for which could not be looked: then a bound by the device is only supposed.
    pub unknown: Vec<String>,
}

/// The points of a search, as far as a bound needs them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    pub load: u32,
    /// Operations per second there.
    pub rate: f64,
    /// Whether its latency was over the limit.
    pub over: bool,
}

/// Names what bounds the figure of one measurement, of its pieces. `tried`: the other points of the same phase.
pub fn bound(
    phase: Phase,
    runs: &[&Run],
    observed: &Observed,
    tried: &[Tried],
    limit: Option<&LatencyLimit>,
    around: &Surroundings,
) -> Bound {
    let say = |by, because: String| Bound { by, because };
    let Some(run) = runs.first() else {
        return say(BoundBy::Unknown, "nothing was measured".into());
    };
    let load = phase.count(run.load);
    if let Some(text) = by_limit(load, observed, tried, limit) {
        return say(BoundBy::LatencyLimit, text);
    }
    if let Some(text) = by_cgroup(phase, runs, observed, around) {
        return say(BoundBy::Cgroup, text);
    }
    if let Some(link) = around.link_bytes_per_second.filter(|l| observed.bytes_per_second >= l * LINK_NEAR) {
        let share = 100.0 * observed.bytes_per_second / link;
        return say(BoundBy::Link, format!("{share:.0} % of the link's {:.0} MiB/s", link / 1048576.0));
    }
    if !around.simulated
        && let Some(text) = runs.iter().find_map(|run| by_cpu(run, around))
    {
        return say(BoundBy::HostCpu, text);
    }
    let most = if phase.is_large() { around.large_most } else { around.small_most };
    let best_before = tried.iter().filter(|t| t.load < load).map(|t| t.rate).fold(0.0, f64::max);
    if most == Some(load) && load > 1 && observed.rate > best_before * 1.01 {
        return say(BoundBy::Queue, format!("throughput still grew at {load}, the most that was allowed"));
    }
    if let Some(queue) = around.queue_requests.filter(|q| load >= *q && observed.rate > best_before * 1.01) {
        return say(BoundBy::Queue, format!("the device's queue takes {queue} requests"));
    }
    if tried.iter().any(|t| t.load > load) || !around.unknown.is_empty() {
        return match around.unknown.as_slice() {
            [] => {
                say(BoundBy::Device, "more load gave no more, and nothing before the device was full".into())
            }
            unknown => say(
                BoundBy::Unknown,
                format!("perhaps the device: it could not be checked: {}", unknown.join(", ")),
            ),
        };
    }
    match phase.curve().is_some() || phase == Phase::LargeOne {
        true => say(BoundBy::Unknown, "no greater load was tried".into()),
        false => say(BoundBy::Device, "one after the other, each waits for the device".into()),
    }
}

fn by_limit(load: u32, observed: &Observed, tried: &[Tried], limit: Option<&LatencyLimit>) -> Option<String> {
    let limit = limit?;
    let (value, _) = observed.statistic(limit.of)?;
    if load == 1 && value > limit.at_most.0 as f64 {
        return Some(format!("one outstanding is already over the limit ({limit})"));
    }
    let above = tried.iter().filter(|t| t.load > load);
    let more = above
        .clone()
        .filter(|t| t.over && t.rate > observed.rate * WOULD_GIVE_MORE)
        .min_by_key(|t| t.load)?;
    let also_within = above.clone().any(|t| !t.over && t.load >= more.load);
    (!also_within).then(|| {
        format!("{} outstanding gave {:.0} IOPS, but over the limit ({limit})", more.load, more.rate)
    })
}

/// What reaches the device is what a control group counts: of one commit it is several writes.
fn by_cgroup(phase: Phase, runs: &[&Run], observed: &Observed, around: &Surroundings) -> Option<String> {
    let (iops, bytes) = match phase.writes() {
        true => (around.write_iops_limit, around.write_bytes_per_second_limit),
        false => (around.read_iops_limit, around.read_bytes_per_second_limit),
    };
    let near = |value: f64, limit: f64| (value / limit - 1.0).abs() <= CGROUP_NEAR || value > limit;
    if let Some(limit) = iops.filter(|limit| near(observed.rate, *limit)) {
        return Some(format!("our control group allows {limit:.0} I/Os per second"));
    }
    let each = if phase.commits() { writes_per_commit(runs) } else { None };
    let device = each.map(|each| (each, observed.rate * each));
    if let Some((each, limit)) =
        device.and_then(|(each, rate)| Some((each, iops.filter(|limit| near(rate, *limit))?)))
    {
        return Some(format!(
            "our control group allows {limit:.0} I/Os per second, and a commit is {each:.1} of the device's writes"
        ));
    }
    let limit = bytes.filter(|limit| near(observed.bytes_per_second, *limit))?;
    Some(format!("our control group allows {:.0} MiB per second", limit / 1048576.0))
}

fn by_cpu(run: &Run, around: &Surroundings) -> Option<String> {
    let span = run.length_ns as f64;
    let used: f64 = run.workers.iter().map(|w| (w.user_ns + w.system_ns) as f64).sum::<f64>() / span.max(1.0);
    if let Some(allowed) = around.cpu_limit.filter(|allowed| used >= allowed * CPU_BUSY) {
        return Some(format!("our control group allows {allowed:.1} CPUs and all were used"));
    }
    if let Some(busy) = cpus_busy(run).filter(|busy| *busy >= CPU_BUSY) {
        return Some(format!("the host's CPUs were {:.0} % busy", busy * 100.0));
    }
    let workers = run.workers.len() as f64;
    (workers > 0.0 && used >= WORKER_BUSY * workers)
        .then(|| format!("each worker computed for {:.0} % of its time", 100.0 * used / workers))
}

/// Writes of the device for each commit, over all pieces.
pub fn writes_per_commit(runs: &[&Run]) -> Option<f64> {
    requests_per_operation(runs, "writes")
}

/// Requests of the device for each read, over all pieces.
pub fn requests_per_read(runs: &[&Run]) -> Option<f64> {
    requests_per_operation(runs, "reads")
}

fn requests_per_operation(runs: &[&Run], counter: &str) -> Option<f64> {
    let ours: u64 =
        runs.iter().flat_map(|run| &run.workers).flat_map(|w| &w.counts).map(|c| c.1.operations).sum();
    let requests: Option<u64> = runs.iter().map(|run| grown(run, SampleOf::is_disk, counter)).sum();
    requests.filter(|_| ours > 0).map(|requests| requests as f64 / ours as f64)
}

/// By how much a counter grew from the first to the last sample, summed over all of these owners. `None` where there are not
/// two samples, or one went backwards.
pub fn grown(run: &Run, of: impl Fn(&SampleOf) -> bool, name: &str) -> Option<u64> {
    let mut owners: Vec<&SampleOf> = Vec::new();
    for sample in run.samples.iter().filter(|s| of(&s.of) && s.name == name) {
        if !owners.contains(&&sample.of) {
            owners.push(&sample.of);
        }
    }
    let of_owner = |owner: &&SampleOf| {
        let mut values = run.samples.iter().filter(|s| s.of == **owner && s.name == name);
        let first = values.next()?;
        values.next_back().and_then(|last| last.value.checked_sub(first.value))
    };
    if owners.is_empty() {
        return None;
    }
    owners.iter().map(of_owner).sum()
}

fn is_cpu(of: &SampleOf) -> bool {
    *of == SampleOf::Cpu
}

/// The share of all CPUs' time that was not idle during a run.
pub fn cpus_busy(run: &Run) -> Option<f64> {
    let (total, idle) = (grown(run, is_cpu, "total_ticks")?, grown(run, is_cpu, "idle_ticks")?);
    (total > 0).then(|| 1.0 - idle as f64 / total as f64)
}

/// The share of all CPUs' time that other programs had during a run: what was not idle, less what a hypervisor took and
/// what our workers used. `None` where the counters are not there.
pub fn cpus_of_others(run: &Run) -> Option<f64> {
    let (total, busy) = (grown(run, is_cpu, "total_ticks")?, cpus_busy(run)?);
    let ours: u64 = run.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum();
    let seconds = total as f64 / TICKS_PER_SECOND;
    (seconds > 0.0).then(|| (busy - stolen(run).unwrap_or(0.0) - ours as f64 / 1e9 / seconds).max(0.0))
}

/// The share of all CPUs' time that a hypervisor took during a run.
pub fn stolen(run: &Run) -> Option<f64> {
    let (total, steal) = (grown(run, is_cpu, "total_ticks")?, grown(run, is_cpu, "steal_ticks")?);
    (total > 0).then(|| steal as f64 / total as f64)
}
