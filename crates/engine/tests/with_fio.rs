//! What fio wrote verifies here, and the other way round. Alone in its binary: a child that another test is just
//! starting would hold the file open for a moment, which the guard does not like.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;
use std::process::Command;

fn run(path: &Path, only: bool, hash: u8, pattern: Pattern) -> Run {
    let name = path.to_string_lossy();
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Path(PathTarget {
        access: Access::Write,
        direct: false,
        ..PathTarget::direct_read(name.clone())
    }));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.pattern) = (Mix::Only(Verb::Write), pattern);
    blocks.content = Content::FioHeader { hash, interval: 0, swap: 0, pattern: Vec::new() };
    blocks.verify = Some(Verify { then_read_pass: !only, only, ..Verify::READS });
    let mut stream = Stream::closed("verified", blocks, 8);
    stream.stop.passes = Some(1);
    plan.add_stream(stream);
    let mut permits = Permits::new(Policy::WhenHolding);
    permits.add_consent(name);
    Engine::default()
        .execute(Request::new(&plan).with_permits(&permits), &mut ())
        .map(|outcome| outcome.run)
        .unwrap()
}

fn assert_good(run: &Run, hash: &str) {
    let bad = run.events.iter().filter(|event| matches!(event.what, EventKind::Mismatch { .. }));
    assert_eq!(bad.collect::<Vec<_>>(), Vec::<&fathom_record::Event>::new(), "{hash}");
    let reads = run.workers[0].counts.iter().find(|count| count.0 == Verb::Read).unwrap().1.operations;
    assert_eq!(reads, 64, "{hash}");
}

fn fio(arguments: &[&str], file: &Path) -> Option<std::process::Output> {
    let name = format!("--filename={}", file.display());
    let size = ["--name=x", "--bs=4k", "--size=256k", "--verify_state_save=0", &name];
    let result = Command::new("fio").args(size).args(arguments).output();
    if result.is_err() && std::env::var_os("CI").is_none() {
        eprintln!("skipped: fio is not installed");
        return None;
    }
    Some(result.unwrap())
}

#[test]
fn what_fio_wrote_verifies_here_and_what_is_written_here_verifies_there() {
    let hashes = [
        (1, "meta"),
        (2, "md5"),
        (3, "crc64"),
        (4, "crc32"),
        (5, "crc32c"),
        (7, "crc16"),
        (8, "crc7"),
        (9, "sha256"),
        (10, "sha512"),
        (11, "sha3-224"),
        (12, "sha3-256"),
        (13, "sha3-384"),
        (14, "sha3-512"),
        (15, "xxhash"),
        (16, "sha1"),
    ];
    for (number, name) in hashes {
        let verify = format!("--verify={name}");
        let file = tempfile::NamedTempFile::new_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let Some(wrote) = fio(&["--rw=write", &verify, "--do_verify=0"], file.path()) else { return };
        assert!(wrote.status.success());
        assert_good(&run(file.path(), true, number, Pattern::Sequential(Begin::First)), name);
        assert_good(&run(file.path(), false, number, Pattern::Uniform { once: true }), name);
        let read = fio(&["--rw=read", &verify], file.path()).unwrap();
        assert!(read.status.success(), "{name}: {}", String::from_utf8_lossy(&read.stdout));
    }
}
