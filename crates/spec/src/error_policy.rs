//! Which errors end a worker before its work is done.

use crate::{Nanos, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ends a stream's workers early. The default lets them go on whatever happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorPolicy {
    /// Which failures end a worker.
    #[serde(default)]
    pub failures: Failures,
    /// An operation of this verb that took longer ends its worker, as a fault of its own (ETIMEDOUT).
    #[serde(default)]
    pub latency_most: Vec<(Verb, Nanos)>,
}

/// Which failures end a worker. Whatever they do besides, all of them are counted and are events of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failures {
    /// None: work goes on.
    #[default]
    Pass,
    /// What the system refuses once it refuses always: EPERM (a device that is read-only) and EROFS. Work goes on after
    /// everything else.
    Refusals,
    /// All but these error numbers, apart for reads, for everything that changes the storage, and for checks of what was
    /// read (EILSEQ: it is not what was written). A transfer that fell short counts as EIO.
    End {
        /// Passed over in reads.
        read: Vec<i32>,
        /// Passed over in writes, discards and syncs.
        write: Vec<i32>,
        /// Passed over in checks.
        check: Vec<i32>,
    },
}

/// Operation not permitted.
const EPERM: i32 = 1;
/// Read-only file system.
const EROFS: i32 = 30;
/// EIO, as which a short transfer counts.
const EIO: i32 = 5;
/// EILSEQ, as which bytes count that are not what was written.
const EILSEQ: i32 = 84;

impl Failures {
    /// Does a worker end because an operation answered this: bytes moved, or the negated error number?
    pub fn ends(&self, verb: Verb, result: i32) -> bool {
        let errno = if result < 0 { -result } else { EIO };
        match (self, verb) {
            (Failures::Pass, _) => false,
            (Failures::Refusals, _) => matches!(errno, EPERM | EROFS),
            (Failures::End { read, .. }, Verb::Read) => !read.contains(&errno),
            (Failures::End { write, .. }, _) => !write.contains(&errno),
        }
    }

    /// Does a worker end because a check failed?
    pub fn ends_check(&self) -> bool {
        match self {
            Failures::Pass | Failures::Refusals => false,
            Failures::End { check, .. } => !check.contains(&EILSEQ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_passed_over_ends_a_worker() {
        let end = Failures::End { read: vec![11], write: vec![28, 5], check: vec![] };
        assert!(end.ends(Verb::Read, -5) && !end.ends(Verb::Read, -11));
        assert!(end.ends(Verb::Write, -11) && !end.ends(Verb::Write, -28) && !end.ends(Verb::Trim, -28));
        assert!(end.ends(Verb::Read, 512) && !end.ends(Verb::Write, 512), "a short transfer is EIO");
        assert!(end.ends_check() && !Failures::Pass.ends_check() && !Failures::Pass.ends(Verb::Read, -5));
        assert!(!Failures::End { read: vec![], write: vec![], check: vec![84] }.ends_check());
        let ends = |errno: i32| Failures::Refusals.ends(Verb::Write, -errno);
        assert!(ends(1) && ends(30) && !ends(5) && !ends(28) && !Failures::Refusals.ends_check());
    }
}
