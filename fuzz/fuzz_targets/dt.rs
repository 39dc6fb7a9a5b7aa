//! dt's options, down to the plan of a pass.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_dt::{Half, PassFacts, parse, plan};

fuzz_target!(|data: &[u8]| {
    let Ok(options) = parse(&fathom_fuzz::words(data), 4096) else { return };
    let facts = PassFacts {
        length: 1 << 20,
        file: true,
        inode: 1,
        host: "host".to_owned(),
        process: 1,
        now: 1,
        prefix: String::new(),
        pattern: vec![1, 2, 3],
        known: true,
    };
    plan(&options, &facts, 1, Half::Write);
    plan(&options, &facts, 2, Half::Read);
});
