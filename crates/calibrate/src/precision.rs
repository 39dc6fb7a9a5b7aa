//! How exact a calibration shall be, and what that costs.

use serde::{Deserialize, Serialize};

/// Level of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// How precise the headline points shall be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// +-10 %.
    #[default]
    Fast,
    /// +-5 %.
    Normal,
    /// +-2 %.
    Strict,
}

impl Precision {
    /// The relative half width of a 95 % interval at which a headline point may stop.
    pub fn half_width(self) -> f64 {
        match self {
            Precision::Fast => 0.10,
            Precision::Normal => 0.05,
            Precision::Strict => 0.02,
        }
    }

    /// By what the budget is multiplied. A half width shrinks with the root of the time, so five times as exact would
    /// take 25 times as long; the factor is a compromise, and the rule says which points did not get there.
    pub fn stretch(self) -> f64 {
        match self {
            Precision::Fast => 1.0,
            Precision::Normal => 1.5,
            Precision::Strict => 4.0,
        }
    }
}
