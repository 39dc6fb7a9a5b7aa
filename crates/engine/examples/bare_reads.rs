//! The least that a program can do for one read after the other: a random place, `pread`, and nothing else, neither latencies nor
//! counters. What it reaches is the most that any program reaches with `psync`: `bare_reads BLOCK BYTES SECONDS DIRECT PATH` prints
//! reads per second.

use fathom_drive::Clock;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;

/// Reads between two looks at the clock.
const STRETCH: u64 = 1000;

/// What direct I/O wants of an address.
const PAGE: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [block, bytes, seconds, direct, path] = &args[..] else {
        return Err("usage: bare_reads BLOCK BYTES SECONDS DIRECT PATH".into());
    };
    let (block, bytes, seconds): (usize, u64, u64) = (block.parse()?, bytes.parse()?, seconds.parse()?);
    let flags = if direct == "1" { OFlags::RDONLY | OFlags::DIRECT } else { OFlags::RDONLY };
    let file = open(path, flags, Mode::empty())?;
    let mut memory = vec![0u8; block + PAGE];
    let from = memory.as_ptr().align_offset(PAGE).min(PAGE);
    let buffer = &mut memory[from..from + block];
    let clock = Clock::start();
    let (mut reads, mut random) = (0u64, 88_172_645_463_325_252u64);
    while clock.now() < seconds * 1_000_000_000 {
        for _ in 0..STRETCH {
            // Marsaglia, "Xorshift RNGs" (2003): 13, 7, 17.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            pread(&file, &mut *buffer, random % (bytes / block as u64) * block as u64)?;
        }
        reads += STRETCH;
    }
    println!("{:.0}", reads as f64 / (clock.now() as f64 / 1e9));
    Ok(())
}
