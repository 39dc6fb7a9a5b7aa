//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | [`guard`] | who may be written to |
//! | `open` | opens targets, settles sizes and regions |
//! | `execute` | runs a plan on files and devices |
//! | `simulated` | runs a plan on simulated devices |
//! | `source` | which operation comes next |
//! | `manners` | what workers do besides: think, sync at the end, keep in step |
//! | `queues`, `sys`, `null` | how it is asked of the kernel |
//! | `content`, `verifying` | what bytes are written, and whether they are what is read |
//! | `tasks` | what is done one act at a time: files, CPU time |
//! | [`logs`] | a line for each operation |
//! | `sampler` | other people's counters while a run goes on |

mod content;
mod execute;
mod files;
pub mod guard;
pub mod logs;
mod manners;
mod null;
mod open;
mod queues;
mod sampler;
mod simulated;
mod source;
mod sys;
mod tasks;
mod verifying;

pub use execute::{Engine, allowed_cpus};
pub use guard::{Permits, Policy};
pub use queues::buffer_bytes;
