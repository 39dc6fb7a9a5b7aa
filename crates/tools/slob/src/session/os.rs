//! Watches the machine while sessions work: the counters of which iostat.out, vmstat.out and mpstat.out are made, and what the
//! database's processes made the disks read and took of the processors. Stands between a run and whoever steers it.

use crate::sysstat;
use fathom_database::{Brand, Database};
use fathom_host::block::BlockDevice;
use fathom_host::counters::{read_disk_stat, read_process_io};
use fathom_host::process_time::{read_process_times, tree};
use fathom_host::{DeviceNumber, Roots};
use fathom_record::{Control, Event, Interval, Sample, SampleOf, Steer, Totals};
use std::collections::{BTreeMap, BTreeSet};

/// The scripts' own: three seconds between looks.
const EVERY_NS: u64 = 3_000_000_000;

/// Processes are looked at more often: their sessions come and go.
const PROCESSES_EVERY_NS: u64 = 1_000_000_000;

/// A counter that each process keeps for itself, of all of them together, also those that have ended meanwhile.
#[derive(Default)]
struct Together {
    last: BTreeMap<u32, u64>,
    sum: u64,
}

impl Together {
    /// Adds what was counted since the last look. `None` where the kernel tells it of none of them.
    fn look(&mut self, now: BTreeMap<u32, u64>) -> Option<u64> {
        if now.is_empty() {
            return None;
        }
        // At the first look all that was counted before is left out; later a new process begins at nothing.
        let first = self.last.is_empty();
        for (pid, value) in &now {
            let before = self.last.get(pid).copied().unwrap_or(if first { *value } else { 0 });
            self.sum += value.saturating_sub(before);
        }
        self.last = now;
        Some(self.sum)
    }
}

/// What the database's processes made the disks read, and their processor time.
#[derive(Default)]
struct Processes {
    read_bytes: Together,
    cpu_ns: Together,
    background_cpu_ns: Together,
    next_ns: u64,
}

impl Processes {
    /// The sums now, by name: of the processes that serve the sessions, where a session has one of its own, else of all that
    /// the server started; the rest of them is background. Another server's are nobody's.
    fn look(&mut self, database: &Database) -> Vec<(&'static str, Option<u64>)> {
        let own = std::process::id();
        let root = match database.url.brand {
            Brand::Sqlite => Some(own),
            _ => database.facts.server_process,
        };
        let Some(root) = root else { return Vec::new() };
        let roots = &database.roots;
        let all = read_process_times(roots);
        let tree = match root == own {
            true => BTreeSet::from([own]),
            false => tree(&all, root),
        };
        let sessions = database.session_processes();
        let serving: BTreeSet<u32> = match sessions.is_empty() {
            true => tree.clone(),
            false => sessions.intersection(&tree).copied().collect(),
        };
        // Reads may be done for a session by workers of the server.
        let readers = match database.facts.setting("io_method") {
            Some("worker") => &tree,
            _ => &serving,
        };
        let io = |pid: &u32| Some((*pid, read_process_io(roots, *pid)?.read_bytes));
        let cpu = |wanted: &dyn Fn(u32) -> bool| -> BTreeMap<u32, u64> {
            let wanted = all.iter().filter(|process| tree.contains(&process.pid) && wanted(process.pid));
            wanted.map(|process| (process.pid, process.cpu_ns)).collect()
        };
        vec![
            ("read_bytes", self.read_bytes.look(readers.iter().filter_map(io).collect())),
            ("cpu_ns", self.cpu_ns.look(cpu(&|pid| serving.contains(&pid)))),
            ("background_cpu_ns", self.background_cpu_ns.look(cpu(&|pid| !serving.contains(&pid)))),
        ]
    }
}

/// The kernel's text of all disks, as it is.
pub fn diskstats(roots: &Roots) -> String {
    std::fs::read_to_string(roots.proc.join("diskstats")).unwrap_or_default()
}

/// Samples the machine now and then.
pub struct Machine<'a> {
    inner: &'a mut dyn Control,
    database: Database,
    disks: Vec<(String, DeviceNumber)>,
    next_ns: u64,
    processes: Processes,
    /// What was read.
    pub samples: Vec<Sample>,
}

impl<'a> Machine<'a> {
    /// Looks from now on; every whole disk is looked at, as iostat does.
    pub fn new(inner: &'a mut dyn Control, database: &Database) -> Self {
        let all = BlockDevice::all_whole(&database.roots).into_iter();
        let disks = all.map(|device| (device.name.clone(), device.number));
        let disks = disks.filter(|(name, _)| !name.starts_with("loop") && !name.starts_with("ram")).collect();
        let processes = Processes::default();
        Machine { inner, database: database.clone(), disks, next_ns: 0, processes, samples: Vec::new() }
    }

    fn look(&mut self, at_ns: u64) {
        let proc = &self.database.roots.proc;
        let text = |name: &str| std::fs::read_to_string(proc.join(name)).unwrap_or_default();
        let out = &mut self.samples;
        sysstat::samples_of_stat(&text("stat"), at_ns, out);
        sysstat::samples_of_memory(&(text("meminfo") + &text("vmstat")), at_ns, out);
        sysstat::sample_of_uptime(&text("uptime"), at_ns, out);
        for (name, number) in &self.disks {
            let Ok(disk) = read_disk_stat(&self.database.roots, *number) else { continue };
            let of = SampleOf::Iostat(name.clone());
            out.extend(disk.pairs().into_iter().map(|(name, value)| Sample {
                at_ns,
                of: of.clone(),
                name: name.into(),
                value,
            }));
        }
    }
}

impl Control for Machine<'_> {
    fn event(&mut self, event: &Event) {
        self.inner.event(event);
    }

    fn goes_on(&mut self) -> bool {
        self.inner.goes_on()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if now_ns >= self.next_ns {
            self.look(now_ns);
            self.next_ns = now_ns + EVERY_NS;
        }
        if now_ns >= self.processes.next_ns {
            self.processes.next_ns = now_ns + PROCESSES_EVERY_NS;
            let sums = self.processes.look(&self.database).into_iter();
            self.samples.extend(sums.filter_map(|(name, value)| {
                let of = SampleOf::Processes;
                Some(Sample { at_ns: now_ns, of, name: name.into(), value: value? })
            }));
        }
        self.inner.slot(now_ns, totals)
    }

    fn interval(&mut self, interval: &Interval) {
        self.inner.interval(interval);
    }
}
