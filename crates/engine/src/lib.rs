//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | [`guard`] | who may be written to |
//! | `open` | opens targets, settles sizes and regions |
//! | `cache_drop` | nothing stays in the page cache |
//! | [`preopened`] | targets that are open already |
//! | `mismatches` | records that were not as they should be |
//! | `history` | the last operations of a run |
//! | `progress` | how far workers got that write what can be verified |
//! | `copy` | bytes from one place to another |
//! | `geometry` | where a block of an address space lies |
//! | `execute` | runs a plan on files and devices |
//! | `plan_check` | what a plan may ask of block work |
//! | `memory` | the memory that a plan takes |
//! | `block_task`, `worker_maker` | what workers of block work are made of |
//! | `cpus` | which CPUs there are, and which are a worker's |
//! | `virtual_time` | runs a plan on simulated devices |
//! | `source` | which operation comes next |
//! | `marks` | what a source says of an operation's bytes |
//! | `worker_features` | what workers do besides: think, sync at the end, keep in step |
//! | `queues`, `sys`, `null`, `space` | how it is asked of the kernel |
//! | `thread_attributes` | what a worker is to the system: priorities, user, locked memory |
//! | `content`, `verification`, `mirror_compare`, `checkers`, `buffer_rotation` | what bytes are written, and whether they are what is read |
//! | `priorities` | operations at a priority of their own |
//! | `tasks` | what is done one act at a time: files, CPU time, commands |
//! | [`logs`] | a line for each operation |

mod block_task;
mod buffer_rotation;
mod cache_drop;
mod checkers;
mod content;
mod copy;
mod cpus;
mod execute;
mod files;
mod geometry;
pub mod guard;
mod history;
pub mod logs;
mod marks;
mod memory;
mod mirror_compare;
mod mismatches;
mod null;
mod open;
mod plan_check;
pub mod preopened;
mod priorities;
mod progress;
mod queues;
mod source;
mod space;
mod sys;
mod tasks;
mod thread_attributes;
mod verification;
mod virtual_time;
mod worker_features;
mod worker_maker;

pub use cpus::allowed_cpus;
pub use execute::Engine;
pub use preopened::PreopenedTarget;
pub use queues::buffer_bytes;
pub use sys::semaphores::Semaphores;
