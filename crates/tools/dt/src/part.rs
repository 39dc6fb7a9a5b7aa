//! What a part of a test did, and how dt says its times.

/// What one half of a pass did, or all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Records read.
    pub records_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Records written.
    pub records_written: u64,
    /// Their bytes.
    pub bytes_written: u64,
    /// How long it took, comparing included, ns.
    pub elapsed_ns: u64,
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// When it began, as ctime(3) says it.
    pub started: String,
    /// When it ended.
    pub ended: String,
    /// Errors so far.
    pub errors: u64,
    /// Passes done by then.
    pub passes: u64,
    /// Sum of the reads' service times, the shortest and the longest, ns.
    pub read_ns: (u64, u64, u64),
    /// The same of the writes.
    pub write_ns: (u64, u64, u64),
    /// Time in which I/O was outstanding, ns.
    pub io_ns: u64,
}

/// Everything, to be told at the end.
pub type Totals = Part;

impl Part {
    /// Adds another part's work to this; times of day and passes are the caller's.
    pub fn add(&mut self, other: &Part) {
        let widest = |a: (u64, u64, u64), b: (u64, u64, u64)| match (a.2, b.2) {
            (0, _) => b,
            (_, 0) => a,
            _ => (a.0 + b.0, a.1.min(b.1), a.2.max(b.2)),
        };
        self.read_ns = widest(self.read_ns, other.read_ns);
        self.write_ns = widest(self.write_ns, other.write_ns);
        self.records_read += other.records_read;
        self.bytes_read += other.bytes_read;
        self.records_written += other.records_written;
        self.bytes_written += other.bytes_written;
        self.elapsed_ns += other.elapsed_ns;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.io_ns += other.io_ns;
    }

    /// Records read and written.
    pub fn records(&self) -> u64 {
        self.records_read + self.records_written
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Sum of all service times, the shortest and the longest, ns.
    pub fn latency_ns(&self) -> (u64, u64, u64) {
        let mut all = Part { read_ns: self.read_ns, ..Part::default() };
        all.add(&Part { read_ns: self.write_ns, ..Part::default() });
        all.read_ns
    }
}

/// A time of dt's: `00m36.95s`, with hours where there are any.
pub fn elapsed(ns: u64) -> String {
    let hundredths = ns / 10_000_000;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let hours = if hours > 0 { format!("{hours}h") } else { String::new() };
    format!("{hours}{minutes:02}m{:02}.{rest:02}s", seconds % 60)
}

/// A latency of dt's: whole microseconds, or milliseconds and seconds with two decimals.
pub fn latency(ns: u64) -> String {
    match ns {
        ..1_000_000 => format!("{}us", ns / 1000),
        1_000_000..1_000_000_000 => format!("{:.2}ms", ns as f64 / 1e6),
        _ => format!("{:.2}s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_latencies_are_dts() {
        assert_eq!(
            (elapsed(58_070_000_000), elapsed(3_661_500_000_000)),
            ("00m58.07s".to_owned(), "1h01m01.50s".to_owned())
        );
        assert_eq!((latency(652_400), latency(9_070_000)), ("652us".to_owned(), "9.07ms".to_owned()));
    }
}
