//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | [`guard`] | who may be written to |
//! | `open` | opens targets, settles sizes and regions |
//! | [`lent`] | targets that are open already |
//! | [`caught`] | records that were not as they should be |
//! | `copy` | bytes from one place to another |
//! | `execute` | runs a plan on files and devices |
//! | `simulated` | runs a plan on simulated devices |
//! | `source` | which operation comes next |
//! | `manners` | what workers do besides: think, sync at the end, keep in step |
//! | `queues`, `sys`, `null` | how it is asked of the kernel |
//! | `content`, `verifying` | what bytes are written, and whether they are what is read |
//! | `tasks` | what is done one act at a time: files, CPU time |
//! | [`logs`] | a line for each operation |
//! | [`sinks`] | operations as they come back, handed to whoever asked for them |

pub mod caught;
mod content;
mod copy;
mod execute;
mod files;
pub mod guard;
pub mod lent;
pub mod logs;
mod manners;
mod null;
mod open;
mod queues;
mod simulated;
pub mod sinks;
mod source;
mod sys;
mod tasks;
mod verifying;

pub use caught::{Caught, CaughtRecord};
pub use copy::{PARTIAL, SHORT_SKIP, TRUNCATED};
pub use execute::{Engine, allowed_cpus};
pub use guard::{Permits, Policy};
pub use lent::Lent;
pub use queues::buffer_bytes;
pub use sinks::{Sink, Sinks};
