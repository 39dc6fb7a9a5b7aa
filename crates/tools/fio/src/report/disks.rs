//! The disks' own counters while the run went on, from the samples of `/proc/diskstats` that the run keeps.

use fathom_record::{Run, SampleOf};

/// What one disk did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Its name: `vda`.
    pub name: String,
    /// Reads and writes.
    pub ios: (u64, u64),
    /// Sectors of 512 bytes that were read and written.
    pub sectors: (u64, u64),
    /// Requests that were merged into another.
    pub merges: (u64, u64),
    /// Time of the requests, ms.
    pub ticks: (u64, u64),
    /// Time in the queue, all requests added up, ms.
    pub in_queue: u64,
    /// Share of the time in which it had something to do, percent.
    pub util: f64,
    /// The disks below it (md, dm).
    pub below: Vec<Disk>,
}

impl Disk {
    /// Means of the disks below, and the largest use of one of them.
    pub fn aggregate(&self) -> Option<Disk> {
        let count = self.below.len() as u64;
        if count == 0 {
            return None;
        }
        let mut sum = Disk::default();
        for disk in &self.below {
            let pairs = [
                (&mut sum.ios, disk.ios),
                (&mut sum.sectors, disk.sectors),
                (&mut sum.merges, disk.merges),
                (&mut sum.ticks, disk.ticks),
            ];
            for (mine, theirs) in pairs {
                *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
            }
            sum.in_queue += disk.in_queue;
            sum.util = sum.util.max(disk.util);
        }
        for pair in [&mut sum.ios, &mut sum.sectors, &mut sum.merges, &mut sum.ticks] {
            *pair = (pair.0 / count, pair.1 / count);
        }
        sum.in_queue /= count;
        Some(sum)
    }
}

/// The disks whose counters the run sampled, in the order of their first sample. A counter that went backwards or was
/// read only once counts as 0.
pub fn disks(run: &Run) -> Vec<Disk> {
    let mut names: Vec<&str> = Vec::new();
    for sample in &run.samples {
        if let SampleOf::Disk(name) = &sample.of
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names.into_iter().map(|name| disk(run, name)).collect()
}

fn disk(run: &Run, name: &str) -> Disk {
    let of = SampleOf::Disk(name.to_owned());
    let samples = || run.samples.iter().filter(|sample| sample.of == of);
    let change = |counter: &str| {
        let mut values = samples().filter(|sample| sample.name == counter).map(|sample| sample.value);
        let first = values.next().unwrap_or(0);
        values.next_back().unwrap_or(first).saturating_sub(first)
    };
    let (from, to) = samples().fold((u64::MAX, 0), |(from, to), s| (from.min(s.at_ns), to.max(s.at_ns)));
    let elapsed_ms = to.saturating_sub(from) as f64 / 1e6;
    Disk {
        name: name.to_owned(),
        ios: (change("reads"), change("writes")),
        sectors: (change("sectors_read"), change("sectors_written")),
        merges: (change("reads_merged"), change("writes_merged")),
        ticks: (change("read_ms"), change("write_ms")),
        in_queue: change("weighted_ms"),
        util: super::percent(change("io_ms") as f64, elapsed_ms).min(100.0),
        below: Vec::new(),
    }
}
