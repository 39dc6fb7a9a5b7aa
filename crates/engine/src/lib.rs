//! Does block and file work: queues, the batch loop, opening and guarding targets.
//!
//! | module | holds |
//! |---|---|
//! | `files` | targets that are open, and what every queue is made from |
//! | `null` | a queue that does nothing |
//! | `source` | which operation comes next |
//! | `sys` | the kernel's queues and the buffers; the only `unsafe` here |

pub mod files;
pub mod null;
pub mod source;
pub mod sys;
