//! One calibration at a time on a disk, by whatever path it is named.

use std::time::{Duration, Instant};

use crate::disks::{Disk, Doing};
use crate::place::{Place, Started, alone, wait_until, write_noise};

#[test]
fn a_second_calibration_fails_at_once_and_names_the_first_by_every_path_to_the_disk() {
    let _alone = alone();
    let Some(disk) = Disk::own("second") else { return };
    let folder = disk.mount.join("folder");
    std::fs::create_dir(&folder).unwrap();
    let file = write_noise(&folder.join("data"), 4 << 20);
    let at = disk.at().to_owned();
    let made = disk.lab.make(&["loop", "create", "--size", "16M", "--dir", &at]);
    let child = Started::new(disk.place.fathom(&["calibrate", disk.at(), "--time", "30s", "--size", "64m"]));
    wait_until("the first", Duration::from_secs(20), || disk.doing() == Doing::SmallReads);
    let device = format!("/dev/{}", disk.name);
    let other_store = Place::new();
    for path in [disk.at(), folder.to_str().unwrap(), file.to_str().unwrap(), &device, &made("device")] {
        let begun = Instant::now();
        // From another store, so that only the disk is shared.
        let mut second = other_store.fathom(&["calibrate", path, "--while-busy"]);
        let said = crate::place::Said::from(second.output().unwrap());
        let first = format!("process {}", child.id());
        said.refuses(1, &["another calibration is running on", &first, "one calibration at a time"]);
        assert!(begun.elapsed() < Duration::from_secs(3), "{path}: {:?}", begun.elapsed());
    }
    assert_eq!(crate::place::scratch_files(&folder).len(), 0, "the second took its scratch file away");
    child.signal("INT").ends(130);
    // The lock went with its owner.
    crate::place::say(disk.calibrate(&[])).measures();
}
