//! ORION's command line and its list of LUNs, down to the plans of its points.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_orion::{Lun, Points, luns, parse, plan};

fuzz_target!(|data: &[u8]| {
    let names = luns(&fathom_fuzz::text(data));
    let Ok(options) = parse(&fathom_fuzz::words(data), Default::default()) else { return };
    let lun = |name: String| Lun { name, size: fathom_spec::Bytes(1 << 34) };
    let luns: Vec<Lun> = names.into_iter().take(4).map(lun).collect();
    let points = Points::new(&options, options.num_disks.unwrap_or(1).min(64));
    if fathom_orion::plan::fits(&options, &luns, &points.loads).is_ok() {
        for load in points.loads.iter().take(4) {
            plan(&options, &luns, *load, 1);
        }
    }
});
