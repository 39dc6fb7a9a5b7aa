//! Blocking calls on other threads: the worker hands operations over and takes what has come back, as with a queue of the
//! kernel's. As many threads as operations may be outstanding, so that none waits for another.

use super::psync::PsyncCalls;
use fathom_drive::{Clock, Completion, Operation, Queue};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads that do blocking calls for one worker.
#[derive(Debug)]
pub struct PoolQueue {
    clock: Clock,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    calls: Calls,
    lists: Mutex<Lists>,
    /// There is something to do, or the end.
    more: Condvar,
    /// Something has come back.
    back: Condvar,
}

#[derive(Debug)]
struct Calls(PsyncCalls);

// SAFETY: the threads only call `one`, which reads the calls' fields and moves bytes of the buffer of its own tag; a
// tag is with one thread at a time, from `push` until its completion is taken.
unsafe impl Sync for Calls {}

#[derive(Debug, Default)]
struct Lists {
    asked: VecDeque<(u32, Operation)>,
    done: Vec<Completion>,
    ended: bool,
}

impl Shared {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut lists = self.lists();
        loop {
            if let Some((tag, operation)) = lists.asked.pop_front() {
                drop(lists);
                let result = self.calls.0.one(tag, &operation);
                lists = self.lists();
                lists.done.push(Completion { tag, result });
                self.back.notify_one();
            } else if lists.ended {
                return;
            } else {
                lists = self.more.wait(lists).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl PoolQueue {
    /// So many threads over blocking calls.
    pub fn new(calls: PsyncCalls, clock: Clock, depth: u32) -> std::io::Result<Self> {
        let (more, back, lists) = (Condvar::new(), Condvar::new(), Mutex::default());
        let shared = Arc::new(Shared { calls: Calls(calls), lists, more, back });
        let mut pool = PoolQueue { clock, shared, threads: Vec::with_capacity(depth as usize) };
        for _ in 0..depth {
            let shared = pool.shared.clone();
            let builder = std::thread::Builder::new().name("pool".to_owned()).stack_size(64 << 10);
            pool.threads.push(builder.spawn(move || shared.serve())?);
        }
        Ok(pool)
    }
}

impl Drop for PoolQueue {
    fn drop(&mut self) {
        self.shared.lists().ended = true;
        self.shared.more.notify_all();
        // A thread that panicked has left nothing behind.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Queue for PoolQueue {
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        self.shared.lists().asked.extend(tags.iter().copied().zip(operations.iter().copied()));
        match tags.len() {
            1 => self.shared.more.notify_one(),
            _ => self.shared.more.notify_all(),
        }
    }

    fn enter(&mut self, at_least: usize, until_ns: u64) {
        let mut lists = self.shared.lists();
        while lists.done.len() < at_least.max(1) {
            let now_ns = self.clock.now();
            if until_ns <= now_ns || (at_least == 0 && until_ns == u64::MAX) {
                return;
            }
            // Without a moment to wait for, a completion wakes it.
            let wait = Duration::from_nanos((until_ns - now_ns).min(1_000_000_000));
            let woken = self.shared.back.wait_timeout(lists, wait);
            lists = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.shared.lists().done);
    }
}
