//! A thread's I/O priority, where its memory comes from, and memory that is locked.

use fathom_spec::{MemoryMode, MemoryPolicy, priority_word};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;

/// Of linux/ioprio.h: the process (on Linux the thread) of that number, 0 for the calling one.
const WHO_PROCESS: libc::c_long = 1;

/// Sets the I/O priority of the calling thread: class 1 to 3 and level 0 to 7; class 0 is what its nice value says.
pub fn set_io_priority(class: u8, level: u8) -> Result<(), Errno> {
    let value = libc::c_long::from(priority_word(class, level));
    // SAFETY: ioprio_set takes three numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as libc::c_long, value) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// The I/O priority of the calling thread: class and level.
#[cfg(test)]
pub fn io_priority() -> Result<(u8, u8), Errno> {
    // SAFETY: ioprio_get takes two numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0 as libc::c_long) };
    if answer < 0 { Err(last_error()) } else { Ok(fathom_spec::priority_class_and_level(answer as u32)) }
}

/// Bits of a word of the kernel's.
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// Says where memory comes from that the calling thread touches first.
pub fn set_memory_policy(policy: &MemoryPolicy) -> Result<(), Errno> {
    let mode = match policy.mode {
        MemoryMode::Default => libc::MPOL_DEFAULT,
        MemoryMode::Prefer => libc::MPOL_PREFERRED,
        MemoryMode::Bind => libc::MPOL_BIND,
        MemoryMode::Interleave => libc::MPOL_INTERLEAVE,
        MemoryMode::Local => libc::MPOL_LOCAL,
    };
    let most = policy.nodes.iter().max().map_or(0, |most| *most as usize + 1);
    let mut mask: Vec<libc::c_ulong> = vec![0; most.div_ceil(WORD_BITS)];
    for node in &policy.nodes {
        mask[*node as usize / WORD_BITS] |= 1 << (*node as usize % WORD_BITS);
    }
    // The kernel reads one bit less than it is told of.
    let (pointer, bits) = match mask.is_empty() {
        true => (std::ptr::null(), 0),
        false => (mask.as_ptr(), mask.len() * WORD_BITS + 1),
    };
    // SAFETY: set_mempolicy reads the mask's words, which live through the call, and nothing where it is told of none.
    let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::c_long::from(mode), pointer, bits) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// The mode of the calling thread's policy, the kernel's number.
#[cfg(test)]
pub fn memory_mode() -> Result<i32, Errno> {
    let mut mode: libc::c_int = 0;
    let none = std::ptr::null::<libc::c_ulong>();
    // SAFETY: get_mempolicy writes an int through the first pointer, which lives through the call; the rest is nothing.
    let answer =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, none, 0usize, 0usize, 0usize) };
    if answer == 0 { Ok(mode) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Memory that is held and locked until this is dropped.
#[derive(Debug)]
pub struct Locked {
    base: *mut c_void,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and nobody reads or writes it.
unsafe impl Send for Locked {}

impl Locked {
    /// Maps and locks so many bytes.
    pub fn new(length: usize) -> Result<Self, Errno> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let locked = Locked { base, length };
        // SAFETY: exactly the mapping that was just made.
        unsafe { rustix::mm::mlock(base, length) }.map(|()| locked)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made, which nobody else knows.
        let _ = unsafe { munmap(self.base, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_io_priority_that_was_set() {
        let seen = std::thread::spawn(|| {
            set_io_priority(3, 0)?;
            let idle = io_priority()?;
            set_io_priority(2, 6)?;
            Ok::<_, Errno>((idle, io_priority()?))
        });
        assert_eq!(seen.join().unwrap(), Ok(((3, 0), (2, 6))));
    }

    #[test]
    fn a_thread_takes_its_memory_where_it_was_told_to() {
        let of = |mode, nodes: &[u32]| {
            let policy = MemoryPolicy { mode, nodes: nodes.to_vec() };
            let asked = move || set_memory_policy(&policy).and_then(|()| memory_mode());
            std::thread::spawn(asked).join().unwrap()
        };
        assert_eq!(of(MemoryMode::Bind, &[0]), Ok(libc::MPOL_BIND));
        assert_eq!(of(MemoryMode::Prefer, &[0]), Ok(libc::MPOL_PREFERRED));
        assert_eq!(of(MemoryMode::Interleave, &[0]), Ok(libc::MPOL_INTERLEAVE));
        assert_eq!(of(MemoryMode::Default, &[]), Ok(libc::MPOL_DEFAULT));
        assert_eq!(of(MemoryMode::Bind, &[]), Err(Errno::INVAL));
        assert!(of(MemoryMode::Bind, &[1000]).is_err(), "no system has so many nodes");
    }

    #[test]
    fn locked_memory_is_locked_until_it_is_dropped() {
        let locked = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap().to_owned();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let before = locked();
        let held = Locked::new(1 << 20);
        match held {
            Ok(held) => {
                assert!(locked() >= before + 1024);
                drop(held);
            }
            Err(error) => assert!(matches!(error, Errno::NOMEM | Errno::PERM | Errno::AGAIN), "{error}"),
        }
    }
}
