//! The generic half of a worker: all of it but its queue, which decides what the loop is compiled for.

use crate::verification;
use fathom_drive::{
    Begin, Content, Metronome, Pace, Parts, Perform, Published, Queue, Recorder, Source, Steering, Stepper,
    Worker, WorkerFeatures, run, sim::SimQueue,
};
use fathom_spec::{Arrival, QueueKind, Rate, Spacing, Stream, Verb, Work};
use std::sync::Arc;

/// Operations in one submission to libaio, where the plan leaves it to the engine.
const LIBAIO_BATCH: usize = 32;

/// What a queue is put into once it exists: the generic half of a worker.
pub(crate) struct WorkerMaker {
    /// Which operation comes next.
    pub(crate) source: Box<dyn Source>,
    pub(crate) stream: Stream,
    /// In the order of cells.
    pub(crate) verbs: Vec<Verb>,
    /// The worker's own.
    pub(crate) seed: u64,
    pub(crate) features: WorkerFeatures,
}

impl WorkerMaker {
    /// The work of one worker on a queue.
    pub(crate) fn on<Q: Queue + 'static>(self, queue: Q, content: Option<Box<dyn Content>>) -> Perform {
        Box::new(move |seat, begin| {
            let plain = self.features.is_plain();
            let parts = self.parts(queue, content, seat.steering.clone(), seat.published.clone(), begin);
            if plain { run(Worker::<_, false>::new(parts)) } else { run(Worker::<_, true>::new(parts)) }
        })
    }

    /// One worker in virtual time.
    pub(crate) fn in_virtual_time(
        self,
        queue: SimQueue,
        steering: Arc<Steering>,
        published: Arc<Published>,
        begin: Begin,
    ) -> Box<dyn Stepper> {
        Box::new(Worker::<_, true>::new(self.parts(queue, None, steering, published, begin)))
    }

    fn parts<Q: Queue>(
        self,
        queue: Q,
        content: Option<Box<dyn Content>>,
        steering: Arc<Steering>,
        published: Arc<Published>,
        begin: Begin,
    ) -> Parts<Q> {
        let depth = self.stream.depth.most() as usize;
        let spare = self.features.spare;
        // A worker that verifies ends its writing by itself, and then reads to the end.
        let time = self.stream.stop.time.filter(|_| !verification::reads_again(&self.stream));
        let until_ns = time.map_or(u64::MAX, |time| begin.at_ns.saturating_add(time.0));
        let recorder = Recorder::new(begin.interval, begin.frame, Some(begin.outbox), published.clone());
        let kind = match &self.stream.work {
            Work::Blocks(blocks) => blocks.queue,
            _ => QueueKind::Auto,
        };
        let batch = match (self.stream.batch.submit, kind) {
            // libaio's calls are cheap, and what a RAM-backed device completes within one of them is still in the CPU's
            // caches when it is counted: a batch of all buffers is not.
            (0, QueueKind::Libaio) => (1, depth.min(LIBAIO_BATCH)),
            (0, QueueKind::IoUring | QueueKind::Auto) => (1, depth),
            (0, _) => (depth, depth),
            (submit, _) => (submit as usize, submit as usize),
        };
        Parts {
            queue,
            source: self.source,
            pace: pace(&self.stream.arrival, &self.verbs, begin.at_ns, self.seed),
            content,
            recorder,
            depth: depth + spare,
            batch,
            reap_least: (self.stream.batch.reap_least as usize).max(1),
            until_ns,
            steering,
            published,
            features: Box::new(self.features),
        }
    }
}

/// The timetable of one worker.
pub(crate) fn pace(arrival: &Arrival, verbs: &[Verb], at_ns: u64, seed: u64) -> Pace {
    let Arrival::Open(tables) = arrival else { return Pace::Closed };
    let mut cells: [Option<Metronome>; fathom_record::CELLS] = Default::default();
    for table in tables {
        let Some(cell) = verbs.iter().position(|verb| *verb == table.verb) else { continue };
        let (per_second, by_bytes) = match table.rate {
            Rate::Operations(rate) => (rate, false),
            Rate::Bytes(rate) => (rate, true),
        };
        let random = (table.spacing == Spacing::Poisson).then_some(seed.wrapping_add(cell as u64));
        cells[cell] = Some(Metronome::new(at_ns, per_second, by_bytes, random));
    }
    Pace::Open(Box::new(cells))
}
