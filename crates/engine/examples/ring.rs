//! A minimal loop around one queue: random 4 KiB reads of a page-cached file of 256 MiB, 128 outstanding, batches
//! of 64. Prints reads a second. `cargo run --release --example ring -- io_uring|libaio|psync|mmap|null [seconds]`

use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_engine::files::{OpenTarget, Setup, Targets};
use fathom_engine::null::NullQueue;
use fathom_engine::sys::{
    arena::Arena, io_uring::UringQueue, libaio::AioQueue, mmap::MmapQueue, psync::PsyncQueue,
};
use fathom_spec::Verb;
use std::io::Write;

const BLOCKS: u64 = (256 << 20) / 4096;
const DEPTH: u32 = 128;
const BATCH: usize = 64;

fn drive(mut queue: impl Queue, depth: u32, seconds: u64) -> f64 {
    let mut free: Vec<u32> = (0..depth).collect();
    let (mut tags, mut batch, mut done) = (Vec::new(), Vec::new(), Vec::<Completion>::new());
    let (mut random, mut count, start) = (0x9e37_79b9_7f4a_7c15_u64, 0u64, queue.now());
    let end = start + seconds * 1_000_000_000;
    while queue.now() < end {
        (tags.clear(), batch.clear());
        while batch.len() < BATCH {
            let Some(tag) = free.pop() else { break };
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let offset = (random >> 32) * BLOCKS / (1 << 32) * 4096;
            tags.push(tag);
            batch.push(Operation {
                offset,
                due_ns: 0,
                mark: 0,
                length: 4096,
                target: 0,
                verb: Verb::Read,
                cell: 0,
            });
        }
        queue.push(&tags, &batch);
        queue.enter(1, u64::MAX);
        done.clear();
        queue.poll(&mut done);
        for completion in &done {
            assert_eq!(completion.result, 4096);
            free.push(completion.tag);
        }
        count += done.len() as u64;
    }
    count as f64 / ((queue.now() - start) as f64 / 1e9)
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "io_uring".to_owned());
    let seconds = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(2);
    std::fs::create_dir_all("target")?;
    let path = "target/ring.dat";
    if std::fs::metadata(path).map_or(0, |about| about.len()) != BLOCKS * 4096 {
        let mut file = std::fs::File::create(path)?;
        (0..256u32).try_for_each(|i| file.write_all(&vec![i as u8; 1 << 20]))?;
    }
    let file = std::fs::File::open(path)?;
    let target = OpenTarget::new(file.into(), BLOCKS * 4096, false, path)
        .map_err(|error| std::io::Error::other(error.to_string()))?;
    let targets: Targets = [target].into();
    let (clock, setup) = (Clock::start(), Setup::new(DEPTH, 4096));
    let arena = Arena::new(DEPTH, 4096, false)?;
    let rate = match kind.as_str() {
        "libaio" => drive(AioQueue::new(clock, &setup, targets, arena)?, DEPTH, seconds),
        "psync" => drive(PsyncQueue::new(clock, &setup, targets, arena), 1, seconds),
        "mmap" => drive(MmapQueue::new(clock, &setup, targets, arena, false)?, 1, seconds),
        "null" => drive(NullQueue::new(clock, DEPTH), DEPTH, seconds),
        _ => {
            let queue = UringQueue::new(clock, &setup, targets, arena)?;
            println!("{} {:?}", queue.describe(), queue.notes());
            drive(queue, DEPTH, seconds)
        }
    };
    println!("{kind}: {:.0} reads a second", rate);
    Ok(())
}
