//! The machinery of running: clock, pace, recorder, slots, worker life cycle, the serial loop, the simulated world.
//!
//! | module | holds |
//! |---|---|
//! | `clock` | nanoseconds since a run's start |
//! | `pace` | when the next operation may start |
//! | `seam` | Source, Queue, Content: what a worker is made of |
//! | `recorder` | what a worker keeps |
//! | `serial` | the serial loop: one thing at a time |
//! | `worker` | the batch loop |
//! | `manners` | what some workers do besides: think, hold a latency, keep in step |
//! | `log` | a line for each operation, without waiting |
//! | `conduct` | the coordinating thread |
//! | `idle` | what is left of the processors, by threads of the idle class |
//! | `host_sampler` | the disks' and processors' counters while a run goes on |
//! | `permutation` | every number once, in random order, without a map |
//! | `used` | what a worker used, as samples |
//! | `sim` | a simulated device on a virtual clock |

mod chunk;
mod clock;
mod conduct;
mod host_sampler;
mod idle;
mod log;
mod manners;
mod pace;
mod permutation;
mod recorder;
mod seam;
mod serial;
pub mod sim;
mod sys;
mod together;
mod used;
mod worker;

pub use clock::{Clock, system_clock_ms};
pub use conduct::*;
pub use host_sampler::HostSampler;
pub use idle::{Balloon, Idleness, Leftover, UnitWork};
pub use log::{LogBlock, LogEntry, LogPen};
pub use manners::{Amount, Flow, FlowShare, Hold, Manners, Priorities};
pub use pace::{Metronome, Pace, unit};
pub use permutation::Permutation;
pub use recorder::{Frame, Outbox, Published, Recorder, empty_interval};
pub use seam::*;
pub use serial::{Act, Serial, SerialParts, Trouble, run_serial};
pub use worker::*;
