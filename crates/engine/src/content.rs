//! Puts the bytes of `fathom-content` into the buffers of a worker, and judges those that came back.

use crate::sys::arena::ArenaView;
use fathom_content::{Filler, sysbench};
use fathom_drive::{Checked, Content, Operation};
use fathom_record::Happening;
use fathom_spec::{Bytes, StreamId, Verb};

/// Fills buffers before they are written, and checks what was read.
pub struct Filling {
    filler: Filler,
    view: ArenaView,
    /// The stream in whose name mismatches are told, when there is something to check.
    checks: Option<StreamId>,
}

impl Filling {
    /// What a worker that writes or checks needs; nothing for one that only reads.
    pub fn wanted(
        content: &fathom_spec::Content,
        writes: bool,
        checks: Option<StreamId>,
        view: ArenaView,
        seed: u64,
    ) -> Option<Box<dyn Content>> {
        let filler = Filler::new(content, seed)?;
        (writes || checks.is_some()).then(|| Box::new(Filling { filler, view, checks }) as Box<dyn Content>)
    }
}

impl Content for Filling {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        if matches!(operation.verb, Verb::Write | Verb::Commit) {
            let bytes = self.view.bytes(tag, operation.length as usize);
            self.filler.fill(bytes, operation.offset, operation.mark);
        }
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        let Some(stream) = self.checks.filter(|_| operation.verb == Verb::Read) else { return Checked::Good };
        let bytes = self.view.bytes(tag, operation.length as usize);
        match sysbench::check(bytes, operation.offset) {
            Ok(()) => Checked::Good,
            Err(wrong) => {
                let note = format!("target {}: {wrong}", operation.target);
                Checked::Bad(Box::new(Happening::Mismatch { stream, offset: Bytes(operation.offset), note }))
            }
        }
    }
}
