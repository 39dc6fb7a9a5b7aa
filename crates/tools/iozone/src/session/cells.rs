//! iozone's table, row by row. When it is printed, the rows are measured again, until every cell is known within
//! +-10 % or the time for it is over: that goes into the record alone.

use super::figures::TestRun;
use super::{Benchmark, EarlyEnd, Findings, IN_MEMORY, excel, note, print, seconds};
use crate::{self as iozone, Row, Test};
use fathom_drive::Clock;
use fathom_record::{Load, Note, Pass, Run, SURFACES, SampleOf, Surface, SurfaceCell};
use fathom_session::measurement::Measurement;
use fathom_spec::{Bytes, Nanos};
use fathom_stats::Estimate;
use std::io::Write;

/// How narrow the interval of a cell's mean is to be, as a share of it.
const PRECISION: f64 = 0.1;
/// How sure it is.
const CONFIDENCE: f64 = 0.95;
/// Fewer passes tell nothing of how they differ.
const PASSES_LEAST: usize = 3;
/// More are not worth their time.
const PASSES_MOST: usize = 30;
/// From this share of a file on the page cache has answered, and passes that differ by more are not alike.
const HELD: f64 = 0.5;

/// One column of a row: all its passes.
struct Column {
    test: Test,
    passes: Vec<Pass>,
    /// Bytes that the disks read in the first pass, over those that were asked for, where they can be told.
    from_disk: Option<f64>,
}

/// A row with all its passes, and how long the longest of them took.
struct Rounds {
    file: u64,
    record: u64,
    columns: Vec<Column>,
    longest_ns: u64,
}

impl Rounds {
    fn new(file: u64, record: u64) -> Self {
        Rounds { file, record, columns: Vec::new(), longest_ns: 0 }
    }
}

impl Column {
    /// The mean of its passes, bytes a second, and its error. A pass that found another page cache than the first one
    /// measured something else.
    fn estimate(&self, file: u64) -> (f64, Option<Estimate>) {
        let first = self.passes.first().and_then(|pass| pass.cached).unwrap_or(0.0);
        let alike = |pass: &&Pass| pass.cached.is_none_or(|cached| (cached - first).abs() <= HELD);
        let rates = self.passes.iter().filter(alike).map(|pass| file as f64 / pass.seconds.max(1e-9));
        let rates: Vec<f64> = rates.collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let enough = rates.len() >= PASSES_LEAST;
        (mean, Estimate::of_independent(&rates, CONFIDENCE).filter(|_| enough))
    }

    fn is_known(&self, file: u64) -> bool {
        self.estimate(file).1.is_some_and(|estimate| estimate.relative() <= PRECISION)
    }

    /// Why its figure is one of memory.
    fn memory(&self, benchmark: &Benchmark<'_>) -> Option<String> {
        if benchmark.stays_in_memory(self.test) {
            return Some(IN_MEMORY.to_owned());
        }
        if !benchmark.reads_through_the_cache(self.test) {
            return None;
        }
        let cached = self.passes.first().and_then(|pass| pass.cached);
        match (cached, self.from_disk) {
            (Some(share), _) if share >= HELD => {
                Some(format!("the page cache held {:.0} % of the file", share * 100.0))
            }
            (None, Some(share)) if share < HELD => {
                Some(format!("the disks read {:.0} % of it only", share * 100.0))
            }
            _ => None,
        }
    }
}

/// Measures, prints and repeats.
pub(super) fn measure(
    benchmark: &Benchmark<'_>,
    measurement: &mut Measurement<'_>,
    findings: &mut Findings,
) -> Result<(), EarlyEnd> {
    let (options, console) = (benchmark.options, benchmark.console);
    print(console, |out| iozone::heads(options, out));
    let (mut rows, mut rounds) = (Vec::new(), Vec::new());
    let clock = Clock::start();
    for (file, record) in options.rows() {
        let before_ns = clock.now();
        let mut round = Rounds::new(file, record);
        let passed = pass(benchmark, measurement, &mut round, Some(&mut findings.runs));
        let cells = round.columns.iter().map(|column| (column.test, column.passes[0].seconds)).collect();
        let row = Row { file, record, cells };
        match passed {
            Ok(()) => print(console, |out| iozone::row(options, &row, out)),
            Err(EarlyEnd::Failed(failure)) if !failure.out.is_empty() => {
                print(console, |out| iozone::row_begun(options, &row, out));
                return Err(EarlyEnd::Failed(failure));
            }
            Err(end) => return Err(end),
        }
        rows.push(row);
        round.longest_ns = clock.now() - before_ns;
        rounds.push(round);
        save(benchmark, &rounds, measurement);
    }
    print(console, |out| writeln!(out, "\niozone test complete."));
    excel(options, console, "Excel output is below:\n", |out| iozone::excel(options, &rows, out))?;
    let again = repeat(benchmark, &mut rounds, measurement);
    save(benchmark, &rounds, measurement);
    findings.notes.extend(notes(benchmark, &rounds));
    again
}

/// One pass over a row: every test once over the file. Its runs go into the record where they are wanted.
fn pass(
    benchmark: &Benchmark<'_>,
    measurement: &mut Measurement<'_>,
    row: &mut Rounds,
    mut runs: Option<&mut Vec<TestRun>>,
) -> Result<(), EarlyEnd> {
    let (file_size, record) = (row.file, row.record);
    let file = &benchmark.files[0];
    for test in iozone::tests(benchmark.options) {
        file.prepare(test);
        let cached = if benchmark.reads_through_the_cache(test) { file.cached(file_size) } else { None };
        let plan = iozone::plan(benchmark.options, test, file_size, record, benchmark.seed());
        let mut run = benchmark.execute(&plan, measurement)?;
        run.name = format!("{}, {} in records of {}", test.title(), Bytes(file_size), Bytes(record));
        run.load = Load { small: 1, large: 0 };
        let judged = benchmark.judge(&run, record);
        let seconds = run.workers.first().map_or(0.0, |worker| seconds(&run, worker));
        let from_disk = from_disk(&run, file_size);
        let column = Column { test, passes: vec![Pass { seconds, cached }], from_disk };
        let index = measurement.record.runs.len();
        if runs.is_some() {
            measurement.keep(run);
        }
        judged?;
        if let Some(runs) = &mut runs {
            runs.push(TestRun { test, index, memory: column.memory(benchmark) });
        }
        row.columns.push(column);
    }
    Ok(())
}

/// Bytes that disks read during a run, over those that were asked for.
fn from_disk(run: &Run, asked: u64) -> Option<f64> {
    let mut disks: Vec<(&SampleOf, u64, u64)> = Vec::new();
    for sample in run.samples.iter().filter(|sample| sample.name == "sectors_read") {
        match disks.iter_mut().find(|(of, ..)| **of == sample.of) {
            Some((_, _, last)) => *last = sample.value,
            None => disks.push((&sample.of, sample.value, sample.value)),
        }
    }
    let sectors: u64 = disks.iter().map(|(_, first, last)| last.saturating_sub(*first)).sum();
    (!disks.is_empty()).then(|| sectors as f64 * 512.0 / asked.max(1) as f64)
}

/// Further rounds over the rows that are not known well enough, as long as there is time.
fn repeat(
    benchmark: &Benchmark<'_>,
    rounds: &mut [Rounds],
    measurement: &mut Measurement<'_>,
) -> Result<(), EarlyEnd> {
    let budget_ns = benchmark.options.budget.0.saturating_mul(rounds.len() as u64);
    if budget_ns == 0 {
        return Ok(());
    }
    if benchmark.environment.draws_progress() {
        let most = Nanos(budget_ns);
        benchmark.console.complain(format_args!(
            "note: the rows are measured again for their error, {most} at the most; --budget 0 leaves it out"
        ));
    }
    let clock = Clock::start();
    loop {
        let mut done = false;
        for row in rounds.iter_mut() {
            let known = row.columns.iter().all(|column| column.is_known(row.file));
            let passes = row.columns.first().map_or(0, |column| column.passes.len());
            let before_ns = clock.now();
            if known || passes >= PASSES_MOST || before_ns + row.longest_ns > budget_ns {
                continue;
            }
            let mut again = Rounds::new(row.file, row.record);
            pass(benchmark, measurement, &mut again, None)?;
            for (column, more) in row.columns.iter_mut().zip(again.columns) {
                column.passes.extend(more.passes);
            }
            row.longest_ns = row.longest_ns.max(clock.now() - before_ns);
            done = true;
        }
        if !done {
            return Ok(());
        }
    }
}

/// Puts what is known into the record.
fn save(benchmark: &Benchmark<'_>, rounds: &[Rounds], measurement: &mut Measurement<'_>) {
    let surfaces = serde_json::to_value(surfaces(benchmark, rounds));
    if let (Ok(surfaces), Some(facts)) = (surfaces, measurement.record.facts.as_object_mut()) {
        facts.insert(SURFACES.to_owned(), surfaces);
    }
    measurement.save();
}

fn surfaces(benchmark: &Benchmark<'_>, rounds: &[Rounds]) -> Vec<Surface> {
    let of = |test: Test| {
        let cell = |row: &Rounds| {
            let column = row.columns.iter().find(|column| column.test == test)?;
            let (mean, estimate) = column.estimate(row.file);
            Some(SurfaceCell {
                across: row.record,
                down: row.file,
                value: mean / 1024.0,
                half_width: estimate.map(|estimate| estimate.half_width / 1024.0),
                converged: column.is_known(row.file),
                passes: column.passes.clone(),
                memory: column.memory(benchmark),
            })
        };
        Surface {
            name: test.title().to_owned(),
            unit: "KiB/s".to_owned(),
            across: "record".to_owned(),
            down: "file".to_owned(),
            cells: rounds.iter().filter_map(cell).collect(),
        }
    };
    iozone::tests(benchmark.options).into_iter().map(of).collect()
}

/// What iozone does not say of its cells.
fn notes(benchmark: &Benchmark<'_>, rounds: &[Rounds]) -> Vec<Note> {
    let cells = || rounds.iter().flat_map(|row| row.columns.iter().map(move |column| (row, column)));
    let all = cells().count();
    let known = cells().filter(|(row, column)| column.is_known(row.file)).count();
    let mut notes = vec![note(
        format!(
            "the table tells the first pass of each cell; with later passes {known} of {all} cells are known within +-10 %"
        ),
        "fathom show --json has every pass; --budget 10 takes ten seconds a row for it",
    )];
    let reading = || cells().filter(|(_, column)| !column.test.writes());
    let cached = reading().filter(|(_, column)| column.memory(benchmark).is_some()).count();
    if cached > 0 {
        let text = format!("the page cache answered the reads of {cached} of {} cells", reading().count());
        notes.push(note(text, "-I goes past the page cache"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(passes: &[(f64, Option<f64>)]) -> Column {
        let passes = passes.iter().map(|(seconds, cached)| Pass { seconds: *seconds, cached: *cached });
        Column { test: Test::Read, passes: passes.collect(), from_disk: None }
    }

    #[test]
    fn three_like_passes_make_a_cell_known() {
        assert!(!column(&[(1.0, None), (1.0, None)]).is_known(1000));
        assert!(column(&[(1.0, None), (1.0, None), (1.01, None)]).is_known(1000));
        assert!(!column(&[(1.0, None), (2.0, None), (4.0, None)]).is_known(1000));
    }

    #[test]
    fn a_pass_that_found_another_cache_is_no_repeat() {
        let cold = column(&[(1.0, Some(0.0)), (0.1, Some(1.0)), (0.1, Some(1.0)), (0.1, Some(1.0))]);
        assert_eq!((cold.estimate(1000).0, cold.estimate(1000).1), (1000.0, None));
        let warm = column(&[(0.1, Some(1.0)), (0.1, Some(1.0)), (0.1, Some(0.9))]);
        assert!(warm.is_known(1000));
    }
}
