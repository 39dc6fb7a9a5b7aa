//! A loop device over a file: what is discarded reads as zeros. Needs root and losetup; on CI both are there.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// One test at a time: a program that one of them starts has, until it is loaded, whatever the other holds.
static ALONE: Mutex<()> = Mutex::new(());

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
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

/// At its first slot it lets others try to take the device.
struct Rivals<'a> {
    commands: &'a [&'a [&'a str]],
    answers: Vec<(bool, String)>,
}

impl Control for Rivals<'_> {
    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        if self.answers.is_empty() {
            self.answers = self.commands.iter().map(|words| answer(words)).collect();
        }
        Steer::Stop(Vec::new(), StopReason::Told)
    }
}

fn answer(words: &[&str]) -> (bool, String) {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// mkfs succeeded on a device that was being written, and was destroyed; swap went on there.
#[test]
fn nobody_else_takes_a_device_while_it_is_written() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("disk");
    std::fs::File::create(&file).and_then(|file| file.set_len(32 << 20)).unwrap();
    let Some(device) = device(&file) else { return };
    let (name, point) = (&device.0[..], folder.path().to_str().unwrap());
    let mut plan = Plan::new(1);
    let target = PathTarget { access: Access::Write, ..PathTarget::direct_read(name) };
    let space = plan.add_target(Target::Path(target));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    blocks.queue = QueueKind::Psync;
    plan.add_stream(Stream::closed("load", blocks, 1));
    let mut permits = Permits::new(Policy::Always);
    permits.add_consent(name);
    let cases: [(&[&str], &[&str]); 2] = [
        (&["mkfs.ext4", "-q", "-F", name], &["mount", name, point]),
        (&["mkswap", "-f", name], &["swapon", name]),
    ];
    for (make, take) in cases {
        // What could be taken if nobody held it.
        let (made, says) = answer(make);
        assert!(made, "{make:?}: {says}");
        let mut rivals = Rivals { commands: &[make, take], answers: Vec::new() };
        Engine::default().execute(Request::new(&plan).with_permits(&permits), &mut rivals).unwrap();
        assert_eq!(rivals.answers.len(), 2);
        for (succeeded, says) in rivals.answers {
            assert!(!succeeded && (says.contains("busy") || says.contains("in use")), "{make:?}: {says}");
        }
    }
}
