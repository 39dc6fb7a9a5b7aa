//! A report whose lines are named as AWR names them, so that scripts that look for those lines find them. The figures are the
//! database's own; what it does not count has no line.

use super::counter_deltas::{Counted, by_looks, window_begins};
use super::moment::When;
use super::run_context::RunContext;
use super::service_times::service;
use super::verdict;
use fathom_record::{Latency, ResultRecord, Run};
use fathom_spec::{MIB, Verb};
use std::io::{self, Write};

/// Everything the report is made of.
struct Seen<'a> {
    told: &'a RunContext,
    counted: Counted,
    /// Service times of each verb of the run.
    verbs: Vec<(Verb, Latency)>,
    commits: u64,
    /// Seconds that sessions spent inside the database.
    time: f64,
}

/// The verbs of a session.
pub const VERBS: [Verb; 4] = [Verb::Select, Verb::Update, Verb::Commit, Verb::Scan];

impl<'a> Seen<'a> {
    fn of(run: &Run, index: usize, told: &'a RunContext) -> Self {
        let mut counted = told.counted.get(index).cloned().unwrap_or_default();
        let verbs: Vec<(Verb, Latency)> = VERBS.iter().map(|verb| (*verb, service(run, *verb))).collect();
        let time = verbs.iter().map(|(_, latency)| latency.sum_ns as f64 / 1e9).sum();
        if counted.seconds <= 0.0 {
            counted.seconds = run.length_ns.saturating_sub(window_begins(run)) as f64 / 1e9;
        }
        let commits = verbs.iter().find(|(verb, _)| *verb == Verb::Commit).map_or(0, |(_, l)| l.count);
        Seen { told, counted, verbs, commits, time }
    }

    fn executes(&self) -> u64 {
        self.verbs.iter().filter(|(verb, _)| *verb != Verb::Commit).map(|(_, latency)| latency.count).sum()
    }

    fn latency(&self, verb: Verb) -> Option<&Latency> {
        self.verbs.iter().find(|(v, _)| *v == verb).map(|(_, latency)| latency)
    }
}

/// 1234567.8 as `1,234,567.8`.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let fraction = fraction.map(|f| format!(".{f}")).unwrap_or_default();
    format!("{sign}{out}{fraction}")
}

/// Writes the report of one of the record's runs, by its index.
pub fn write(told: &RunContext, record: &ResultRecord, index: usize, out: &mut impl Write) -> io::Result<()> {
    let Some(run) = record.runs.get(index) else { return Ok(()) };
    let seen = Seen::of(run, index, told);
    head(&seen, record, run, out)?;
    profile(&seen, out)?;
    top_events(&seen, out)?;
    events(&seen, out)?;
    states(&seen, out)?;
    statistics(&seen, out)?;
    server(&seen, out)?;
    writeln!(out, "Verdict: {}", verdict::judge(&seen.counted, told).says)
}

fn head(seen: &Seen, record: &ResultRecord, run: &Run, out: &mut impl Write) -> io::Result<()> {
    let (told, when) = (seen.told, When::of(&record.started));
    let memory = told.memory.map_or("unknown".to_owned(), |memory| memory.to_string());
    let cache = told.cache.as_ref().map_or("-".to_owned(), |(name, size)| format!("{name} {size}"));
    writeln!(
        out,
        "fathom {}: lines are named as AWR names them, figures are {}'s own\n",
        record.version, told.product
    )?;
    writeln!(out, "Database       {} ({}), blocks of {} bytes", told.database, told.connect, told.block.0)?;
    writeln!(out, "Host           {}, {} CPUs, memory {memory}", told.host, told.cpus)?;
    writeln!(out, "Cache          {cache}")?;
    writeln!(
        out,
        "Disks          data {}, log {}\n",
        disks(&told.disks),
        match told.log_disks.is_empty() {
            true => "on the same".to_owned(),
            false => disks(&told.log_disks),
        }
    )?;
    let begin = run.began_ns + window_begins(run);
    let end = begin + (seen.counted.seconds * 1e9) as u64;
    writeln!(out, "              Snap Id      Snap Time      Sessions")?;
    writeln!(out, "            --------- ------------------- --------")?;
    for (id, name, at) in [(1, "Begin Snap:", begin), (2, "  End Snap:", end)] {
        writeln!(out, "{name} {id:>9} {:>19} {:>8}", when.at(at, "%d-%b-%y %H:%M:%S"), told.sessions())?;
    }
    writeln!(out, "   Elapsed:         {:>11.2} (mins)", seen.counted.seconds / 60.0)?;
    writeln!(out, "   DB Time:         {:>11.2} (mins)\n", seen.time / 60.0)
}

fn disks(names: &[String]) -> String {
    if names.is_empty() { "unknown".to_owned() } else { names.join(", ") }
}

/// One line of the profile: per second, and per transaction where there are any.
fn line(seen: &Seen, name: &str, total: Option<f64>, out: &mut impl Write) -> io::Result<()> {
    let Some(total) = total else { return Ok(()) };
    let per_second = grouped(total / seen.counted.seconds.max(1e-9), 1);
    let each = match seen.commits {
        0 => String::new(),
        commits => grouped(total / commits as f64, 1),
    };
    let text = format!("{:>24} {per_second:>17} {each:>17}", format!("{name}:"));
    writeln!(out, "{}", text.trim_end())
}

fn profile(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let (c, block) = (&seen.counted, seen.told.block.0 as f64);
    let count = |value: Option<u64>| value.map(|n| n as f64);
    writeln!(out, "Load Profile                    Per Second   Per Transaction")?;
    writeln!(out, "~~~~~~~~~~~~~~~            ---------------   ---------------")?;
    line(seen, "DB Time(s)", Some(seen.time), out)?;
    line(seen, "DB CPU(s)", c.cpu_ns.map(|ns| ns as f64 / 1e9), out)?;
    line(seen, "Background CPU(s)", c.background_cpu_ns.map(|ns| ns as f64 / 1e9), out)?;
    line(seen, "Redo size (bytes)", count(c.redo_bytes), out)?;
    line(seen, "Logical read (blocks)", count(c.logical), out)?;
    line(seen, "Physical read (blocks)", count(c.physical), out)?;
    line(seen, "Physical write (blocks)", count(c.written), out)?;
    line(seen, "Read IO requests", count(c.read_requests), out)?;
    line(seen, "Write IO requests", count(c.write_requests), out)?;
    line(seen, "Read IO (MB)", count(c.physical).map(|n| n * block / MIB as f64), out)?;
    line(seen, "Write IO (MB)", count(c.written).map(|n| n * block / MIB as f64), out)?;
    line(seen, "Executes (SQL)", Some(seen.executes() as f64), out)?;
    line(seen, "Transactions", Some(seen.commits as f64), out)?;
    writeln!(out)?;
    if let Some((read, write)) = c.rate(c.read_requests).zip(c.rate(c.write_requests)) {
        writeln!(
            out,
            "Total IOPS: {} (reads {} of these sessions + writes {} of the server)",
            grouped(read + write, 1),
            grouped(read, 1),
            grouped(write, 1)
        )?;
    }
    if let Some(device) = c.device {
        let (reads, writes) = (c.rate(Some(device.reads)), c.rate(Some(device.writes)));
        let (reads, writes) = (reads.unwrap_or(0.0), writes.unwrap_or(0.0));
        writeln!(
            out,
            "Device IOPS: {} (reads {} + writes {} that {} counted, everybody's)",
            grouped(reads + writes, 1),
            grouped(reads, 1),
            grouped(writes, 1),
            disks(&seen.told.disks)
        )?;
    }
    if let Some((logical, physical)) = c.rate(c.table_logical).zip(c.rate(c.table_physical)) {
        writeln!(
            out,
            "Table blocks: {} a second asked for, {} of them not in the database's cache",
            grouped(logical, 1),
            grouped(physical, 1)
        )?;
    }
    writeln!(out)
}

/// A wait event: its name, class, whether a session waits for it, how often, and how long in all, seconds.
struct Event {
    name: &'static str,
    class: &'static str,
    foreground: bool,
    waits: u64,
    seconds: f64,
}

/// Events under AWR's names: reads of these sessions, writes and log of the server, by the server's own clock where it has one;
/// else with the disk's mean times, for as many as the disk can have answered. Commits have the times that sessions saw.
fn waits(seen: &Seen) -> Vec<Event> {
    let c = &seen.counted;
    let mut found = Vec::new();
    let mut add = |name, class, foreground, waits: u64, seconds: f64| {
        if waits > 0 {
            found.push(Event { name, class, foreground, waits, seconds });
        }
    };
    if let Some((reads, seconds)) = c.read_requests.zip(c.read_seconds(seen.told.block.0)) {
        add("db file sequential read", "User I/O", true, reads, seconds);
    }
    if let Some((writes, seconds)) = c.timed_writes.or(c.written).zip(c.write_seconds()) {
        add("db file parallel write", "System I/O", false, writes, seconds);
    }
    if let Some((log, writes)) = c.log_device.filter(|log| log.writes > 0).zip(c.redo_writes) {
        let each = log.write_ms as f64 / 1e3 / log.writes as f64;
        add("log file parallel write", "System I/O", false, writes, writes.min(log.writes) as f64 * each);
    }
    if let Some(commit) = seen.latency(Verb::Commit) {
        add("log file sync", "Commit", true, commit.count, commit.sum_ns as f64 / 1e9);
    }
    found.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    found
}

/// Where the times of reads and writes are from, as a sentence.
fn clocks(seen: &Seen) -> String {
    let disks = disks(&seen.told.disks);
    let of = |timed: bool| match timed {
        true => "by the server's own clock".to_owned(),
        false => format!("with the mean times of {disks}"),
    };
    format!(
        "Reads {}; writes {}; commits as the sessions saw them.",
        of(seen.counted.read_wait_ns.is_some()),
        of(seen.counted.write_wait_ns.is_some())
    )
}

fn average(event: &Event) -> String {
    let ms = event.seconds * 1e3 / event.waits.max(1) as f64;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.0}") }
}

fn top_events(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let share = |seconds: f64| format!("{:.1}", seconds * 100.0 / seen.time.max(1e-9));
    writeln!(out, "Top 10 Foreground Events by Total Wait Time")?;
    writeln!(out, "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~")?;
    writeln!(out, "                                          Total Wait   Avg wait % DB  ")?;
    writeln!(out, "Event                               Waits Time (sec)       (ms) time   Wait Class")?;
    writeln!(out, "------------------------------ ---------- ---------- ---------- ------ ----------")?;
    let waits = waits(seen);
    let mut lines: Vec<(f64, String)> = waits
        .iter()
        .filter(|event| event.foreground)
        .map(|event| {
            let Event { name, class, foreground: _, waits, seconds } = event;
            let (waits, time, each) = (grouped(*waits as f64, 0), grouped(*seconds, 1), average(event));
            let share = share(*seconds);
            (*seconds, format!("{name:<30} {waits:>10} {time:>10} {each:>10} {share:>6} {class}"))
        })
        .collect();
    if let Some(cpu) = seen.counted.cpu_ns {
        let seconds = cpu as f64 / 1e9;
        let (time, share) = (grouped(seconds, 1), share(seconds));
        lines.push((seconds, format!("{:<30} {:>10} {time:>10} {:>10} {share:>6}", "DB CPU", "", "")));
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    lines.iter().try_for_each(|(_, line)| writeln!(out, "{line}"))?;
    writeln!(out, "\n{}", clocks(seen))?;
    for (verb, latency) in seen.verbs.iter().filter(|(_, latency)| latency.count > 0) {
        let ms = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6));
        writeln!(
            out,
            "{:<8} {:>12} executions, ms: mean {:.3}, p50 {}, p99 {}, max {}",
            format!("{verb:?}"),
            grouped(latency.count as f64, 0),
            latency.mean_ns().unwrap_or(0.0) / 1e6,
            ms(latency.quantile_ns(0.5)),
            ms(latency.quantile_ns(0.99)),
            ms(Some(latency.max_ns))
        )?;
    }
    writeln!(out)
}

fn events(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let waits = waits(seen);
    for (title, foreground) in [("Foreground Wait Events", true), ("Background Wait Events", false)] {
        writeln!(out, "{title}")?;
        writeln!(out, "                                        %Time Total Wait    wait    Waits   % DB")?;
        writeln!(out, "Event                             Waits -outs   Time (s)    (ms)     /txn   time")?;
        writeln!(out, "-------------------------- ------------ ----- ---------- ------- -------- ------")?;
        for event in waits.iter().filter(|event| event.foreground == foreground) {
            writeln!(
                out,
                "{:<26} {:>12} {:>5} {:>10} {:>7} {:>8} {:>6}",
                event.name,
                grouped(event.waits as f64, 0),
                0,
                grouped(event.seconds, 3),
                average(event),
                grouped(event.waits as f64 / seen.commits.max(1) as f64, 1),
                format!("{:.1}", event.seconds * 100.0 / seen.time.max(1e-9))
            )?;
        }
        writeln!(out, "          -------------------------------------------------------------\n")?;
    }
    Ok(())
}

/// In what states the server's own view had the sessions, in short looks during the run.
fn states(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let states = by_looks(&seen.counted.states);
    if states.iter().all(|(_, looks, _)| *looks == 0) {
        return Ok(());
    }
    writeln!(out, "Sampled states of the sessions, by the server's names")?;
    writeln!(out, "State                               Samples      %")?;
    writeln!(out, "------------------------------ ------------ ------")?;
    for (state, looks, percent) in states {
        writeln!(out, "{state:<30} {looks:>12} {percent:>6.1}")?;
    }
    writeln!(out)
}

/// What the server did by itself, and the settings that decide what the figures mean.
fn server(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let c = &seen.counted;
    let rows = [
        ("checkpoints", c.checkpoints),
        ("automatic vacuums and analyzes of these tables", c.autovacuums),
        ("whole pages in the log", c.log_page_images),
        ("syncs of the log", c.redo_syncs),
        ("deadlocks", c.deadlocks),
    ];
    if rows.iter().any(|(_, value)| value.is_some()) {
        writeln!(out, "The server meanwhile")?;
        for (name, value) in rows {
            let Some(value) = value else { continue };
            writeln!(out, "{name:<48} {:>12}", grouped(value as f64, 0))?;
        }
        writeln!(out)?;
    }
    for (statement, plan) in &seen.told.plans {
        writeln!(out, "{statement}")?;
        plan.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        writeln!(out)?;
    }
    if !seen.told.server_settings.is_empty() {
        writeln!(out, "The server's settings")?;
        for (name, value) in &seen.told.server_settings {
            writeln!(out, "{name:<34} {value}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn statistics(seen: &Seen, out: &mut impl Write) -> io::Result<()> {
    let (c, block) = (&seen.counted, seen.told.block.0);
    let rows: [(&str, Option<u64>); 10] = [
        ("physical read IO requests", c.read_requests),
        ("physical read bytes", c.physical.map(|n| n * block)),
        ("physical read total bytes", c.physical.map(|n| n * block)),
        ("physical reads", c.physical),
        ("physical write IO requests", c.write_requests),
        ("physical write bytes", c.written.map(|n| n * block)),
        (
            "physical write total bytes",
            c.written.zip(c.redo_bytes.or(Some(0))).map(|(n, redo)| n * block + redo),
        ),
        ("physical writes", c.written),
        ("redo size", c.redo_bytes),
        ("session logical reads", c.logical),
    ];
    writeln!(out, "Instance Activity Stats")?;
    writeln!(out, "Statistic                                     Total     per Second     per Trans")?;
    writeln!(out, "-------------------------------- ------------------ -------------- -------------")?;
    for (name, total) in rows {
        let Some(total) = total else { continue };
        writeln!(
            out,
            "{name:<32} {:>18} {:>14} {:>13}",
            grouped(total as f64, 0),
            grouped(total as f64 / c.seconds.max(1e-9), 1),
            grouped(total as f64 / seen.commits.max(1) as f64, 1)
        )?;
    }
    writeln!(out, "          -------------------------------------------------------------\n")
}

/// `db_stats.out`: a line for each session with its schema, its time in hundredths of a second, and its processor time here.
pub fn db_stats(told: &RunContext, run: &Run, out: &mut impl Write) -> io::Result<()> {
    for worker in &run.workers {
        let schema = worker.worker % told.settings.schemas.max(1) + 1;
        let elapsed = worker.span_ns.1.saturating_sub(worker.span_ns.0) / 10_000_000;
        let cpu = (worker.user_ns + worker.system_ns) / 10_000_000;
        let share = cpu as f64 * 100.0 / elapsed.max(1) as f64;
        writeln!(out, "user{schema}|{elapsed}|{cpu}|{share:.1}|")?;
    }
    Ok(())
}

/// `tm.out`: how long the sessions worked, the warm-up left out, whole seconds.
pub fn tm(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let ns = run.length_ns.saturating_sub(window_begins(run));
    writeln!(out, "Tm {}", ns / 1_000_000_000)
}
