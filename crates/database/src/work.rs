//! One session as serial work: chooses, does, and answers what it touched. Knows no driver and no clock.

use crate::backend::{Failure, FailureKind, Session};
use crate::operation_mix::{OperationKind, OperationMix, SessionOperation};
use fathom_drive::{Act, Serial, Trouble};
use fathom_record::EventKind;
use fathom_spec::{StreamId, Verb};

/// The verbs of a stream of sessions, in the order of its cells: only those that can occur.
pub(crate) fn verbs(work: &fathom_spec::Session) -> Vec<Verb> {
    let mut verbs = Vec::new();
    if work.update_percent < 100.0 && work.scan_percent < 100.0 {
        verbs.push(Verb::Select);
    }
    if work.update_percent > 0.0 {
        verbs.extend([Verb::Update, Verb::Commit]);
    }
    if work.scan_percent > 0.0 && work.update_percent < 100.0 {
        verbs.push(Verb::Scan);
    }
    verbs
}

/// The work of one session.
pub(crate) struct SessionWork<'a> {
    pub(crate) session: Box<dyn Session + 'a>,
    pub(crate) mix: OperationMix,
    pub(crate) verbs: Vec<Verb>,
    pub(crate) work_unit: u32,
    pub(crate) update_unit: u32,
    /// Rows of a scan table.
    pub(crate) scan_rows: u64,
    pub(crate) block_bytes: u32,
    /// Operations that may still begin; an update and its commit are one.
    pub(crate) left: u64,
    pub(crate) stream: StreamId,
    pub(crate) target: String,
    pub(crate) doing: Doing,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Between operations.
    Nothing,
    /// In this one, or it is to be tried again.
    Operation(SessionOperation),
    /// Its update is done, the commit is not.
    Commit(SessionOperation),
}

impl SessionWork<'_> {
    fn act(&self, verb: Verb, paced: bool, wait_ns: u64) -> Act {
        let cell = self.verbs.iter().position(|known| *known == verb).unwrap_or(0) as u8;
        Act { verb, cell, bytes: self.block_bytes, paced, wait_ns }
    }

    fn verb(&self) -> Verb {
        match self.doing {
            Doing::Commit(_) => Verb::Commit,
            Doing::Operation(SessionOperation { kind: OperationKind::Update, .. }) => Verb::Update,
            Doing::Operation(SessionOperation { kind: OperationKind::Scan, .. }) => Verb::Scan,
            _ => Verb::Select,
        }
    }

    /// Does what was chosen; answers rows touched and rows expected, and what comes after.
    fn statement(&mut self, doing: Doing) -> Result<(u64, u64, Doing), Failure> {
        let (chosen, commits) = match doing {
            Doing::Nothing => return Ok((0, 0, Doing::Nothing)),
            Doing::Operation(chosen) => (chosen, false),
            Doing::Commit(chosen) => (chosen, true),
        };
        let SessionOperation { kind, schema, first, .. } = chosen;
        Ok(match kind {
            _ if commits => {
                self.session.commit()?;
                (0, 0, Doing::Nothing)
            }
            OperationKind::Select => {
                let unit = self.work_unit;
                (self.session.select(schema, first, unit)?, u64::from(unit), Doing::Nothing)
            }
            OperationKind::Update => {
                let unit = self.update_unit;
                (self.session.update(schema, first, unit)?, u64::from(unit), Doing::Commit(chosen))
            }
            OperationKind::Scan => (self.session.scan(schema)?, self.scan_rows, Doing::Nothing),
        })
    }

    /// What becomes of a failure: a deadlock is tried again, all else ends the session.
    #[cold]
    fn failed(&mut self, doing: Doing, failure: Failure) -> Trouble {
        let verb = self.verb();
        let Failure { mut kind, mut message } = failure;
        if kind == FailureKind::Retry
            && verb != Verb::Select
            && let Err(second) = self.session.rollback()
        {
            (kind, message) = (second.kind, second.message);
        }
        let target = self.target.clone();
        let retried = kind == FailureKind::Retry;
        let what = Box::new(EventKind::Statement { stream: self.stream, verb, target, message, retried });
        if retried {
            let (Doing::Operation(chosen) | Doing::Commit(chosen)) = doing else {
                return Trouble::Fatal(what);
            };
            self.doing = Doing::Operation(SessionOperation { think_ns: 0, ..chosen });
            return Trouble::Failed(what);
        }
        Trouble::Fatal(what)
    }
}

impl Serial for SessionWork<'_> {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        match self.doing {
            // Tried again, or a commit: part of what was begun by the timetable.
            Doing::Operation(_) | Doing::Commit(_) => Some(self.act(self.verb(), false, 0)),
            Doing::Nothing => {
                self.left = self.left.checked_sub(1)?;
                let chosen = self.mix.next();
                self.doing = Doing::Operation(chosen);
                Some(self.act(self.verb(), true, chosen.think_ns))
            }
        }
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        let doing = self.doing;
        match self.statement(doing) {
            Ok((touched, expected, after)) if touched == expected => {
                self.doing = after;
                Ok(u32::try_from(touched * u64::from(self.block_bytes)).unwrap_or(u32::MAX))
            }
            Ok((touched, expected, _)) => {
                let message = format!("it touched {touched} rows where {expected} were loaded");
                Err(self.failed(doing, Failure { kind: FailureKind::Statement, message }))
            }
            Err(failure) => Err(self.failed(doing, failure)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::TargetId;
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    /// Answers by a script and notes what it was asked.
    #[derive(Clone, Default)]
    struct Scripted {
        said: Rc<RefCell<Vec<&'static str>>>,
        fails: Rc<RefCell<VecDeque<Option<FailureKind>>>>,
    }

    impl Scripted {
        fn answer<T>(&self, name: &'static str, good: T) -> Result<T, Failure> {
            self.said.borrow_mut().push(name);
            match self.fails.borrow_mut().pop_front().flatten() {
                None => Ok(good),
                Some(kind) => Err(Failure { kind, message: format!("{name} failed") }),
            }
        }
    }

    impl Session for Scripted {
        fn select(&mut self, _: u32, _: u64, count: u32) -> Result<u64, Failure> {
            self.answer("select", u64::from(count))
        }
        fn update(&mut self, _: u32, _: u64, count: u32) -> Result<u64, Failure> {
            self.answer("update", u64::from(count))
        }
        fn commit(&mut self) -> Result<(), Failure> {
            self.answer("commit", ())
        }
        fn rollback(&mut self) -> Result<(), Failure> {
            self.answer("rollback", ())
        }
        fn scan(&mut self, _: u32) -> Result<u64, Failure> {
            self.answer("scan", 5)
        }
    }

    fn work(script: &Scripted, update_percent: f64, left: u64) -> SessionWork<'static> {
        let session =
            fathom_spec::Session { update_percent, ..fathom_spec::Session::selects(TargetId(0), 1, 100) };
        SessionWork {
            session: Box::new(script.clone()),
            mix: OperationMix::new(&session, 0, 1),
            verbs: verbs(&session),
            work_unit: 1,
            update_unit: 1,
            scan_rows: 5,
            block_bytes: 8192,
            left,
            stream: StreamId(0),
            target: "db".to_owned(),
            doing: Doing::Nothing,
        }
    }

    /// Runs to the end; answers acts (verb, paced) with their outcome in a letter.
    fn play(mut work: SessionWork<'_>) -> Vec<(Verb, bool, char)> {
        let mut played = Vec::new();
        while let Some(act) = work.next(0) {
            let outcome = match work.perform() {
                Ok(_) => 'o',
                Err(Trouble::Failed(_)) => 'f',
                Err(Trouble::Fatal(_)) => 'x',
                Err(Trouble::Nothing) => '-',
            };
            played.push((act.verb, act.paced, outcome));
            if outcome == 'x' {
                break;
            }
        }
        played
    }

    #[test]
    fn a_deadlock_is_counted_rolled_back_and_tried_again() {
        let script = Scripted::default();
        script.fails.borrow_mut().extend([Some(FailureKind::Retry), None, None, Some(FailureKind::Retry)]);
        let played = play(work(&script, 100.0, 1));
        let verbs = [
            (Verb::Update, true, 'f'),
            (Verb::Update, false, 'o'),
            (Verb::Commit, false, 'f'),
            (Verb::Update, false, 'o'),
            (Verb::Commit, false, 'o'),
        ];
        assert_eq!(played, verbs);
        let said = ["update", "rollback", "update", "commit", "rollback", "update", "commit"];
        assert_eq!(*script.said.borrow(), said);
    }

    #[test]
    fn a_lost_connection_ends_the_session_also_when_it_is_lost_in_the_rollback() {
        let script = Scripted::default();
        script.fails.borrow_mut().extend([None, Some(FailureKind::Lost)]);
        assert_eq!(play(work(&script, 0.0, 9)), [(Verb::Select, true, 'o'), (Verb::Select, true, 'x')]);
        script.fails.borrow_mut().extend([Some(FailureKind::Retry), Some(FailureKind::Lost)]);
        assert_eq!(play(work(&script, 100.0, 9)), [(Verb::Update, true, 'x')]);
    }

    #[test]
    fn rows_that_are_missing_end_the_session() {
        let mut work = SessionWork { work_unit: 2, ..work(&Scripted::default(), 0.0, 9) };
        work.scan_rows = 6;
        work.doing = Doing::Operation(SessionOperation {
            kind: OperationKind::Scan,
            schema: 0,
            first: 1,
            think_ns: 0,
        });
        let Err(Trouble::Fatal(what)) = work.perform() else { panic!("it went on") };
        let EventKind::Statement { verb, message, retried, .. } = *what else { panic!("{what:?}") };
        assert_eq!((verb, retried), (Verb::Scan, false));
        assert!(message.contains("5 rows where 6"), "{message}");
    }

    #[test]
    fn only_verbs_that_can_occur_have_a_cell() {
        let base = fathom_spec::Session::selects(TargetId(0), 1, 100);
        let of = |update_percent, scan_percent| {
            verbs(&fathom_spec::Session { update_percent, scan_percent, ..base.clone() })
        };
        assert_eq!(of(0.0, 0.0), [Verb::Select]);
        assert_eq!(of(10.0, 10.0), [Verb::Select, Verb::Update, Verb::Commit, Verb::Scan]);
        assert_eq!(of(100.0, 100.0), [Verb::Update, Verb::Commit]);
        assert_eq!(of(0.0, 100.0), [Verb::Scan]);
    }
}
