//! Files of a crate import each other in one direction only, so that each can be read without those that import it.

use std::collections::BTreeSet;

use fathom_tidy::arrows::{Arrow, arrows, circles};
use fathom_tidy::house;

/// Imports that close circles which are not cut yet, below `crates`. Each must still be there and lie in a circle.
const NOT_CUT_YET: &[(&str, &str)] = &[
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
    let is_closed_by = |arrow: &Arrow| {
        let together = |files: &Vec<String>| files.contains(&arrow.from) && files.contains(&arrow.to);
        arrows.contains(arrow) && circles.iter().any(together)
    };
    let cut: Vec<String> = not_cut_yet()
        .into_iter()
        .filter(|arrow| !is_closed_by(arrow))
        .map(|Arrow { from, to }| format!("{from} -> {to}"))
        .collect();
    assert!(
        cut.is_empty(),
        "imports that close no circle any more: {cut:#?}\nhint: take them out of NOT_CUT_YET in crates/tidy/tests/circles.rs"
    );
}
