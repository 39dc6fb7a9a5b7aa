//! One line of semicolons a job, versions 2 to 5. Latencies are in microseconds, the nanoseconds' classes count as the
//! first of the microseconds'.

use super::buckets::{self, shares};
use super::job::{ReportJob, Unified};
use super::json::{cpu_shares, depth_shares, group_rates, share_of_group};
use super::tally::{Direction, directions};
use super::{Disk, Entry, PEER_VERSION, Report};
use fathom_record::Latency;
use std::io::{self, Write};

/// Fields that percentiles take, used or not.
const SLOTS: usize = 20;

/// Writes a line for each job. A version outside 2 to 5 is written as 3.
pub fn write(report: &Report<'_>, version: u8, out: &mut impl Write) -> io::Result<()> {
    let version = if (2..=5).contains(&version) { version } else { 3 };
    let entries = report.entries();
    let rates = group_rates(&entries);
    for entry in &entries {
        let fields = line(entry, report, &rates, version);
        write!(out, "{}", fields.join(";"))?;
        match (&entry.job.description, version) {
            (Some(description), 2) => writeln!(out, "\n;{description}")?,
            (Some(description), _) => writeln!(out, ";{description}")?,
            (None, _) => writeln!(out)?,
        }
    }
    Ok(())
}

fn line(entry: &Entry<'_>, report: &Report<'_>, rates: &[(u32, [f64; 4])], version: u8) -> Vec<String> {
    let Entry { job, tally } = entry;
    let mut fields = vec![version.to_string()];
    if version >= 3 {
        fields.push(PEER_VERSION.to_owned());
    }
    fields.extend([job.name.clone(), job.group.0.to_string(), tally.error().to_string()]);
    let shown = match job.unified {
        Unified::Mixed => directions(tally, Unified::Mixed),
        Unified::Apart | Unified::Both => directions(tally, Unified::Apart),
    };
    for (name, each) in shown.iter().filter(|(name, _)| *name != "trim" || version != 3) {
        let share = share_of_group(rates, job, name, &each.bandwidth);
        direction(job, each, share, version, &mut fields);
    }
    if job.unified == Unified::Both {
        let mixed = tally.mixed();
        let share = share_of_group(rates, job, "mixed", &mixed.bandwidth);
        direction(job, &mixed, share, version, &mut fields);
    }
    let (user, system) = cpu_shares(tally);
    fields.extend([format!("{user:.6}%"), format!("{system:.6}%")]);
    fields.extend([tally.switches, tally.page_faults.0, tally.page_faults.1].map(|count| count.to_string()));
    fields.extend(depth_shares(tally)[0].map(|share| format!("{share:.1}%")));
    let mut classes = tally.classes();
    classes.microseconds[0] += classes.nanoseconds.iter().sum::<u64>();
    let total = tally.operations();
    fields.extend(shares(&classes.microseconds, total, 0.01).map(|share| format!("{share:.2}%")));
    fields.extend(shares(&classes.milliseconds, total, 0.01).map(|share| format!("{share:.2}%")));
    if version >= 3 {
        report.disks.iter().for_each(|each| disk(each, &mut fields));
    }
    if job.continue_on_error {
        fields.extend([tally.errors.to_string(), tally.first_error.to_string()]);
    }
    fields
}

fn direction(job: &ReportJob, direction: &Direction, share: f64, version: u8, fields: &mut Vec<String>) {
    let rate = direction.bytes_per_second();
    fields.extend([
        (direction.bytes / 1024).to_string(),
        (rate / 1024).to_string(),
        (direction.operations_per_second() as u64).to_string(),
        direction.runtime_ms.to_string(),
    ]);
    moments(&direction.slat, fields);
    moments(&direction.clat, fields);
    let of = if job.with_percentiles.lat { &direction.lat } else { &direction.clat };
    let mut list = job.percentiles.clone();
    list.sort_by(f64::total_cmp);
    list.truncate(SLOTS);
    let values = buckets::percentiles(of, &list);
    fields.extend(list.iter().zip(values).map(|(percent, ns)| format!("{percent:.6}%={}", ns / 1000)));
    fields.extend(std::iter::repeat_n("0%=0".to_owned(), SLOTS - list.len()));
    moments(&direction.lat, fields);
    let Direction { bandwidth, iops, .. } = direction;
    fields.extend([bandwidth.least().to_string(), bandwidth.most().to_string(), format!("{share:.6}%")]);
    fields.extend([bandwidth.mean(), bandwidth.deviation()].map(|value| format!("{value:.6}")));
    if version >= 5 {
        fields.extend([bandwidth.samples, iops.least(), iops.most()].map(|value| value.to_string()));
        fields.extend([iops.mean(), iops.deviation()].map(|value| format!("{value:.6}")));
        fields.push(iops.samples.to_string());
    }
}

fn moments(latency: &Latency, fields: &mut Vec<String>) {
    let (min, max) = if latency.count == 0 { (0, 0) } else { (latency.min_ns / 1000, latency.max_ns / 1000) };
    let micro = |ns: Option<f64>| format!("{:.6}", ns.unwrap_or(0.0) / 1000.0);
    fields.extend([
        min.to_string(),
        max.to_string(),
        micro(latency.mean_ns()),
        micro(latency.deviation_ns()),
    ]);
}

fn disk(each: &Disk, fields: &mut Vec<String>) {
    fields.push(each.name.clone());
    for disk in std::iter::once(each).chain(&each.aggregate()) {
        let (ios, merges, ticks) = (disk.ios, disk.merges, disk.ticks);
        let counts = [ios.0, ios.1, merges.0, merges.1, ticks.0, ticks.1, disk.in_queue];
        fields.extend(counts.map(|count| count.to_string()));
        fields.push(format!("{:.2}%", disk.util));
    }
    each.below.iter().for_each(|below| disk(below, fields));
}
