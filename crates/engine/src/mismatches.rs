//! Records that were not as they should be, with the bytes that were read: for whoever tells of the damage.

use fathom_content::Wrong;
use fathom_record::Mismatch;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that are kept; more than these tell nothing new.
const MOST: usize = 16;

/// The first records that did not pass; shared by the workers of a run and whoever runs it.
#[derive(Clone, Debug, Default)]
pub struct Mismatches(Arc<Mutex<Vec<Mismatch>>>);

impl Mismatches {
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
            kept.push(Mismatch { target, offset, number, expected, bytes, wrong: wrong.clone() });
        }
    }

    /// Takes what was kept, by place.
    pub fn take(&self) -> Vec<Mismatch> {
        let mut kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        kept.sort_by_key(|record| (record.target, record.offset));
        kept
    }
}
