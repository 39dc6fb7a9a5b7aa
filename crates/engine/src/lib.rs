//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | [`guard`] | who may be written to |
//! | `open` | opens targets, settles sizes and regions |
//! | [`lent`] | targets that are open already |
//! | `copy` | bytes from one place to another |
//! | `execute` | runs a plan on files and devices |
//! | `simulated` | runs a plan on simulated devices |
//! | `source` | which operation comes next |
//! | `queues`, `sys`, `null` | how it is asked of the kernel |
//! | `content` | what bytes are written |
//! | `sampler` | other people's counters while a run goes on |

mod content;
mod copy;
mod execute;
mod files;
pub mod guard;
pub mod lent;
mod null;
mod open;
mod queues;
mod sampler;
mod simulated;
mod source;
mod sys;

pub use copy::{PARTIAL, SHORT_SKIP, TRUNCATED};
pub use execute::{Engine, allowed_cpus};
pub use guard::{Permits, Policy};
pub use lent::Lent;
pub use queues::buffer_bytes;
