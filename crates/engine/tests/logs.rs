//! Logs of single operations, and replaying them.

use fathom_drive::LogEntry;
use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn target(path: &Path, access: Access) -> Target {
    let create = (access == Access::Write).then_some(Bytes(0));
    Target::Path(PathTarget {
        access,
        create,
        direct: false,
        ..PathTarget::direct_read(path.to_string_lossy())
    })
}

fn run(plan: &Plan) -> Run {
    let mut permits = Permits::new(Policy::WhenHolding);
    if let Target::Path(data) = &plan.targets[0] {
        permits.add_consent(data.path.clone());
    }
    Engine::default()
        .execute(Request::new(plan).with_permits(&permits), &mut ())
        .map(|outcome| outcome.run)
        .unwrap()
}

fn data(folder: &Path) -> PathBuf {
    let path = folder.join("data");
    std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
    path
}

#[test]
fn every_operation_has_its_line_and_none_is_lost_unseen() {
    let folder = folder();
    let data = data(folder.path());
    let log = folder.path().join("log");
    let mut plan = Plan::new(1);
    let space = plan.add_target(target(&data, Access::Read));
    plan.add_target(target(&log, Access::Write));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), 8);
    stream.keep.log = Some(TargetId(1));
    stream.workers = 2;
    stream.stop.operations = Some(30_000);
    plan.add_stream(stream);
    let run = run(&plan);
    let lost: u64 = run
        .events
        .iter()
        .map(|event| match event.what {
            EventKind::Late { log_entries } => log_entries,
            _ => 0,
        })
        .sum();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(fathom_engine::logs::COLUMNS));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(' ').collect()).collect();
    assert_eq!(rows.len() as u64 + lost, 60_000);
    assert!(
        rows.iter().all(|row| row.len() == 9 && row[4] == "read" && row[7] == "4096" && row[8] == "4096")
    );
    for worker in ["0", "1"] {
        let times = || rows.iter().filter(|row| row[3] == worker).map(|row| row[0].parse::<u64>().unwrap());
        assert!(times().is_sorted());
    }
}

#[test]
fn a_recording_is_replayed_in_its_order_at_its_times() {
    let folder = folder();
    let data = data(folder.path());
    let trace = folder.path().join("trace");
    std::fs::write(&trace, "0 write 0 4096 8192\n20000000 read 0 4096 8192\n60000000 sync 0 0 0\n").unwrap();
    let mut plan = Plan::new(1);
    let space = plan.add_target(target(&data, Access::Write));
    plan.add_target(target(&trace, Access::Read));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    blocks.pattern = Pattern::Trace(TargetId(1));
    let mut stream = Stream::closed("replay", blocks, 4);
    stream.arrival = Arrival::Recorded { speed: 1.0 };
    plan.add_stream(stream);
    let span = |plan: &Plan| {
        let run = run(plan);
        let counts: Vec<_> =
            run.workers[0].counts.iter().map(|(verb, c)| (*verb, c.operations, c.bytes)).collect();
        assert_eq!(counts, [(Verb::Write, 1, 8192), (Verb::Read, 1, 8192), (Verb::Sync, 1, 0)]);
        run.workers[0].span_ns.1 - run.workers[0].span_ns.0
    };
    assert!(span(&plan) >= 60_000_000);
    plan.streams[0].arrival = Arrival::Closed { think: None };
    assert!(span(&plan) < 60_000_000);
    let holes = std::fs::read(&data).unwrap();
    assert!(holes[4096..12_288].iter().any(|byte| *byte != 0) && holes[..4096].iter().all(|byte| *byte == 0));
}

/// Keeps what it is given, slower than a worker makes it.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<(Vec<LogEntry>, bool)>>);

impl Sink for Slow {
    fn take(&mut self, entries: &[LogEntry]) -> std::io::Result<()> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        self.0.lock().unwrap().0.extend(entries);
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap().1 = true;
        Ok(())
    }
}

#[test]
fn a_sink_gets_every_operation_however_slow_it_is() {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Null(Bytes(1 << 20)));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), 4);
    stream.keep.submit = true;
    stream.stop.operations = Some(100_000);
    let id = plan.add_stream(stream);
    let slow = Slow::default();
    let attachments = Attachments { sinks: vec![(id, Box::new(slow.clone()))], ..Attachments::default() };
    Engine::default().execute(Request { attachments, ..Request::new(&plan) }, &mut ()).unwrap();
    let (entries, ended) = &*slow.0.lock().unwrap();
    assert!(*ended);
    assert_eq!(entries.len(), 100_000);
    assert!(
        entries
            .iter()
            .all(|entry| entry.result == 4096 && entry.submitted_ns + entry.submit_ns <= entry.at_ns)
    );
}

#[test]
fn a_recording_of_another_tool_is_given_in_the_engines_form() {
    let folder = folder();
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, "whatever it says\n").unwrap();
    let mut plan = Plan::new(1);
    let space = plan.add_target(target(&data(folder.path()), Access::Read));
    plan.add_target(target(&foreign, Access::Read));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    blocks.pattern = Pattern::Trace(TargetId(1));
    plan.add_stream(Stream::closed("replay", blocks, 1));
    let recordings = vec![(TargetId(1), "0 read 0 0 512\n0 fsync 0 0 0\n".into())];
    let attachments = Attachments { recordings, ..Attachments::default() };
    let request = Request { attachments, ..Request::new(&plan) };
    let run = Engine::default().execute(request, &mut ()).unwrap().run;
    let counts: Vec<_> = run.workers[0].counts.iter().map(|(verb, c)| (*verb, c.operations)).collect();
    assert_eq!(counts, [(Verb::Read, 1), (Verb::Sync, 1)]);
}
