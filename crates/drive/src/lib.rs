//! The machinery of running: clock, pace, recorder, slots, worker life cycle, the serial loop, the simulated world.
//!
//! | module | holds |
//! |---|---|
//! | `clock` | nanoseconds since a run's start |
//! | `pace` | when the next operation may start |
//! | `traits` | Source, Queue, Content: what a worker is made of |
//! | `recorder` | what a worker keeps |
//! | `serial` | the serial loop: one thing at a time |
//! | `worker` | the batch loop |
//! | `submit_batch` | how many operations go into one submission |
//! | `worker_features` | what some workers do besides: think, hold a latency, keep in step |
//! | `log` | a line for each operation, without waiting |
//! | `conduct` | the conductor: streams, slots, orders, what is collected |
//! | `driver` | what the conductor asks of whoever gives workers their time |
//! | `start_barrier` | which workers begin together |
//! | `threads` | the driver of real runs |
//! | `virtual_time` | the driver of simulated runs |
//! | `seeds` | the seeds of streams and workers |
//! | `idle_probe` | what is left of the processors, by threads of the idle class |
//! | `host_sampler` | the disks' and processors' counters while a run goes on |
//! | `permutation` | every number once, in random order, without a map |
//! | `rusage` | what a worker used, as samples |
//! | `sim` | simulated devices and their event calendar |

mod clock;
mod conduct;
mod driver;
mod host_sampler;
mod idle_probe;
mod log;
mod pace;
mod permutation;
mod recorder;
mod rusage;
mod seeds;
mod serial;
pub mod sim;
mod start_barrier;
mod submit_batch;
mod sys;
mod threads;
mod traits;
mod virtual_time;
mod worker;
mod worker_features;

pub use clock::{AWAKE_NS, Clock, system_clock_ms};
pub use conduct::{Sampler, conduct, simulate};
pub use driver::{Begin, Job, Perform, Prepare, Seat, WorkerJob};
pub use host_sampler::HostSampler;
pub use idle_probe::{IdleProbe, Idleness, Leftover, UnitWork};
pub use log::{LogBlock, LogEntry, LogPen};
pub use pace::{Metronome, Pace, unit};
pub use permutation::Permutation;
pub use recorder::{Frame, Outbox, Published, Recorder, empty_interval, frame};
pub use seeds::{stream_seed, worker_seed};
pub use serial::{Act, Serial, SerialParts, Trouble, run_serial};
pub use threads::pin;
pub use traits::*;
pub use virtual_time::{MakeStepper, SimulatedJob, Stepper};
pub use worker::*;
pub use worker_features::{Amount, Flow, FlowShare, Hold, Priorities, WorkerFeatures};
