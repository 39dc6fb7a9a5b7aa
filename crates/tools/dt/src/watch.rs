//! What is asked to be said while a test runs, and the watchdog of tests that do not move.

use super::error::{OptionError, wrong};
use super::number::{Numbers, seconds};

/// What is said meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// `keepalive=`.
    pub message: Option<String>,
    /// `keepalivet=`: seconds from one message to the next.
    pub every: Option<u64>,
    /// `pkeepalive=`: said at a pass's end in place of its statistics.
    pub at_pass: Option<String>,
    /// `tkeepalive=`: said at the end in place of the brief statistics.
    pub at_end: Option<String>,
    /// `enable=noprog`, on with `noprogt=`.
    pub progress: bool,
    /// `noprogt=`: seconds without progress that are told.
    pub stuck: Option<u64>,
    /// `noprogtt=`: seconds without progress that run the trigger.
    pub trigger: Option<u64>,
    /// `history=`: operations that are remembered.
    pub history: u64,
    /// `hdsize=`: bytes of each piece that is kept of them.
    pub history_bytes: u64,
    /// `history_bufs=`: pieces of each.
    pub history_pieces: u64,
    /// `history_bsize=`: bytes from one piece to the next; `None`: a block.
    pub history_apart: Option<u64>,
    /// `enable=htiming`.
    pub history_times: bool,
    /// `enable=hdump`: the history is told at the end too.
    pub history_dump: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            message: None,
            every: None,
            at_pass: None,
            at_end: None,
            progress: true,
            stuck: None,
            trigger: None,
            history: 0,
            history_bytes: 32,
            history_pieces: 1,
            history_apart: None,
            history_times: false,
            history_dump: false,
        }
    }
}

impl Watch {
    /// Takes an option, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &str, numbers: Numbers) -> Result<bool, OptionError> {
        let time = || match seconds(value) {
            Some(seconds @ 1..) => Ok(Some(seconds)),
            _ => Err(wrong(name, value, "a time such as 30s or 1h30m")),
        };
        let count = || numbers.value(value).ok_or_else(|| wrong(name, value, "a number"));
        match name {
            "keepalive" => self.message = Some(value.to_owned()),
            "pkeepalive" => self.at_pass = Some(value.to_owned()),
            "tkeepalive" => self.at_end = Some(value.to_owned()),
            "keepalivet" => self.every = time()?,
            "noprogt" => self.stuck = time()?,
            "noprogtt" => self.trigger = time()?,
            // How often dt looks; fathom looks twenty times a second.
            "alarm" => drop(time()?),
            "history" => self.history = count()?.min(1 << 20),
            "hdsize" | "history_data" => self.history_bytes = count()?.min(1 << 20),
            "history_bufs" | "hbufs" => self.history_pieces = count()?.clamp(1, 1 << 16),
            "history_bsize" | "hbsize" => self.history_apart = Some(count()?.clamp(1, 1 << 30)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Does anybody look whether the test moves?
    pub fn looks(&self) -> bool {
        self.progress && (self.stuck.is_some() || self.trigger.is_some())
    }
}

/// Looks whether operations come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watchdog {
    operations: u64,
    since_ns: u64,
    told: u64,
    triggered: bool,
}

/// What the watchdog has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Nothing came back for so many seconds.
    Warning(u64),
    /// It is time for the trigger, after so many seconds.
    Trigger(u64),
}

impl Watchdog {
    /// Looks at the operations done so far and at those outstanding; answers what is to be said. Every `noprogt=` seconds
    /// it is said again, the trigger runs once until something moves.
    pub fn look(&mut self, now_ns: u64, operations: u64, outstanding: u64, watch: &Watch) -> Vec<Stall> {
        if operations != self.operations || outstanding == 0 {
            *self = Watchdog { operations, since_ns: now_ns, told: 0, triggered: false };
            return Vec::new();
        }
        let seconds = now_ns.saturating_sub(self.since_ns) / 1_000_000_000;
        let mut says = Vec::new();
        if let Some(every) = watch.stuck
            && seconds / every > self.told
        {
            self.told = seconds / every;
            says.push(Stall::Warning(seconds));
        }
        if watch.trigger.is_some_and(|after| seconds >= after) && !self.triggered {
            self.triggered = true;
            says.push(Stall::Trigger(seconds));
        }
        says
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_move_is_told_and_triggers_once() {
        let watch = Watch { stuck: Some(5), trigger: Some(12), ..Watch::default() };
        let (mut dog, mut said) = (Watchdog::default(), Vec::new());
        for second in 0..=21u64 {
            let operations = if second < 2 { second } else { 2 };
            said.extend(dog.look(second * 1_000_000_000, operations, 1, &watch));
        }
        assert_eq!(said, [Stall::Warning(5), Stall::Warning(10), Stall::Trigger(12), Stall::Warning(15)]);
        assert!(dog.look(30_000_000_000, 3, 1, &watch).is_empty());
        assert!(dog.look(60_000_000_000, 3, 0, &watch).is_empty(), "nothing is outstanding");
        assert_eq!(dog.look(65_000_000_000, 3, 1, &watch), [Stall::Warning(5)]);
    }
}
