//! Puts the bytes of `fathom-content` into the buffers of a worker.

use crate::sys::arena::ArenaView;
use fathom_content::Filler;
use fathom_drive::{Checked, Content, Operation};
use fathom_spec::Verb;

/// Fills buffers before they are written.
pub struct Filling {
    filler: Filler,
    view: ArenaView,
}

impl Filling {
    /// What a worker that writes needs; nothing for one that only reads.
    pub fn wanted(
        content: &fathom_spec::Content,
        writes: bool,
        view: ArenaView,
        seed: u64,
    ) -> Option<Box<dyn Content>> {
        let filler = Filler::new(content, seed)?;
        writes.then(|| Box::new(Filling { filler, view }) as Box<dyn Content>)
    }
}

impl Content for Filling {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        if matches!(operation.verb, Verb::Write | Verb::Commit) {
            let bytes = self.view.bytes(tag, operation.length as usize);
            self.filler.fill(bytes, operation.offset, operation.mark);
        }
    }
    fn check(&mut self, _operation: &Operation, _tag: u32) -> Checked {
        Checked::Good
    }
}
