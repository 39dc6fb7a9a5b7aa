//! How long written data will live, as the kernel is told of it.

use fathom_spec::Lifetime;
use rustix::fd::{AsRawFd, BorrowedFd};
use std::io;

/// Of linux/fcntl.h; the C library's headers of some systems lack them.
#[cfg(test)]
const GET_HINT: libc::c_int = 1024 + 11;
const SET_HINT: libc::c_int = 1024 + 12;

/// Tells the kernel of a file's data; the hint stays with the file until another is told.
pub fn tell(file: BorrowedFd<'_>, lifetime: Lifetime) -> io::Result<()> {
    let hint: u64 = match lifetime {
        Lifetime::Untold => 0,
        Lifetime::Short => 2,
        Lifetime::Medium => 3,
        Lifetime::Long => 4,
        Lifetime::Extreme => 5,
    };
    // SAFETY: F_SET_RW_HINT reads 8 bytes through the pointer, which points to a value that lives through the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), SET_HINT, &raw const hint) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel was told of a file: linux/fcntl.h's number, 0 for nothing.
#[cfg(test)]
pub fn told(file: BorrowedFd<'_>) -> io::Result<u64> {
    let mut hint = 0u64;
    // SAFETY: F_GET_RW_HINT writes 8 bytes through the pointer, which points to a value that lives through the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), GET_HINT, &raw mut hint) } {
        0 => Ok(hint),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_knows_what_it_was_told() {
        let file = tempfile::tempfile().unwrap();
        for (lifetime, number) in [(Lifetime::Short, 2), (Lifetime::Extreme, 5), (Lifetime::Untold, 0)] {
            tell(file.as_fd(), lifetime).unwrap();
            assert_eq!(told(file.as_fd()).unwrap(), number);
        }
    }
}
