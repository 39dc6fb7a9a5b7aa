//! Reads the disks' and the processors' counters while a run goes on, raw, into the record.

use crate::Sampler;
use fathom_host::{DeviceNumber, Roots, counters};
use fathom_record::{Disk, Sample, SampleOf};

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
        let mut add = |of: &SampleOf, name: &'static str, value: u64| {
            out.push(Sample { at_ns: now_ns, of: of.clone(), name: name.into(), value });
        };
        for (name, number) in &self.disks {
            if let Ok(disk) = counters::read_disk_stat(&self.roots, *number) {
                let of = SampleOf::Disk(name.clone());
                disk.pairs().into_iter().for_each(|(counter, value)| add(&of, counter, value));
            }
        }
        if let Ok((all, _)) = counters::read_cpus(&self.roots) {
            add(&SampleOf::Cpu, "total_ticks", all.total());
            add(&SampleOf::Cpu, "idle_ticks", all.idle + all.iowait);
            add(&SampleOf::Cpu, "steal_ticks", all.steal);
        }
        if let Ok(own) = counters::own_usage() {
            add(&SampleOf::Own, "user_ns", own.user_us * 1000);
            add(&SampleOf::Own, "system_ns", own.system_us * 1000);
        }
    }
}
