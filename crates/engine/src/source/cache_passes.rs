//! Passes that each begin with an empty page cache: after so many bytes, when all of them have come back, the cache is
//! asked to drop the region, so that the next pass is answered by the storage, too.

use fathom_drive::{Fill, Operation, Pace, Source};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Drops what is cached; it may take its time.
pub(crate) type Drop = Arc<dyn Fn() + Send + Sync>;

/// How long a worker waits before it looks again whether the cache is dropped.
const LOOK_AGAIN_NS: u64 = 200_000;

/// A source in passes.
pub(crate) struct CachePasses {
    source: Box<dyn Source>,
    /// Bytes of a pass, and those that are left of this one.
    pass: u64,
    left: u64,
    /// The longest operation, bytes.
    longest: u64,
    outstanding: usize,
    drop: Drop,
    /// The drop under way: a worker's step never blocks, so that it has a thread of its own.
    doing: Option<JoinHandle<()>>,
}

impl CachePasses {
    /// Passes of so many bytes, in operations of no more than `longest`.
    pub(crate) fn new(source: Box<dyn Source>, pass: u64, longest: u64, drop: Drop) -> Self {
        CachePasses { source, pass, left: pass, longest: longest.max(1), outstanding: 0, drop, doing: None }
    }
}

impl Source for CachePasses {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        if self.left == 0 {
            match self.doing.take() {
                None if self.outstanding > 0 => return Fill::Blocked,
                None => {
                    let drop = self.drop.clone();
                    self.doing = Some(std::thread::spawn(move || drop()));
                    return Fill::Wait(now_ns + LOOK_AGAIN_NS);
                }
                Some(doing) if !doing.is_finished() => {
                    self.doing = Some(doing);
                    return Fill::Wait(now_ns + LOOK_AGAIN_NS);
                }
                Some(doing) => {
                    let _ = doing.join();
                    self.left = self.pass;
                }
            }
        }
        let whole = usize::try_from((self.left / self.longest).max(1)).unwrap_or(usize::MAX);
        let from = out.len();
        let fill = self.source.fill(now_ns, room.min(whole), pace, out);
        for operation in &out[from..] {
            self.left = self.left.saturating_sub(operation.length.into());
            self.outstanding += 1;
        }
        fill
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.outstanding = self.outstanding.saturating_sub(done.len());
        self.source.completed(done);
    }

    fn wants_completions(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Verb;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    /// Reads of 4 KiB without an end.
    struct Reads;

    impl Source for Reads {
        fn fill(&mut self, _: u64, room: usize, _: &mut Pace, out: &mut Vec<Operation>) -> Fill {
            let read = Operation {
                offset: 0,
                due_ns: 0,
                mark: 0,
                length: 4096,
                target: 0,
                verb: Verb::Read,
                cell: 0,
            };
            out.extend(std::iter::repeat_n(read, room));
            Fill::Some
        }
    }

    #[test]
    fn the_cache_is_dropped_behind_each_pass_and_nothing_is_in_flight_meanwhile() {
        let drops = Arc::new(AtomicU32::new(0));
        let seen = drops.clone();
        let drop: Drop = Arc::new(move || {
            seen.fetch_add(1, SeqCst);
        });
        let mut passes = CachePasses::new(Box::new(Reads), 5 * 4096, 4096, drop);
        let (mut out, mut now_ns, mut done) = (Vec::new(), 0, 0);
        while done < 20 {
            let before = out.len();
            match passes.fill(now_ns, 4, &mut Pace::Closed, &mut out) {
                Fill::Blocked => assert!(out.len() > done),
                Fill::Wait(until_ns) => {
                    assert_eq!(out.len(), done, "all have come back");
                    now_ns = until_ns;
                    std::thread::yield_now();
                }
                _ => assert!((1..=4).contains(&(out.len() - before))),
            }
            let back: Vec<_> = out[done..].iter().take(2).map(|one| (*one, 4096)).collect();
            done += back.len();
            passes.completed(&back);
        }
        assert!(out.len() <= 25 && (3..=4).contains(&drops.load(SeqCst)), "three or four passes are over");
    }
}
