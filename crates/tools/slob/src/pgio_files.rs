//! The two files that only pgio leaves: `pgio_session_detail.out` and `pgio_diskstats.out`.

use super::run_context::RunContext;
use super::service_times::service;
use fathom_record::Run;
use fathom_spec::Verb;
use std::io::{self, Write};

const HEAD: &str = "
 mypid | loop_iterations | sql_selects | sql_updates | sql_select_max_tm | sql_update_max_tm | select_blk_touch_cnt | update_blk_touch_cnt
-------+-----------------+-------------+-------------+-------------------+-------------------+----------------------+----------------------
";

/// A line for each session, as psql prints what pgio's function answers. In the place of the server's process stands the
/// session's number from 1. The longest times, seconds, are those of all sessions. Blocks are counted as pgio counts them:
/// statements times WORK_UNIT, of which each touches one more.
pub fn session_detail(told: &RunContext, run: &Run, out: &mut impl Write) -> io::Result<()> {
    let longest = |verb| format!("{:.8}", service(run, verb).max_ns as f64 / 1e9);
    let (select_longest, update_longest) = (longest(Verb::Select), longest(Verb::Update));
    let settings = &told.settings;
    let select_unit = u64::from(settings.work_unit);
    let update_unit = u64::from(settings.update_work_unit.unwrap_or(settings.work_unit));
    writeln!(out, "{HEAD}")?;
    for (number, worker) in (1..).zip(&run.workers) {
        let done = |verb: Verb| {
            let counts = worker.counts.iter().find(|(known, _)| *known == verb);
            counts.map_or(0, |(_, counts)| counts.operations)
        };
        let (selects, updates) = (done(Verb::Select), done(Verb::Update));
        writeln!(
            out,
            " {number:>5} | {:>15} | {selects:>11} | {updates:>11} | {select_longest:>17} | {update_longest:>17} | {:>20} | {:>20}",
            selects + updates,
            selects * select_unit,
            updates * update_unit
        )?;
    }
    Ok(())
}

/// `/proc/diskstats` before and after the run, each followed by an empty line.
pub fn diskstats(told: &RunContext, out: &mut impl Write) -> io::Result<()> {
    let Some((before, after)) = &told.diskstats else { return Ok(()) };
    [before, after].into_iter().try_for_each(|text| writeln!(out, "{}\n", text.trim_end()))
}
