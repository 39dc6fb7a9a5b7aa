//! Copies between targets that the engine opens itself, and what is counted of them.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;

fn target(path: &Path, access: Access) -> Target {
    let path = path.to_string_lossy().into_owned();
    let create = (access == Access::Write).then_some(Bytes(0));
    Target::Path(PathTarget { path, access, create, direct: false, durability: Durability::None })
}

/// Copies some bytes as `how` wants it; answers the run and what arrived.
fn copied(bytes: &[u8], how: impl Fn(&mut Copying), syncs: Vec<SyncKind>) -> (Run, Vec<u8>) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    std::fs::write(&from, bytes).unwrap();
    let mut plan = Plan::new(1);
    let mut copying = Copying {
        from: plan.add_target(target(&from, Access::Read)),
        to: plan.add_target(target(&to, Access::Write)),
        read_size: Bytes(4),
        write_size: Bytes(4),
        as_read: false,
        skip: Bytes(0),
        seek: Bytes(0),
        most: CopyMost::Everything,
        whole_reads: false,
        keep_going: false,
        holes: false,
        forget: (false, false),
        change: Change::default(),
    };
    how(&mut copying);
    let mut stream = Stream::closed("copy", Blocks::random_reads(SpaceId(0), Bytes(4)), 1);
    (stream.work, stream.after_last) = (Work::Copy(Box::new(copying)), syncs);
    plan.add_stream(stream);
    let permits = Permits::new(Policy::WhenHolding);
    let run = Engine::default()
        .execute(Request::new(&plan).with_permits(&permits), &mut ())
        .map(|outcome| outcome.run)
        .unwrap();
    let arrived = std::fs::read(&to).unwrap();
    (run, arrived)
}

fn counts(run: &Run, verb: Verb) -> Counts {
    run.workers[0].counts.iter().find(|(its, _)| *its == verb).map(|(_, counts)| *counts).unwrap()
}

#[test]
fn reads_writes_and_syncs_are_operations_and_short_ones_are_counted_besides() {
    let (run, arrived) =
        copied(b"0123456789", |copying| copying.write_size = Bytes(6), vec![SyncKind::Fsync]);
    assert_eq!(arrived, b"0123456789");
    let told = |verb| {
        let counts = counts(&run, verb);
        (counts.operations, counts.short, counts.bytes, counts.errors)
    };
    assert_eq!((told(Verb::Read), told(Verb::Write)), ((3, 1, 10, 0), (2, 1, 10, 0)));
    assert_eq!(told(Verb::Sync), (1, 0, 0, 0));
    assert!(run.events.iter().all(|event| !matches!(event.what, EventKind::Fault { .. })));
}

#[test]
fn what_is_left_out_stepped_over_and_at_most_copied_is_honoured() {
    let (run, arrived) = copied(
        b"0123456789",
        |copying| {
            (copying.skip, copying.seek) = (Bytes(3), Bytes(2));
            copying.most = CopyMost::Bytes(Bytes(5));
        },
        Vec::new(),
    );
    assert_eq!(arrived, b"\0\x0034567");
    assert_eq!(counts(&run, Verb::Read).bytes, 5);
}

#[test]
fn runs_of_zeros_become_holes_and_the_file_keeps_its_length() {
    let (run, arrived) = copied(&[0; 64], |copying| copying.holes = true, Vec::new());
    assert_eq!((arrived.len(), counts(&run, Verb::Write).operations), (64, 16));
}

#[test]
fn records_that_were_cut_are_told() {
    let records = Records { make: Make::Records, length: 2, newline: b'\n', space: b' ' };
    let (run, arrived) = copied(
        b"abc\nd\n",
        |copying| copying.change = Change { records: Some(records), ..Change::default() },
        Vec::new(),
    );
    assert_eq!(arrived, b"abd ");
    let told = |event: &fathom_record::Event| matches!(event.what, EventKind::Truncated { records: 1 });
    assert!(run.events.iter().any(told));
    assert!(!run.events.iter().any(|event| matches!(event.what, EventKind::ShortRead { .. })));
}
