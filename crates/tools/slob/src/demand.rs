//! What a running database asks of its storage, what the storage answered meanwhile, and whose fault it is when it is slow: the
//! database's, the host's or the storage's. Pure rules over counters; also the jobs that ask the same.

use super::counter_deltas::{Counted, by_looks};
use super::run_context::RunContext;
use super::sysstat::TICKS;
use fathom_record::{Run, SampleOf};
use fathom_spec::{Bytes, KIB, MIB, Nanos};
use std::io::{self, Write};

/// Of the processors' time: from here on the host is short of them.
const CPU_SHORT: f64 = 0.85;
/// A hypervisor that takes this share is felt.
const STEAL_FELT: f64 = 0.10;
/// Slower than its calibration by this factor: the storage is not what it was.
const SLOWER: f64 = 2.0;
/// Without a calibration: slow for any disk of today, ms.
const SLOW_MS: f64 = 20.0;
/// From the beginning of a run to its end.
const ALL: (u64, u64) = (0, u64::MAX);
/// Below this many I/Os a second a mean latency says little.
const FEW: f64 = 5.0;
/// From this share of the sessions' time on a wait is what they are slow by.
const MOST: f64 = 0.5;
/// So many looks that found a session at work tell what it waits for.
const LOOKS_LEAST: u64 = 10;

/// What was asked, and how it was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Blocks a second that were not in the database's cache.
    pub misses: Option<f64>,
    /// Share of the blocks asked for that were in it, 0 to 1.
    pub hits: Option<f64>,
    /// Blocks a second that it wrote.
    pub written: Option<f64>,
    /// 2^20 bytes a second of its log.
    pub log_mbps: Option<f64>,
    /// Syncs of its log, or commits, a second.
    pub syncs: Option<f64>,
    /// Reads a second of the disks below its data.
    pub reads: f64,
    /// Writes a second.
    pub writes: f64,
    /// Mean size of a read, bytes.
    pub read_size: f64,
    /// Mean size of a write, bytes.
    pub write_size: f64,
    /// Mean time of a read, ms.
    pub read_ms: Option<f64>,
    /// Mean time of a write, ms.
    pub write_ms: Option<f64>,
    /// Mean time of a flush, ms.
    pub flush_ms: Option<f64>,
    /// I/Os outstanding in the mean.
    pub queue: f64,
    /// Share of the processors' time that was used.
    pub cpu: Option<f64>,
    /// Share of it that a hypervisor took.
    pub steal: Option<f64>,
    /// Are disks known at all?
    pub disks_known: bool,
    /// In what states sessions were found, and how often; `None` where the server does not tell.
    pub states: Option<Vec<(String, u64)>>,
    /// Mean time of a read of data by the server's own clock, ms.
    pub server_read_ms: Option<f64>,
    /// Sessions that waited for reads in the mean, by the same clock.
    pub readers: Option<f64>,
}

/// What sessions were found at, as shares of all looks that found one at work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Shares {
    io: f64,
    locks: f64,
    /// Looks that found one.
    looks: u64,
}

impl Shares {
    fn of(states: &[(String, u64)]) -> Self {
        let sum = |wanted: &dyn Fn(&str) -> bool| -> u64 {
            states.iter().filter(|(state, _)| wanted(state)).map(|(_, looks)| looks).sum()
        };
        let looks = sum(&|_| true);
        let share = |part: u64| part as f64 / looks.max(1) as f64;
        // Whoever waits for the log's lock waits for the one that writes it.
        let io = sum(&|state| state.starts_with("IO:") || state == "LWLock:WALWrite");
        Shares { io: share(io), locks: share(sum(&|state| state.starts_with("Lock:"))), looks }
    }
}

/// The three states that sessions were found in most.
fn foremost(states: &[(String, u64)]) -> String {
    let first = by_looks(states).into_iter().take(3);
    first.map(|(state, _, percent)| format!("{state} {percent:.0} %")).collect::<Vec<_>>().join(", ")
}

/// What the server itself says its sessions wait for; `None` where it says nothing that decides.
fn by_waits(demand: &Demand) -> Option<(Whose, String)> {
    let ms = |ms: f64| Nanos((ms * 1e6) as u64).to_string();
    let reads = demand
        .server_read_ms
        .map_or(String::new(), |read| format!("; a read takes {} by the server's own clock", ms(read)));
    if let Some(states) = &demand.states {
        let shares = Shares::of(states);
        if shares.looks == 0 {
            let says = "nothing can be told: no session was at work while it was looked at".to_owned();
            return Some((Whose::Unknown, says));
        }
        if shares.looks >= LOOKS_LEAST && shares.io >= MOST {
            let says = format!(
                "the storage: sessions at work spent {:.0} % of their time in waits for I/O ({}){reads}",
                shares.io * 100.0,
                foremost(states)
            );
            return Some((Whose::Storage, says));
        }
        if shares.looks >= LOOKS_LEAST && shares.locks >= MOST {
            let says = format!("the database: its sessions wait for each other ({})", foremost(states));
            return Some((Whose::Database, says));
        }
    }
    let readers = demand.readers.filter(|readers| demand.states.is_none() && *readers >= MOST)?;
    Some((
        Whose::Storage,
        format!("the storage: {readers:.1} sessions in the mean wait for its reads{reads}"),
    ))
}

/// Who is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The storage.
    Storage,
    /// The host: its processors.
    Host,
    /// The database, or whoever asks it.
    Database,
    /// It cannot be told.
    Unknown,
}

impl Demand {
    /// Of one run without a load of its own.
    pub fn of(run: &Run, told: &RunContext, counted: &Counted) -> Self {
        let seconds = counted.seconds.max(1e-9);
        let device = counted.device.unwrap_or_default();
        let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let weighted: u64 = told
            .disks
            .iter()
            .filter_map(|disk| {
                super::counter_deltas::growth(&run.samples, &SampleOf::Disk(disk.clone()), "weighted_ms", ALL)
            })
            .map(|(ms, _)| ms)
            .sum();
        let ticks = |name: &str| {
            super::counter_deltas::growth(&run.samples, &SampleOf::CpuTicks(None), name, ALL)
                .map(|(n, _)| n as f64)
        };
        let all: f64 = TICKS[..8].iter().filter_map(|name| ticks(name)).sum();
        let still = ticks("idle").unwrap_or(0.0) + ticks("iowait").unwrap_or(0.0);
        let known = all > 0.0;
        Demand {
            misses: counted.rate(counted.physical),
            hits: counted
                .logical
                .filter(|n| *n > 0)
                .zip(counted.physical)
                .map(|(l, p)| 1.0 - p as f64 / l as f64),
            written: counted.rate(counted.written),
            log_mbps: counted.rate(counted.redo_bytes).map(|bytes| bytes / MIB as f64),
            syncs: counted.rate(counted.redo_syncs).or(counted.rate(counted.commits)),
            reads: device.reads as f64 / seconds,
            writes: device.writes as f64 / seconds,
            read_size: mean(device.read_bytes, device.reads).unwrap_or(0.0),
            write_size: mean(device.write_bytes, device.writes).unwrap_or(0.0),
            read_ms: mean(device.read_ms, device.reads),
            write_ms: mean(device.write_ms, device.writes),
            flush_ms: mean(device.flush_ms, device.flushes),
            queue: weighted as f64 / 1e3 / seconds,
            cpu: known.then(|| 1.0 - still / all),
            steal: known.then(|| ticks("steal").unwrap_or(0.0) / all),
            disks_known: counted.device.is_some(),
            states: looked_at(run).then(|| counted.states.clone()),
            server_read_ms: counted
                .read_wait_ns
                .zip(counted.physical.filter(|reads| *reads > 0))
                .map(|(ns, reads)| ns as f64 / 1e6 / reads as f64),
            readers: counted.read_wait_ns.map(|ns| ns as f64 / 1e9 / seconds),
        }
    }

    /// Percent of reads among the disk's I/Os.
    pub fn read_percent(&self) -> u32 {
        let all = self.reads + self.writes;
        if all > 0.0 { (self.reads * 100.0 / all).round() as u32 } else { 100 }
    }
}

/// Did the server tell at all in what states its sessions are?
fn looked_at(run: &Run) -> bool {
    let looks = SampleOf::Database("looks".to_owned());
    run.samples.iter().any(|sample| sample.of == looks && sample.value > 0)
}

/// Whose it is, in one sentence. What sessions wait for by the server's own word comes before what the machine does. `expected_ms` is what a calibration of the disk gives at this many reads a second.
pub fn judge(demand: &Demand, expected_ms: Option<f64>) -> (Whose, String) {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let ms = |ms: f64| Nanos((ms * 1e6) as u64).to_string();
    if let Some(found) = by_waits(demand) {
        return found;
    }
    if !demand.disks_known {
        let says = "it cannot be told: the disks below the database are not known here".to_owned();
        return (Whose::Unknown, says);
    }
    let read = demand.read_ms.filter(|_| demand.reads >= FEW);
    let write = demand.write_ms.filter(|_| demand.writes >= FEW);
    if let (Some(read), Some(expected)) = (read, expected_ms)
        && read > SLOWER * expected
    {
        let says = format!(
            "the storage: it answers reads in {}, and its calibration gives {} at {:.0} reads a second",
            ms(read),
            ms(expected),
            demand.reads
        );
        return (Whose::Storage, says);
    }
    if let Some(steal) = demand.steal.filter(|share| *share > STEAL_FELT) {
        return (
            Whose::Host,
            format!("the host: its hypervisor takes {} of the processors' time", percent(steal)),
        );
    }
    if let Some(cpu) = demand.cpu.filter(|share| *share > CPU_SHORT) {
        let says = format!(
            "the host: its processors are {} busy; the storage answers in {}",
            percent(cpu),
            read.or(write).map_or("no time worth speaking of".to_owned(), ms)
        );
        return (Whose::Host, says);
    }
    let slow = |what: &str, found: Option<f64>| {
        found.filter(|found| *found > SLOW_MS && (expected_ms.is_none() || what != "reads")).map(|found| {
            format!("the storage: it answers {what} in {}, with {:.1} outstanding", ms(found), demand.queue)
        })
    };
    if let Some(says) =
        slow("reads", read).or_else(|| slow("writes", write)).or_else(|| slow("flushes", demand.flush_ms))
    {
        return (Whose::Storage, says);
    }
    let storage = match (read, write) {
        (Some(read), _) => format!("its storage answers reads in {}", ms(read)),
        (None, Some(write)) => format!("its storage answers writes in {}", ms(write)),
        (None, None) => "its storage is asked for next to nothing".to_owned(),
    };
    let cpu =
        demand.cpu.map_or(String::new(), |cpu| format!(" and the processors are {} busy", percent(cpu)));
    (Whose::Database, format!("the database, if anything is slow: {storage}{cpu}"))
}

/// What was asked and answered, as lines.
pub fn write(demand: &Demand, expected_ms: Option<f64>, out: &mut impl Write) -> io::Result<()> {
    let d = demand;
    let mut line = |head: &str, value: Option<String>, says: &str| match value {
        Some(value) => writeln!(out, "{head:<12}{value:>12}  {says}"),
        None => Ok(()),
    };
    let rate = |value: Option<f64>| value.map(|value| format!("{value:.1}"));
    let time = |value: Option<f64>| value.map(|ms| Nanos((ms * 1e6) as u64).to_string());
    line("misses", rate(d.misses), "blocks a second that were not in the database's cache")?;
    line(
        "hits",
        d.hits.map(|share| format!("{:.1} %", share * 100.0)),
        "of the blocks asked for were in it",
    )?;
    line("written", rate(d.written), "blocks a second that the database wrote")?;
    line("log", rate(d.log_mbps), "MiB/s (2^20 bytes) of its log")?;
    line("syncs", rate(d.syncs), "commits or syncs of its log a second")?;
    if d.disks_known {
        line("disk reads", rate(Some(d.reads)), &format!("a second, {} each", size(d.read_size)))?;
        line("disk writes", rate(Some(d.writes)), &format!("a second, {} each", size(d.write_size)))?;
        line("read", time(d.read_ms), "mean time of a read, queue included")?;
        line("expected", time(expected_ms), "what the disk's calibration gives at that many reads")?;
        line("write", time(d.write_ms), "mean time of a write")?;
        line("flush", time(d.flush_ms), "mean time of a flush")?;
        line("queue", Some(format!("{:.2}", d.queue)), "I/Os outstanding in the mean")?;
    }
    line(
        "waits",
        d.states.as_ref().filter(|states| !states.is_empty()).map(|_| String::new()),
        &d.states.as_deref().map_or(String::new(), foremost),
    )?;
    line("server read", time(d.server_read_ms), "mean time of a read of data by the server's own clock")?;
    line("processors", d.cpu.map(|share| format!("{:.0} %", share * 100.0)), "busy")
}

fn size(bytes: f64) -> String {
    Bytes((bytes / 512.0).round() as u64 * 512).to_string()
}

/// The least power of two that holds a size, from 4 KiB to 1 MiB, as fio and fathom write it.
fn block(bytes: f64) -> String {
    let kib = ((bytes / KIB as f64).ceil().max(1.0) as u64).next_power_of_two().clamp(4, 1024);
    format!("{kib}k")
}

/// The commands and the fio job that ask the same of a directory, which is none of a database's: test files there would come into
/// its backups. Without one the user is to name it.
pub fn jobs(demand: &Demand, directory: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let d = demand;
    if directory.is_none() {
        writeln!(out, "DIR stands for a directory on the same disk, outside of the database's own\n")?;
    }
    let directory = directory.unwrap_or("DIR");
    let reads = d.read_percent();
    let sizes = if d.reads >= d.writes { d.read_size } else { d.write_size };
    let (block_size, all) = (block(sizes), d.reads + d.writes);
    let mix = if reads < 100 { format!(" --mix {reads}/{}", 100 - reads) } else { String::new() };
    writeln!(out, "the same asked of the disk alone:\n")?;
    writeln!(out, "  fathom calibrate --block-size {block_size}{mix} {directory}")?;
    let what = if mix.is_empty() { " --read random".to_owned() } else { mix };
    writeln!(
        out,
        "  fathom run{what} --block {block_size} --rate {:.0} --time 60s {directory}\n",
        all.max(1.0)
    )?;
    writeln!(out, "  [global]\n  directory={directory}\n  size=4g\n  ioengine=libaio\n  direct=1")?;
    writeln!(out, "  time_based=1\n  runtime=60\n\n  [data]")?;
    match reads {
        100 => writeln!(out, "  rw=randread\n  rate_iops={:.0}", d.reads.max(1.0))?,
        0 => writeln!(out, "  rw=randwrite\n  rate_iops=0,{:.0}", d.writes.max(1.0))?,
        _ => writeln!(
            out,
            "  rw=randrw\n  rwmixread={reads}\n  rate_iops={:.0},{:.0}",
            d.reads.max(1.0),
            d.writes.max(1.0)
        )?,
    }
    writeln!(out, "  bs={block_size}\n  iodepth={}", (d.queue * 2.0).ceil().clamp(1.0, 256.0))?;
    if let Some(syncs) = d.syncs.filter(|syncs| *syncs >= 1.0) {
        let each = d.log_mbps.unwrap_or(0.0) * MIB as f64 / syncs;
        writeln!(
            out,
            "\n  [log]\n  rw=write\n  bs={}\n  fdatasync=1\n  rate_iops=0,{syncs:.0}",
            block(each)
        )?;
    }
    Ok(())
}
