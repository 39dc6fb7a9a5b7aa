//! Prints how often nominal 95 % intervals under the sequential rule hold the truth, and how long the runs were.
//!
//! `cargo run --release -p fathom-stats --example coverage [RUNS] [more]`: 2,000 runs of each process, two threads. With
//! `more` also other targets, looks nearer to each other, and a queue that starts empty; that takes minutes.

mod processes;

use fathom_stats::StoppingRule;
use processes::{Coverage, Process, coverage};

const THREADS: u64 = 2;

fn of_runs(process: Process, rule: StoppingRule, runs: u64) -> Coverage {
    let mut whole = Coverage::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..THREADS)
            .map(|t| scope.spawn(move || coverage(process, rule, (t..runs).step_by(THREADS as usize))))
            .collect();
        for part in parts {
            whole.merge(part.join().expect("a run does not panic"));
        }
    });
    whole.lengths.sort_unstable();
    whole
}

fn print_row(process: Process, target: f64, growth: f64, runs: u64) {
    let rule = StoppingRule { growth, ..StoppingRule::new(target, 200, 1 << 20) };
    let whole = of_runs(process, rule, runs);
    let at = |share: f64| whole.lengths[(share * (whole.lengths.len() - 1) as f64) as usize];
    println!(
        "| {} | ±{:.0} % | {growth} | {:.1} % | {} | {} | {} | {} |",
        process.name(),
        100.0 * target,
        100.0 * whole.share(),
        at(0.1),
        at(0.5),
        at(0.9),
        whole.exhausted
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = arguments.iter().find_map(|text| text.parse().ok()).filter(|runs| *runs > 0).unwrap_or(2000);
    let more = arguments.iter().any(|text| text == "more");
    let error = 100.0 * (0.95 * 0.05 / runs as f64).sqrt();
    println!("{runs} runs each; standard error of a coverage of 95 %: {error:.1} points\n");
    println!(
        "| process | target | looks at times | coverage | slots p10 | slots p50 | slots p90 | did not converge |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for process in Process::ALL {
        if more || process != Process::QueueFromEmpty {
            print_row(process, 0.05, 2.0, runs);
        }
    }
    let others: &[(f64, f64)] = if more { &[(0.05, 1.5), (0.10, 2.0)] } else { &[] };
    for (target, growth) in others {
        Process::ALL.into_iter().for_each(|process| print_row(process, *target, *growth, runs));
    }
}
