//! What machine and disks these are: sysfs, diskstats, statx, mounts, who holds a device, the lock of one calibration at a time per disk.
