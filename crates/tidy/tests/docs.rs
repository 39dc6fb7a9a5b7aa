//! What is public says what it is for. Fields and variants speak where there is something to say: a unit, an error, a source.

use fathom_tidy::house;
use fathom_tidy::signature::public_items;
use fathom_tidy::source::{Layers, layers, without_tests};

#[test]
fn every_public_function_and_type_is_documented() {
    let mut wrong = Vec::new();
    for file in house::rust_files().into_iter().filter(|file| !house::is_test_file(&file.path)) {
        let Layers { code, comments } = layers(&file.text);
        for item in public_items(&without_tests(&code)) {
            if !item.is_documented(&comments) {
                wrong.push(format!("{}:{}: {} {}", file.path, item.line, item.kind, item.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "public and without a word of documentation: {wrong:#?}\nhint: say what it is for, its units and its errors, or make it private"
    );
}
