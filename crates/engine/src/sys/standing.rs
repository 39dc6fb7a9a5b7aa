//! A thread's I/O priority, and memory that is locked.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;

/// Of linux/ioprio.h: the process (on Linux the thread) of that number, 0 for the calling one; the class above these bits.
const WHO_PROCESS: libc::c_long = 1;
const CLASS_SHIFT: u32 = 13;

/// Sets the I/O priority of the calling thread: class 1 to 3 and level 0 to 7; class 0 is what its nice value says.
pub fn set_io_priority(class: u8, level: u8) -> Result<(), Errno> {
    let value = libc::c_long::from(u32::from(class) << CLASS_SHIFT | u32::from(level));
    // SAFETY: ioprio_set takes three numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as libc::c_long, value) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// The I/O priority of the calling thread: class and level.
#[cfg(test)]
pub fn io_priority() -> Result<(u8, u8), Errno> {
    // SAFETY: ioprio_get takes two numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0 as libc::c_long) };
    if answer < 0 { Err(last_error()) } else { Ok(((answer >> CLASS_SHIFT) as u8, (answer & 7) as u8)) }
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
