//! A log-linear histogram of nanoseconds: 128 steps an octave, so that a value is known to 0.79 %.
//!
//! It reaches from 1 ns to 2^42 ns (73 minutes) and saturates at both ends. Its edges contain those of fio
//! (64 steps an octave) and of ORION (1000 * 2^k ns), so both are binned again without loss. A worker's holds all
//! bins from the start, 18 KiB, so that it never asks for memory; others hold the octaves that they need, mostly a
//! quarter of that; in the store it is sparse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bins in a histogram.
pub const BINS: usize = OCTAVES * STEPS;
const OCTAVES: usize = 36;
const STEPS: usize = 128;

/// Counts of latencies. An add is an index, two memory operations and one branch that is never taken in a worker.
#[derive(Default, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// Counts of whole octaves, from bin `first` on. What lies outside has counted nothing.
    bins: Vec<u32>,
    first: usize,
    /// One bit for each octave that holds anything.
    touched: u64,
}

impl Clone for Histogram {
    /// Equal, and no larger than what it holds: of what a worker hands over a record keeps many copies.
    fn clone(&self) -> Self {
        let mut clone = Histogram::default();
        clone.merge(self);
        clone
    }
}

/// The stored form: pairs of bin number and count, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Sparse(Vec<(u32, u32)>);

impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Sparse::json_schema(generator)
    }
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut histogram = Histogram::default();
        for (bin, count) in sparse.0 {
            histogram.add_to_bin(bin as usize, count);
        }
        histogram
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        Sparse(histogram.filled().map(|(bin, count)| (bin as u32, count)).collect())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} counts)", self.count())
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.filled().eq(other.filled())
    }
}

impl Histogram {
    /// An empty one that never grows.
    pub fn whole() -> Self {
        Histogram { bins: vec![0; BINS], first: 0, touched: 0 }
    }

    /// The bin of a latency: for ns < 256 the value itself, then 128 steps an octave.
    #[inline(always)]
    pub fn index(ns: u64) -> usize {
        let octave = (64 - (ns | 255).leading_zeros()) - 8;
        (((octave as usize) << 7) + (ns >> octave) as usize).min(BINS - 1)
    }

    /// The smallest latency of a bin, ns.
    pub fn lower_edge(bin: usize) -> u64 {
        match bin < 2 * STEPS {
            true => bin as u64,
            false => {
                let octave = bin / STEPS - 1;
                ((bin - octave * STEPS) as u64) << octave
            }
        }
    }

    /// The largest latency of a bin, ns.
    pub fn upper_edge(bin: usize) -> u64 {
        Self::lower_edge(bin + 1) - 1
    }

    /// Counts one latency.
    #[inline(always)]
    pub fn add(&mut self, ns: u64) {
        let bin = Self::index(ns);
        match self.bins.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.add_to_bin(bin, 1),
        }
        self.touched |= 1 << (bin >> 7);
    }

    /// Counts the same latency several times.
    #[inline(always)]
    pub fn add_many(&mut self, ns: u64, count: u32) {
        self.add_to_bin(Self::index(ns), count);
    }

    #[cold]
    fn add_to_bin(&mut self, bin: usize, count: u32) {
        let bin = bin.min(BINS - 1);
        self.reach(bin >> 7, bin >> 7);
        let place = &mut self.bins[bin - self.first];
        *place = place.saturating_add(count);
        self.touched |= 1 << (bin >> 7);
    }

    /// Makes room for the octaves from `low` to `high`.
    fn reach(&mut self, low: usize, high: usize) {
        let (mut low, mut end) = (low * STEPS, (high + 1) * STEPS);
        if !self.bins.is_empty() {
            (low, end) = (low.min(self.first), end.max(self.first + self.bins.len()));
        }
        if end - low > self.bins.len() {
            let mut bins = vec![0; end - low];
            let at = self.first.saturating_sub(low);
            bins[at..at + self.bins.len()].copy_from_slice(&self.bins);
            (self.bins, self.first) = (bins, low);
        }
    }

    /// The octaves that hold anything.
    fn octaves(touched: u64) -> impl Iterator<Item = usize> {
        (0..OCTAVES).filter(move |octave| touched >> octave & 1 == 1)
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.filled().map(|(_, count)| u64::from(count)).sum()
    }

    /// How many latencies stand in bins that lie wholly above `ns`.
    pub fn above(&self, ns: u64) -> u64 {
        let from = (Self::index(ns) + 1).saturating_sub(self.first);
        self.bins.iter().skip(from).map(|&count| u64::from(count)).sum()
    }

    /// The bins that hold anything, with their counts, ascending.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let counted = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(at, count)| (self.first + at, *count))
    }

    /// The latency that a share `q` of all stays at or under, ns: the middle of the bin where it falls
    /// (nearest-rank definition). `None` when nothing was counted.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total = self.count();
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        for (bin, count) in self.filled() {
            below += u64::from(count);
            if below >= rank {
                return Some(Self::lower_edge(bin).midpoint(Self::upper_edge(bin)));
            }
        }
        None
    }

    /// Adds another's counts to these.
    pub fn merge(&mut self, other: &Histogram) {
        let Histogram { bins, first, touched } = other;
        let (Some(low), Some(high)) = (Self::octaves(*touched).next(), Self::octaves(*touched).last()) else {
            return;
        };
        self.reach(low, high);
        for octave in Self::octaves(*touched) {
            let mine = &mut self.bins[octave * STEPS - self.first..][..STEPS];
            let theirs = &bins[octave * STEPS - first..][..STEPS];
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
        self.touched |= touched;
    }

    /// Empties it; touches only what was touched. Called by whoever collects, never by the worker.
    pub fn clear(&mut self) {
        for octave in Self::octaves(self.touched) {
            self.bins[octave * STEPS - self.first..][..STEPS].fill(0);
        }
        self.touched = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_of_orion_and_fio_fall_on_edges_of_ours() {
        for k in 0..28 {
            let edge = 1000u64 << k;
            assert_ne!(Histogram::index(edge - 1), Histogram::index(edge), "orion {k}");
        }
        for octave in 7..35u32 {
            for step in 0..64u64 {
                let edge = (64 + step) << (octave - 6);
                assert_ne!(Histogram::index(edge - 1), Histogram::index(edge), "fio {octave} {step}");
            }
        }
    }

    #[test]
    fn every_bin_begins_where_the_one_before_ends() {
        for bin in 0..BINS - 1 {
            assert_eq!(Histogram::index(Histogram::lower_edge(bin)), bin);
            assert_eq!(Histogram::index(Histogram::upper_edge(bin)), bin);
        }
    }

    #[test]
    fn the_stored_form_is_sparse_and_comes_back_equal() {
        let mut histogram = Histogram::default();
        histogram.add(100);
        histogram.add_many(1_000_000, 3);
        let json = serde_json::to_string(&histogram).unwrap();
        assert_eq!(json, "[[100,1],[1780,3]]");
        assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
        histogram.clear();
        assert_eq!(histogram, Histogram::default());
    }

    #[test]
    fn a_copy_holds_the_octaves_that_are_needed_and_grows_both_ways() {
        let mut whole = Histogram::whole();
        whole.add(5_000);
        whole.add(9_000);
        let mut copy = whole.clone();
        assert_eq!((copy.bins.len(), &copy), (2 * STEPS, &whole));
        for ns in [3, u64::MAX, 70_000] {
            copy.add(ns);
            whole.add(ns);
        }
        assert_eq!((copy.bins.len(), &copy), (BINS, &whole));
        assert_eq!((copy.count(), copy.above(8_000), copy.above(u64::MAX)), (5, 3, 0));
        assert_eq!(Histogram::default().clone().bins.capacity(), 0);
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_a_bin_of_the_exact_one(mut values in prop::collection::vec(1u64..10_000_000_000, 1..300), q in 0.01f64..0.999) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|v| histogram.add(*v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.quantile(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= exact * 0.008 + 1.0, "{found} {exact}");
        }
    }
}
