//! ioping's options, down to the plan.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_host::TargetKind;
use fathom_ioping::{Invocation, TargetFacts, parse, prepare};

fuzz_target!(|data: &[u8]| {
    if let Ok(Invocation::Measure(options)) = parse(&fathom_fuzz::os_words(data)) {
        for kind in [TargetKind::Directory, TargetKind::RegularFile, TargetKind::BlockDevice] {
            let facts = TargetFacts { kind, size: fathom_spec::Bytes(1 << 30) };
            let _ = prepare(&options, facts, "/data", 1);
        }
    }
});
