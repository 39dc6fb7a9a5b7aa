//! What is found before anything is measured: warnings for the user, and what the verdict must know.

use crate::targets::{Ready, written_bytes};
use anyhow::Result;
use fathom_calibrate::bound::Surroundings;
use fathom_calibrate::verdict::Evidence;
use fathom_host::file_system::Medium;
use fathom_host::limits::IoLimitKind;
use fathom_host::{DeviceNumber, Machine, Roots, Storage, TargetKind, counters, read_machine};
use fathom_record::{Check, CheckOutcome, Note};
use fathom_spec::{Bytes, Nanos};

/// Facts, warnings, and what they mean for the verdict.
#[derive(Clone)]
pub struct Found {
    /// The machine.
    pub machine: Machine,
    /// Each target's storage.
    pub storages: Vec<Storage>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// For the verdict.
    pub evidence: Evidence,
    /// For what bounds a figure.
    pub around: Surroundings,
    /// Below the target something keeps blocks in memory and counts for itself.
    pub buffered_below: Option<String>,
    /// The target is memory, not a disk.
    pub in_memory: Option<String>,
    /// Disks to sample, by name.
    pub disks: Vec<(String, DeviceNumber)>,
}

fn note(text: impl Into<String>, hint: impl Into<String>) -> Note {
    Note { text: text.into(), hint: Some(hint.into()) }
}

/// Looks at the machine and at what is below the targets.
pub fn look(roots: &Roots, targets: &[Ready]) -> Found {
    let machine = read_machine(roots);
    let storages: Vec<Storage> = targets.iter().filter_map(Ready::storage).cloned().collect();
    let mut disks: Vec<(String, DeviceNumber)> = Vec::new();
    for disk in storages.iter().flat_map(|s| &s.disks) {
        if !disks.iter().any(|(_, number)| *number == disk.number) {
            disks.push((disk.name.clone(), disk.number));
        }
    }
    let mut found = Found {
        notes: Vec::new(),
        evidence: evidence(&machine, &storages),
        around: around(&machine, &storages, &disks),
        buffered_below: storages
            .iter()
            .flat_map(|s| &s.layers)
            .find(|layer| layer.loop_direct == Some(false))
            .map(|layer| format!("{} ({}) keeps its file in the page cache", layer.name, layer.description)),
        in_memory: storages.iter().find(|s| s.medium == Medium::Memory).map(|s| s.identity.clone()),
        machine,
        storages,
        disks,
    };
    found.warn(targets);
    found
}

fn evidence(machine: &Machine, storages: &[Storage]) -> Evidence {
    let unchecked = machine.unchecked.iter().chain(storages.iter().flat_map(|s| &s.unchecked));
    let mut unchecked: Vec<String> =
        unchecked.map(|unknown| format!("{} ({})", unknown.what, unknown.why)).collect();
    unchecked.dedup();
    let all = || storages.iter().flat_map(|s| &s.disks);
    let known = !storages.is_empty() && storages.iter().all(Storage::medium_known);
    Evidence {
        memory: machine.memory_bytes.map(Bytes),
        memory_backed: storages
            .iter()
            .flat_map(|s| &s.disks)
            .any(|d| d.name.starts_with("zram") || d.name.starts_with("ram")),
        rotates: known.then(|| all().any(|disk| disk.rotational == Some(true))),
        unchecked,
        ..Evidence::default()
    }
}

fn around(machine: &Machine, storages: &[Storage], disks: &[(String, DeviceNumber)]) -> Surroundings {
    // A limit on one of several disks bounds its share of the sum only.
    let limit = |kind: IoLimitKind| match disks {
        [(_, only)] => machine.limits.io_per_second(*only, kind).map(|limit| limit as f64),
        _ => None,
    };
    let all = || storages.iter().flat_map(|s| &s.disks);
    let links: Vec<u64> =
        all().filter_map(|disk| disk.link.as_ref()).map(|link| link.bytes_per_second).collect();
    Surroundings {
        read_iops_limit: limit(IoLimitKind::ReadOperations),
        write_iops_limit: limit(IoLimitKind::WriteOperations),
        read_bytes_per_second_limit: limit(IoLimitKind::ReadBytes),
        write_bytes_per_second_limit: limit(IoLimitKind::WriteBytes),
        cpu_limit: machine.limits.cpus,
        link_bytes_per_second: (!links.is_empty() && links.len() == disks.len())
            .then(|| links.iter().sum::<u64>() as f64),
        queue_requests: all().filter_map(|disk| disk.queue.nr_requests).max().map(|n| n as u32),
        small_most: None,
        large_most: None,
        simulated: false,
        unknown: Vec::new(),
    }
}

impl Found {
    /// What is known where nobody looked at the storage: the machine alone.
    pub fn unseen(roots: &Roots) -> Self {
        let why = "the preflight was left out".to_owned();
        Found {
            machine: read_machine(roots),
            storages: Vec::new(),
            notes: Vec::new(),
            evidence: Evidence { unchecked: vec![why], ..Evidence::default() },
            around: Surroundings::default(),
            buffered_below: None,
            in_memory: None,
            disks: Vec::new(),
        }
    }

    /// How many physical disks there are, where that can be told.
    pub fn physical_disks(&self) -> Option<u32> {
        let counts: Option<Vec<u32>> = self.storages.iter().map(|s| s.physical_disks).collect();
        counts.filter(|counts| !counts.is_empty()).map(|_| self.disks.len() as u32)
    }

    fn warn(&mut self, targets: &[Ready]) {
        if let Some(aio) = self.machine.aio.filter(|aio| aio.free() < 4096) {
            self.notes.push(note(
                format!("only {} of {} asynchronous I/O slots are free: databases then read synchronously, in silence", aio.free(), aio.limit),
                "raise the limit: sysctl -w fs.aio-max-nr=1048576",
            ));
        }
        let privileged = rustix::process::geteuid().is_root();
        if let Some(obstacle) = self.machine.io_uring.obstacle(privileged) {
            self.notes.push(note(
                format!("io_uring is off: {obstacle}"),
                "libaio is used instead; some storage is faster with io_uring",
            ));
        }
        if let Some(what) = &self.buffered_below {
            self.notes
                .push(note(what.clone(), "make the loop device with direct I/O: losetup --direct-io=on"));
        }
        if let Some(what) = &self.in_memory {
            self.notes.push(note(
                format!("the target is memory, no disk ({what})"),
                "name a directory on the disk that you mean",
            ));
        }
        let kernel_limits = &self.machine.limits;
        for limit in &kernel_limits.io {
            if self.disks.iter().any(|(_, number)| *number == limit.device) {
                let text = format!(
                    "our own control group limits the disk ({:?}: {} a second, {})",
                    limit.kind,
                    limit.per_second,
                    limit.source.display()
                );
                self.notes.push(Note { text, hint: None });
            }
        }
        for ready in targets {
            if let Ready::Existing { path, storage } = ready {
                self.warn_unwritten(path, storage);
            }
        }
    }

    fn warn_unwritten(&mut self, path: &std::path::Path, storage: &Storage) {
        // Of an empty file nothing is left unwritten.
        let Some(size) = storage.size_bytes.filter(|size| *size > 0) else { return };
        let share = match storage.kind {
            TargetKind::RegularFile => {
                written_bytes(path).map(|written| written.min(size) as f64 / size as f64)
            }
            TargetKind::BlockDevice => sampled_share(path, size),
            _ => None,
        };
        let Some(share) = share else { return };
        self.unwritten(1.0 - share);
        if share < 0.98 {
            self.notes.push(note(
                format!(
                    "{} was written only to {:.0} %: the rest is answered without touching a disk",
                    path.display(),
                    share * 100.0
                ),
                "measure a directory: fathom lays out a file of its own",
            ));
        }
    }

    /// A part of the working set was never written.
    pub fn unwritten(&mut self, share: f64) {
        let so_far = self.evidence.unwritten_share.unwrap_or(0.0);
        self.evidence.unwritten_share = Some(share.max(so_far));
    }

    /// Checks that only the preflight can make.
    pub fn checks(&self) -> Vec<Check> {
        let failed = |name: &str, seen: String| Check::new(name, CheckOutcome::Failed, seen);
        let buffered = self.buffered_below.iter().map(|what| {
            failed(
                "no memory below the device",
                format!("{what}: its counters look right while memory answers"),
            )
        });
        let memory = self
            .in_memory
            .iter()
            .map(|what| failed("a disk is measured", format!("the target is memory: {what}")));
        buffered.chain(memory).collect()
    }

    /// The facts as they are kept.
    pub fn facts(&self, request: serde_json::Value) -> Result<serde_json::Value> {
        Ok(serde_json::json!({
            "machine": serde_json::to_value(&self.machine)?,
            "storage": serde_json::to_value(&self.storages)?,
            "num_physical_disks": self.physical_disks(),
            "request": request,
        }))
    }
}

/// Blocks of a device that are looked at to tell whether it was ever written.
const SAMPLES: u64 = 256;

/// The share of a device's blocks that hold anything but zeros, by samples evenly spread; `None` where it cannot be read.
fn sampled_share(path: &std::path::Path, size: u64) -> Option<f64> {
    use std::os::unix::fs::FileExt;
    let device = std::fs::File::open(path).ok()?;
    let mut block = [0u8; 4096];
    let mut written = 0;
    for sample in 0..SAMPLES {
        let offset = (size.saturating_sub(4096) / SAMPLES * sample) / 4096 * 4096;
        device.read_exact_at(&mut block, offset).ok()?;
        written += u64::from(block.iter().any(|byte| *byte != 0));
    }
    Some(written as f64 / SAMPLES as f64)
}

/// Who uses the disks now.
pub struct Busy {
    /// What is said to the user.
    pub told: String,
    /// Mean latency of the others' reads, ms.
    pub read_await_ms: Option<f64>,
}

/// Watches the disks for a while, and says who uses them if somebody does.
pub fn busy(roots: &Roots, disks: &[(String, DeviceNumber)], for_: Nanos) -> Option<Busy> {
    let read = || -> Vec<_> {
        disks.iter().map(|(_, number)| counters::read_disk_stat(roots, *number).ok()).collect()
    };
    let clock = fathom_drive::Clock::start();
    let before = read();
    std::thread::sleep(std::time::Duration::from_nanos(for_.0));
    let elapsed = clock.now();
    let after = read();
    for (((name, _), before), after) in disks.iter().zip(before).zip(after) {
        let (Some(before), Some(after)) = (before, after) else { continue };
        let difference = after.since(&before);
        if difference.is_busy(elapsed) == Some(true) {
            let per_second = difference.operations_per_second(elapsed).unwrap_or(0.0);
            let used = difference.utilisation(elapsed).unwrap_or(0.0) * 100.0;
            return Some(Busy {
                told: format!(
                    "{name} is busy: others do {per_second:.0} I/Os a second and use it {used:.0} % of the time"
                ),
                read_await_ms: difference.read_await_ms(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::existing;

    #[test]
    fn a_hole_is_told_and_an_empty_file_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let holes = |name: &str, length: u64| {
            let path = directory.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(length).unwrap();
            look(&Roots::default(), &existing([path.to_str().unwrap()])).evidence.unwritten_share
        };
        assert_eq!(holes("empty", 0), None);
        assert_eq!(holes("hole", 1 << 20), Some(1.0));
    }
}
