//! How much work is asked for at a time, as a search names it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A load as a search names it: outstanding I/Os of the small and of the large kind.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Load {
    /// Small I/Os outstanding, or sessions, or writers.
    pub small: u32,
    /// Large I/Os outstanding, or streams.
    pub large: u32,
}
