//! Descriptions of simulated devices, and sixteen reads of them.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_record::{Execute, Request};
use fathom_spec::{Blocks, Bytes, Plan, Stream, Target};

fuzz_target!(|data: &[u8]| {
    let text = fathom_fuzz::text(data);
    if text.parse::<fathom_drive::sim::Device>().is_err() {
        return;
    }
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim(text));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), 4);
    stream.stop.operations = Some(16);
    plan.add_stream(stream);
    let _ = fathom_engine::Engine::default().execute(Request::new(&plan), &mut ());
});
