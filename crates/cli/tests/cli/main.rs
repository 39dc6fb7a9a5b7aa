//! The command line as a user meets it: bad input, faults, signals, stores that fail, targets that must not be
//! touched. Each test has a directory of its own; those that measure have a disk of their own where the machine
//! can make one, so that nobody else's load or lock is in the way.

mod bonnie;
mod dd;
mod disks;
mod dt;
mod dt_random;
mod dt_shapes;
mod dt_watch;
mod every_tool;
mod fault_matrix;
mod faults;
mod fio;
mod fio_beside;
mod fio_checked;
mod fio_idle;
mod fio_loads;
mod fio_logs;
mod fio_places;
mod fio_replay;
mod fio_report;
mod fio_terms;
mod formats;
mod guard;
mod guard_matrix;
mod input;
mod iozone;
mod names;
mod orion;
mod output;
mod peers_faults;
mod peers_interrupted;
mod place;
mod second;
mod signals;
mod simulated;
#[cfg(feature = "databases")]
mod slob;
mod slob_counters;
#[cfg(feature = "databases")]
mod slob_trouble;
mod stores;
mod sysbench;
