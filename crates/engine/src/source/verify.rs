//! Writes, and then reads what was written: the same source is built twice from the same seed, and the second one says
//! again what the first one said, so that nothing has to be remembered of what was written where. Each write has a
//! number; the read that follows it must find that number or a later one. No two operations that overlap are ever in
//! flight together, so that "later" has a meaning.

use super::discards::{Discarding, Gone};
use super::no_overlap::{Gate, Range};
use crate::marks::{CHECK, OURS, ZEROS};
use crate::progress::{Came, Known, Noting};
use fathom_drive::{Fill, Operation, Pace, Source};
use fathom_spec::{Verb, Verify};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Reads everything that the source names, and checks it, whoever wrote it.
pub(crate) struct Checking {
    source: Box<dyn Source>,
    read_cell: u8,
    /// The source names writes of which it is known whether they came back; else all did.
    known: Option<Known>,
    /// The source writes: what it only reads, nobody wrote.
    writes: bool,
}

impl Checking {
    pub(crate) fn new(source: Box<dyn Source>, read_cell: u8, writes: bool, known: Option<Known>) -> Self {
        Checking { source, read_cell, known, writes }
    }

    /// Leaves out what was not written, behind what stands in front; true when nothing comes any more.
    fn leave_out(&mut self, from: usize, out: &mut Vec<Operation>) -> bool {
        let (mut kept, mut over) = (from, false);
        for at in from..out.len() {
            let operation = out[at];
            let moves = !matches!(operation.verb, Verb::Sync | Verb::Trim);
            let came = match &mut self.known {
                _ if !moves => Came::Perhaps,
                _ if self.writes && !operation.verb.puts_bytes() => Came::Perhaps,
                None => Came::Back,
                Some(known) => known.next(&operation),
            };
            over |= came == Came::Never;
            if came == Came::Back {
                out[kept] = Operation { verb: Verb::Read, cell: self.read_cell, mark: CHECK, ..operation };
                kept += 1;
            }
        }
        out.truncate(kept);
        over
    }
}

impl Source for Checking {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let from = out.len();
        loop {
            let fill = self.source.fill(now_ns, room, pace, out);
            if self.leave_out(from, out) {
                return Fill::Done;
            }
            // Where all of a batch is left out, there is nothing to wait for.
            if (self.known.is_none() && !self.writes) || fill != Fill::Some || out.len() > from || room == 0 {
                return fill;
            }
        }
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.source.completed(done);
    }

    fn wants_completions(&self) -> bool {
        self.source.wants_completions()
    }
}

/// What a verifying worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Writes; so many until those of the backlog are read.
    Writing { left: u64 },
    /// Reads what was written; so many, then it writes on.
    Reading { left: u64 },
    /// Reads the rest.
    Last,
}

/// Failed writes that are remembered; after more of them the run has other worries.
const FAILED_MOST: usize = 1024;

/// How long a worker that has written everything waits before it looks again whether the others have.
const LOOK_AGAIN_NS: u64 = 2_000_000;

/// What is done between writing and reading for good; it may take its time.
pub(crate) type Between = Box<dyn FnOnce() + Send>;

/// One of several workers that write the same bytes. None reads for good before all have written: of a block that is just
/// being written a reader may see a part.
pub(crate) struct Writer {
    still: Arc<AtomicU32>,
    writes: bool,
    between: Option<Between>,
    /// What is being done between.
    doing: Option<JoinHandle<()>>,
    /// When it began to read for good, for whoever asks; 0: not yet.
    since_ns: Arc<AtomicU64>,
}

impl Writer {
    /// One of so many that share this count.
    pub(crate) fn of(still: Arc<AtomicU32>) -> Self {
        Writer { still, writes: true, between: None, doing: None, since_ns: Arc::default() }
    }

    /// The same, which does something between and tells when it was done.
    pub(crate) fn with(mut self, between: Option<Between>, since_ns: Arc<AtomicU64>) -> Self {
        (self.between, self.since_ns) = (between, since_ns);
        self
    }

    /// May it read for good? A worker's step never blocks, so that what is done between has a thread of its own.
    fn may_read(&mut self, now_ns: u64) -> bool {
        if self.since_ns.load(Ordering::Relaxed) > 0 {
            return true;
        }
        self.has_written();
        if !self.all_have_written() {
            return false;
        }
        if let Some(between) = self.between.take() {
            self.doing = Some(std::thread::spawn(between));
        }
        if self.doing.as_ref().is_some_and(|doing| !doing.is_finished()) {
            return false;
        }
        if let Some(doing) = self.doing.take() {
            let _ = doing.join();
        }
        self.since_ns.store(now_ns.max(1), Ordering::Relaxed);
        true
    }

    fn has_written(&mut self) {
        if std::mem::take(&mut self.writes) {
            self.still.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn all_have_written(&self) -> bool {
        self.still.load(Ordering::Acquire) == 0
    }
}

/// A worker that was stopped writes no more either.
impl Drop for Writer {
    fn drop(&mut self) {
        self.has_written();
    }
}

/// Writes and reads again.
pub(crate) struct Verifying {
    writer: Box<dyn Source>,
    reader: Box<dyn Source>,
    plan: Verify,
    read_cell: u8,
    phase: Phase,
    /// Numbers of the next operation of the one and of the other.
    written: u64,
    read: u64,
    /// Writes end this long after the first one.
    time_ns: Option<u64>,
    began_ns: Option<u64>,
    gate: Gate,
    drawn: Vec<Operation>,
    /// Discards that follow what was drawn.
    due: Vec<Operation>,
    /// The writer will give no more.
    dry: bool,
    /// Nobody knows what stands here.
    failed: Vec<Range>,
    among: Writer,
    /// What is discarded before it is checked.
    discarding: Option<Discarding>,
    /// How far it is, where somebody wants to know.
    noting: Option<Noting>,
}

impl Verifying {
    /// `writer` and `reader` say the same. `time_ns`: how long it writes at most.
    pub(crate) fn new(
        (writer, reader): (Box<dyn Source>, Box<dyn Source>),
        plan: Verify,
        read_cell: u8,
        time_ns: Option<u64>,
        among: Writer,
    ) -> Self {
        let left = plan.backlog.map_or(u64::MAX, |(after, _)| after.max(1));
        Verifying {
            writer,
            reader,
            plan,
            read_cell,
            phase: Phase::Writing { left },
            written: 0,
            read: 0,
            time_ns,
            began_ns: None,
            gate: Gate::default(),
            drawn: Vec::new(),
            due: Vec::new(),
            dry: false,
            failed: Vec::new(),
            among,
            discarding: None,
            noting: None,
        }
    }

    /// The same, which discards some of what it wrote.
    pub(crate) fn discarding(self, discarding: Option<Discarding>) -> Self {
        Verifying { discarding, ..self }
    }

    /// The same, which notes how far it is.
    pub(crate) fn noting(self, noting: Option<Noting>) -> Self {
        Verifying { noting, ..self }
    }

    /// Draws writes (and the reads and syncs between them); answers what the source said.
    fn draw_writes(&mut self, now_ns: u64, room: usize, pace: &mut Pace) -> Fill {
        let Phase::Writing { left } = &mut self.phase else { return Fill::Done };
        self.drawn.clear();
        let room = room.min((*left).min(usize::MAX as u64) as usize);
        let fill = self.writer.fill(now_ns, room, pace, &mut self.drawn);
        for operation in &self.drawn {
            let mark = self.written;
            self.written += 1;
            if *left != u64::MAX && operation.verb.puts_bytes() {
                *left -= 1;
            }
            let mark = if operation.verb.puts_bytes() { mark } else { operation.mark };
            self.gate.hold(Operation { mark, ..*operation });
            if let Some(discarding) = &mut self.discarding {
                discarding.after(operation, &mut self.due);
                self.due.drain(..).for_each(|discard| self.gate.hold(discard));
            }
        }
        fill
    }

    /// Draws reads of what was written; `Done` when all of it was read.
    fn draw_reads(&mut self, now_ns: u64, room: usize) -> Fill {
        let mut wanted = match &self.phase {
            Phase::Reading { left } => (room as u64).min(*left) as usize,
            _ => room,
        };
        while wanted > 0 {
            if self.read >= self.written {
                return Fill::Done;
            }
            self.drawn.clear();
            let ahead = (self.written - self.read).min(wanted as u64) as usize;
            let fill = self.reader.fill(now_ns, ahead, &mut Pace::Closed, &mut self.drawn);
            for operation in &self.drawn {
                let number = self.read;
                self.read += 1;
                let range = Range::of(operation);
                if !operation.verb.puts_bytes() || self.failed.iter().any(|failed| failed.meets(&range)) {
                    continue;
                }
                let mark = match &self.discarding {
                    None => CHECK | OURS | number,
                    Some(discarding) => match discarding.of(&range) {
                        Gone::Nothing => CHECK | OURS | number,
                        Gone::All if discarding.zeros() => CHECK | ZEROS,
                        // Anything may stand there.
                        Gone::All | Gone::Some => continue,
                    },
                };
                let (verb, cell) = (Verb::Read, self.read_cell);
                self.gate.hold(Operation { verb, cell, mark, due_ns: now_ns, ..*operation });
                wanted -= 1;
                if let Phase::Reading { left } = &mut self.phase {
                    *left -= 1;
                }
            }
            if fill == Fill::Done {
                return Fill::Done;
            }
        }
        Fill::Some
    }

    /// The next phase, once everything has come back.
    fn turn(&mut self) -> Option<Phase> {
        let backlog = self.plan.backlog;
        match self.phase {
            Phase::Writing { .. } if self.dry => self.plan.then_read_pass.then_some(Phase::Last),
            Phase::Writing { left: 0 } => {
                let (after, batch) = backlog.unwrap_or((1, 1));
                Some(Phase::Reading { left: if batch == 0 { after.max(1) } else { batch } })
            }
            Phase::Writing { .. } => Some(self.phase),
            Phase::Reading { .. } => {
                Some(Phase::Writing { left: backlog.map_or(u64::MAX, |(after, _)| after.max(1)) })
            }
            Phase::Last => None,
        }
    }
}

impl Verifying {
    fn next(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let (mut room, began) = (room, *self.began_ns.get_or_insert(now_ns));
        if self.time_ns.is_some_and(|time| now_ns >= began.saturating_add(time)) {
            self.dry = true;
        }
        loop {
            if !self.gate.release(&mut room, out) {
                return if room == 0 { Fill::Some } else { Fill::Blocked };
            }
            if room == 0 {
                return Fill::Some;
            }
            if self.phase == Phase::Last && !self.among.may_read(now_ns) {
                return Fill::Wait(now_ns.saturating_add(LOOK_AGAIN_NS));
            }
            let fill = match self.phase {
                Phase::Writing { left } if self.dry || left == 0 => Fill::Done,
                Phase::Writing { .. } => self.draw_writes(now_ns, room, pace),
                Phase::Reading { left: 0 } => Fill::Done,
                Phase::Reading { .. } | Phase::Last => self.draw_reads(now_ns, room),
            };
            if self.gate.holds() {
                self.dry |= fill == Fill::Done && matches!(self.phase, Phase::Writing { left: 1.. });
                continue;
            }
            match fill {
                Fill::Done if !self.gate.is_idle() => return Fill::Blocked,
                Fill::Done => {
                    self.dry |= matches!(self.phase, Phase::Writing { left: 1.. });
                    let Some(next) = self.turn() else { return Fill::Done };
                    self.phase = next;
                }
                Fill::Some => {}
                wait => return wait,
            }
        }
    }
}

impl Source for Verifying {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let from = out.len();
        let fill = self.next(now_ns, room, pace, out);
        if let Some(noting) = &mut self.noting {
            noting.began(&out[from..]);
        }
        fill
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.writer.completed(done);
        self.gate.completed(done);
        if let Some(noting) = &mut self.noting {
            noting.completed(done);
        }
        for (operation, result) in done {
            let failed = *result != operation.length as i32;
            let changes = operation.verb.puts_bytes() || operation.verb == Verb::Trim;
            if failed && changes && self.failed.len() < FAILED_MOST {
                self.failed.push(Range::of(operation));
            }
        }
    }

    fn wants_completions(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Geometry, build, verbs};
    use super::*;
    use crate::marks::number;
    use fathom_spec::*;

    const PLAN: Verify = Verify { then_read_pass: true, ..Verify::READS };
    const TENTH: Discards = Discards { percent: 10, after: 20, batch: 20, zeros: true };

    fn alone() -> Writer {
        Writer::of(Arc::new(AtomicU32::new(1)))
    }

    #[test]
    fn a_worker_reads_for_good_only_when_all_have_written() {
        let still = Arc::new(AtomicU32::new(2));
        let sources =
            || (writes(Pattern::Uniform { once: false }, 4), writes(Pattern::Uniform { once: false }, 4));
        let mut first = Verifying::new(sources(), PLAN, 0, None, Writer::of(still.clone()));
        let second = Verifying::new(sources(), PLAN, 0, None, Writer::of(still));
        let (mut out, mut fill) = (Vec::new(), Fill::Some);
        for _ in 0..20 {
            let from = out.len();
            fill = first.fill(7, 8, &mut Pace::Closed, &mut out);
            let done: Vec<_> = out[from..].iter().map(|o: &Operation| (*o, o.length as i32)).collect();
            first.completed(&done);
        }
        assert_eq!(fill, Fill::Wait(7 + LOOK_AGAIN_NS));
        assert!(out.iter().all(|operation| operation.mark & CHECK == 0));
        drop(second);
        out.clear();
        first.fill(7, 8, &mut Pace::Closed, &mut out);
        assert!(!out.is_empty() && out.iter().all(|operation| operation.mark & CHECK != 0));
    }

    fn writes(pattern: Pattern, operations: u64) -> Box<dyn Source> {
        let mut blocks = Blocks { pattern, ..Blocks::random_reads(SpaceId(0), Bytes(4096)) };
        blocks.mix = Mix::Random { read_percent: 30 };
        let space = Space::Whole(TargetId(0));
        let length = 64 * 4096;
        let geometry = Geometry { space, sizes: vec![length], start: 0, length, align: 512 };
        let stop = Stop { operations: Some(operations), ..Stop::default() };
        build(&blocks, &geometry, &stop, 0, 1, 3, &verbs(&blocks)).unwrap()
    }

    /// Runs a source at a depth, the operations coming back in an order of their own; answers all of them.
    fn play(source: &mut Verifying, depth: usize, fail: impl Fn(&Operation) -> bool) -> Vec<Operation> {
        let (mut all, mut flight): (Vec<Operation>, Vec<Operation>) = (Vec::new(), Vec::new());
        for turn in 0.. {
            let mut out = Vec::new();
            let fill = source.fill(turn, depth - flight.len(), &mut Pace::Closed, &mut out);
            for (i, one) in out.iter().enumerate() {
                let range = Range::of(one);
                assert!(!flight.iter().chain(&out[..i]).any(|other| Range::of(other).meets(&range)));
            }
            flight.extend(&out);
            all.extend(&out);
            assert!(fill != Fill::Blocked || !flight.is_empty(), "blocked for ever");
            if flight.is_empty() && fill == Fill::Done {
                break;
            }
            if !flight.is_empty() {
                let back = flight.swap_remove((turn as usize * 7) % flight.len());
                source.completed(&[(back, if fail(&back) { -5 } else { back.length as i32 })]);
            }
        }
        all
    }

    fn verifying(plan: Verify) -> Verifying {
        let pattern = || Pattern::Uniform { once: false };
        Verifying::new((writes(pattern(), 500), writes(pattern(), 500)), plan, 0, None, alone())
    }

    #[test]
    fn every_write_is_read_once_after_all_are_done() {
        let all = play(&mut verifying(PLAN), 8, |_| false);
        let written: Vec<_> =
            all.iter().filter(|op| op.verb.puts_bytes()).map(|op| (op.mark, op.offset)).collect();
        let first_check = all.iter().position(|op| op.mark & CHECK != 0).unwrap();
        let read: Vec<_> = all[first_check..].iter().map(|op| (number(op.mark), op.offset)).collect();
        assert!(all[..first_check].iter().all(|op| op.mark & CHECK == 0));
        assert_eq!(written, read);
        assert!((300..400).contains(&read.len()), "{}", read.len());
    }

    #[test]
    fn a_backlog_is_read_while_the_writing_goes_on_and_the_rest_at_the_end() {
        let all = play(&mut verifying(Verify { backlog: Some((10, 4)), ..PLAN }), 8, |_| false);
        let runs: Vec<(bool, usize)> = all
            .iter()
            .filter(|op| op.verb.puts_bytes() || op.mark & CHECK != 0)
            .map(|op| op.mark & CHECK != 0)
            .collect::<Vec<_>>()
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len()))
            .collect();
        assert_eq!(runs[..4], [(false, 10), (true, 4), (false, 10), (true, 4)]);
        let count = |check| runs.iter().filter(|run| run.0 == check).map(|run| run.1).sum::<usize>();
        assert_eq!(count(true), count(false));
    }

    #[test]
    fn what_a_failed_write_has_touched_is_not_checked() {
        let bad = |op: &Operation| op.verb.puts_bytes() && op.offset == 8192;
        let all = play(&mut verifying(PLAN), 4, bad);
        assert!(all.iter().any(bad));
        assert!(!all.iter().any(|op| op.mark & CHECK != 0 && op.offset == 8192));
    }

    #[test]
    fn writing_ends_with_its_time_and_is_still_read() {
        let pattern = || Pattern::Sequential(Begin::First);
        let sources = (writes(pattern(), 500), writes(pattern(), 500));
        let mut source = Verifying::new(sources, PLAN, 0, Some(100), alone());
        let all = play(&mut source, 1, |_| false);
        let read = all.iter().filter(|op| op.mark & CHECK != 0).count();
        let written = all.iter().filter(|op| op.verb.puts_bytes()).count();
        assert!(written < 100 && read == written, "{read} {written}");
    }

    #[test]
    fn what_was_discarded_is_read_as_zeros_and_nothing_else_is() {
        let sources =
            (writes(Pattern::Uniform { once: false }, 500), writes(Pattern::Uniform { once: false }, 500));
        let mut source =
            Verifying::new(sources, PLAN, 2, None, alone()).discarding(Some(Discarding::new(TENTH, 1, 5)));
        let all = play(&mut source, 8, |_| false);
        // What a block holds when all is done: the last write of it, or nothing.
        let mut holds = std::collections::HashMap::new();
        for op in all.iter().filter(|op| op.verb.puts_bytes() || op.verb == Verb::Trim) {
            holds.insert(op.offset, (op.verb != Verb::Trim).then_some(op.mark));
        }
        let reads: Vec<_> = all.iter().filter(|op| op.mark & CHECK != 0).collect();
        assert!(reads.iter().any(|op| op.mark & ZEROS != 0));
        for read in reads {
            match holds[&read.offset] {
                None => assert_eq!(read.mark, CHECK | ZEROS),
                Some(last) => assert!(read.mark & OURS != 0 && number(read.mark) <= last),
            }
        }
    }

    #[test]
    fn a_discard_that_failed_leaves_nothing_that_can_be_checked() {
        let sources = || writes(Pattern::Sequential(Begin::First), 40);
        let mut source = Verifying::new((sources(), sources()), PLAN, 2, None, alone())
            .discarding(Some(Discarding::new(Discards { percent: 100, ..TENTH }, 1, 5)));
        let all = play(&mut source, 1, |op| op.verb == Verb::Trim);
        let trims: Vec<u64> = all.iter().filter(|op| op.verb == Verb::Trim).map(|op| op.offset).collect();
        assert_eq!(trims.len(), 20);
        assert!(all.iter().filter(|op| op.mark & CHECK != 0).all(|op| !trims.contains(&op.offset)));
    }

    fn checked(mut source: Checking) -> Vec<u64> {
        let mut out = Vec::new();
        while source.fill(0, 8, &mut Pace::Closed, &mut out) != Fill::Done {}
        assert!(out.iter().all(|op| (op.verb, op.mark) == (Verb::Read, CHECK)));
        out.iter().map(|op| op.offset).collect()
    }

    #[test]
    fn what_an_earlier_run_did_not_write_is_not_checked() {
        let source = || writes(Pattern::Sequential(Begin::First), 500);
        let mut all = Vec::new();
        source().fill(0, 500, &mut Pace::Closed, &mut all);
        let written: Vec<u64> = all.iter().filter(|op| op.verb.puts_bytes()).map(|op| op.offset).collect();
        // Of the last four that were begun, two came back.
        let last = vec![(0, written[99]), (0, written[97])];
        let progress = fathom_record::Progress { worker: 0, writes: 100, depth: 4, last };
        let known = Some(Known::new(&progress));
        let wanted = [&written[..96], &[written[97], written[99]]].concat();
        assert_eq!(checked(Checking::new(source(), 0, true, known)), wanted);
        assert_eq!(
            checked(Checking::new(source(), 0, true, None)),
            written,
            "what is only read, nobody wrote"
        );
    }
}
