//! What to do to the storage, and nothing about how.
//!
//! A [`Plan`] is plain data: it is printed by `--dry-run`, stored with every run, and could be sent to
//! another host unchanged. It holds no trait object, no closure and no handle. The crate knows no I/O, no
//! clock and no command line; it only parses and prints the quantities that people type.
//!
//! | module | holds |
//! |---|---|
//! | [`quantity`] | bytes, nanoseconds, rates, quantiles, latency limits: types that parse and print |
//! | [`permits`] | what the user has said may be written |
//! | [`plan`] | the plan, its targets and spaces |
//! | [`stream`] | one stream of work: what, how much at a time, when, until when |
//! | [`copying`] | bytes from one place to another |
//! | [`variable_records`] | a walk by records of changing sizes |
//! | [`data_test`] | dt's blocks |
//! | [`discards`] | blocks that are discarded before they are checked |
//! | [`priority`] | operations at a priority of their own |
//! | [`error_policy`] | what workers are to the system, and what they put up with |
//! | [`names`] | names of files as text, or refused |
//! | [`verb`] | what one operation does |
//! | [`command`] | commands that run beside |
//! | [`blocks`] | block work: pattern, mix, sizes, content, verification |

pub mod blocks;
pub mod command;
pub mod copying;
pub mod data_test;
pub mod discards;
pub mod error_policy;
pub mod names;
pub mod permits;
pub mod plan;
pub mod priority;
pub mod quantity;
pub mod stream;
pub mod thread_attributes;
pub mod variable_records;
pub mod verb;

pub use blocks::*;
pub use command::*;
pub use copying::*;
pub use data_test::*;
pub use discards::*;
pub use error_policy::*;
pub use permits::*;
pub use plan::*;
pub use priority::*;
pub use quantity::*;
pub use stream::*;
pub use thread_attributes::*;
pub use variable_records::*;
pub use verb::*;
