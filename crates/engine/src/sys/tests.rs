//! Every queue against real files: what was written is read, and what the kernel refuses is a result.

use super::arena::{Arena, ArenaView};
use super::io_uring::{UringQueue, Wishes};
use super::libaio::AioQueue;
use super::mmap::MmapQueue;
use super::psync::{Flags, PsyncQueue};
use super::stdio::StdioQueue;
use crate::files::OpenTarget;
use fathom_drive::{AWAKE_NS, Clock, Completion, Operation, Queue};
use fathom_spec::{QueueOptions, SyncKind, Verb};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

const DEPTH: u32 = 8;
const BLOCK: u32 = 4096;
const BLOCKS: u64 = 64;
const COMMITS: (SyncKind, SyncKind) = (SyncKind::Fdatasync, SyncKind::Fsync);

/// Asks a queue, waits for all and answers results by tag.
fn ask(queue: &mut dyn Queue, operations: &[Operation]) -> Vec<i32> {
    let tags: Vec<u32> = (0..operations.len() as u32).collect();
    queue.push(&tags, operations);
    collect(queue, operations.len())
}

fn collect(queue: &mut dyn Queue, count: usize) -> Vec<i32> {
    let (mut done, mut results) = (Vec::<Completion>::new(), vec![None; count]);
    while results.iter().any(Option::is_none) {
        let until = queue.now() + 5_000_000_000;
        queue.enter(1, until);
        queue.poll(&mut done);
        for completion in done.drain(..) {
            let place: &mut Option<i32> = &mut results[completion.tag as usize];
            assert_eq!(place.replace(completion.result), None, "a tag comes back once");
        }
    }
    results.into_iter().flatten().collect()
}

fn operation(verb: Verb, block: u64) -> Operation {
    let length = if verb == Verb::Sync { 0 } else { BLOCK };
    Operation { offset: block * u64::from(BLOCK), due_ns: 0, mark: 0, length, target: 0, verb, cell: 0 }
}

fn open(path: &Path, direct: bool, write: bool) -> Arc<[OpenTarget]> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path).unwrap();
    let size = file.metadata().unwrap().len();
    [OpenTarget::new(file.into(), size, direct, "scratch").unwrap()].into()
}

fn scratch() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for block in 0..BLOCKS {
        file.write_all(&[block as u8; BLOCK as usize]).unwrap();
    }
    file.as_file().sync_all().unwrap();
    file
}

fn wishes(options: QueueOptions) -> Wishes {
    let (commit, sync) = COMMITS;
    Wishes { depth: DEPTH, writes: true, commit, sync, options }
}

type Made = (&'static str, Box<dyn Queue>, ArenaView);

/// Every queue that this machine can make, over the same file.
fn queues(targets: &Arc<[OpenTarget]>) -> Vec<Made> {
    queues_with(targets, QueueOptions::default())
}

fn queues_with(targets: &Arc<[OpenTarget]>, options: QueueOptions) -> Vec<Made> {
    let clock = Clock::start();
    let arena = || {
        let arena = Arena::new(DEPTH as usize, BLOCK as usize).unwrap();
        let view = ArenaView::of(&arena);
        (arena, view)
    };
    let mut made: Vec<Made> = Vec::new();
    let (buffers, view) = arena();
    match UringQueue::new(targets.clone(), buffers, clock, wishes(options)) {
        Ok(queue) => made.push(("io_uring", Box::new(queue), view)),
        Err(error) => println!("skipped: no io_uring here ({error})"),
    }
    let (buffers, view) = arena();
    let plain = QueueOptions { unregistered: true, ..options };
    if let Ok(queue) = UringQueue::new(targets.clone(), buffers, clock, wishes(plain)) {
        made.push(("io_uring, unregistered", Box::new(queue), view));
    }
    let (buffers, view) = arena();
    match AioQueue::new(targets.clone(), buffers, clock, COMMITS, options) {
        Ok(queue) => made.push(("libaio", Box::new(queue), view)),
        Err(error) => println!("skipped: no libaio here ({error})"),
    }
    let (commit, sync) = COMMITS;
    let (buffers, view) = arena();
    let queue = PsyncQueue::new(targets.clone(), buffers, clock, commit, sync, None);
    made.push(("psync", Box::new(queue), view));
    let (buffers, view) = arena();
    let flags = Some(Flags::of(options, 1));
    let queue = PsyncQueue::new(targets.clone(), buffers, clock, commit, sync, flags);
    made.push(("vectored", Box::new(queue), view));
    made
}

fn with_mmap(targets: &Arc<[OpenTarget]>, writes: bool) -> Vec<Made> {
    let mut made = queues(targets);
    let arena = Arena::new(DEPTH as usize, BLOCK as usize).unwrap();
    let view = ArenaView::of(&arena);
    let queue =
        MmapQueue::new(targets.clone(), arena, Clock::start(), (SyncKind::Msync, SyncKind::Msync), writes);
    made.push(("mmap", Box::new(queue.unwrap()), view));
    made
}

#[test]
fn every_queue_reads_what_was_written_with_and_without_the_page_cache() {
    let file = scratch();
    for direct in [false, true] {
        for (name, mut queue, mut view) in with_mmap(&open(file.path(), direct, true), true) {
            (0..DEPTH).for_each(|tag| view.bytes(tag, BLOCK as usize).fill(tag as u8 + 100));
            let writes: Vec<_> = (0..8).map(|block| operation(Verb::Write, block)).collect();
            assert_eq!(ask(&mut *queue, &writes), [4096; 8], "{name}");
            (0..DEPTH).for_each(|tag| view.bytes(tag, BLOCK as usize).fill(0));
            assert_eq!(ask(&mut *queue, &[operation(Verb::Sync, 0)]), [0], "{name}");
            let reads: Vec<_> = (0..8).rev().map(|block| operation(Verb::Read, block)).collect();
            assert_eq!(ask(&mut *queue, &reads), [4096; 8], "{name}");
            for tag in 0..DEPTH {
                let bytes = view.bytes(tag, BLOCK as usize);
                assert!(bytes.iter().all(|b| *b == 107 - tag as u8), "{name} {direct} {tag}");
            }
        }
    }
}

#[test]
fn a_commit_comes_back_once_with_the_bytes_of_its_write_and_a_trim_with_its_length() {
    let file = scratch();
    for (name, mut queue, mut view) in with_mmap(&open(file.path(), false, true), true) {
        (0..DEPTH).for_each(|tag| view.bytes(tag, BLOCK as usize).fill(7));
        let commits: Vec<_> = (0..8).map(|block| operation(Verb::Commit, block)).collect();
        assert_eq!(ask(&mut *queue, &commits), [4096; 8], "{name}");
        assert_eq!(ask(&mut *queue, &commits[..3]), [4096; 3], "{name}");
        let trims = [operation(Verb::Trim, 0), operation(Verb::Read, 0)];
        assert_eq!(ask(&mut *queue, &trims[..1]), [4096], "{name}");
        assert_eq!(ask(&mut *queue, &trims[1..]), [4096], "{name}");
        assert!(view.bytes(0, BLOCK as usize).iter().all(|b| *b == 0), "{name}: a hole reads as zeros");
    }
}

#[test]
fn reads_at_the_end_are_short_and_behind_it_empty() {
    let file = scratch();
    for (name, mut queue, _view) in with_mmap(&open(file.path(), false, false), false) {
        let mut last = operation(Verb::Read, BLOCKS - 1);
        last.offset += 1000;
        assert_eq!(ask(&mut *queue, &[last, operation(Verb::Read, BLOCKS)]), [3096, 0], "{name}");
    }
}

#[test]
fn what_the_kernel_refuses_is_a_result_and_the_queue_goes_on() {
    let file = scratch();
    for (name, mut queue, _view) in with_mmap(&open(file.path(), false, false), false) {
        let mixed = [
            operation(Verb::Read, 1),
            operation(Verb::Write, 1),
            operation(Verb::Commit, 2),
            operation(Verb::Read, 3),
        ];
        assert_eq!(ask(&mut *queue, &mixed), [4096, -libc::EBADF, -libc::EBADF, 4096], "{name}");
        assert_eq!(ask(&mut *queue, &mixed[..1]), [4096], "{name}");
    }
}

#[test]
fn a_file_cut_after_it_was_mapped_is_a_short_read_and_no_signal() {
    let file = scratch();
    let targets = open(file.path(), false, false);
    let (_, mut queue, _view) = with_mmap(&targets, false).pop().unwrap();
    file.as_file().set_len(6000).unwrap();
    let reads = [operation(Verb::Read, 0), operation(Verb::Read, 1), operation(Verb::Read, 2)];
    assert_eq!(ask(&mut *queue, &reads), [4096, 1904, 0]);
}

#[test]
fn waiting_ends_at_its_moment_and_not_before() {
    let file = scratch();
    for (name, mut queue, _view) in with_mmap(&open(file.path(), false, false), false) {
        let before = queue.now();
        queue.enter(0, before + 3_000_000);
        assert!(queue.now() >= before + 3_000_000, "{name}");
        let before = queue.now();
        queue.enter(0, before / 2);
        queue.enter(0, 0);
        assert!(queue.now() < before + 1_000_000_000, "{name}: a moment that has passed is not waited for");
        assert_eq!(ask(&mut *queue, &[operation(Verb::Read, 0)]), [4096], "{name}");
    }
}

#[test]
fn a_wait_for_something_that_does_not_come_ends_in_time() {
    // A pipe that nobody writes to: its read stays outstanding.
    let (reader, writer) = std::io::pipe().unwrap();
    let fd: std::os::fd::OwnedFd = reader.into();
    let targets: Arc<[OpenTarget]> = [OpenTarget::new(fd, 0, false, "pipe").unwrap()].into();
    let arena = Arena::new(DEPTH as usize, BLOCK as usize).unwrap();
    let Ok(mut queue) = UringQueue::new(targets, arena, Clock::start(), wishes(QueueOptions::default()))
    else {
        return println!("skipped: no io_uring here");
    };
    queue.push(&[3], &[Operation { offset: u64::MAX, ..operation(Verb::Read, 0) }]);
    let (before, mut done) = (queue.now(), Vec::new());
    queue.enter(1, before + 3_000_000);
    queue.poll(&mut done);
    // The last of it is the caller's, who spends it awake.
    assert!(done.is_empty() && queue.now() >= before + 3_000_000 - AWAKE_NS);
    let mut writer = File::from(std::os::fd::OwnedFd::from(writer));
    writer.write_all(b"late").unwrap();
    queue.enter(1, u64::MAX);
    queue.poll(&mut done);
    assert_eq!(done, [Completion { tag: 3, result: 4 }]);
}

#[test]
fn reads_that_must_not_block_answer_at_once() {
    let file = scratch();
    let options = QueueOptions { no_wait: true, ..QueueOptions::default() };
    for (name, mut queue, _view) in queues_with(&open(file.path(), false, false), options) {
        let results = ask(&mut *queue, &[operation(Verb::Read, 0), operation(Verb::Read, 9)]);
        assert!(results.iter().all(|r| [4096, -libc::EAGAIN].contains(r)), "{name} {results:?}");
    }
}

#[test]
fn what_cannot_be_had_is_noted_and_the_queue_works_without() {
    let file = scratch();
    let targets = open(file.path(), true, false);
    let options = QueueOptions { io_poll: true, submit_poll: true, ..QueueOptions::default() };
    let arena = Arena::new(DEPTH as usize, BLOCK as usize).unwrap();
    let asked = Wishes { writes: false, ..wishes(options) };
    let Ok(mut queue) = UringQueue::new(targets, arena, Clock::start(), asked) else {
        return println!("skipped: no io_uring here");
    };
    assert_eq!(queue.description().contains("polled completions"), queue.notes().is_empty());
    assert_eq!(ask(&mut queue, &[operation(Verb::Read, 5), operation(Verb::Read, 6)]), [4096, 4096]);
}

fn streams(targets: Arc<[OpenTarget]>, writes: bool) -> std::io::Result<(StdioQueue, ArenaView)> {
    let arena = Arena::new(1, BLOCK as usize).unwrap();
    let view = ArenaView::of(&arena);
    Ok((StdioQueue::new(targets, arena, Clock::start(), COMMITS, writes)?, view))
}

#[test]
fn a_stream_keeps_small_records_in_its_buffer_until_it_is_flushed() {
    let file = scratch();
    let (mut queue, mut view) = streams(open(file.path(), false, true), true).unwrap();
    let part = |verb, block| Operation { length: 512, ..operation(verb, block) };
    let first_of = |block: usize| std::fs::read(file.path()).unwrap()[block * BLOCK as usize];
    view.bytes(0, 512).fill(200);
    assert_eq!(ask(&mut queue, &[part(Verb::Write, 5)]), [512]);
    assert_eq!(first_of(5), 5, "it is in the buffer");
    for kind in [SyncKind::Flush, SyncKind::Close, SyncKind::Fsync] {
        assert_eq!(ask(&mut queue, &[Operation::sync(kind, 0, 0)]), [0], "{kind:?}");
        assert_eq!(first_of(5), 200, "{kind:?}");
    }
    // Reading in between, and writing again: each finds its place.
    assert_eq!(ask(&mut queue, &[part(Verb::Read, 7)]), [512]);
    assert!(view.bytes(0, 512).iter().all(|byte| *byte == 7));
    view.bytes(0, 512).fill(201);
    assert_eq!(ask(&mut queue, &[part(Verb::Write, 9)]), [512]);
    assert_eq!(ask(&mut queue, &[part(Verb::Read, 9)]), [512]);
    assert_eq!((first_of(9), first_of(10)), (201, 10));
    assert_eq!(ask(&mut queue, &[part(Verb::Commit, 11)]), [512]);
    assert_eq!(first_of(11), 201);
    assert_eq!(ask(&mut queue, &[part(Verb::Trim, 1)]), [-libc::EOPNOTSUPP]);
    // What is still in the buffer goes out with the stream.
    assert_eq!(ask(&mut queue, &[part(Verb::Write, 13)]), [512]);
    drop(queue);
    assert_eq!(first_of(13), 201);
}

#[test]
fn a_stream_ends_at_the_end_of_its_file_and_does_not_write_where_it_may_not() {
    let file = scratch();
    let (mut queue, _view) = streams(open(file.path(), false, false), false).unwrap();
    let mut last = operation(Verb::Read, BLOCKS - 1);
    last.offset += 1000;
    let asked = [last, operation(Verb::Read, BLOCKS), operation(Verb::Write, 1), operation(Verb::Read, 3)];
    let answers: Vec<i32> = asked.iter().flat_map(|one| ask(&mut queue, std::slice::from_ref(one))).collect();
    assert_eq!(answers, [3096, 0, -libc::EBADF, 4096]);
    let refused = streams(open(file.path(), true, false), false);
    assert!(refused.is_err_and(|why| why.to_string().contains("past the page cache")));
}

/// A page that its file no longer has was the end of the program.
#[test]
fn a_page_that_is_lost_is_replaced_and_counted_and_other_threads_are_not_told() {
    let file = scratch();
    super::bus_error::watch();
    let length = 2 * BLOCK as usize;
    let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0).cast::<u8>()
    };
    assert_ne!(base.cast(), libc::MAP_FAILED);
    let second = base.wrapping_add(BLOCK as usize);
    let mut seen = 0;
    // SAFETY: the place lies in the mapping.
    let lost = super::bus_error::during(base, length, || seen = unsafe { second.read_volatile() });
    assert_eq!((lost, seen), (0, 1), "the second block is of ones");
    file.as_file().set_len(u64::from(BLOCK)).unwrap();
    for wanted in [1, 0] {
        // SAFETY: as above; the page is gone from the file, and the handler puts one of zeros there.
        let lost = super::bus_error::during(base, length, || seen = unsafe { second.read_volatile() });
        assert_eq!((lost, seen), (wanted, 0));
    }
    // SAFETY: the mapping is ours, and nothing refers to it any more.
    unsafe { libc::munmap(base.cast(), length) };
}

/// The set-up was allowed and the call that works was not: a worker asked again and again, for ever.
#[test]
fn a_ring_that_may_not_be_entered_is_refused_when_it_is_made() {
    const ENTER: u32 = 426;
    let file = scratch();
    let targets = open(file.path(), true, true);
    let refused = std::thread::spawn(move || {
        let filter = |code: u32, jump_true, jump_false, k| libc::sock_filter {
            code: code as u16,
            jt: jump_true,
            jf: jump_false,
            k,
        };
        let errno = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        let mut rules = [
            filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            filter(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, ENTER),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, errno),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: rules.len() as u16, filter: rules.as_mut_ptr() };
        // SAFETY: the program lives through the call; the filter is this thread's alone.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
        };
        let arena = Arena::new(DEPTH as usize, BLOCK as usize).unwrap();
        let made = UringQueue::new(targets, arena, Clock::start(), wishes(QueueOptions::default()));
        (set, made.err().and_then(|error| error.raw_os_error()))
    });
    let (set, errno) = refused.join().unwrap();
    // Where io_uring is off altogether, or filters are, another number says so.
    assert!(set != 0 || errno.is_some(), "it was made all the same");
}
