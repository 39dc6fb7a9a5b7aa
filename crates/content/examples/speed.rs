//! How fast random blocks of 8 KiB are made, GB/s.

use fathom_content::Filler;
use fathom_spec::Content;

fn main() {
    let content = Content::Random { compress_percent: 0, dedupe_percent: 0 };
    let Some(mut filler) = Filler::new(&content, 7) else { return };
    let mut block = vec![0u8; 8192];
    let start = std::time::Instant::now();
    for i in 0..200_000u64 {
        filler.fill(std::hint::black_box(&mut block), i * 8192, i);
    }
    println!("{:.1} GB/s", 200_000.0 * 8192.0 / start.elapsed().as_secs_f64() / 1e9);
}
