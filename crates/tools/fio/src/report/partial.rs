//! A run that is not over yet: what `--status-interval` and SIGUSR1 report. Whoever watches a run hands on the intervals
//! and events as they come; at any moment they are a run that a report can be made of.

use fathom_record::{Event, EventKind, Interval, Run, Sample, StopReason, Totals, WorkerTotals};
use fathom_spec::{Plan, StreamId};

/// What was seen of a run so far.
#[derive(Clone, Debug)]
pub struct SoFar {
    run: Run,
    began_ns: Vec<Option<u64>>,
    ended_ns: Vec<Option<u64>>,
}

impl SoFar {
    /// Nothing yet.
    pub fn new(plan: &Plan) -> Self {
        let none = vec![None; plan.streams.len()];
        SoFar { run: Run::empty(plan), began_ns: none.clone(), ended_ns: none }
    }

    /// Something happened.
    pub fn event(&mut self, event: &Event) {
        let (times, stream) = match &event.what {
            EventKind::Started(stream) => (&mut self.began_ns, stream),
            EventKind::Stopped(stream, _) => (&mut self.ended_ns, stream),
            _ => return self.run.events.push(event.clone()),
        };
        if let Some(time) = times.get_mut(stream.0 as usize) {
            *time = Some(event.at_ns);
        }
    }

    /// A worker has handed over an interval.
    pub fn interval(&mut self, interval: &Interval) {
        self.run.take(interval);
    }

    /// The disks' counters as they are now, where the caller reads them.
    pub fn samples(&mut self, samples: impl IntoIterator<Item = Sample>) {
        self.run.samples.extend(samples);
    }

    /// The run as it stands. Its streams are as long as what they have handed over: an interval that is still being
    /// filled is not in it, and neither is the CPU time, which workers tell when they end.
    pub fn run(&self, now_ns: u64, totals: &[Totals]) -> Run {
        let mut run = self.run.clone();
        run.length_ns = now_ns;
        run.intervals.sort_by_key(|interval| (interval.stream, interval.start_ns));
        for (at, stream) in run.plan.streams.iter().enumerate() {
            let id = StreamId(at as u32);
            let Some(began_ns) = self.began_ns[at] else { continue };
            let mine = run.intervals.iter().filter(|interval| interval.stream == id);
            let told_ns = mine.map(|interval| interval.start_ns + interval.length_ns).max();
            let running = totals.iter().any(|total| total.stream == id && total.running > 0);
            let end_ns = match (running, self.ended_ns[at]) {
                (false, Some(ended_ns)) => ended_ns,
                _ => told_ns.unwrap_or(began_ns).min(now_ns),
            };
            for worker in 0..stream.workers {
                run.workers.push(WorkerTotals {
                    ended: if running { StopReason::Told } else { StopReason::Finished },
                    outstanding_most: stream.depth.most(),
                    ..WorkerTotals::finished(id, worker, (began_ns, end_ns.max(began_ns)))
                });
            }
        }
        run
    }
}
