//! Every kind of target by every way to write, without and with the user's consent: what must change, and what must not.
//! What is in use has no byte written by any way.

mod targets;
mod ways;

use crate::place::{Place, alone};
use fathom_tidy::{is_root, skip};
use std::io::Write;
use std::sync::Mutex;
use targets::{Kind, Target};
use ways::Way;

/// What a trial must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing of the target changed.
    Kept,
    /// The target changed, or is gone.
    Changed,
    /// There is no such trial: the way does not lead to this kind of target.
    NotTried,
}

/// The table.
fn expected(kind: Kind, way: Way, consent: bool) -> Answer {
    use Answer::*;
    if way.is_for_devices() && !kind.is_device() || way.is_for_files() && kind.is_device() {
        return NotTried;
    }
    if kind.is_in_use() {
        // dd writes to a file that another process has open, as dd does.
        let dd = matches!(way, Way::DdOf | Way::DdStdout | Way::DdShell);
        // fio does too what others have open, here where the user consented.
        let fio =
            consent && matches!(way, Way::Fio) || consent && way == Way::FioLayout && kind == Kind::FileHeld;
        return match kind {
            Kind::FileHeld if dd || fio => Changed,
            Kind::DeviceHeld if fio => Changed,
            _ => Kept,
        };
    }
    let empty = matches!(kind, Kind::DeviceEmpty | Kind::FileSparse);
    let database = matches!(kind, Kind::FilePostgres | Kind::FileSqlite);
    match way {
        // Read, if they are not written to; that takes long, and is not what is tried here.
        Way::Calibrate => NotTried,
        // No SQLite file, and no file of bonnie++'s: never touched.
        Way::Store | Way::SlobSqlite | Way::Bonnie => Kept,
        // These take no consent.
        Way::Html | Way::FioOutput | Way::FioIolog | Way::FioUnlink => {
            if kind.is_device() || database {
                Kept
            } else {
                Changed
            }
        }
        // Fathom's own command asks always.
        Way::Run => {
            if consent {
                Changed
            } else {
                Kept
            }
        }
        // Whoever trims zeros sees zeros.
        Way::FioTrim => {
            if consent && !empty {
                Changed
            } else {
                Kept
            }
        }
        Way::FioLayout if kind.is_device() => Kept,
        // Three W are the word for what is named, but for a database's file.
        Way::Ioping => {
            if consent || !database {
                Changed
            } else {
                Kept
            }
        }
        // A name of a file is the word for it, but for a database's.
        // A name that is gone cannot be consented to.
        Way::DdNodeGone => {
            if empty {
                Changed
            } else {
                Kept
            }
        }
        Way::Fio | Way::FioLayout | Way::DdOf | Way::DdStdout | Way::DdShell | Way::Dt | Way::Iozone => {
            if consent || empty || (!kind.is_device() && !database) {
                Changed
            } else {
                Kept
            }
        }
        // To sysbench a device has no bytes, and its own are zeros.
        Way::Sysbench if kind.is_device() || empty => Kept,
        // A LUN, and a file behind a link, are written without a word only if there is nothing in them.
        Way::Orion | Way::Sysbench => {
            if consent || empty {
                Changed
            } else {
                Kept
            }
        }
    }
}

/// One trial, and what came of it.
struct Trial {
    kind: Kind,
    way: Way,
    consent: bool,
    expected: Answer,
    seen: Answer,
    said: String,
}

/// A losetup or blkid of another test may have a free device open just then: no way may write then, so it is tried again.
const TRIES: u32 = 4;

fn trials_of(mut target: Target) -> Vec<Trial> {
    let kind = target.kind;
    let place = Place::new();
    // A record for the ways that show one.
    place.say(&["dd", "if=/dev/zero", "of=/dev/null", "count=1", "status=none"]).ends(0);
    let mut trials = Vec::new();
    for way in Way::all() {
        for consent in [false, true] {
            let expected = expected(kind, way, consent);
            if expected == Answer::NotTried {
                continue;
            }
            let mut tries = 0;
            let (seen, said) = loop {
                let before = target.sum();
                let said = way.run(&place, &target, consent);
                let changed = before != target.sum();
                if changed {
                    target.restore();
                }
                tries += 1;
                let seen = if changed { Answer::Changed } else { Answer::Kept };
                if changed || seen == expected || kind.is_in_use() || tries == TRIES {
                    break (seen, said);
                }
            };
            trials.push(Trial { kind, way, consent, expected, seen, said });
        }
    }
    trials
}

/// A row for each kind, a column for each way: `W` changed, `.` kept, first without and second with consent.
fn matrix(trials: &[Trial]) -> String {
    let mut text = format!("{:<22}", "W changed, . kept");
    Way::all().for_each(|way| text.push_str(&format!("{:<11}", format!("{way:?}"))));
    for kind in Kind::all() {
        text.push_str(&format!("\n{:<22}", format!("{kind:?}")));
        for way in Way::all() {
            let of = |consent: bool| {
                let trial = trials.iter().find(|t| (t.kind, t.way, t.consent) == (kind, way, consent));
                match trial.map(|trial| trial.seen) {
                    Some(Answer::Changed) => 'W',
                    Some(_) => '.',
                    None => ' ',
                }
            };
            text.push_str(&format!("{:<11}", format!("{}{}", of(false), of(true))));
        }
    }
    text
}

#[test]
fn what_is_in_use_is_never_written_and_the_rest_only_as_the_table_says() {
    if !is_root() {
        skip("the guard's matrix", "loop devices need root");
        return;
    }
    let _alone = alone();
    // All are there before the first trial: losetup opens the devices that it finds.
    let targets = Mutex::new(Kind::all().map(Target::new).collect::<Vec<_>>());
    let trials = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let next = || targets.lock().expect("no other thread failed").pop();
                while let Some(target) = next() {
                    let some = trials_of(target);
                    trials.lock().expect("no other thread failed").extend(some);
                }
            });
        }
    });
    let trials = trials.into_inner().expect("no thread failed");
    let table = matrix(&trials);
    // Past the test harness, which keeps to itself what a test that passes prints.
    let _ = writeln!(std::io::stderr(), "{table}\n{} trials", trials.len());
    let in_use: Vec<&Trial> =
        trials.iter().filter(|t| t.kind.is_in_use() && t.expected == Answer::Kept).collect();
    assert!(in_use.len() > 150, "{}", in_use.len());
    let wrong: Vec<String> = trials
        .iter()
        .filter(|trial| trial.seen != trial.expected)
        .map(|t| format!("{:?} by {:?}, consent {}: {:?}, {}", t.kind, t.way, t.consent, t.seen, t.said))
        .collect();
    assert!(wrong.is_empty(), "{table}\n{wrong:#?}");
}
