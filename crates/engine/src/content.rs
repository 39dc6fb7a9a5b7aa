//! Puts the bytes of `fathom-content` into the buffers of a worker, and judges those that came back.

use crate::marks::{CHECK, OURS, ZEROS, number};
use crate::mirror_compare::Pairs;
use crate::mismatches::Mismatches;
use crate::sys::arena::ArenaView;
use fathom_content::{Damage, Filler, Known, Wrong, fio};
use fathom_drive::{Checked, Content, Operation};
use fathom_record::EventKind;
use fathom_spec::{Bytes, StreamId, Verb};
use std::sync::Arc;

/// What a worker that checks needs besides.
#[derive(Clone, Debug)]
pub(crate) struct Checks {
    /// In the name of which stream mismatches are told.
    pub stream: StreamId,
    /// The targets' names.
    pub names: Arc<Vec<String>>,
    /// Who signs what is written.
    pub writer: fio::Writer,
    /// Where records that do not pass are kept.
    pub mismatches: Mismatches,
    /// Whoever wrote a block, and when.
    pub by_anyone: bool,
}

/// Fills buffers before they are written, and checks what was read.
pub struct Filling {
    filler: Filler,
    view: ArenaView,
    checks: Option<Checks>,
    /// Every read is judged, by sysbench's rule.
    by_sum: bool,
    /// Reads of two targets are compared with each other.
    pairs: Option<Pairs>,
}

impl Filling {
    /// What a worker that writes or checks needs; nothing for one that only reads.
    pub(crate) fn wanted(
        content: &fathom_spec::Content,
        writes: bool,
        checks: Option<Checks>,
        view: ArenaView,
        seed: u64,
    ) -> Option<Box<dyn Content>> {
        let writer = checks.as_ref().map(|checks| checks.writer).unwrap_or_default();
        let filler = Filler::new(content, seed)?.signed(writer);
        let by_sum = *content == fathom_spec::Content::SysbenchSum;
        let pairs = (*content == fathom_spec::Content::Alike).then(Pairs::default);
        let filling = Filling { filler, view, by_sum, pairs, checks };
        (writes || filling.checks.is_some()).then(|| Box::new(filling) as Box<dyn Content>)
    }
}

/// What is wrong with the target of an operation, as an event.
fn mismatch(checks: &Checks, operation: &Operation, wrong: &Wrong) -> Checked {
    let target = checks.names.get(operation.target as usize).cloned().unwrap_or_default();
    let note = format!("{target}: {wrong}");
    let (stream, offset, length) = (checks.stream, Bytes(wrong.offset), Bytes(wrong.length.into()));
    let why = wrong.note.clone();
    Checked::Bad(Box::new(EventKind::Mismatch { stream, offset, target, length, why, note }))
}

impl Content for Filling {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        if operation.verb.puts_bytes() {
            let bytes = self.view.bytes(tag, operation.length as usize);
            self.filler.fill(bytes, operation.offset, operation.mark);
        }
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        let Some(checks) = self.checks.as_ref().filter(|_| operation.verb == Verb::Read) else {
            return Checked::Good;
        };
        if operation.mark & CHECK == 0 && !self.by_sum {
            return Checked::Good;
        }
        let bytes = self.view.bytes(tag, operation.length as usize);
        if let Some(pairs) = &mut self.pairs {
            let wrong = pairs.take(operation, bytes, &checks.mismatches);
            return wrong.map_or(Checked::Good, |wrong| mismatch(checks, operation, &wrong));
        }
        let known = match operation.mark & OURS {
            0 => Known::Anyone,
            _ if checks.by_anyone => Known::Anyone,
            _ => Known::Since(number(operation.mark)),
        };
        let wrong = match operation.mark & (CHECK | ZEROS) == CHECK | ZEROS {
            true => discarded(bytes, operation.offset),
            false => self.filler.check(bytes, operation.offset, known),
        };
        let Some(wrong) = wrong else { return Checked::Good };
        checks.mismatches.keep((operation.target, operation.offset), operation.mark, (&[], bytes), &wrong);
        mismatch(checks, operation, &wrong)
    }
}

/// What is wrong with a block that was discarded and must read as zeros.
fn discarded(bytes: &[u8], offset: u64) -> Option<Wrong> {
    let at = bytes.iter().position(|byte| *byte != 0)?;
    let note = format!("it was discarded, and the byte at {} is {:#04x}", offset + at as u64, bytes[at]);
    Some(Wrong { damage: Damage::Stale, offset, length: bytes.len() as u32, note })
}
