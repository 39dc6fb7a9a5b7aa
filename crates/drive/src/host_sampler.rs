//! Reads the disks' and the processors' counters while a run goes on, raw, into the record.

use crate::Sampler;
use fathom_host::{DeviceNumber, Roots, counters};
use fathom_record::{Disk, Sample};

/// Samples diskstats of some disks, the processors' time and our own.
pub struct HostSampler {
    roots: Roots,
    disks: Vec<(String, DeviceNumber)>,
}

impl HostSampler {
    /// A sampler of these disks.
    pub fn new(roots: Roots, disks: &[Disk]) -> Self {
        let number = |disk: &Disk| DeviceNumber { major: disk.major, minor: disk.minor };
        HostSampler { roots, disks: disks.iter().map(|disk| (disk.name.clone(), number(disk))).collect() }
    }
}

impl Sampler for HostSampler {
    fn sample(&mut self, now_ns: u64, out: &mut Vec<Sample>) {
        let mut add = |of: &str, name: &str, value: u64| {
            out.push(Sample { at_ns: now_ns, of: of.to_owned(), name: name.to_owned(), value });
        };
        for (name, number) in &self.disks {
            if let Ok(disk) = counters::read_disk_stat(&self.roots, *number) {
                let of = format!("disk {name}");
                disk.pairs().into_iter().for_each(|(counter, value)| add(&of, counter, value));
            }
        }
        if let Ok((all, _)) = counters::read_cpus(&self.roots) {
            add("cpu", "total_ticks", all.total());
            add("cpu", "idle_ticks", all.idle + all.iowait);
            add("cpu", "steal_ticks", all.steal);
        }
        if let Ok(own) = counters::own_usage() {
            add("self", "user_ns", own.user_us * 1000);
            add("self", "system_ns", own.system_us * 1000);
        }
    }
}
