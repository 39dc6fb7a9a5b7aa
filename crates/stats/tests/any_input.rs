//! No input makes a function panic: NaN, infinities, nothing, or one value.

use fathom_stats::{BatchMeans, Estimate, Measured, Point, Slot, Stopper, StoppingRule};
use proptest::prelude::*;

fn series() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(prop::num::f64::ANY, 0..120),
        prop::collection::vec(-1e3..1e3_f64, 0..600),
        prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(f64::INFINITY)], 0..120),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_function_of_a_series_returns(values in series(), a in prop::num::f64::ANY, b in prop::num::f64::ANY) {
        let _ = fathom_stats::warm_up(&values);
        let _ = fathom_stats::steadiness(&values, a);
        let _ = fathom_stats::change_points(&values, 0, a);
        let _ = fathom_stats::long_run_variance(&values);
        let _ = fathom_stats::autocorrelation(&values, 3);
        let bins: Vec<(f64, u64)> = values.iter().map(|edge| (*edge, edge.abs() as u64 % 1000)).collect();
        let _ = fathom_stats::quantile(bins.clone(), a);
        let _ = fathom_stats::quantile_interval(bins.clone(), a, b, 0.95);
        let _ = fathom_stats::quantile_interval(bins, 0.5, b, a);
        let _ = fathom_stats::effective_n_from_lag_1(a, b);
        let points: Vec<Point> =
            values.iter().map(|v| Point { load: *v, throughput: v * 2.0, latency: a }).collect();
        let _ = fathom_stats::power_knee(&points);
        if let Some(estimate) = Estimate::of_independent(&values, a) {
            let _ = fathom_stats::effective_n_from_variances(a, b, &estimate);
            let measured = Measured::from(&estimate);
            let _ = fathom_stats::compare(&measured, &Measured { mean: a, variance: b, ..measured }, b);
        }
    }

    #[test]
    fn every_slot_is_taken(values in series(), denominator in prop::num::f64::ANY) {
        let batches: BatchMeans = values.iter().map(|v| Slot { numerator: *v, denominator }).collect();
        let _ = batches.estimate(0.95);
        let mut stopper = Stopper::new(StoppingRule { growth: denominator, ..StoppingRule::new(0.05, 20, 500) });
        for value in &values {
            let _ = stopper.push(Slot { numerator: *value, denominator: 1.0 });
        }
        let _ = stopper.finish();
    }
}
