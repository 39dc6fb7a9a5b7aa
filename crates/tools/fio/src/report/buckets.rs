//! fio's histogram, percentiles and latency classes, from our cmdprio histogram. fio keeps latencies below 128 ns
//! exactly and 64 buckets an octave above; every edge of its is one of ours, so the counts are exact. A bucket's value
//! is its middle.

use fathom_record::{Histogram, Latency};

/// Buckets of fio's histogram in its log files; ours goes on above them, theirs does not.
pub const BUCKETS: usize = 1856;

/// The bucket of a latency, ns, without a ceiling.
pub fn index(ns: u64) -> usize {
    let octave = (64 - (ns | 127).leading_zeros() as usize) - 7;
    (octave << 6) + (ns >> octave) as usize
}

/// The value that fio prints for a bucket, ns: exact below 128, its middle above.
pub fn value(bucket: usize) -> u64 {
    if bucket < 128 {
        return bucket as u64;
    }
    let octave = bucket / 64 - 1;
    (((bucket - octave * 64) as u64) << octave) + (1 << (octave - 1))
}

/// The filled buckets of a latency with their counts, ascending.
pub fn filled(latency: &Latency) -> Vec<(usize, u64)> {
    let mut buckets: Vec<(usize, u64)> = Vec::new();
    for (bin, count) in latency.bins.iter().flat_map(Histogram::filled) {
        let bucket = index(Histogram::lower_edge(bin));
        match buckets.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += u64::from(count),
            _ => buckets.push((bucket, u64::from(count))),
        }
    }
    buckets
}

/// The values under which these percentages of all latencies stay, ns; ascending, as the percentages are to be.
pub fn percentiles(latency: &Latency, list: &[f64]) -> Vec<u64> {
    let buckets = filled(latency);
    let total: u64 = buckets.iter().map(|(_, count)| count).sum();
    let at = |percent: f64| {
        let rank = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        for (bucket, count) in &buckets {
            below += count;
            if below >= rank {
                return value(*bucket);
            }
        }
        0
    };
    list.iter().map(|percent| at(*percent)).collect()
}

/// Upper edges of the latency classes, in each of the three units.
pub const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// How many latencies fell into each class: ten of nanoseconds, ten of microseconds, ten of milliseconds, then up to 2 s
/// and above. A class holds what is under its edge and not under the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Below 1 us.
    pub nanoseconds: [u64; 10],
    /// Below 1 ms.
    pub microseconds: [u64; 10],
    /// Below 1 s, below 2 s, and above.
    pub milliseconds: [u64; 12],
}

impl Classes {
    /// Adds one latency's distribution. A bin of ours that lies across an edge counts
    /// where its middle is, so that an edge is off by less than 0.4 %.
    pub fn add(&mut self, latency: &Latency) {
        for (bin, count) in latency.bins.iter().flat_map(Histogram::filled) {
            let ns = Histogram::lower_edge(bin).midpoint(Histogram::upper_edge(bin));
            let (table, unit): (&mut [u64], u64) = match ns {
                0..1_000 => (&mut self.nanoseconds, 1),
                1_000..1_000_000 => (&mut self.microseconds, 1_000),
                _ => (&mut self.milliseconds, 1_000_000),
            };
            let at = EDGES.iter().position(|edge| ns / unit < *edge);
            let at = at.unwrap_or(if ns / unit < 2000 { 10 } else { 11 });
            table[at.min(table.len() - 1)] += u64::from(count);
        }
    }
}

/// Counts as shares of `total`, percent; what is there but less than `least` is shown as `least`.
pub fn shares<const N: usize>(counts: &[u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match count {
        0 => 0.0,
        _ if total == 0 => 0.0,
        _ => (count as f64 * 100.0 / total as f64).max(least),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_told_by_its_middle() {
        for (ns, told) in
            [(127, 127), (152_705, 152_576), (329_164, 329_728), (34_635, 34_560), (8_736, 8_768), (3, 3)]
        {
            assert_eq!(value(index(ns)), told, "{ns}");
        }
        assert_eq!(index(17_179_869_183), BUCKETS - 1, "the last one that the peer has");
    }

    #[test]
    fn percentiles_are_by_the_nearest_rank() {
        let mut latency = Latency::default();
        for ns in [145_000u64, 171_000, 276_000, 355_000] {
            latency.add(ns);
        }
        assert_eq!(
            percentiles(&latency, &[1.0, 25.0, 26.0, 75.0, 100.0]),
            [144_384, 144_384, 171_008, 276_480, 354_304]
        );
        assert_eq!(percentiles(&Latency::default(), &[50.0]), [0]);
    }

    #[test]
    fn a_class_holds_what_is_under_its_edge() {
        let mut latency = Latency::default();
        for ns in
            [1u64, 2, 19, 20, 999, 1_000, 999_000, 1_500_000, 1_990_000_000, 2_100_000_000, 90_000_000_000]
        {
            latency.add(ns);
        }
        let mut classes = Classes::default();
        classes.add(&latency);
        assert_eq!(classes.nanoseconds, [1, 1, 0, 1, 1, 0, 0, 0, 0, 1]);
        assert_eq!(classes.microseconds[0], 1);
        assert_eq!(classes.microseconds[9], 1);
        assert_eq!(classes.milliseconds, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(shares(&[1, 0, 99_999], 100_000, 0.01), [0.01, 0.0, 99.999]);
    }
}
