//! Job files and recordings as a fuzzer makes them: real ones, cut, doubled, mixed and seasoned with words of the language.
//! Whatever comes, there is a plan, or a message with a place in what was read, and no panic. The mutations are drawn from
//! a seed, so that a failure can be had again: its number stands in the message. `FATHOM_FUZZ_CASES=1000000 cargo test
//! --release -p fathom-fio --test fuzz` looks for longer.

use fathom_fio::replay::{blktrace, iolog};
use fathom_fio::*;

/// Real job files.
const JOB_FILES: [&str; 9] = [
    include_str!("fuzz/published_sync.fio"),
    include_str!("fuzz/published_async.fio"),
    include_str!("fuzz/published_async_32.fio"),
    include_str!("fuzz/groups.fio"),
    include_str!("fuzz/verify.fio"),
    include_str!("fuzz/rates.fio"),
    include_str!("fuzz/areas.fio"),
    include_str!("fuzz/files.fio"),
    include_str!("fuzz/words.fio"),
];

/// Real recordings.
const LOGS: [&str; 2] = [include_str!("fuzz/two.log"), include_str!("fuzz/three.log")];

/// What values are made of.
const SPICES: [&str; 40] = [
    "0",
    "-1",
    "1",
    "4k",
    "4Ki",
    "100%",
    "150%",
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "nan",
    "0x",
    "0xffffffffffffffff",
    "99999999999999999999",
    "1t",
    "16e",
    "2.5",
    ":",
    ",",
    "/",
    "\"",
    "'",
    "[",
    "]",
    "$",
    "${",
    "${HOME}",
    "$jobname",
    "(1/0)",
    "((((",
    "include inc.fio",
    "[global]",
    "[x]",
    "é",
    "\u{0}",
    "zipf:",
    "1-",
    "=",
    "\n",
];

/// xorshift64*.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A line of text changed: its value, its name, or the whole of it.
fn changed_line(chance: &mut Chance, lines: &mut Vec<String>) {
    let at = chance.below(lines.len());
    let line = lines[at].clone();
    let option = options::OPTIONS[chance.below(options::OPTIONS.len())].name;
    let (name, value) = line.split_once('=').unwrap_or((&line, ""));
    let (name, value) = (name.to_owned(), value.to_owned());
    lines[at] = match chance.below(9) {
        0 => format!("{name}={}", chance.one(&SPICES)),
        1 => format!("{option}={value}"),
        2 => format!("{option}={}", chance.one(&SPICES)),
        3 => option.to_owned(),
        4 => format!("{name}={value}{}", chance.one(&SPICES)),
        5 => format!("{name}={value}:{value},{value}"),
        6 => format!("{name}={}{value}", chance.one(&SPICES)),
        7 => {
            let other = lines[chance.below(lines.len())].clone();
            lines.insert(at, other);
            return;
        }
        _ => {
            lines.remove(at);
            return;
        }
    };
}

/// Bytes cut out, put in, or turned.
fn changed_bytes(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let at = chance.below(bytes.len());
    match chance.below(5) {
        0 => bytes.truncate(at),
        1 => {
            let to = (at + chance.below(16)).min(bytes.len());
            bytes.drain(at..to);
        }
        2 => bytes.splice(at..at, chance.one(&SPICES).bytes()).for_each(drop),
        3 => {
            let to = (at + chance.below(200)).min(bytes.len());
            let again = bytes[at..to].to_vec();
            bytes.splice(at..at, again).for_each(drop);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
    }
}

fn job_file(chance: &mut Chance) -> String {
    let mut lines: Vec<String> = chance.one(&JOB_FILES).lines().map(str::to_owned).collect();
    if chance.below(4) == 0 {
        let other: Vec<&str> = chance.one(&JOB_FILES).lines().collect();
        let (from, at) = (chance.below(other.len()), chance.below(lines.len()));
        lines.splice(at..at, other[from..].iter().map(|line| (*line).to_owned())).for_each(drop);
    }
    for _ in 0..chance.below(6) {
        if !lines.is_empty() {
            changed_line(chance, &mut lines);
        }
    }
    let mut bytes = lines.join("\n").into_bytes();
    for _ in 0..chance.below(4) {
        changed_bytes(chance, &mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn recording(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = match chance.below(3) {
        0 => {
            let mut bytes = Vec::new();
            for _ in 0..=chance.below(5) {
                let start = bytes.len();
                bytes.extend(0x6561_7407u32.to_le_bytes());
                bytes.extend((0..44).map(|_| (chance.next() >> 60) as u8));
                bytes.splice(start + 28..start + 32, [1, 0, 0x12, 0]).for_each(drop);
            }
            bytes
        }
        _ => chance.one(&LOGS).as_bytes().to_vec(),
    };
    for _ in 0..chance.below(6) {
        changed_bytes(chance, &mut bytes);
    }
    bytes
}

/// Everything that is done with a job file before anything is run.
fn understood(
    text: &str,
    recorded: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Planned, Vec<Trouble>> {
    let around = Surroundings {
        variable: &|name| (name == "DIR").then(|| "/tmp".to_owned()),
        include: &|name| {
            if name == "inc.fio" { Ok("[global]\nbs=1k\n".to_owned()) } else { Err("none".to_owned()) }
        },
        page_size: 4096,
        memory_mebibytes: 24_064,
        cpus: 2,
    };
    let look = |path: &str| match path {
        "/dev/disk:0" => Some(FileFacts { bytes: 1 << 34, device: true }),
        "/dev/disk1" => Some(FileFacts { bytes: 1 << 33, device: true }),
        "/tmp/data/a.0.0" => Some(FileFacts { bytes: 1000, device: false }),
        _ => None,
    };
    let sections = jobfile::parse("fuzz.fio", text, &around)?;
    let parts = Parts { files: vec![sections], ..Parts::default() };
    let (mut jobs, _) = fathom_fio::understood(parts, &[], &|_, _| Ok(b"bytes of a file".to_vec()))?;
    let open = |name: &str| Ok(Box::new(std::io::Cursor::new(recorded(name)?)) as Box<dyn std::io::BufRead>);
    recall(&mut jobs, &open, &|_, _| Some("/dev/disk1".to_owned())).map_err(|trouble| vec![trouble])?;
    let planned = plan(&jobs, &Facts { look: &look, chance: 5 }).map_err(|trouble| vec![trouble])?;
    let _ = reported(&jobs, &planned, 1);
    Ok(planned)
}

fn cases(usual: u64) -> u64 {
    let asked = std::env::var("FATHOM_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(usual)
}

/// Runs a case; a panic tells its number.
fn case(number: u64, what: &str, run: impl FnOnce() + std::panic::UnwindSafe) {
    if std::panic::catch_unwind(run).is_err() {
        panic!("case {number} failed:\n{what}");
    }
}

#[test]
fn job_files_are_planned_or_told_with_a_place() {
    let mut planned = 0u64;
    let cases = cases(5_000);
    for number in 1..=cases {
        let mut chance = Chance(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let text = job_file(&mut chance);
        let recorded = recording(&mut chance);
        case(number, &text, || {
            let log = |name: &str| match name {
                "two.log" | "three.log" => Ok(recorded.clone()),
                _ => Err("none".to_owned()),
            };
            if let Err(troubles) = understood(&text, &log) {
                assert!(!troubles.is_empty());
                for trouble in troubles {
                    assert!(trouble.at.is_some() && !trouble.hint.is_empty(), "{trouble:?}");
                    let rendered = trouble.render();
                    assert!(rendered.starts_with("error: ") && rendered.contains("\nhint: "), "{rendered}");
                }
            }
        });
        planned += u64::from(understood(&text, &|_| Err("none".to_owned())).is_ok());
    }
    // A fuzzer whose every case is refused at the door looks at nothing.
    assert!(planned * 100 > cases, "{planned} of {cases} were planned");
    assert!(planned * 20 < cases * 19, "{planned} of {cases} were planned");
}

#[test]
fn recordings_are_read_or_told_with_a_place() {
    for number in 1..=cases(50_000) {
        let mut chance = Chance(number.wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1);
        let bytes = recording(&mut chance);
        case(number, &String::from_utf8_lossy(&bytes), || {
            match blktrace::read(&mut bytes.as_slice()) {
                Ok(queued) => {
                    assert!(queued.actions.iter().all(|a| (a.file as usize) < queued.devices.len()))
                }
                Err(what) => assert!(!what.is_empty()),
            }
            if let Err(trouble) = iolog::read("fuzz.log", &mut bytes.as_slice()) {
                assert!(trouble.at.is_some() && !trouble.hint.is_empty(), "{trouble:?}");
            }
        });
    }
}

#[test]
fn the_files_that_are_mutated_are_planned_themselves() {
    for (number, text) in JOB_FILES.iter().enumerate() {
        let log = |name: &str| Ok(LOGS[usize::from(name == "three.log")].as_bytes().to_vec());
        if let Err(troubles) = understood(text, &log) {
            panic!("{number}: {}", troubles[0]);
        }
    }
}
