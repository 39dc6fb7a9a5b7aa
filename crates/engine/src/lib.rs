//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | [`guard`] | who may be written to |
//! | `open` | opens targets, settles sizes and regions |
//! | `execute` | runs a plan on files and devices |
//! | `simulated` | runs a plan on simulated devices |
//! | `source` | which operation comes next |
//! | `queues`, `sys`, `null` | how it is asked of the kernel |
//! | `content` | what bytes are written |

mod content;
mod execute;
mod files;
pub mod guard;
mod null;
mod open;
mod queues;
mod simulated;
mod source;
mod sys;

pub use execute::{Engine, allowed_cpus};
pub use guard::{Permits, Policy};
pub use queues::buffer_bytes;
