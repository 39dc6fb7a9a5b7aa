//! The bits of an operation's mark: what its source says of the bytes, for whoever fills and checks them.

/// In an operation's mark: what it reads is to be checked.
pub(crate) const CHECK: u64 = 1 << 63;
/// With [`CHECK`]: this run wrote it; the low bits are the number of the write.
pub(crate) const OURS: u64 = 1 << 62;
/// With [`CHECK`]: it was discarded, and must read as zeros.
pub(crate) const ZEROS: u64 = 1 << 61;

/// The number in a mark.
pub(crate) fn number(mark: u64) -> u64 {
    mark & (ZEROS - 1)
}
