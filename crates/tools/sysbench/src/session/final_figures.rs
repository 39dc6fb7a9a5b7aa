//! The figures at the end of a run, whether it came to its end or was shut down.

use super::messages::Messages;
use crate::report::{self, Times};
use crate::{Options, Tally};
use std::io::Write;

/// Tells the distribution of latencies and the figures.
pub fn tell(options: &Options, tally: &Tally, times: Times, messages: Messages<'_>) {
    distribution(options, tally, messages);
    messages.notice(|out| report::figures(options, tally, times, out));
}

/// A forced shutdown's message and report.
pub fn forced(options: &Options, tally: &Tally, times: Times, messages: Messages<'_>) {
    messages.fatal("The --max-time limit has expired, forcing shutdown...");
    tell(options, tally, times, messages);
}

/// The distribution of latencies: its rows are told at every verbosity, the lines around them at the usual one.
fn distribution(options: &Options, tally: &Tally, messages: Messages<'_>) {
    if options.histogram {
        messages.notice(|out| writeln!(out, "Latency histogram (values are in milliseconds)"));
        messages.at(0, |out| report::histogram(tally, out));
        messages.notice(|out| writeln!(out, " "));
    }
}
