//! `iostat.out`, `vmstat.out` and `mpstat.out` in the layouts of sysstat and procps, from counters of /proc that were sampled
//! during a run.
//!
//! Samples are grouped by their moment. Whose they are: `cpu all`, `cpu 0` (ticks of a hundredth of a second), `os` (tasks,
//! memory, swap, interrupts), `iostat vda` (diskstats). As there, the first report of iostat and vmstat is since boot.

use super::moment::When;
use super::run_context::RunContext;
use fathom_record::{ResultRecord, Run, Sample, SampleOf};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Names of the ticks in the order of `/proc/stat`.
pub const TICKS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// All counters of one moment.
struct Frame<'a> {
    at_ns: u64,
    values: BTreeMap<(&'a SampleOf, &'a str), u64>,
}

/// All processors together.
const ALL_CPUS: &SampleOf = &SampleOf::CpuTicks(None);

impl Frame<'_> {
    fn get(&self, of: &SampleOf, name: &str) -> u64 {
        self.values.get(&(of, name)).copied().unwrap_or(0)
    }

    /// Whose samples of that kind there are, in order: all processors together before the first.
    fn all(&self, kind: impl Fn(&SampleOf) -> bool) -> Vec<&SampleOf> {
        let mut found: Vec<&SampleOf> = self.values.keys().map(|(of, _)| *of).filter(|of| kind(of)).collect();
        found.dedup();
        found
    }
}

fn is_ours(sample: &Sample) -> bool {
    matches!(sample.of, SampleOf::System | SampleOf::CpuTicks(_) | SampleOf::Iostat(_))
}

fn frames(run: &Run) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame> = Vec::new();
    for sample in run.samples.iter().filter(|sample| is_ours(sample)) {
        if frames.last().is_none_or(|frame| frame.at_ns != sample.at_ns) {
            frames.push(Frame { at_ns: sample.at_ns, values: BTreeMap::new() });
        }
        if let (Some(frame), Some(name)) = (frames.last_mut(), sample.name.name()) {
            frame.values.insert((&sample.of, name), sample.value);
        }
    }
    frames
}

/// What a counter grew by between two moments; 0 where it went backwards.
struct Step<'a> {
    before: Option<&'a Frame<'a>>,
    after: &'a Frame<'a>,
}

impl Step<'_> {
    fn grew(&self, of: &SampleOf, name: &str) -> f64 {
        let before = self.before.map_or(0, |frame| frame.get(of, name));
        self.after.get(of, name).saturating_sub(before) as f64
    }

    /// Seconds between the two; since boot for the first.
    fn seconds(&self) -> f64 {
        match self.before {
            Some(before) => self.after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9,
            None => self.after.get(&SampleOf::System, "uptime_ms") as f64 / 1e3,
        }
        .max(1e-3)
    }

    /// Percent of the processor's ticks that were of these kinds. Guests are contained in user and nice.
    fn percent(&self, cpu: &SampleOf, kinds: &[&str]) -> f64 {
        let all: f64 = TICKS[..8].iter().map(|name| self.grew(cpu, name)).sum();
        kinds.iter().map(|name| self.grew(cpu, name)).sum::<f64>() * 100.0 / all.max(1.0)
    }
}

fn steps<'a>(frames: &'a [Frame<'a>], since_boot: bool) -> impl Iterator<Item = Step<'a>> {
    let first = frames.first().filter(|_| since_boot).map(|after| Step { before: None, after });
    first.into_iter().chain(frames.windows(2).map(|pair| Step { before: Some(&pair[0]), after: &pair[1] }))
}

fn banner(told: &RunContext, when: &When, out: &mut impl Write) -> io::Result<()> {
    let RunContext { kernel, host, cpus, .. } = told;
    let day = when.at(0, "%m/%d/%Y");
    writeln!(out, "Linux {kernel} ({host}) \t{day} \t_{}_\t({cpus} CPU)\n", std::env::consts::ARCH)
}

const DISK_HEAD: &str = "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util";

/// `iostat -t -xm`.
pub fn iostat(told: &RunContext, record: &ResultRecord, run: &Run, out: &mut impl Write) -> io::Result<()> {
    let when = When::of(&record.started);
    banner(told, &when, out)?;
    for step in steps(&frames(run), true) {
        writeln!(out, "{}", when.at(run.began_ns + step.after.at_ns, "%m/%d/%Y %I:%M:%S %p"))?;
        writeln!(out, "avg-cpu:  %user   %nice %system %iowait  %steal   %idle")?;
        let cpu = |kinds: &[&str]| step.percent(ALL_CPUS, kinds);
        let (user, nice, steal) = (cpu(&["user"]), cpu(&["nice"]), cpu(&["steal"]));
        let (system, wait, idle) = (cpu(&["system", "irq", "softirq"]), cpu(&["iowait"]), cpu(&["idle"]));
        writeln!(
            out,
            "        {user:>7.2} {nice:>7.2} {system:>7.2} {wait:>7.2} {steal:>7.2} {idle:>7.2}\n"
        )?;
        writeln!(out, "{DISK_HEAD}")?;
        for disk in step.after.all(|of| matches!(of, SampleOf::Iostat(_))) {
            one_disk(&step, disk, out)?;
        }
        writeln!(out, "\n")?;
    }
    Ok(())
}

fn one_disk(step: &Step, disk: &SampleOf, out: &mut impl Write) -> io::Result<()> {
    let (seconds, grew) = (step.seconds(), |name: &str| step.grew(disk, name));
    let part = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let SampleOf::Iostat(name) = disk else { return Ok(()) };
    write!(out, "{name:<13}")?;
    for (count, merged, sectors, ms) in [
        ("reads", "reads_merged", "sectors_read", "read_ms"),
        ("writes", "writes_merged", "sectors_written", "write_ms"),
        ("discards", "discards_merged", "sectors_discarded", "discard_ms"),
    ] {
        let (count, merged, sectors, ms) = (grew(count), grew(merged), grew(sectors), grew(ms));
        write!(
            out,
            " {:>7.2} {:>9.2} {:>8.2} {:>6.2} {:>7.2} {:>8.2}",
            count / seconds,
            sectors / 2048.0 / seconds,
            merged / seconds,
            part(merged * 100.0, merged + count),
            part(ms, count),
            part(sectors / 2.0, count)
        )?;
    }
    let busy = grew("io_ms") / seconds / 10.0;
    writeln!(
        out,
        " {:>7.2} {:>7.2} {:>7.2} {:>6.2}",
        grew("flushes") / seconds,
        part(grew("flush_ms"), grew("flushes")),
        grew("weighted_ms") / seconds / 1e3,
        busy.min(100.0)
    )
}

/// `vmstat -t`.
pub fn vmstat(record: &ResultRecord, run: &Run, out: &mut impl Write) -> io::Result<()> {
    let when = When::of(&record.started);
    writeln!(
        out,
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----"
    )?;
    writeln!(
        out,
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st {:>19}",
        when.zone()
    )?;
    for step in steps(&frames(run), true) {
        let now = |name: &str| step.after.get(&SampleOf::System, name);
        let rate = |name: &str| (step.grew(&SampleOf::System, name) / step.seconds()).round();
        let cpu = |kinds: &[&str]| step.percent(ALL_CPUS, kinds).round();
        // Pages in and out of swap are of 4 KiB; pgpgin and pgpgout are KiB already.
        writeln!(
            out,
            "{:>2} {:>2} {:>6} {:>6} {:>6} {:>6} {:>4} {:>4} {:>5} {:>5} {:>4} {:>4} {:>2} {:>2} {:>2} {:>2} {:>2} {}",
            now("running"),
            now("blocked"),
            now("swapped_kb"),
            now("free_kb"),
            now("buffers_kb"),
            now("cached_kb"),
            rate("pages_swapped_in") * 4.0,
            rate("pages_swapped_out") * 4.0,
            rate("kb_in"),
            rate("kb_out"),
            rate("interrupts"),
            rate("switches"),
            cpu(&["user", "nice"]),
            cpu(&["system", "irq", "softirq"]),
            cpu(&["idle"]),
            cpu(&["iowait"]),
            cpu(&["steal"]),
            when.at(run.began_ns + step.after.at_ns, "%Y-%m-%d %H:%M:%S")
        )?;
    }
    Ok(())
}

/// `mpstat -P ALL`.
pub fn mpstat(told: &RunContext, record: &ResultRecord, run: &Run, out: &mut impl Write) -> io::Result<()> {
    let when = When::of(&record.started);
    banner(told, &when, out)?;
    for step in steps(&frames(run), false) {
        let time = |frame: &Frame| when.at(run.began_ns + frame.at_ns, "%I:%M:%S %p");
        let before = step.before.map_or_else(String::new, &time);
        writeln!(
            out,
            "{before}  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"
        )?;
        for cpu in step.after.all(|of| matches!(of, SampleOf::CpuTicks(_))) {
            let name = match cpu {
                SampleOf::CpuTicks(Some(number)) => number.to_string(),
                _ => "all".to_owned(),
            };
            write!(out, "{} {name:>4}", time(step.after))?;
            // Time of guests is shown apart from the user time that contains it.
            let user = step.percent(cpu, &["user"]) - step.percent(cpu, &["guest"]);
            let nice = step.percent(cpu, &["nice"]) - step.percent(cpu, &["guest_nice"]);
            write!(out, " {:>7.2} {:>7.2}", user.max(0.0), nice.max(0.0))?;
            for kind in ["system", "iowait", "irq", "softirq", "steal", "guest", "guest_nice", "idle"] {
                write!(out, " {:>7.2}", step.percent(cpu, &[kind]))?;
            }
            writeln!(out)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// What is sampled for these files, from the text of `/proc/stat`.
pub fn samples_of_stat(text: &str, at_ns: u64, out: &mut Vec<Sample>) {
    let mut add = |of: &SampleOf, name: &'static str, value: u64| {
        out.push(Sample { at_ns, of: of.clone(), name: name.into(), value });
    };
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(head) = words.next() else { continue };
        let first = |mut words: std::str::SplitWhitespace| words.next().and_then(|w| w.parse().ok());
        match head {
            "intr" | "ctxt" | "procs_running" | "procs_blocked" => {
                let name = match head {
                    "intr" => "interrupts",
                    "ctxt" => "switches",
                    "procs_running" => "running",
                    _ => "blocked",
                };
                first(words).into_iter().for_each(|value| add(&SampleOf::System, name, value));
            }
            _ => {
                let Some(number) = head.strip_prefix("cpu") else { continue };
                // The line without a number is of all of them.
                let of = SampleOf::CpuTicks(number.parse().ok());
                for (name, word) in TICKS.iter().zip(words) {
                    add(&of, name, word.parse().unwrap_or(0));
                }
            }
        }
    }
}

/// The same from `/proc/meminfo` and `/proc/vmstat`: lines of a name and a number.
pub fn samples_of_memory(text: &str, at_ns: u64, out: &mut Vec<Sample>) {
    const NAMES: [(&str, &str); 7] = [
        ("MemFree", "free_kb"),
        ("Buffers", "buffers_kb"),
        ("Cached", "cached_kb"),
        ("pswpin", "pages_swapped_in"),
        ("pswpout", "pages_swapped_out"),
        ("pgpgin", "kb_in"),
        ("pgpgout", "kb_out"),
    ];
    let value = |wanted: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next()?.trim_end_matches(':') == wanted).then(|| words.next()?.parse::<u64>().ok())?
        })
    };
    let mut add = |name: &'static str, value: u64| {
        out.push(Sample { at_ns, of: SampleOf::System, name: name.into(), value });
    };
    for (theirs, name) in NAMES {
        value(theirs).into_iter().for_each(|value| add(name, value));
    }
    if let (Some(total), Some(free)) = (value("SwapTotal"), value("SwapFree")) {
        add("swapped_kb", total.saturating_sub(free));
    }
}

/// The same from `/proc/uptime`: seconds since boot.
pub fn sample_of_uptime(text: &str, at_ns: u64, out: &mut Vec<Sample>) {
    let seconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    out.extend(seconds.map(|seconds| Sample {
        at_ns,
        of: SampleOf::System,
        name: "uptime_ms".into(),
        value: (seconds * 1e3) as u64,
    }));
}
