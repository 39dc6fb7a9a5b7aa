//! The phases of throughput mode: the tests that ask for them, and what their workers are called.

use super::Test;

/// A phase: the test whose number asks for it, what its workers are called, what it is called in the Excel report, and
/// whether their number takes two places.
pub(super) type PhaseNames = (u32, Test, &'static str, &'static str, bool);

/// All phases, in iozone's order.
pub(super) const PHASES: [PhaseNames; 13] = [
    (0, Test::Write, "initial writers", "  Initial write ", true),
    (0, Test::Rewrite, "rewriters", "        Rewrite ", true),
    (1, Test::Read, "readers", "           Read ", true),
    (1, Test::Reread, "re-readers", "        Re-read ", false),
    (3, Test::BackwardRead, "reverse readers", "   Reverse Read ", false),
    (5, Test::StrideRead, "stride readers", "    Stride read ", false),
    (2, Test::RandomRead, "random readers", "    Random read ", false),
    (8, Test::Mixed, "mixed workload", " Mixed workload ", false),
    (2, Test::RandomWrite, "random writers", "   Random write ", false),
    (9, Test::Pwrite, "pwrite writers", "         Pwrite ", false),
    (10, Test::Pread, "pread readers", "          Pread ", false),
    (6, Test::Fwrite, "fwriters", "         Fwrite ", false),
    (7, Test::Fread, "freaders", "          Fread ", false),
];

/// Does throughput mode have this test?
pub(super) fn has(test: u32) -> bool {
    PHASES.iter().any(|phase| phase.0 == test)
}
