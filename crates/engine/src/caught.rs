//! Records that were not as they should be, with the bytes that were read: for whoever tells of the damage.

use fathom_content::Wrong;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that are kept; more than these tell nothing new.
const MOST: usize = 16;

/// One record that did not pass its check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaughtRecord {
    /// Index into the plan's targets.
    pub target: u16,
    /// First byte of the record in it.
    pub offset: u64,
    /// Its number, where its source counts them; else 0.
    pub number: u64,
    /// What should have been read, where that was read from another target; else nothing.
    pub expected: Vec<u8>,
    /// What was read.
    pub bytes: Vec<u8>,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// The first records that did not pass; shared by the workers of a run and whoever runs it.
#[derive(Clone, Debug, Default)]
pub struct Caught(Arc<Mutex<Vec<CaughtRecord>>>);

impl Caught {
    /// Keeps one more, if there is room: place, mark, what was expected if that must be kept, and what was found.
    pub(crate) fn keep(
        &self,
        (target, offset): (u16, u64),
        mark: u64,
        (expected, bytes): (&[u8], &[u8]),
        wrong: &Wrong,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST {
            let (expected, bytes) = (expected.to_vec(), bytes.to_vec());
            let number = crate::marks::number(mark);
            kept.push(CaughtRecord { target, offset, number, expected, bytes, wrong: wrong.clone() });
        }
    }

    /// Takes what was kept, by place.
    pub fn take(&self) -> Vec<CaughtRecord> {
        let mut kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        kept.sort_by_key(|record| (record.target, record.offset));
        kept
    }
}
