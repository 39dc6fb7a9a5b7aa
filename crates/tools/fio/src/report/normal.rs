//! The text that people read: what stands before a run, each job's or group's block, the groups' rates, the disks. Only
//! the figures differ from what fio prints for the same job.

use super::buckets::{self, Classes, EDGES, shares};
use super::job::{ReportJob, SteadyState, Unified};
use super::json::{BATCHES, DEPTHS, cpu_shares, depth_shares, group_rates, share_of_group};
use super::number::{Base, Suffix, short, unit_for};
use super::tally::{Direction, Series, Tally, directions};
use super::{Disk, Entry, PEER_VERSION, Report, percent, priorities};
use fathom_record::Latency;
use fathom_session::errno_text;
use fathom_spec::GroupId;
use std::io::{self, Write};

/// What stands before the run: a line for each section, the version, how many are started.
pub fn opening(jobs: &[ReportJob], out: &mut impl Write) -> io::Result<()> {
    for job in jobs {
        match job.clone {
            0 => opening_line(job, out)?,
            1 => writeln!(out, "...")?,
            _ => {}
        }
        if job.clone == 0 && job.members > 1 {
            writeln!(out, "...")?;
        }
    }
    writeln!(out, "{PEER_VERSION}")?;
    let count = |thread: bool| jobs.iter().filter(|j| j.thread == thread).map(|j| j.members).sum::<u32>();
    let named = |count: u32, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let kinds = [named(count(true), "thread", "threads"), named(count(false), "process", "processes")];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    writeln!(out, "Starting {}", kinds.join(" and "))
}

fn opening_line(job: &ReportJob, out: &mut impl Write) -> io::Result<()> {
    let bytes = |value| short(value, job.significant_figures, Suffix::Bytes(Base::Two));
    let sizes: Vec<String> = job
        .block_sizes
        .iter()
        .zip(["R", "W", "T"])
        .map(|((least, most), name)| format!("({name}) {}-{}", bytes(*least), bytes(*most)))
        .collect();
    let ReportJob { name, group, rw, ioengine, iodepth, .. } = job;
    let sizes = match job.sizes_by_order {
        true => format!("{}, bs_is_seq_rand", sizes[..2].join(", ")),
        false => sizes.join(", "),
    };
    writeln!(out, "{name}: (g={}): rw={rw}, bs={sizes}, ioengine={ioengine}, iodepth={iodepth}", group.0)
}

/// The line for files that are laid out before the run; `bytes` is all of them together.
pub fn laying_out(name: &str, files: u64, bytes: u64, out: &mut impl Write) -> io::Result<()> {
    let mib = bytes >> 20;
    match files {
        1 => writeln!(out, "{name}: Laying out IO file (1 file / {mib}MiB)"),
        _ => writeln!(out, "{name}: Laying out IO files ({files} files / total {mib}MiB)"),
    }
}

/// Everything after the run.
pub fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let entries = report.entries();
    let rates = group_rates(&entries);
    writeln!(out)?;
    // As in fio a job that never did anything is left out of the normal report.
    for entry in entries.iter().filter(|entry| !entry.tally.is_of_nothing()) {
        block(entry, report, &rates, out)?;
    }
    for group in report.groups() {
        let members: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.job.group == group).collect();
        run_status(group, &members, out)?;
    }
    if !report.disks.is_empty() {
        writeln!(out, "\nDisk stats (read/write):")?;
        report.disks.iter().try_for_each(|each| disk(each, out))?;
    }
    if let Some(idleness) = report.idleness {
        idleness.write(out)?;
    }
    if let Some(extras) = report.extras {
        extras.write_text(report, out)?;
    }
    Ok(())
}

fn block(
    entry: &Entry<'_>,
    report: &Report<'_>,
    rates: &[(u32, [f64; 4])],
    out: &mut impl Write,
) -> io::Result<()> {
    let Entry { job, tally } = entry;
    let why = match tally.error() {
        0 => String::new(),
        error => format!(" (file:fathom, func=io_u error, error={})", errno_text::of_number(error)),
    };
    let head = format!("{}: (groupid={}, jobs={})", job.name, job.group.0, tally.members);
    let error = tally.error();
    writeln!(out, "{head}: err={error:2}{why}: pid={}: {}", job.pid, report.moment.time)?;
    if let Some(description) = &job.description {
        writeln!(out, "  Description  : [{description}]")?;
    }
    for (name, each) in directions(tally, job.unified).iter().filter(|(_, each)| each.runtime_ms > 0) {
        if each.bytes > 0 || each.operations > 0 {
            direction(job, name, each, share_of_group(rates, job, name, &each.bandwidth), out)?;
        }
    }
    if tally.directions.iter().any(|each| each.clat.count > 0) {
        latency_classes(&tally.classes(), tally.operations(), out)?;
    }
    syncs(job, &tally.sync.lat, out)?;
    usage(job, tally, out)
}

fn direction(
    job: &ReportJob,
    name: &str,
    each: &Direction,
    share: f64,
    out: &mut impl Write,
) -> io::Result<()> {
    let figures = job.significant_figures;
    let rate = |base| short(each.bytes_per_second(), figures, Suffix::BytesPerSecond(base));
    let iops = short(each.operations_per_second() as u64, figures, Suffix::Count);
    let total = short(each.bytes, figures, Suffix::Bytes(Base::Two));
    let zones = if name == "write" { "; 0 zone resets" } else { "" };
    let (binary, decimal, runtime) = (rate(Base::Two), rate(Base::Ten), each.runtime_ms);
    writeln!(out, "  {name}: IOPS={iops}, BW={binary} ({decimal})({total}/{runtime}msec){zones}")?;
    let kinds = [
        ("slat", &each.slat, job.with_percentiles.slat),
        ("clat", &each.clat, job.with_percentiles.clat),
        (" lat", &each.lat, job.with_percentiles.lat),
    ];
    let of = priorities::told_of(job).unwrap_or_default();
    let apart = priorities::shown(job, each);
    for (kind, latency, _) in kinds {
        latency_line(kind, latency, out)?;
    }
    for at in &apart {
        latency_line(&at.name(of), &at.latency, out)?;
    }
    for (kind, latency, wanted) in kinds {
        if !wanted {
            continue;
        }
        percentiles(kind.trim_start(), latency, job, out)?;
        for at in apart.iter().filter(|_| kind.trim_start() == of) {
            let share = percent(at.latency.count as f64, latency.count as f64);
            percentiles(&format!("{} ({share:.2}% of IOs)", at.name(of)), &at.latency, job, out)?;
        }
    }
    samples(&each.bandwidth, &each.iops, share, out)
}

fn latency_line(kind: &str, latency: &Latency, out: &mut impl Write) -> io::Result<()> {
    let (Some(mean), Some(deviation)) = (latency.mean_ns(), latency.deviation_ns()) else { return Ok(()) };
    let (unit, scale) = unit_for(latency.min_ns, latency.max_ns, deviation);
    let whole = |ns: u64| short(ns / scale, 6, Suffix::Count);
    let (mean, deviation) = (mean / scale as f64, deviation / scale as f64);
    let (min, max) = (whole(latency.min_ns), whole(latency.max_ns));
    writeln!(out, "    {kind} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}")
}

/// Characters of a line that the percentiles may fill.
const ROW: usize = 73;

fn percentiles(kind: &str, latency: &Latency, job: &ReportJob, out: &mut impl Write) -> io::Result<()> {
    if latency.count == 0 || job.percentiles.is_empty() {
        return Ok(());
    }
    let mut list = job.percentiles.clone();
    list.sort_by(f64::total_cmp);
    let values = buckets::percentiles(latency, &list);
    let (least, most) = (values[0], values[values.len() - 1]);
    let (unit, scale) = unit_for(least, most, f64::INFINITY);
    writeln!(out, "    {kind} percentiles ({unit}):")?;
    let decimals = list.iter().map(|percent| decimals_of(*percent)).max().unwrap_or(0);
    let width = most.div_ceil(scale).to_string().len().max(5);
    let across = decimals + 3;
    let item = |(percent, ns): (&f64, &u64)| {
        format!("{percent:across$.decimals$}th=[{:>width$}]", ns.div_ceil(scale))
    };
    let items: Vec<String> = list.iter().zip(&values).map(item).collect();
    let rows: Vec<String> =
        items.chunks((ROW / (across + width + 7)).max(1)).map(|row| row.join(", ")).collect();
    writeln!(out, "     | {}", rows.join(",\n     | "))
}

/// How many decimals a percentage needs to be told in full, at most 6.
fn decimals_of(percent: f64) -> usize {
    let text = format!("{percent:.6}");
    text.trim_end_matches('0').split('.').next_back().unwrap_or_default().len()
}

fn samples(bandwidth: &Series, iops: &Series, share: f64, out: &mut impl Write) -> io::Result<()> {
    if bandwidth.samples > 0 {
        let (unit, scale) = if bandwidth.mean() > 1024.0 * 1024.0 { ("MiB", 1024) } else { ("KiB", 1) };
        let (min, max) = (bandwidth.least() / scale, bandwidth.most() / scale);
        let (mean, deviation) = (bandwidth.mean() / scale as f64, bandwidth.deviation() / scale as f64);
        writeln!(
            out,
            "   bw ({unit:>5}/s): min={min:5}, max={max:5}, per={share:3.2}%, avg={mean:5.2}, stdev={deviation:5.2}, samples={}",
            bandwidth.samples
        )?;
    }
    if iops.samples > 0 {
        let (min, max, mean, deviation) = (iops.least(), iops.most(), iops.mean(), iops.deviation());
        writeln!(
            out,
            "   iops        : min={min:5}, max={max:5}, avg={mean:5.2}, stdev={deviation:5.2}, samples={}",
            iops.samples
        )?;
    }
    Ok(())
}

/// Shares to a line.
const SHARES_TO_A_LINE: usize = 5;

fn latency_classes(classes: &Classes, total: u64, out: &mut impl Write) -> io::Result<()> {
    let edges = EDGES.map(|edge| edge.to_string());
    let mut names: Vec<&str> = edges.iter().map(String::as_str).collect();
    class_lines("nsec", &names, &shares(&classes.nanoseconds, total, 0.01), out)?;
    class_lines("usec", &names, &shares(&classes.microseconds, total, 0.01), out)?;
    names.extend(["2000", ">=2000"]);
    class_lines("msec", &names, &shares(&classes.milliseconds, total, 0.01), out)
}

fn class_lines(unit: &str, names: &[&str], shares: &[f64], out: &mut impl Write) -> io::Result<()> {
    let there = names.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    let items: Vec<String> = there.map(|(name, share)| format!("{name}={share:.2}%")).collect();
    for line in items.chunks(SHARES_TO_A_LINE) {
        writeln!(out, "  lat ({unit})   : {}", line.join(", "))?;
    }
    Ok(())
}

fn syncs(job: &ReportJob, lat: &Latency, out: &mut impl Write) -> io::Result<()> {
    if lat.count == 0 {
        return Ok(());
    }
    writeln!(out, "  fsync/fdatasync/sync_file_range:")?;
    latency_line("sync", lat, out)?;
    if job.with_percentiles.clat || job.with_percentiles.lat {
        percentiles("sync", lat, job, out)?;
    }
    Ok(())
}

fn usage(job: &ReportJob, tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    let (user, system) = cpu_shares(tally);
    let (switches, (major, minor)) = (tally.switches, tally.page_faults);
    writeln!(
        out,
        "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, majf={major}, minf={minor}"
    )?;
    let row = |names: &[&str; 7], shares: &[f64; 7]| {
        let items: Vec<String> =
            names.iter().zip(shares).map(|(name, share)| format!("{name}={share:.1}%")).collect();
        items.join(", ")
    };
    let [depths, submitted, completed] = depth_shares(tally);
    writeln!(out, "  IO depths    : {}", row(&DEPTHS, &depths))?;
    writeln!(out, "     submit    : {}", row(&BATCHES, &submitted))?;
    writeln!(out, "     complete  : {}", row(&BATCHES, &completed))?;
    let issued =
        tally.directions.each_ref().map(|each| (each.operations + each.short + each.failed, each.short));
    let [(read, read_short), (write, write_short), (trim, trim_short)] = match job.unified {
        Unified::Mixed => {
            [issued.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)), (0, 0), (0, 0)]
        }
        Unified::Apart | Unified::Both => issued,
    };
    let sync = tally.sync.operations;
    writeln!(
        out,
        "     issued rwts: total={read},{write},{trim},{sync} short={read_short},{write_short},{trim_short},0 dropped=0,0,0,0"
    )?;
    if job.continue_on_error {
        let (total, first) = (tally.errors, tally.first_error);
        writeln!(
            out,
            "     errors    : total={total}, first_error={first}/<{}>",
            errno_text::of_number(first)
        )?;
    }
    let super::LatencyTarget { target_ns, window_us, percentile, depth } = job.latency_target;
    writeln!(
        out,
        "     latency   : target={target_ns}, window={window_us}, percentile={percentile:.2}%, depth={depth}"
    )?;
    job.steady_state.iter().try_for_each(|state| steady_state(state, job.significant_figures, out))
}

fn steady_state(state: &SteadyState, figures: usize, out: &mut impl Write) -> io::Result<()> {
    let mean = |values: &[u64]| values.iter().sum::<u64>() / (values.len() as u64).max(1);
    let rate = |base| short(mean(&state.bandwidth), figures, Suffix::BytesPerSecond(base));
    let iops = short(mean(&state.iops), figures, Suffix::Count);
    let attained = if state.attained { "yes" } else { "no" };
    let (of, kind) = match state.of.strip_suffix("_slope") {
        Some(of) => (of, "slope"),
        None => (state.of.as_str(), "mean dev"),
    };
    let unit = if state.in_percent { "%" } else { "" };
    let (binary, decimal, criterion) = (rate(Base::Two), rate(Base::Ten), state.criterion);
    writeln!(
        out,
        "  steadystate  : attained={attained}, bw={binary} ({decimal}), iops={iops}, {of} {kind}={criterion:.3}{unit}"
    )
}

fn run_status(group: GroupId, members: &[&Entry<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nRun status group {} (all jobs):", group.0)?;
    let unified = members.first().map_or(Unified::Apart, |entry| entry.job.unified);
    let figures = members.first().map_or(4, |entry| entry.job.significant_figures);
    let all: Vec<Vec<(&str, Direction)>> =
        members.iter().map(|entry| directions(&entry.tally, unified)).collect();
    for at in 0..all.first().map_or(0, Vec::len) {
        let each: Vec<&Direction> = all.iter().map(|one| &one[at].1).filter(|one| one.bytes > 0).collect();
        let Some(name) = all.first().map(|one| one[at].0).filter(|_| !each.is_empty()) else { continue };
        status_line(&name.to_uppercase(), &each, figures, out)?;
    }
    Ok(())
}

fn status_line(name: &str, each: &[&Direction], figures: usize, out: &mut impl Write) -> io::Result<()> {
    let longest = each.iter().map(|one| one.runtime_ms).max().unwrap_or(0);
    let shortest = each.iter().map(|one| one.runtime_ms).min().unwrap_or(0);
    let bytes: u64 = each.iter().map(|one| one.bytes).sum();
    let together = Direction { bytes, runtime_ms: longest, ..Direction::default() }.bytes_per_second();
    let rates = || each.iter().map(|one| one.bytes_per_second());
    let (slowest, fastest) = (rates().min().unwrap_or(0), rates().max().unwrap_or(0));
    let rate = |value, base| short(value, figures, Suffix::BytesPerSecond(base));
    let (binary, decimal) = (Base::Two, Base::Ten);
    writeln!(
        out,
        "{name:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={shortest}-{longest}msec",
        rate(together, binary),
        rate(together, decimal),
        rate(slowest, binary),
        rate(fastest, binary),
        rate(slowest, decimal),
        rate(fastest, decimal),
        short(bytes, figures, Suffix::Bytes(binary)),
        short(bytes, figures, Suffix::Bytes(decimal)),
    )
}

fn disk(each: &Disk, out: &mut impl Write) -> io::Result<()> {
    let indent = if each.below.is_empty() { "  " } else { "    " };
    write!(out, "{indent}{}: {}", each.name, disk_figures(each, ""))?;
    if let Some(sum) = each.aggregate() {
        write!(out, ", {}", disk_figures(&sum, "aggr"))?;
    }
    writeln!(out)?;
    each.below.iter().try_for_each(|below| disk(below, out))
}

fn disk_figures(disk: &Disk, prefix: &str) -> String {
    let Disk { name: _, ios, sectors, merges, ticks, in_queue, util, below: _ } = disk;
    let pair = |name: &str, (read, write): &(u64, u64)| format!("{prefix}{name}={read}/{write}, ");
    let (ios, sectors) = (pair("ios", ios), pair("sectors", sectors));
    let (merges, ticks) = (pair("merge", merges), pair("ticks", ticks));
    format!("{ios}{sectors}{merges}{ticks}{prefix}in_queue={in_queue}, {prefix}util={util:.2}%")
}
