//! Which CPUs there are for this process, and on which of them a worker runs.

use fathom_spec::Placement;

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => Vec::new(),
    }
}

/// The CPUs of one worker; none: anywhere. Workers as many as CPUs get one each. Fewer are left to the scheduler, which wakes them near the device's interrupts: a
/// lone worker that is kept away from them loses a quarter at one outstanding I/O on a disk with one queue.
pub(crate) fn place(
    placement: &Placement,
    worker: u32,
    number: usize,
    workers: usize,
    cpus: &[usize],
) -> Vec<usize> {
    match placement {
        Placement::Anywhere if workers == cpus.len() => vec![cpus[number % cpus.len()]],
        Placement::Anywhere => Vec::new(),
        Placement::OneEach(list) if list.is_empty() => Vec::new(),
        Placement::OneEach(list) => vec![list[worker as usize % list.len()] as usize],
        Placement::Any(list) => list.iter().map(|cpu| *cpu as usize).collect(),
    }
}
