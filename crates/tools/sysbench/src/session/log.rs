//! The lines of `--debug`, one for each operation: kept while they come back, told when the run has ended.

use super::messages::Messages;
use crate::Options;
use fathom_record::{LogEntry, Sink};
use fathom_spec::Verb;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// What a line tells of an operation.
#[derive(Clone, Copy, Debug)]
struct Request {
    worker: u32,
    verb: Verb,
    file: u16,
    offset: u64,
    bytes: u32,
}

/// The operations of a run, in the order in which they were handed over.
#[derive(Clone, Debug, Default)]
pub struct DebugLog(Arc<Mutex<Vec<Request>>>);

impl Sink for DebugLog {
    fn take(&mut self, entries: &[LogEntry]) -> io::Result<()> {
        let request = |entry: &LogEntry| Request {
            worker: entry.worker,
            verb: entry.operation.verb,
            file: entry.operation.target,
            offset: entry.operation.offset,
            bytes: entry.operation.length,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(entries.iter().map(request));
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DebugLog {
    /// Tells every operation but the syncs at the end.
    pub fn tell(&self, options: &Options, messages: Messages<'_>) {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left: BTreeMap<u32, u32> = BTreeMap::new();
        let at_end = |request: &Request| {
            let last =
                left.entry(request.worker).or_insert(if options.syncs_at_end() { options.files } else { 0 });
            let is_last = request.verb == Verb::Sync && *last > 0;
            *last -= u32::from(is_last);
            is_last
        };
        let skipped: Vec<bool> = requests.iter().rev().map(at_end).collect();
        for (request, _) in requests.iter().zip(skipped.iter().rev()).filter(|(_, skipped)| !**skipped) {
            let kind = match request.verb {
                Verb::Read => 1,
                Verb::Sync => 3,
                _ => 2,
            };
            // sysbench prints the lower 32 bits.
            let offset = request.offset as i32;
            let Request { file, bytes, .. } = request;
            messages.debug(&format!(
                "Executing request, operation: {kind}, file_id: {file}, pos: {offset}, size: {bytes}"
            ));
        }
    }
}
