//! A loop device over a file: what is discarded reads as zeros. Needs root and losetup; on CI both are there.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;
use std::process::Command;

struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

fn device(file: &Path) -> Option<Loop> {
    let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
    match made {
        Ok(made) if made.status.success() => {
            Some(Loop(String::from_utf8_lossy(&made.stdout).trim().to_owned()))
        }
        other => {
            assert!(std::env::var_os("CI").is_none(), "{other:?}");
            eprintln!("skipped: no loop device can be made here");
            None
        }
    }
}

#[test]
fn what_is_discarded_on_a_device_reads_as_zeros() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::fs::write(file.path(), vec![7; 8 << 20]).unwrap();
    let Some(device) = device(file.path()) else { return };
    for queue in [QueueKind::Psync, QueueKind::IoUring] {
        let mut plan = Plan::new(1);
        let target = PathTarget { access: Access::Write, ..PathTarget::direct_read(device.0.clone()) };
        let space = plan.add_target(Target::Path(target));
        let mut blocks = Blocks::random_reads(space, Bytes(65_536));
        (blocks.mix, blocks.pattern) = (Mix::Only(Verb::Trim), Pattern::Uniform { once: true });
        blocks.queue = queue;
        let mut stream = Stream::closed("trims", blocks, if queue == QueueKind::Psync { 1 } else { 4 });
        stream.stop.operations = Some(128);
        plan.add_stream(stream);
        let mut permits = Permits::new(Policy::Always);
        permits.add_consent(device.0.clone());
        let run = Engine::default()
            .execute(Request::new(&plan).with_permits(&permits), &mut ())
            .map(|outcome| outcome.run)
            .unwrap();
        let counts = run.workers[0].counts[0];
        assert_eq!(
            (counts.0, counts.1.operations, counts.1.errors),
            (Verb::Trim, 128, 0),
            "{:?}",
            run.events
        );
        let _ = Command::new("blockdev").args(["--flushbufs", &device.0]).status();
        assert!(std::fs::read(&device.0).unwrap().iter().all(|byte| *byte == 0));
    }
}
