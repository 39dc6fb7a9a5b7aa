//! Everything of the engine that needs `unsafe`: buffers shared with the kernel, and the kernel's queues.

pub mod arena;
pub mod blocking;
pub mod io_uring;
pub mod libaio;
pub mod lifetime;
pub mod mmap;
pub mod pool;
pub mod psync;
mod ring_mode;
pub mod semaphores;
pub mod standing;
pub mod stdio;

#[cfg(test)]
mod tests;
