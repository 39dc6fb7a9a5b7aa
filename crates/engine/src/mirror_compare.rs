//! What two targets hold at the same place, compared: the first that comes back of a pair is kept until the second does.

use crate::mismatches::Mismatches;
use fathom_content::{Wrong, compare};
use fathom_drive::Operation;
use std::collections::HashMap;

/// Reads that wait for the other of their pair, by their mark: target, first byte, bytes.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    waiting: HashMap<u64, (u16, u64, Vec<u8>)>,
    /// Buffers that are free again.
    spare: Vec<Vec<u8>>,
}

impl Pairs {
    /// Takes one read; answers what is wrong with the second target's bytes, once both are there.
    pub(crate) fn take(
        &mut self,
        operation: &Operation,
        bytes: &[u8],
        mismatches: &Mismatches,
    ) -> Option<Wrong> {
        let Some((target, offset, other)) = self.waiting.remove(&operation.mark) else {
            let mut kept = self.spare.pop().unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(bytes);
            self.waiting.insert(operation.mark, (operation.target, operation.offset, kept));
            return None;
        };
        // The target with the higher number is the copy, whichever came back first.
        let (told, found, at) = match target < operation.target {
            true => (other.as_slice(), bytes, (operation.target, operation.offset)),
            false => (bytes, other.as_slice(), (target, offset)),
        };
        let wrong = compare(told, found, at.1);
        if let Some(wrong) = &wrong {
            mismatches.keep(at, operation.mark, (told, found), wrong);
        }
        self.spare.push(other);
        wrong
    }
}
