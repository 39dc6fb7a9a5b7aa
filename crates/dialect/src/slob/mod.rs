//! SLOB and pgio: their parameters to settings, and what a database session's run has shown to their words.
//!
//! | module | knows |
//! |---|---|
//! | [`table`] | every parameter of `slob.conf` and `pgio.conf` |
//! | [`settings`] | their values, and which go together |
//! | [`conf`] | the files as a shell would read them |

pub mod conf;
pub mod settings;
pub mod table;

pub use conf::read as read_conf;
pub use settings::{Amount, Hotspot, RedoStress, Settings, Statistics, Thinking, Words, Wrong};
