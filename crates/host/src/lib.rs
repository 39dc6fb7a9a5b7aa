//! What machine and disks these are: sysfs, diskstats, statx, mounts, who holds a device, the lock of one calibration at a time per disk.

pub mod block;
pub mod database_directory;
pub mod disk;
#[cfg(test)]
mod fabricate;
pub mod file_system;
pub mod holding;
pub mod limits;
pub mod link;
pub mod lock;
pub mod machine;
pub mod mounts;
pub mod roots;
pub mod scratch;
pub mod signature;
pub mod storage;
mod sys;
