//! Serial work: files and CPU time.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;

fn plan(work: Work) -> Plan {
    let mut plan = Plan::new(1);
    let mut stream = Stream::closed("files", Blocks::random_reads(SpaceId(0), Bytes(1)), 1);
    stream.work = work;
    plan.add_stream(stream);
    plan
}

fn files(under: &Path, verbs: &[Verb]) -> Files {
    Files {
        verbs: verbs.to_vec(),
        count: 50,
        size: Bytes(3000),
        under: under.to_string_lossy().into_owned(),
        prefix: "f".to_owned(),
        ..Files::default()
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn run(plan: &Plan) -> Run {
    let mut permits = Permits::new(Policy::WhenHolding);
    if let Work::Files(files) = &plan.streams[0].work
        && files.prefix == "f"
    {
        permits.add_consent(files.under.clone());
    }
    Engine::default()
        .execute(Request::new(plan).with_permits(&permits), &mut ())
        .map(|outcome| outcome.run)
        .unwrap()
}

fn counts(run: &Run) -> Vec<(Verb, u64, u32)> {
    run.workers[0].counts.iter().map(|(verb, counts)| (*verb, counts.operations, counts.errors)).collect()
}

const ALL: [Verb; 4] = [Verb::Create, Verb::Open, Verb::Stat, Verb::Delete];

#[test]
fn each_verb_goes_over_all_files_and_leaves_nothing_behind() {
    for (directories, shuffled, entry) in
        [(0, false, Entry::File), (3, true, Entry::File), (2, true, Entry::Directory)]
    {
        let folder = folder();
        let files = Files { directories, shuffled, entry, ..files(folder.path(), &ALL) };
        let run = run(&plan(Work::Files(files)));
        assert_eq!(counts(&run), ALL.map(|verb| (verb, 50, 0)), "{:?}", run.events);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let created = run.workers[0].counts[0].1.bytes;
        assert_eq!(created, if entry == Entry::File { 150_000 } else { 0 });
    }
}

/// The names of what lies in a directory, in order.
fn there(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_a_directory_lists_is_gone_through_whatever_its_names_are() {
    let folder = folder();
    for directories in [0, 3] {
        for names in [Names::NumberFirst { seed: 5 }, Names::LettersFirst { seed: 5 }] {
            let base =
                Files { directories, names, prefix: "f".to_owned(), ..files(folder.path(), &[Verb::Create]) };
            assert_eq!(counts(&run(&plan(Work::Files(base.clone())))), [(Verb::Create, 50, 0)]);
            // Later plans know the files by what the directory lists.
            let verbs = vec![Verb::Stat, Verb::Read, Verb::Delete];
            let listed = Files { verbs: verbs.clone(), names: Names::Plain, listed: true, ..base };
            let seen = run(&plan(Work::Files(listed)));
            assert_eq!(counts(&seen), verbs.iter().map(|verb| (*verb, 50, 0)).collect::<Vec<_>>());
            assert_eq!(seen.workers[0].counts[1].1.bytes, 150_000);
            assert!(there(folder.path()).is_empty());
        }
    }
}

#[test]
fn a_directory_that_lists_too_few_ends_the_run_with_a_fault() {
    let folder = folder();
    run(&plan(Work::Files(Files { count: 20, ..files(folder.path(), &[Verb::Create]) })));
    let seen = run(&plan(Work::Files(Files { listed: true, ..files(folder.path(), &[Verb::Stat]) })));
    assert_eq!(counts(&seen), [(Verb::Stat, 20, 1)]);
    assert!(seen.events.iter().any(|event| matches!(event.what, EventKind::Fault { .. })));
}

#[test]
fn links_are_names_of_one_file_that_comes_and_goes_with_them() {
    use std::os::unix::fs::MetadataExt;
    for entry in [Entry::HardLink, Entry::SymbolicLink] {
        let folder = folder();
        let base = Files { entry, ..files(folder.path(), &[Verb::Create]) };
        assert_eq!(counts(&run(&plan(Work::Files(base.clone())))), [(Verb::Create, 50, 0)]);
        let original = std::fs::metadata(folder.path().join("foriginal0")).unwrap();
        assert_eq!(original.nlink(), if entry == Entry::HardLink { 51 } else { 1 });
        let about = std::fs::symlink_metadata(folder.path().join("f0.7")).unwrap();
        assert_eq!(about.file_type().is_symlink(), entry == Entry::SymbolicLink);
        assert_eq!(std::fs::metadata(folder.path().join("f0.7")).unwrap().ino(), original.ino());
        let verbs = [Verb::Stat, Verb::Delete];
        let seen = run(&plan(Work::Files(Files { verbs: verbs.to_vec(), listed: true, ..base })));
        assert_eq!(counts(&seen), verbs.map(|verb| (verb, 50, 0)));
        assert!(there(folder.path()).is_empty());
    }
}

#[test]
fn pieces_and_syncs_of_each_file_change_nothing_of_what_is_there() {
    let folder = folder();
    let base =
        Files { durable: true, piece: Bytes(7), count: 5, directories: 2, ..files(folder.path(), &ALL) };
    let seen = run(&plan(Work::Files(base)));
    assert_eq!(counts(&seen), ALL.map(|verb| (verb, 5, 0)));
    assert_eq!(seen.workers[0].counts[0].1.bytes, 15_000);
    assert!(there(folder.path()).is_empty());
}

#[test]
fn files_of_several_sizes_are_read_whole_and_a_sync_ends_each_pass() {
    let folder = folder();
    let verbs = [Verb::Create, Verb::Read, Verb::Delete];
    let files = Files { size_least: Some(Bytes(10)), size: Bytes(20), ..files(folder.path(), &verbs) };
    let mut plan = plan(Work::Files(files));
    plan.streams[0].after_last = vec![SyncKind::Fsync];
    let run = run(&plan);
    let told: Vec<(Verb, u64)> =
        run.workers[0].counts.iter().map(|(verb, counts)| (*verb, counts.operations)).collect();
    assert_eq!(told, [(Verb::Create, 50), (Verb::Read, 50), (Verb::Delete, 50), (Verb::Sync, 1)]);
    let bytes: Vec<u64> = run.workers[0].counts.iter().map(|(_, counts)| counts.bytes).collect();
    assert_eq!(bytes[0], bytes[1]);
    assert!((501..1000).contains(&bytes[0]), "{bytes:?}");
}

#[test]
fn files_that_exist_are_not_overwritten_and_missing_ones_are_errors() {
    let folder = folder();
    std::fs::write(folder.path().join("f0.7"), "mine").unwrap();
    let made = run(&plan(Work::Files(files(folder.path(), &[Verb::Create]))));
    assert_eq!(counts(&made), [(Verb::Create, 49, 1)]);
    assert_eq!(std::fs::read(folder.path().join("f0.7")).unwrap(), b"mine");
    assert_eq!(std::fs::metadata(folder.path().join("f0.8")).unwrap().len(), 3000);
    std::fs::remove_file(folder.path().join("f0.3")).unwrap();
    let looked = run(&plan(Work::Files(files(folder.path(), &[Verb::Stat, Verb::Delete]))));
    assert_eq!(counts(&looked), [(Verb::Stat, 49, 1), (Verb::Delete, 49, 1)], "{:?}", looked.events);
}

#[test]
fn what_was_not_made_here_is_removed_only_with_the_users_word() {
    let folder = folder();
    std::fs::write(folder.path().join("g0.0"), "mine").unwrap();
    let files = Files { prefix: "g".to_owned(), ..files(folder.path(), &[Verb::Delete]) };
    let run = run(&plan(Work::Files(files)));
    assert_eq!(counts(&run), [(Verb::Delete, 0, 1)]);
    assert_eq!(std::fs::read(folder.path().join("g0.0")).unwrap(), b"mine");
}

#[test]
fn a_folder_that_is_not_there_and_a_verb_that_is_none_of_files_are_errors() {
    let missing = plan(Work::Files(files(Path::new("/nonexistent"), &ALL)));
    let error = Engine::default()
        .execute(Request::new(&missing), &mut ())
        .map(|outcome| outcome.run)
        .unwrap_err()
        .to_string();
    assert!(error.contains("/nonexistent"), "{error}");
    let folder = folder();
    let odd = plan(Work::Files(files(folder.path(), &[Verb::Trim])));
    assert!(Engine::default().execute(Request::new(&odd), &mut ()).map(|outcome| outcome.run).is_err());
}

#[test]
fn half_a_cpu_is_used_for_half_of_the_time() {
    let mut plan = plan(Work::Compute { share: 0.5, chunk: Nanos(0), sorts: false });
    plan.streams[0].stop.operations = Some(4);
    let run = run(&plan);
    let (span, busy) = (run.workers[0].span_ns, run.workers[0].counts[0].1.latency_sum_ns);
    assert_eq!(run.workers[0].counts[0].1.operations, 4);
    assert!(busy >= 200_000_000 && span.1 - span.0 >= 350_000_000, "{busy} {span:?}");
}
