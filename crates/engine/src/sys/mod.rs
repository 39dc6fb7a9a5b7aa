//! Everything that talks to the kernel past the standard library, and the only place in this crate with
//! `unsafe`.

pub mod arena;
pub mod calls;
pub mod content;
pub mod io_uring;
pub mod libaio;
pub mod mmap;
pub mod psync;
mod serial;
