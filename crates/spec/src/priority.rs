//! Operations that go to the device at a priority of their own.

use crate::{Bytes, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Some of the operations of a verb, and their priority. Where several rules fit an operation, each has its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Priority {
    /// Of which verb.
    pub of: Verb,
    /// Of operations with so many bytes; none: of any.
    pub size: Option<Bytes>,
    /// How many of them, 0 to 100; which ones is drawn.
    pub percent: u8,
    /// As the kernel counts: 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Within the class, 0 (served first) to 7.
    pub level: u8,
}

impl Priority {
    /// The word in which the kernel takes it (`ioprio` of linux/ioprio.h).
    pub fn word(&self) -> u16 {
        u16::from(self.class) << 13 | u16::from(self.level)
    }
}
