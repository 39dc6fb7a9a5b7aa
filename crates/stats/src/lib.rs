//! Numbers in, numbers out: means with their errors, warm-up, steady state, knees, comparisons.
//!
//! Pure functions and small accumulators over slices, counts and edges. Knows nothing of fathom's types, of clocks, of
//! files; draws no random numbers; never panics on any input. Which rule is used where, and what it was measured to be
//! worth, stands in `docs/method/statistics.md`.
//!
//! | module | answers |
//! |---|---|
//! | [`estimate`] | a mean and how far it can be trusted |
//! | [`batch`] | the error of a mean or a ratio of correlated slots, in O(1) memory |
//! | [`mod@warm_up`] | where does the warm-up end (MSER-5) |
//! | [`stopping`] | may the measurement stop |
//! | [`mod@quantile`] | quantiles of bins and their intervals |
//! | [`steady`] | is it steady |
//! | [`change`] | when did the level change |
//! | [`knee`] | where does throughput stop paying for latency |
//! | [`mod@compare`] | is a difference larger than noise (Welch, Fieller) |
//! | [`median()`] | the middle of a sample |
//! | [`moments`] | mean, variance, autocorrelation |
//! | [`distribution`] | quantiles and tails of t, normal, binomial and Kolmogorov's distribution |

pub mod batch;
pub mod change;
pub mod compare;
pub mod distribution;
pub mod estimate;
pub mod knee;
mod median;
pub mod moments;
pub mod quantile;
pub mod steady;
pub mod stopping;
pub mod warm_up;

pub use batch::{BatchMeans, Slot, rate_estimate, ratio_estimate, slot_residuals, sum_of};
pub use change::{ChangePoint, change_point, change_points};
pub use compare::{Comparison, Measured, compare};
pub use estimate::Estimate;
pub use knee::{Point, power_knee};
pub use median::median;
pub use moments::{Moments, autocorrelation, long_run_variance};
pub use quantile::{
    QuantileEstimate, effective_n_from_lag_1, effective_n_from_variances, effective_n_of_quantile, quantile,
    quantile_by_batches, quantile_interval, share_over,
};
pub use steady::{Steadiness, steadiness};
pub use stopping::{Decision, Outcome, Stopper, StoppingRule, warm_up_of_slots};
pub use warm_up::{WarmUp, warm_up};
