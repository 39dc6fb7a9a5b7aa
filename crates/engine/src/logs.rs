//! Logs of single operations: each stream that asks for one has a thread that writes what its workers hand over. A
//! worker never waits for it; what the thread was too slow to take is lost, counted, and an event of the record.
//!
//! The file is text, one line for each operation in the order in which it was handed over, after a line that names
//! the columns: when it came back and how long it took from its intended start and from its submission (ns since the
//! run's start, ns), worker, verb, target, offset, bytes asked for, and the result (bytes moved, or a negative errno).

use fathom_drive::{LogBlock, LogEntry, LogPen};
use fathom_host::{Roots, output_file};
use fathom_record::{EventKind, ExecuteError, Sink};
use fathom_spec::{Access, Plan, Stream, StreamId, Target, Verb};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The names of the columns.
pub const COLUMNS: &str = "at_ns response_ns service_ns worker verb target offset bytes result";

/// Operations in a block.
const BLOCK: usize = 4096;
/// Blocks of each worker: one it fills, the others on their way.
const BLOCKS: usize = 16;
/// Operations in a block of a pen that waits.
const SMALL_BLOCK: usize = 1024;

/// The logs of a run.
pub(crate) struct Logs {
    roots: Roots,
    writers: Vec<Writer>,
    /// Streams whose operations go elsewhere.
    sinks: Vec<(StreamId, Box<dyn Sink>)>,
}

struct Writer {
    thread: JoinHandle<std::io::Result<()>>,
    lost: Arc<AtomicU64>,
    path: String,
}

impl Logs {
    /// No log yet, and streams whose operations go elsewhere.
    pub(crate) fn with(roots: &Roots, sinks: Vec<(StreamId, Box<dyn Sink>)>) -> Self {
        Logs { roots: roots.clone(), writers: Vec::new(), sinks }
    }

    /// Opens the log of a stream, if it wants one, and answers its workers' ends.
    pub(crate) fn open(
        &mut self,
        plan: &Plan,
        id: StreamId,
        stream: &Stream,
    ) -> Result<Vec<Option<LogPen>>, ExecuteError> {
        let none = || (0..stream.workers).map(|_| None).collect();
        let own = self.sinks.iter().position(|(own, _)| *own == id);
        if let Some((_, sink)) = own.map(|at| self.sinks.swap_remove(at)).filter(|_| stream.workers > 0) {
            return self.start(sink, format!("of {}", stream.name), stream.workers, true);
        }
        let Some(id) = stream.keep.log else { return Ok(none()) };
        let Some(Target::Path(path)) = plan.targets.get(id.0 as usize).filter(|_| stream.workers > 0) else {
            return Err(ExecuteError::Plan {
                what: "a log goes to a file".to_owned(),
                hint: "this is a mistake in the program that made the plan".to_owned(),
            });
        };
        let fail = |error: std::io::Error| ExecuteError::Target {
            what: format!("cannot write the log {}: {error}", path.path),
            hint: "name a file that may be written".to_owned(),
        };
        // The guard has allowed it when the run's targets were opened.
        if path.access != Access::Write {
            return Err(fail(std::io::ErrorKind::PermissionDenied.into()));
        }
        let opened = output_file::grow(&self.roots, Path::new(&path.path));
        let file = opened.map_err(|error| fail(error.into()))?;
        let lines = Lines { out: BufWriter::with_capacity(1 << 18, file), begun: false };
        self.start(Box::new(lines), path.path.clone(), stream.workers, false)
    }

    /// A thread for the sink, and its workers' ends.
    fn start(
        &mut self,
        sink: Box<dyn Sink>,
        path: String,
        workers: u32,
        waits: bool,
    ) -> Result<Vec<Option<LogPen>>, ExecuteError> {
        let block = if waits { SMALL_BLOCK } else { BLOCK };
        let lost = Arc::new(AtomicU64::new(0));
        let (full, blocks) = sync_channel(BLOCKS * workers as usize);
        let (mut pens, mut empties) = (Vec::new(), Vec::new());
        for worker in 0..workers {
            let (empty, pool) = sync_channel(BLOCKS);
            for _ in 1..BLOCKS {
                let _ = empty.try_send(Vec::with_capacity(block));
            }
            let pen = LogPen::new(worker, Vec::with_capacity(block), full.clone(), pool, lost.clone());
            pens.push(Some(if waits { pen.waiting() } else { pen }));
            empties.push(empty);
        }
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write(sink, &blocks, &empties))
            .map_err(|error| ExecuteError::System {
                what: format!("cannot start the thread that writes the log {path}: {error}"),
                hint: "see the limits on processes and memory (ulimit -a)".to_owned(),
            })?;
        self.writers.push(Writer { thread, lost, path });
        Ok(pens)
    }

    /// Waits until all is written, and answers what was lost. To be called when all pens are gone.
    pub(crate) fn close(self) -> Vec<EventKind> {
        let mut happenings = Vec::new();
        for Writer { thread, lost, path } in self.writers {
            let written = thread.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
            if let Err(error) = written {
                happenings.push(EventKind::Fallback(format!("the log {path} is not complete: {error}")));
            }
            let log_entries = lost.load(Relaxed);
            if log_entries > 0 {
                happenings.push(EventKind::Late { log_entries });
            }
        }
        happenings
    }
}

fn write(
    mut sink: Box<dyn Sink>,
    blocks: &Receiver<LogBlock>,
    empties: &[SyncSender<LogBlock>],
) -> std::io::Result<()> {
    let mut failure = None;
    // After a failure blocks are still taken, so that the workers' counts of what was lost stay those of slowness.
    for block in blocks {
        if failure.is_none() {
            failure = sink.take(&block).err();
        }
        let owner = block.first().and_then(|entry| empties.get(entry.worker as usize));
        if let Some(owner) = owner {
            let _ = owner.try_send(block);
        }
    }
    failure.map_or_else(|| sink.end(), Err)
}

/// fathom's own log.
struct Lines {
    out: BufWriter<File>,
    begun: bool,
}

impl Lines {
    fn begin(&mut self) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            writeln!(self.out, "{COLUMNS}")?;
        }
        Ok(())
    }
}

impl Sink for Lines {
    fn take(&mut self, entries: &[LogEntry]) -> std::io::Result<()> {
        self.begin()?;
        entries.iter().try_for_each(|entry| line(&mut self.out, entry))
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.begin()?;
        self.out.flush()
    }
}

fn line(out: &mut impl Write, entry: &LogEntry) -> std::io::Result<()> {
    let LogEntry { at_ns, submitted_ns, submit_ns: _, operation, result, worker, .. } = entry;
    let response_ns = at_ns.saturating_sub(operation.due_ns);
    let service_ns = at_ns.saturating_sub(*submitted_ns);
    let (target, offset, length) = (operation.target, operation.offset, operation.length);
    let verb = word(operation.verb);
    writeln!(out, "{at_ns} {response_ns} {service_ns} {worker} {verb} {target} {offset} {length} {result}")
}

/// A verb in a log or a trace.
pub(crate) fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "read",
        Verb::Write => "write",
        Verb::Trim => "trim",
        Verb::Sync => "sync",
        Verb::Create => "create",
        Verb::Open => "open",
        Verb::Stat => "stat",
        Verb::Delete => "delete",
        Verb::Compute => "compute",
        Verb::Select => "select",
        Verb::Update => "update",
        Verb::Commit => "commit",
        Verb::Scan => "scan",
    }
}
