//! One load on one target, printed as operations per second: `load QUEUE DEPTH BLOCK SECONDS DIRECT TARGET`.
//! TARGET is a path or `null`; QUEUE is io_uring, sqpoll (io_uring with a submitting kernel thread), libaio, psync or null.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [queue, depth, block, seconds, direct, target] = &args[..] else {
        return Err("usage: load QUEUE DEPTH BLOCK SECONDS DIRECT TARGET".into());
    };
    let mut plan = Plan::new(1);
    let target = match target.as_str() {
        "null" => Target::Null(Bytes(1 << 30)),
        path => Target::Path(PathTarget { direct: direct == "1", ..PathTarget::direct_read(path) }),
    };
    let space = plan.add_target(target);
    let mut blocks = Blocks::random_reads(space, block.parse()?);
    blocks.queue = match queue.as_str() {
        "io_uring" | "sqpoll" => QueueKind::IoUring,
        "libaio" => QueueKind::Libaio,
        "psync" => QueueKind::Psync,
        "null" => QueueKind::Null,
        _ => QueueKind::Auto,
    };
    blocks.queue_options.submit_poll = queue == "sqpoll";
    let mut stream = Stream::closed("load", blocks, depth.parse()?);
    stream.stop.time = Some(Nanos::from_seconds(seconds.parse()?));
    plan.add_stream(stream);
    let run = Engine::default().execute(Request::new(&plan), &mut ()).map(|outcome| outcome.run)?;
    for worker in &run.workers {
        let ((from, to), counts) = (worker.span_ns, worker.counts[0].1);
        let per_second = counts.operations as f64 / ((to - from) as f64 / 1e9);
        println!(
            "{per_second:.0} per second, user {} ms, system {} ms",
            worker.user_ns / 1_000_000,
            worker.system_ns / 1_000_000
        );
    }
    println!("{:?}", run.queues);
    run.events.iter().for_each(|event| println!("{event:?}"));
    Ok(())
}
