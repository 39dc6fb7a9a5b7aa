//! iozone's tests, each a column of its table: what they are called, and what they do to a file.

use Test::*;

/// A column of the table, in the order in which it is measured; the last stands only in throughput mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of iozone's columns")]
pub enum Test {
    Write,
    Rewrite,
    Read,
    Reread,
    RandomRead,
    RandomWrite,
    BackwardRead,
    RecordRewrite,
    StrideRead,
    Fwrite,
    Refwrite,
    Fread,
    Refread,
    Pwrite,
    Repwrite,
    Pread,
    Repread,
    Pwritev,
    Repwritev,
    Preadv,
    Repreadv,
    Mixed,
}

impl Test {
    /// Does it write? Of the mix some do: those that do not are read only.
    pub fn writes(self) -> bool {
        let whole = matches!(self, Write | Rewrite | RandomWrite | RecordRewrite | Mixed);
        whole || matches!(self, Fwrite | Refwrite | Pwrite | Repwrite | Pwritev | Repwritev)
    }

    /// Does it begin with a new file?
    pub fn begins_anew(self) -> bool {
        matches!(self, Write | Fwrite | Pwrite | Pwritev)
    }

    /// Does it go through C's buffered streams, which know neither O_DIRECT nor O_SYNC?
    pub fn is_of_streams(self) -> bool {
        matches!(self, Fwrite | Refwrite | Fread | Refread)
    }

    /// A name for the record, and the title of its Excel block.
    pub fn title(self) -> &'static str {
        match self {
            Write => "Writer report",
            Rewrite => "Re-writer report",
            Read => "Reader report",
            Reread => "Re-Reader report",
            RandomRead => "Random read report",
            RandomWrite => "Random write report",
            BackwardRead => "Backward read report",
            RecordRewrite => "Record rewrite report",
            StrideRead => "Stride read report",
            Fwrite => "Fwrite report",
            Refwrite => "Re-Fwrite report",
            Fread => "Fread report",
            Refread => "Re-Fread report",
            Pwrite => "Pwrite report",
            Repwrite => "Re-Pwrite report",
            Pread => "Pread report",
            Repread => "Re-Pread report",
            Pwritev => "Pwritev report",
            Repwritev => "Re-Pwritev report",
            Preadv => "Preadv report",
            Repreadv => "Re-Preadv report",
            Mixed => "Mixed workload report",
        }
    }
}
