//! The kernel calls that no safe wrapper offers: FIEMAP, BLKGETSIZE64, getrusage, mincore, kcmp and leases; and children
//! that end with their parent. The only `unsafe` of this crate.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FiemapExtent {
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) length: u64,
    reserved64: [u64; 2],
    pub(crate) flags: u32,
    reserved: [u32; 3],
}

pub(crate) const EXTENTS_A_CALL: usize = 128;

/// `struct fiemap` with room for extents behind it.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; EXTENTS_A_CALL],
}

const _: () = assert!(size_of::<FiemapExtent>() == 56);
const _: () = assert!(size_of::<Fiemap>() == 32 + 56 * EXTENTS_A_CALL);

/// `_IOWR('f', 11, struct fiemap)`: the size in the number is that of the 32-byte head.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// `_IOR(0x12, 114, size_t)`
#[cfg(target_pointer_width = "64")]
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272_u32 as libc::Ioctl;
#[cfg(target_pointer_width = "32")]
const BLKGETSIZE64: libc::Ioctl = 0x8004_1272_u32 as libc::Ioctl;

/// Up to [`EXTENTS_A_CALL`] extents of the byte range, as the file system maps them now (nothing is flushed).
pub(crate) fn fiemap(file: BorrowedFd<'_>, start: u64, length: u64) -> io::Result<Vec<FiemapExtent>> {
    let mut map = Box::new(Fiemap {
        start,
        length,
        flags: 0,
        mapped_extents: 0,
        extent_count: EXTENTS_A_CALL as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); EXTENTS_A_CALL],
    });
    // SAFETY: `file` is an open descriptor; the kernel writes the head and at most `extent_count` extents, for which
    // the structure has room.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let mapped = (map.mapped_extents as usize).min(EXTENTS_A_CALL);
    Ok(map.extents[..mapped].to_vec())
}

/// The size of an open block device.
pub(crate) fn block_device_size_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    let mut size_bytes = 0u64;
    // SAFETY: `device` is an open descriptor; the kernel writes one u64 where the pointer says.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &raw mut size_bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(size_bytes) }
}

/// What this process has used so far: user and system CPU in microseconds, involuntary context switches.
pub(crate) fn own_usage() -> io::Result<(u64, u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the whole structure when it returns 0.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        usage.assume_init()
    };
    let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok((microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_nivcsw as u64))
}

/// Has a file's data written back, and waits for it; its metadata and the disk's own cache are left alone.
pub(crate) fn write_back(file: BorrowedFd<'_>) -> io::Result<()> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes numbers only.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Is the page of a file at this offset, a multiple of the page size, in memory? The page is mapped, and not touched.
pub(crate) fn page_in_memory(file: BorrowedFd<'_>, offset: u64, page: usize) -> io::Result<bool> {
    let mut held = [0u8; 1];
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing reads or writes, undone at once;
    // mincore writes one byte for its one page.
    let result = unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            page,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset as libc::off_t,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let result = libc::mincore(at, page, held.as_mut_ptr());
        libc::munmap(at, page);
        result
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(held[0] & 1 == 1) }
}

/// `KCMP_FILE` of `linux/kcmp.h`
const KCMP_FILE: libc::c_long = 0;

/// Is a descriptor of another process the same opening as one of ours: inherited, or handed over? Where the kernel does not
/// tell, it is not.
pub(crate) fn is_same_opening(own: BorrowedFd<'_>, pid: u32, theirs: u32) -> bool {
    let of = |number: u32| libc::c_long::from(number);
    // SAFETY: kcmp takes five numbers and writes nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            of(std::process::id()),
            of(pid),
            KCMP_FILE,
            libc::c_long::from(own.as_raw_fd()),
            of(theirs),
        )
    };
    answer == 0
}

/// `F_SETSIG` of `asm-generic/fcntl.h`
const F_SETSIG: libc::c_int = 10;

/// Has anybody a file open for writing? `None` where the kernel does not tell: on some file systems, or of another user's
/// file. `file` is open for reading alone.
pub(crate) fn has_writers(file: BorrowedFd<'_>) -> Option<bool> {
    let of = file.as_raw_fd();
    // SAFETY: these commands take a descriptor and a number. A lease that another's opening breaks in between sends a signal
    // that is ignored where nobody handles it.
    let taken = unsafe {
        libc::fcntl(of, F_SETSIG, libc::SIGURG) == 0 && libc::fcntl(of, libc::F_SETLEASE, libc::F_RDLCK) == 0
    };
    if !taken {
        let busy = io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        return busy.then_some(true);
    }
    // SAFETY: as above.
    unsafe { libc::fcntl(of, libc::F_SETLEASE, libc::F_UNLCK) };
    Some(false)
}

/// Has the process that this command will start sent a signal when the thread that started it ends, however it ends.
pub fn end_with_this_thread(command: &mut Command, signal: rustix::process::Signal) {
    let parent = rustix::process::getpid();
    let settle = move || {
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        // The parent may have gone before that was said.
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(settle);
    }
}
