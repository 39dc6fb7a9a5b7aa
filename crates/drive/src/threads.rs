//! The driver of real runs: each worker has a thread of its own, and the clock is the machine's.

use crate::driver::{Driver, Launch, Message, Prepare, Seat, StreamLaunch};
use crate::start_barrier::{StartBarrier, start_barriers};
use crate::{Clock, sys};
use fathom_record::ExecuteError;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Bytes of a worker's stack: its buffers are elsewhere.
const STACK_BYTES: usize = 256 << 10;

/// Threads of one run.
pub(crate) struct Threads<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    clock: Clock,
    notes: Sender<Message>,
    inbox: Receiver<Message>,
    /// Workers whose threads are still to be made: thousands take a while, in which the run may be ended.
    launches: VecDeque<(Launch<Prepare<'env>>, Arc<StartBarrier>)>,
}

impl<'scope, 'env> Threads<'scope, 'env> {
    /// No thread yet.
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, clock: Clock) -> Self {
        let (notes, inbox) = channel();
        Threads { scope, clock, notes, inbox, launches: VecDeque::new() }
    }

    /// Starts one worker, which waits at the barrier for the others.
    fn spawn(&self, launch: Launch<Prepare<'env>>, barrier: Arc<StartBarrier>) -> std::io::Result<()> {
        let Launch { job, name, steering, published, record } = launch;
        let seat = Seat { clock: self.clock, steering, published, notes: self.notes.clone() };
        let thread = Builder::new().name(format!("{name}.{}", job.worker)).stack_size(STACK_BYTES);
        let work = move || {
            let (stream, worker) = (job.stream, job.worker);
            pin(&job.cpus);
            // The kernel may wake a sleeper 50 us late to save a timer; where that cannot be set, it does.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            let prepared = (!barrier.is_called_off()).then(|| (job.prepare)(&seat));
            if let (true, Some(prepared)) = (barrier.wait(), prepared) {
                let begin = record.begin(|| seat.clock.now());
                let message = match prepared {
                    Err(error) => Message::Failed(error),
                    Ok(perform) => {
                        let before = sys::thread_usage();
                        let outcome = Box::new(perform(&seat, begin));
                        let used = sys::thread_usage().since(before);
                        Message::Ended { stream, worker, outcome, used }
                    }
                };
                let _ = seat.notes.send(message);
            }
            let _ = seat.notes.send(Message::Gone(stream));
        };
        thread.spawn_scoped(self.scope, work).map(drop)
    }

    /// Makes the next worker's thread. Where the run is ended before, or the thread cannot be made, those who wait for it at
    /// their barrier go home.
    fn spawn_next(&mut self) {
        let Some((launch, barrier)) = self.launches.pop_front() else { return };
        let (id, number, name) = (launch.job.stream, launch.job.worker, launch.name.clone());
        if launch.steering.stop.load(Relaxed) {
            barrier.call_off();
        }
        let made = match barrier.is_called_off() {
            true => None,
            false => Some(self.spawn(launch, barrier.clone())),
        };
        if let Some(Err(error)) = &made {
            barrier.call_off();
            let errno = error.raw_os_error().unwrap_or(0);
            let error = ExecuteError::Thread { number, stream: name, errno };
            let _ = self.notes.send(Message::Failed(error));
        }
        if !matches!(made, Some(Ok(()))) {
            let _ = self.notes.send(Message::Gone(id));
        }
    }
}

impl<'env> Driver for Threads<'_, 'env> {
    type Prepare = Prepare<'env>;

    fn now(&self) -> u64 {
        self.clock.now()
    }

    /// A worker tells its counts of an edge when it first looks after it. Whoever asks at the edge itself finds some workers
    /// that have not looked yet and will have seen more of this slot.
    fn lag_ns(&self, slot_ns: u64) -> u64 {
        slot_ns / 4
    }

    fn start(&mut self, streams: Vec<StreamLaunch<Prepare<'env>>>) {
        let barriers = start_barriers(&streams);
        for (stream, barrier) in streams.into_iter().zip(barriers) {
            self.launches.extend(stream.workers.into_iter().map(|launch| (launch, barrier.clone())));
        }
    }

    fn wait(&mut self, until_ns: u64, messages: &mut Vec<Message>) {
        while !self.launches.is_empty() {
            self.spawn_next();
            if self.clock.now() >= until_ns {
                messages.extend(self.inbox.try_iter());
                return;
            }
        }
        let wait = Duration::from_nanos(until_ns.saturating_sub(self.clock.now()).max(1));
        messages.extend(self.inbox.recv_timeout(wait));
        messages.extend(self.inbox.try_iter());
    }
}

/// Puts the calling thread on CPUs; where that is refused it stays where it is.
pub fn pin(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
