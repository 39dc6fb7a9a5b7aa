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
    /// The word in which the kernel takes it.
    pub fn word(&self) -> u16 {
        priority_word(self.class, self.level) as u16
    }
}

/// The class of an I/O priority stands above these bits (`IOPRIO_CLASS_SHIFT` of linux/ioprio.h).
const CLASS_SHIFT: u32 = 13;

/// The kernel's word for an I/O priority: the class above the level.
pub fn priority_word(class: u8, level: u8) -> u32 {
    u32::from(class) << CLASS_SHIFT | u32::from(level)
}

/// Class and level of the kernel's word.
pub fn priority_class_and_level(word: u32) -> (u8, u8) {
    ((word >> CLASS_SHIFT) as u8, (word & ((1 << CLASS_SHIFT) - 1)) as u8)
}
