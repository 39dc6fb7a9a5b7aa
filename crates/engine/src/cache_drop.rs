//! Drops what was read or written from the page cache, behind each operation and outside of its time, so that the next one
//! there is answered by the storage.

use crate::files::OpenTarget;
use fathom_drive::{Checked, Content, Operation};
use fathom_record::EventKind;
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Stands before a content, where a plan says that the page cache keeps nothing.
pub(crate) struct CacheDrop {
    targets: Arc<[OpenTarget]>,
    inner: Option<Box<dyn Content>>,
}

impl CacheDrop {
    /// Stands before `inner` if it is wanted; what the targets have in the page cache now goes at once.
    pub(crate) fn before(
        inner: Option<Box<dyn Content>>,
        wanted: bool,
        targets: &Arc<[OpenTarget]>,
    ) -> Option<Box<dyn Content>> {
        if !wanted {
            return inner;
        }
        for file in targets.iter().filter_map(OpenTarget::fd) {
            // It is advice: a kernel that does not take it answers from memory, which the disk's counters tell.
            let _ = fadvise(file, 0, None, Advice::DontNeed);
        }
        Some(Box::new(CacheDrop { targets: targets.clone(), inner }))
    }
}

impl Content for CacheDrop {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        if let Some(inner) = &mut self.inner {
            inner.fill(operation, tag);
        }
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        let checked = self.inner.as_mut().map_or(Checked::Good, |inner| inner.check(operation, tag));
        let file = self.targets.get(operation.target as usize).and_then(OpenTarget::fd);
        if let (Some(file), Some(length)) = (file, NonZeroU64::new(operation.length.into())) {
            let _ = fadvise(file, operation.offset, Some(length), Advice::DontNeed);
        }
        checked
    }

    fn returned(&mut self, free: &mut Vec<u32>, found: &mut Vec<EventKind>) {
        if let Some(inner) = &mut self.inner {
            inner.returned(free, found);
        }
    }
}
