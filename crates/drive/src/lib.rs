//! The machinery of running: clock, pace, recorder, slots, worker life cycle, the serial loop, the simulated
//! world.

mod pace;
mod seam;

pub use pace::{Metronome, Pace, unit};
pub use seam::*;
