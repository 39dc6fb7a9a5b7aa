//! Files of a crate import each other in one direction only, so that each can be read without those that import it.

use fathom_tidy::arrows::{arrows, circles};
use fathom_tidy::house;

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let found = circles(&arrows(&house::rust_files()));
    let text: Vec<String> = found.iter().map(|files| files.join(", ")).collect();
    assert!(
        found.is_empty(),
        "files that import each other in a circle:\n{}\nhint: move what both need into a file of its own",
        text.join("\n")
    );
}
