//! Little's law, as a check that figures fit together.

/// How far throughput times latency is from the number outstanding, as a share of that number: 0 is exact, -0.5 says
/// that half of what was outstanding is not in the latencies (as where only the submission is timed).
///
/// L = lambda W (Little 1961). Throughput and latency must be in the same unit of time. `None` where nothing was outstanding.
pub fn littles_law_gap(throughput: f64, mean_latency: f64, outstanding: f64) -> Option<f64> {
    (outstanding > 0.0).then(|| throughput * mean_latency / outstanding - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_that_leaves_out_the_wait_is_found() {
        // 29,689 IOPS with 32 outstanding need 1.08 ms each; a tool that says 0.03 ms timed something else.
        assert!(littles_law_gap(29_689.0, 0.001_077_84, 32.0).unwrap().abs() < 1e-3);
        assert!(littles_law_gap(29_689.0, 0.000_03, 32.0).unwrap() < -0.97);
        assert_eq!(littles_law_gap(1.0, 1.0, 0.0), None);
    }
}
