//! Raw samples of counters that are not ours, each with a typed key. In JSON a key is a short text (`disk vda`, `worker 0.1`,
//! `submitted_4`), as it was before there were types, so that old records can be read.

use fathom_spec::StreamId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A raw counter of somebody else (diskstats, /proc/stat, cgroup, pg_stat_*), kept as it was read. A rate is
/// computed later, from two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// When, ns since the run's start.
    pub at_ns: u64,
    /// Whose: `disk vda`, `cpu`, `self`.
    #[schemars(with = "String")]
    pub of: SampleOf,
    /// Which: `reads`, `read_sectors`, `steal`.
    #[schemars(with = "String")]
    pub name: Counter,
    pub value: u64,
}

/// Whose counter a sample is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SampleOf {
    /// A disk below the targets, by the kernel's name: `disk vda`.
    Disk(String),
    /// Any disk of the machine, looked at as iostat does: `iostat vda`.
    Iostat(String),
    /// All processors, their ticks summed up: `cpu`.
    Cpu,
    /// One processor, or all, with each kind of ticks of /proc/stat: `cpu 0`, `cpu all`.
    CpuTicks(Option<u32>),
    /// This process: `self`.
    Own,
    /// Tasks, memory, swap and interrupts of the machine: `os`.
    System,
    /// The processes of a database: `processes`.
    Processes,
    /// A worker of a stream: `worker 0.1`.
    Worker {
        stream: StreamId,
        /// Its number in it.
        worker: u32,
    },
    /// What was left of one processor, or of all: `idleness cpu 0`, `idleness`.
    Idleness(Option<u32>),
    /// A group of a database's own counters: `database innodb`.
    Database(String),
    /// What this version does not know.
    Other(String),
}

impl SampleOf {
    /// Is it a disk below the targets?
    pub fn is_disk(&self) -> bool {
        matches!(self, SampleOf::Disk(_))
    }
}

impl fmt::Display for SampleOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SampleOf::Disk(name) => write!(f, "disk {name}"),
            SampleOf::Iostat(name) => write!(f, "iostat {name}"),
            SampleOf::Cpu => f.write_str("cpu"),
            SampleOf::CpuTicks(None) => f.write_str("cpu all"),
            SampleOf::CpuTicks(Some(number)) => write!(f, "cpu {number}"),
            SampleOf::Own => f.write_str("self"),
            SampleOf::System => f.write_str("os"),
            SampleOf::Processes => f.write_str("processes"),
            SampleOf::Worker { stream, worker } => write!(f, "worker {}.{worker}", stream.0),
            SampleOf::Idleness(None) => f.write_str("idleness"),
            SampleOf::Idleness(Some(number)) => write!(f, "idleness cpu {number}"),
            SampleOf::Database(group) => write!(f, "database {group}"),
            SampleOf::Other(text) => f.write_str(text),
        }
    }
}

impl From<&str> for SampleOf {
    fn from(text: &str) -> Self {
        let (kind, which) = text.split_once(' ').unwrap_or((text, ""));
        let worker = || {
            let (stream, worker) = which.split_once('.')?;
            Some(SampleOf::Worker { stream: StreamId(stream.parse().ok()?), worker: worker.parse().ok()? })
        };
        let known = match (kind, which) {
            ("disk", name) if !name.is_empty() => Some(SampleOf::Disk(name.to_owned())),
            ("iostat", name) if !name.is_empty() => Some(SampleOf::Iostat(name.to_owned())),
            ("cpu", "") => Some(SampleOf::Cpu),
            ("cpu", "all") => Some(SampleOf::CpuTicks(None)),
            ("cpu", number) => number.parse().ok().map(|number| SampleOf::CpuTicks(Some(number))),
            ("self", "") => Some(SampleOf::Own),
            ("os", "") => Some(SampleOf::System),
            ("processes", "") => Some(SampleOf::Processes),
            ("worker", _) => worker(),
            ("idleness", "") => Some(SampleOf::Idleness(None)),
            ("idleness", which) => {
                let number = which.strip_prefix("cpu ").and_then(|number| number.parse().ok());
                number.map(|number| SampleOf::Idleness(Some(number)))
            }
            ("database", group) if !group.is_empty() => Some(SampleOf::Database(group.to_owned())),
            _ => None,
        };
        known.unwrap_or_else(|| SampleOf::Other(text.to_owned()))
    }
}

impl From<String> for SampleOf {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<SampleOf> for String {
    fn from(of: SampleOf) -> Self {
        of.to_string()
    }
}

/// How many operations go to the system, or come back from it, at a time: classes that end at these numbers.
pub const BATCH_CLASSES: [&str; 7] = ["0", "4", "8", "16", "32", "64", "more"];

/// A class of batches, by its place in [`BATCH_CLASSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchClass(pub usize);

impl BatchClass {
    /// All classes, the smallest first.
    pub fn all() -> impl Iterator<Item = BatchClass> {
        (0..BATCH_CLASSES.len()).map(BatchClass)
    }

    fn named(name: &str) -> Option<Self> {
        BATCH_CLASSES.iter().position(|known| *known == name).map(BatchClass)
    }
}

/// Which counter a sample is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Counter {
    /// Submissions of a worker of so many operations: `submitted_4`.
    Submitted(BatchClass),
    /// Looks at a worker's completions that found so many: `completed_more`.
    Completed(BatchClass),
    /// A counter by the name that its keeper gives it.
    Named(Cow<'static, str>),
}

impl Counter {
    /// The name that its keeper gives it.
    pub fn name(&self) -> Option<&str> {
        match self {
            Counter::Named(name) => Some(name),
            Counter::Submitted(_) | Counter::Completed(_) => None,
        }
    }
}

impl PartialEq<str> for Counter {
    fn eq(&self, name: &str) -> bool {
        self.name() == Some(name)
    }
}

impl PartialEq<&str> for Counter {
    fn eq(&self, name: &&str) -> bool {
        self.name() == Some(name)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = |class: &BatchClass| BATCH_CLASSES.get(class.0).copied().unwrap_or("more");
        match self {
            Counter::Submitted(batch) => write!(f, "submitted_{}", class(batch)),
            Counter::Completed(batch) => write!(f, "completed_{}", class(batch)),
            Counter::Named(name) => f.write_str(name),
        }
    }
}

impl From<&'static str> for Counter {
    fn from(name: &'static str) -> Self {
        Counter::Named(Cow::Borrowed(name))
    }
}

impl From<String> for Counter {
    fn from(text: String) -> Self {
        let batch = |prefix: &str| BatchClass::named(text.strip_prefix(prefix)?);
        match (batch("submitted_"), batch("completed_")) {
            (Some(class), _) => Counter::Submitted(class),
            (_, Some(class)) => Counter::Completed(class),
            _ => Counter::Named(Cow::Owned(text)),
        }
    }
}

impl From<Counter> for String {
    fn from(counter: Counter) -> Self {
        counter.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_text_as_before_and_read_back_as_itself() {
        let worker = SampleOf::Worker { stream: StreamId(3), worker: 12 };
        for (of, text) in [
            (SampleOf::Disk("vda".into()), "disk vda"),
            (SampleOf::Iostat("sd a".into()), "iostat sd a"),
            (SampleOf::Cpu, "cpu"),
            (SampleOf::CpuTicks(None), "cpu all"),
            (SampleOf::CpuTicks(Some(7)), "cpu 7"),
            (SampleOf::Own, "self"),
            (SampleOf::System, "os"),
            (SampleOf::Processes, "processes"),
            (worker, "worker 3.12"),
            (SampleOf::Idleness(None), "idleness"),
            (SampleOf::Idleness(Some(1)), "idleness cpu 1"),
            (SampleOf::Database("innodb".into()), "database innodb"),
            (SampleOf::Other("worker x".into()), "worker x"),
        ] {
            assert_eq!((of.to_string().as_str(), SampleOf::from(text)), (text, of));
        }
        for (counter, text) in [
            (Counter::Submitted(BatchClass(1)), "submitted_4"),
            (Counter::Completed(BatchClass(6)), "completed_more"),
            ("reads".into(), "reads"),
            ("submitted_5".into(), "submitted_5"),
        ] {
            assert_eq!((counter.to_string().as_str(), Counter::from(text.to_owned())), (text, counter));
        }
    }

    #[test]
    fn a_stored_sample_is_read_as_it_was_written() {
        let text = r#"{"at_ns":5,"of":"worker 0.1","name":"submitted_64","value":9}"#;
        let sample: Sample = serde_json::from_str(text).unwrap();
        assert_eq!(sample.name, Counter::Submitted(BatchClass(5)));
        assert_eq!(serde_json::to_string(&sample).unwrap(), text);
    }
}
