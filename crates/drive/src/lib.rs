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
//! | `conduct` | the conductor: streams, slots, orders, what is collected |
//! | `driver` | what the conductor asks of whoever gives workers their time |
//! | `threads` | the driver of real runs |
//! | `virtual_time` | the driver of simulated runs |
//! | `seeds` | the seeds of streams and workers |
//! | `idle` | what is left of the processors, by threads of the idle class |
//! | `host_sampler` | the disks' and processors' counters while a run goes on |
//! | `permutation` | every number once, in random order, without a map |
//! | `used` | what a worker used, as samples |
//! | `sim` | simulated devices and their event calendar |

mod chunk;
mod clock;
mod conduct;
mod driver;
mod host_sampler;
mod idle;
mod log;
mod manners;
mod pace;
mod permutation;
mod recorder;
mod seam;
mod seeds;
mod serial;
pub mod sim;
mod sys;
mod threads;
mod together;
mod used;
mod virtual_time;
mod worker;

pub use clock::{Clock, system_clock_ms};
pub use conduct::{Sampler, conduct, simulate};
pub use driver::{Begin, Job, Perform, Prepare, Seat, WorkerJob};
pub use host_sampler::HostSampler;
pub use idle::{Balloon, Idleness, Leftover, UnitWork};
pub use log::{LogBlock, LogEntry, LogPen};
pub use manners::{Amount, Flow, FlowShare, Hold, Manners, Priorities};
pub use pace::{Metronome, Pace, unit};
pub use permutation::Permutation;
pub use recorder::{Frame, Outbox, Published, Recorder, empty_interval, frame};
pub use seam::*;
pub use seeds::{stream_seed, worker_seed};
pub use serial::{Act, Serial, SerialParts, Trouble, run_serial};
pub use threads::pin;
pub use virtual_time::{MakeStepper, SimulatedJob, Stepper};
pub use worker::*;
