//! What machine and disks these are: sysfs, diskstats, statx, mounts, who holds a device, the lock of one calibration at a time per disk.
//!
//! | module | answers |
//! |---|---|
//! | `machine`, `limits` | what machine this is, and what our control groups and the kernel's settings allow |
//! | `storage`, `file_system`, `disk`, `transport`, `link` | what a path stands on, down to the disks and their links |
//! | `block`, `mounts`, `roots` | how sysfs, mountinfo and small files are read |
//! | `extents`, `page_cache` | what direct I/O must be aligned to, which bytes of a file were ever written, and which the page cache holds |
//! | `users` | users and groups by name |
//! | `process_time` | processor time of other processes |
//! | `counters` | disks, processors, pressure, other processes' I/O, as raw samples and their differences |
//! | `device_users`, `use_kind`, `open_files`, `kernel_tables`, `content`, `signature`, `database_directory`, `database_server` | what a target holds and who holds it: the guard's facts |
//! | `file_identity`, `device_claim` | which file was looked at, and a device held for this process alone |
//! | `output_file` | the one door for files that are written beside the loads |
//! | `lock` | one calibration at a time on a disk |
//! | `text_file` | text and recordings that a user names, up to a limit |
//! | `memory` | the memory that there is for one program more |
//! | `room` | the space that a file system has left, and how much of it may be taken |
//! | `scratch` | scratch files that say whose they are |
//!
//! It judges nothing, measures no time, writes to no target of a load, and reads no environment variable. A fact that could not be read
//! is an `Unknown` in a list `unchecked`.

pub mod block;
pub mod command_line;
pub mod content;
pub mod counters;
pub mod database_directory;
mod database_server;
pub mod device_claim;
pub mod device_users;
pub mod disk;
pub mod extents;
#[cfg(test)]
mod fabricate;
pub mod file_identity;
pub mod file_system;
mod kernel_tables;
pub mod limits;
pub mod link;
pub mod lock;
pub mod machine;
pub mod memory;
pub mod mounts;
pub mod nodes;
pub mod open_files;
pub mod output_file;
pub mod page_cache;
pub mod process_time;
pub mod room;
pub mod roots;
pub mod scratch;
pub mod signature;
pub mod storage;
mod sys;
pub mod text_file;
pub mod transport;
pub mod use_kind;
pub mod users;

pub use content::{ZeroSearch, first_nonzero};
pub use device_claim::DeviceClaim;
pub use device_users::{
    Closeness, DeviceUse, DeviceUses, Inspection, inspect, inspect_among, inspect_descriptor,
};
pub use file_identity::FileIdentity;
pub use machine::{Machine, read_machine};
pub use open_files::{OpenFiles, Opener};
pub use output_file::{OutputFile, OutputFileError};
pub use room::Room;
pub use roots::{DeviceNumber, Roots, Unknown};
pub use scratch::Scratch;
pub use storage::{Storage, TargetKind, directory_of, place_of_new, resolve};
pub use sys::end_with_this_thread;
pub use use_kind::UseKind;
