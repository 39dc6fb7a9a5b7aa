//! Files of a crate import each other in one direction only, so that each can be read without those that import it.

use std::collections::BTreeSet;

use fathom_tidy::arrows::{Arrow, arrows, circles};
use fathom_tidy::house;

/// Imports that close circles which are not cut yet, below `crates`. Each must still be there and lie in a circle.
const NOT_CUT_YET: &[(&str, &str)] = &[
    ("cli/src/dt/damage.rs", "cli/src/dt/test.rs"),
    ("cli/src/dt/job.rs", "cli/src/dt/test.rs"),
    ("cli/src/slob/args.rs", "cli/src/args.rs"),
    ("cli/src/sysbench/live.rs", "cli/src/sysbench/ending.rs"),
    ("dialect/src/dt/options.rs", "dialect/src/dt/meaning.rs"),
    ("dialect/src/dt/options.rs", "dialect/src/dt/shape.rs"),
    ("dialect/src/dt/options.rs", "dialect/src/dt/watch.rs"),
    ("dialect/src/dt/options.rs", "dialect/src/dt/workload.rs"),
    ("dialect/src/dt/watch.rs", "dialect/src/dt/report.rs"),
    ("dialect/src/fio/dedupe.rs", "dialect/src/fio/plan.rs"),
    ("dialect/src/fio/job.rs", "dialect/src/fio/replay/mod.rs"),
    ("dialect/src/fio/meaning.rs", "dialect/src/fio/replay/mod.rs"),
    ("dialect/src/fio/report/json.rs", "dialect/src/fio/report/priorities.rs"),
    ("dialect/src/fio/report/tally.rs", "dialect/src/fio/report/priorities.rs"),
    ("dialect/src/fio/territory.rs", "dialect/src/fio/streams.rs"),
    ("dialect/src/iozone/options.rs", "dialect/src/iozone/together.rs"),
    ("dialect/src/iozone/plan.rs", "dialect/src/iozone/together.rs"),
    ("dialect/src/slob/judged.rs", "dialect/src/slob/awr.rs"),
    ("dialect/src/slob/told.rs", "dialect/src/slob/log.rs"),
    ("dialect/src/slob/values.rs", "dialect/src/slob/settings.rs"),
    ("drive/src/together.rs", "drive/src/conduct.rs"),
    ("engine/src/execute.rs", "engine/src/queues.rs"),
    ("engine/src/execute.rs", "engine/src/simulated.rs"),
    ("engine/src/execute.rs", "engine/src/tasks/mod.rs"),
    ("engine/src/progress.rs", "engine/src/source/verify.rs"),
    ("engine/src/source/discards.rs", "engine/src/source/verify.rs"),
    ("engine/src/source/place.rs", "engine/src/open.rs"),
    ("engine/src/sys/blocking.rs", "engine/src/sys/psync.rs"),
    ("engine/src/verifying.rs", "engine/src/execute.rs"),
];

fn not_cut_yet() -> BTreeSet<Arrow> {
    let path = |path: &str| format!("crates/{path}");
    NOT_CUT_YET.iter().map(|(from, to)| Arrow { from: path(from), to: path(to) }).collect()
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let arrows = arrows(&house::rust_files());
    let new = circles(&arrows.difference(&not_cut_yet()).cloned().collect());
    let text: Vec<String> = new.iter().map(|files| files.join(", ")).collect();
    assert!(
        new.is_empty(),
        "files that import each other in a circle:\n{}\nhint: move what both need into a file of its own",
        text.join("\n")
    );
}

#[test]
fn the_circles_that_are_not_cut_yet_are_still_there() {
    let arrows = arrows(&house::rust_files());
    let circles = circles(&arrows);
    for arrow in not_cut_yet() {
        let in_a_circle =
            circles.iter().any(|files| files.contains(&arrow.from) && files.contains(&arrow.to));
        assert!(
            arrows.contains(&arrow) && in_a_circle,
            "{} -> {} closes no circle any more\nhint: take it out of NOT_CUT_YET in crates/tidy/tests/circles.rs",
            arrow.from,
            arrow.to
        );
    }
}
