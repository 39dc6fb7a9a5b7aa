//! Where single operations go as they come back, besides the record: whoever runs the engine names a sink for a stream, and
//! a thread of the log's own hands on what the stream's workers note. A stream with a sink loses no operation: a sink that
//! is slower than the stream holds it up.

use fathom_drive::LogEntry;
use fathom_spec::StreamId;
use std::io;

/// Takes operations that came back.
pub trait Sink: Send {
    /// Takes some, in the order in which one worker noted them.
    fn take(&mut self, entries: &[LogEntry]) -> io::Result<()>;
    /// Nothing will come any more.
    fn end(&mut self) -> io::Result<()>;
}

/// The sinks of a run, by stream.
#[derive(Default)]
pub struct Sinks {
    all: Vec<(StreamId, Box<dyn Sink>)>,
}

impl Sinks {
    /// What a stream does goes here, too. One sink a stream: the last one named counts.
    pub fn add(&mut self, stream: StreamId, sink: Box<dyn Sink>) {
        self.all.retain(|(own, _)| *own != stream);
        self.all.push((stream, sink));
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn take(&mut self, stream: StreamId) -> Option<Box<dyn Sink>> {
        let at = self.all.iter().position(|(own, _)| *own == stream)?;
        Some(self.all.swap_remove(at).1)
    }
}

impl std::fmt::Debug for Sinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.iter().map(|(stream, _)| stream)).finish()
    }
}
