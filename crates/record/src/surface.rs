//! A figure over two sizes, such as iozone's over records and files. Surfaces stand in a record's facts, under
//! [`SURFACES`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name under which surfaces stand in a record's facts.
pub const SURFACES: &str = "surfaces";

/// One figure at many pairs of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surface {
    /// What is shown: `Writer report`.
    pub name: String,
    /// What one is: `KiB/s`.
    pub unit: String,
    /// The size across, bytes: `record`.
    pub across: String,
    /// The size down, bytes: `file`.
    pub down: String,
    pub cells: Vec<SurfaceCell>,
}

/// One pair of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurfaceCell {
    /// Bytes.
    pub across: u64,
    /// Bytes.
    pub down: u64,
    /// The mean of its passes, in the surface's unit.
    pub value: f64,
    /// Half the width of the 95 % interval of that mean, in the surface's unit; `None` after a single pass.
    pub half_width: Option<f64>,
    /// Is that interval as narrow as was asked for?
    pub converged: bool,
    /// Each pass, in order of time.
    pub passes: Vec<Pass>,
    /// Why the figure is one of memory and not of the disk, where that is known.
    pub memory: Option<String>,
}

/// One pass of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// How long it took, seconds.
    pub seconds: f64,
    /// The share of the file that the page cache held before it, 0 to 1; `None` where that could not be told, or does not
    /// matter.
    pub cached: Option<f64>,
}

impl Surface {
    /// The surfaces among a record's facts; what cannot be understood is left out.
    pub fn all(facts: &serde_json::Value) -> Vec<Surface> {
        let found = facts.get(SURFACES).and_then(serde_json::Value::as_array);
        found.into_iter().flatten().filter_map(|one| serde_json::from_value(one.clone()).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_found_again_among_the_facts() {
        let passes = vec![Pass { seconds: 0.5, cached: Some(1.0) }];
        let cell = SurfaceCell {
            across: 1,
            down: 2,
            value: 3.0,
            half_width: None,
            converged: false,
            passes,
            memory: None,
        };
        let text = |word: &str| word.to_owned();
        let surface = Surface {
            name: text("Reader report"),
            unit: text("KiB/s"),
            across: text("record"),
            down: text("file"),
            cells: vec![cell],
        };
        let facts = serde_json::json!({ SURFACES: [surface, "nonsense"] });
        assert_eq!(Surface::all(&facts), [surface]);
        assert_eq!(Surface::all(&serde_json::Value::Null), []);
    }
}
