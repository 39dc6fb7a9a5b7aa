//! Processor time of other processes, all of their threads together.

use crate::roots::{Roots, names_in, read_text};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTime {
    pub pid: u32,
    /// Its short name
    pub command: String,
    /// Processor time so far in user mode and in the kernel, ns; the kernel tells it in ticks (1/100 s)
    pub cpu_ns: u64,
}

/// Every process's processor time so far.
pub fn read_process_times(roots: &Roots) -> Vec<ProcessTime> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let read = |pid: u32| {
        let text = read_text(&roots.proc.join(pid.to_string()).join("stat")).ok()?;
        parse(&text, tick_ns).map(|(command, cpu_ns)| ProcessTime { pid, command, cpu_ns })
    };
    names_in(&roots.proc).iter().filter_map(|name| name.parse().ok()).filter_map(read).collect()
}

/// Fields 14 and 15 of a process's stat, counted behind the name's last bracket: it may hold blanks and brackets itself.
fn parse(stat: &str, tick_ns: u64) -> Option<(String, u64)> {
    let (head, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    let ticks = ticks.next()?? + ticks.next()??;
    Some((head.split_once('(')?.1.to_owned(), ticks * tick_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_a_name_with_brackets() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 1 0 100 0 0";
        assert_eq!(parse(stat, 10_000_000), Some(("a (b) c".to_owned(), 3_000_000_000)));
        assert_eq!(parse("7 (x) S 1", 1), None);
        let own = std::process::id();
        assert!(read_process_times(&Roots::default()).iter().any(|process| process.pid == own));
    }
}
