//! A ring's own descriptor, registered with the thread that uses the ring, and the call into the kernel with it.
//!
//! The io-uring crate keeps a registered descriptor in its `Submitter`, which lives as long as one borrow of the ring; so both
//! calls stand here.

use io_uring::{IoUring, types};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Run task work, and wait for completions (io_uring_enter(2)).
pub const ENTER_GETEVENTS: u32 = 1;
/// Wake the submitting kernel thread.
pub const ENTER_SQ_WAKEUP: u32 = 2;
const ENTER_EXT_ARG: u32 = 8;
const ENTER_REGISTERED_RING: u32 = 16;
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// The kernel's struct io_uring_getevents_arg.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_size: u32,
    least_wait_us: u32,
    timespec: u64,
}
const _: () = assert!(size_of::<WaitArgument>() == 24);
const _: () = assert!(size_of::<types::Timespec>() == 16);

/// The kernel's struct io_uring_rsrc_update.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}
const _: () = assert!(size_of::<Update>() == 16);

/// A ring's descriptor. It is registered where the kernel takes that (Linux 5.18): a descriptor that is not is looked up, and
/// counted in and out, at every call of a process with threads.
#[derive(Debug)]
pub struct RingDescriptor {
    plain: RawFd,
    /// Its number among the calling thread's registered rings.
    registered: Option<u32>,
}

impl RingDescriptor {
    /// That of a ring, to be used on the calling thread only and dropped before the ring is.
    pub fn of(ring: &IoUring) -> Self {
        let plain = ring.as_raw_fd();
        let mut update = Update { offset: u32::MAX, reserved: 0, data: plain as u64 };
        let registered = register(plain, REGISTER_RING_FDS, &mut update) == 1;
        RingDescriptor { plain, registered: registered.then_some(update.offset) }
    }

    /// Hands over `submit` entries and waits for `least` completions, at most as long as `wait` says. Answers how many
    /// entries were taken.
    #[inline]
    pub fn enter(
        &self,
        submit: u32,
        least: u32,
        flags: u32,
        wait: Option<&types::Timespec>,
    ) -> io::Result<usize> {
        let (descriptor, flags) = match self.registered {
            Some(number) => (number as RawFd, flags | ENTER_REGISTERED_RING),
            None => (self.plain, flags),
        };
        let argument = wait.map(|time| WaitArgument {
            signal_mask: 0,
            signal_mask_size: 0,
            least_wait_us: 0,
            timespec: std::ptr::from_ref(time) as u64,
        });
        let (flags, pointer, size) = match &argument {
            None => (flags, std::ptr::null(), 0),
            Some(argument) => {
                (flags | ENTER_EXT_ARG, std::ptr::from_ref(argument), size_of::<WaitArgument>())
            }
        };
        // SAFETY: the argument, if there is one, has the layout that EXT_ARG asks for, and it and its time live through the
        // call; the buffers of entries are their queue's, which keeps them until nothing is outstanding.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, descriptor, submit, least, flags, pointer, size)
        };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for RingDescriptor {
    fn drop(&mut self) {
        if let Some(offset) = self.registered {
            register(self.plain, UNREGISTER_RING_FDS, &mut Update { offset, reserved: 0, data: 0 });
        }
    }
}

fn register(ring: RawFd, what: libc::c_uint, update: &mut Update) -> libc::c_long {
    // SAFETY: both calls read, and the first one writes, one struct io_uring_rsrc_update, which lives through the call.
    unsafe { libc::syscall(libc::SYS_io_uring_register, ring, what, std::ptr::from_mut(update), 1) }
}
