//! fio's logs without `log_avg_msec`: an entry for each I/O, made as it comes back.

use super::logs::{LogEntry, LogSource};
use fathom_spec::Verb;

/// One I/O that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// From its submission to that moment, ns.
    pub service_ns: u64,
    /// Of that, until the call that submitted it returned; `None` where the engine does not tell it apart.
    pub submit_ns: Option<u64>,
    /// 0 read, 1 write, 2 trim.
    pub direction: u32,
    /// Where in its target.
    pub offset: u64,
    /// How many bytes were moved.
    pub bytes: u64,
}

/// The column of a verb; `None` for syncs, of which these logs have nothing.
pub fn direction(verb: Verb) -> Option<u32> {
    match verb {
        Verb::Read | Verb::Create | Verb::Open | Verb::Stat | Verb::Delete => Some(0),
        Verb::Write | Verb::Commit => Some(1),
        Verb::Trim => Some(2),
        Verb::Sync | Verb::Compute | Verb::Select | Verb::Update | Verb::Scan => None,
    }
}

/// The entry of one I/O in one log; `None` where that log has none of it. The bandwidth is that of this I/O alone.
/// `began_ns` is when the job began, ns since the run's start.
pub fn entry(done: &Done, source: LogSource, began_ns: u64) -> Option<LogEntry> {
    let Done { at_ns, service_ns, submit_ns, direction, offset, bytes } = *done;
    let value = match source {
        LogSource::Latency => service_ns,
        LogSource::Completion => service_ns.saturating_sub(submit_ns.unwrap_or(0)),
        LogSource::Submission => submit_ns?,
        LogSource::Histogram => return None,
        LogSource::Iops => 1,
        LogSource::Bandwidth => {
            (u128::from(bytes) * 1_000_000_000 / u128::from(service_ns.max(1)) / 1024) as u64
        }
    };
    let time_ms = at_ns.saturating_sub(began_ns) / 1_000_000;
    let submitted_ns = at_ns.saturating_sub(service_ns) + submit_ns.unwrap_or(0);
    let issued_ns = submitted_ns.saturating_sub(began_ns);
    Some(LogEntry { time_ms, value, direction, block_size: bytes, offset, issued_ns, ..LogEntry::default() })
}
