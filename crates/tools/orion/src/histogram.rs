//! ORION's histograms: bins that double, in microseconds, of small and of large I/Os.

use fathom_record::{GroupTotals, Histogram, Latency, Load};
use std::io::{self, Write};

/// Bins: 0 to 1 us, then one an octave up to 2^28 us.
const BINS: usize = 28;

/// Upper edge of a bin, ns. The first holds all below 2 us, as its neighbour begins there.
fn upper_ns(bin: usize) -> u64 {
    1000 << (bin + 1)
}

/// Counts by ORION's bins; what lies above the last is counted in it. Bins of ours never straddle an edge of ORION's.
pub fn counts(latency: &Latency) -> [u64; BINS] {
    let mut counts = [0; BINS];
    for (bin, count) in latency.bins.iter().flat_map(Histogram::filled) {
        let at = (0..BINS).find(|k| Histogram::lower_edge(bin) < upper_ns(*k)).unwrap_or(BINS - 1);
        counts[at] += u64::from(count);
    }
    counts
}

/// Writes the histograms of one kind (`Small` or `Large`) at one data point.
pub fn write(kind: &str, side: &GroupTotals, load: Load, out: &mut impl Write) -> io::Result<()> {
    let (reads, writes) = (counts(&side.read), counts(&side.write));
    writeln!(out, "{kind} Read / Write Latency Histogram @ Small={} and Large={}", load.small, load.large)?;
    writeln!(out, "\tLatency:\t\t# of IOs (read)\t\t # of IOs (write)")?;
    for (bin, (read, write)) in reads.iter().zip(&writes).enumerate() {
        let (low, high) = if bin == 0 { (0, 1) } else { (1u64 << bin, 2u64 << bin) };
        writeln!(out, "{low:>9} - {high:<12}us:\t\t{read}\t\t\t{write}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_falls_into_its_octave() {
        let mut latency = Latency::default();
        [0, 1_999, 2_000, 3_999, 4_000, 1_023_999, 1_024_000, u64::MAX / 2]
            .iter()
            .for_each(|ns| latency.add(*ns));
        let counts = counts(&latency);
        assert_eq!((counts[0], counts[1], counts[2], counts[9], counts[10]), (2, 2, 1, 1, 1));
        assert_eq!((counts[27], counts.iter().sum::<u64>()), (1, 8));
    }
}
