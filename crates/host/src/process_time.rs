//! Processor time of other processes, all of their threads together.

use crate::roots::{Roots, names_in, read_text};
use std::collections::BTreeSet;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTime {
    pub pid: u32,
    /// The process that started it, or took it over
    pub parent: u32,
    /// Its short name
    pub command: String,
    /// Processor time so far in user mode and in the kernel, ns; the kernel tells it in ticks (1/100 s)
    pub cpu_ns: u64,
}

/// A field of a process's stat by its number in proc(5), from 3 on: counted behind the name's last bracket, since the name may hold
/// blanks and brackets itself.
pub(crate) fn stat_field(stat: &str, number: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(number.checked_sub(3)?)
}

fn read_process(roots: &Roots, pid: u32) -> Option<ProcessTime> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let text = read_text(&roots.proc.join(pid.to_string()).join("stat")).ok()?;
    parse(&text, tick_ns).map(|(command, parent, cpu_ns)| ProcessTime { pid, parent, command, cpu_ns })
}

/// Every process's processor time so far.
pub fn read_process_times(roots: &Roots) -> Vec<ProcessTime> {
    let pids = names_in(&roots.proc);
    pids.iter().filter_map(|name| name.parse().ok()).filter_map(|pid| read_process(roots, pid)).collect()
}

/// The process that started another one, when both have one of these short names: a server's own, told by one of its helpers.
pub fn parent_named(roots: &Roots, pid: u32, names: &[&str]) -> Option<u32> {
    let named = |pid| read_process(roots, pid).filter(|process| names.contains(&process.command.as_str()));
    Some(named(named(pid)?.parent)?.pid)
}

/// Has this process one of these short names?
pub fn is_named(roots: &Roots, pid: u32, names: &[&str]) -> bool {
    read_process(roots, pid).is_some_and(|process| names.contains(&process.command.as_str()))
}

/// A process and all that it started, and they, as far as they run.
pub fn tree(processes: &[ProcessTime], root: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        let children = processes.iter().filter(|process| found.contains(&process.parent));
        let children: Vec<u32> = children.map(|process| process.pid).collect();
        found.extend(children);
        if found.len() == before {
            return found;
        }
    }
}

/// Name, parent and processor time of a process's stat.
fn parse(stat: &str, tick_ns: u64) -> Option<(String, u32, u64)> {
    let (_, name) = stat.rsplit_once(')')?.0.split_once('(')?;
    let number = |field| stat_field(stat, field)?.parse::<u64>().ok();
    let ticks = number(14)? + number(15)?;
    Some((name.to_owned(), u32::try_from(number(4)?).ok()?, ticks * tick_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_a_name_with_brackets() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 1 0 100 0 0";
        assert_eq!(parse(stat, 10_000_000), Some(("a (b) c".to_owned(), 1, 3_000_000_000)));
        assert_eq!(parse("7 (x) S 1", 1), None);
        let own = std::process::id();
        assert!(read_process_times(&Roots::default()).iter().any(|process| process.pid == own));
    }

    #[test]
    fn a_servers_processes_are_those_below_it_and_no_others_of_their_name() {
        let process = |pid, parent| ProcessTime { pid, parent, command: "postgres".into(), cpu_ns: 0 };
        let all = [process(30, 20), process(10, 1), process(20, 10), process(11, 1), process(21, 11)];
        assert_eq!(tree(&all, 10), BTreeSet::from([10, 20, 30]));
        let roots = Roots::default();
        let own = std::process::id();
        let (name, parent) = read_process(&roots, own).map(|own| (own.command, own.parent)).unwrap();
        assert!(is_named(&roots, own, &[&name]) && !is_named(&roots, own, &["another"]));
        assert_ne!(parent_named(&roots, own, &[&name]), Some(own));
        assert_eq!(parent_named(&roots, own, &["another"]), None, "{parent}");
    }
}
