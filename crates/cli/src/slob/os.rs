//! Watches the machine while sessions work: the counters of which iostat.out, vmstat.out and mpstat.out are made. Stands between
//! a run and whoever steers it.

use fathom_dialect::slob::sysstat;
use fathom_host::counters::read_disk_stat;
use fathom_host::block::BlockDevice;
use fathom_host::{DeviceNumber, Roots};
use fathom_record::{Control, Event, Interval, Sample, Steer, Totals};

/// The scripts' own: three seconds between looks.
const EVERY_NS: u64 = 3_000_000_000;

/// Samples the machine now and then.
pub struct Machine<'a> {
    inner: &'a mut dyn Control,
    roots: Roots,
    disks: Vec<(String, DeviceNumber)>,
    next_ns: u64,
    /// What was read.
    pub samples: Vec<Sample>,
}

impl<'a> Machine<'a> {
    /// Looks from now on; every whole disk is looked at, as iostat does.
    pub fn new(inner: &'a mut dyn Control, roots: Roots) -> Self {
        let all = BlockDevice::all_whole(&roots).into_iter();
        let disks = all.map(|device| (device.name.clone(), device.number));
        let disks = disks.filter(|(name, _)| !name.starts_with("loop") && !name.starts_with("ram")).collect();
        Machine { inner, roots, disks, next_ns: 0, samples: Vec::new() }
    }

    fn look(&mut self, at_ns: u64) {
        let proc = &self.roots.proc;
        let text = |name: &str| std::fs::read_to_string(proc.join(name)).unwrap_or_default();
        let out = &mut self.samples;
        sysstat::samples_of_stat(&text("stat"), at_ns, out);
        sysstat::samples_of_memory(&(text("meminfo") + &text("vmstat")), at_ns, out);
        sysstat::sample_of_uptime(&text("uptime"), at_ns, out);
        for (name, number) in &self.disks {
            let Ok(disk) = read_disk_stat(&self.roots, *number) else { continue };
            let of = format!("iostat {name}");
            out.extend(disk.pairs().into_iter().map(|(name, value)| Sample {
                at_ns,
                of: of.clone(),
                name: name.to_owned(),
                value,
            }));
        }
    }
}

impl Control for Machine<'_> {
    fn event(&mut self, event: &Event) {
        self.inner.event(event);
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if now_ns >= self.next_ns {
            self.look(now_ns);
            self.next_ns = now_ns + EVERY_NS;
        }
        self.inner.slot(now_ns, totals)
    }

    fn interval(&mut self, interval: &Interval) {
        self.inner.interval(interval);
    }
}
