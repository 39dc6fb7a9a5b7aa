//! Everything of the engine that needs `unsafe`: buffers shared with the kernel, and the kernel's queues.

pub mod arena;
pub mod blocking;
mod bus_error;
pub mod io_uring;
pub mod libaio;
pub mod lifetime;
pub mod mmap;
pub mod pool;
pub mod psync;
mod ring_descriptor;
mod ring_entries;
mod ring_mode;
pub mod semaphores;
pub mod stdio;
pub mod thread_attributes;

#[cfg(test)]
mod tests;

/// Gives the calling thread a table of open files of its own, a copy of the process's: its calls need not count that they
/// use a file, which several threads that use the same one pay for. Where that is refused (a container may) calls count
/// as ever. A file that was opened before must be closed by whoever opened it, one that is opened after it by this thread.
pub(crate) fn own_descriptors() {
    // SAFETY: the copy has the same numbers for the same files, and every `OwnedFd` is closed in the table where it was
    // opened: the targets by the thread that opened them, after this one has ended.
    let _ = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES) };
}
