//! ORION's language: its options, its data points, its files.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | one table of all options, and what was typed |
//! | [`points`] | which loads a run measures, and how long that takes |
//! | [`mod@plan`] | from a data point to a plan |
//! | [`report`] | what ORION prints, and its files |
//! | [`histogram`] | its histograms |
//! | [`read`] | reads its tables again |

pub mod histogram;
pub mod options;
pub mod plan;
pub mod points;
pub mod read;
pub mod report;
pub mod session;

pub use options::{LargeType, Layout, Level, Matrix, OptionError, Options, Queue, Simulate, help, parse};
pub use plan::{Lun, large_workers, luns, plan, warming};
pub use points::Points;
pub use read::{Grid, read_grid};
pub use report::{Point, Report};
