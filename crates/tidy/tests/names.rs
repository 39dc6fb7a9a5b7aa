//! A file is named by a noun of the field, and a function's parameters each have a name of their own.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fathom_tidy::house;
use fathom_tidy::signature::{functions, tuple_parameters};
use fathom_tidy::source::{layers, without_tests};

/// Words that name no thing of the field: pictures, adverbs, verbs and gerunds. Participles in `-ed` need no entry.
const REFUSED: &[&str] = &[
    "alike",
    "apart",
    "around",
    "caught",
    "drawn",
    "ends",
    "far",
    "finer",
    "given",
    "ground",
    "holding",
    "keep",
    "kept",
    "lent",
    "look",
    "manners",
    "meaning",
    "meant",
    "meet",
    "others",
    "picked",
    "reporting",
    "said",
    "seen",
    "shown",
    "standing",
    "stretches",
    "surroundings",
    "terms",
    "territory",
    "together",
    "told",
    "turning",
    "understood",
    "verifying",
    "warden",
    "when",
    "written",
];

/// Nouns, and what the field calls a distribution, that end like a participle.
const NOUNS_IN_ED: &[&str] =
    &["feed", "mixed", "preopened", "seed", "shared", "simulated", "skewed", "speed"];

/// Files that still have such a name, below `crates`. Each must still be there.
const NOT_RENAMED_YET: &[&str] = &[];

/// Parameters packed into tuples, a crate: to satisfy a limit on the number of parameters, which asks for a type instead.
/// A crate that is not listed has none.
const TUPLE_PARAMETERS: &[(&str, usize)] = &[
    ("cli", 1),
    ("drive", 2),
    ("engine", 21),
    ("tools/fio", 7),
    ("tools/ioping", 2),
    ("tools/orion", 2),
    ("tools/slob", 2),
];

fn is_refused(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    name.split('_')
        .any(|word| REFUSED.contains(&word) || (word.ends_with("ed") && !NOUNS_IN_ED.contains(&word)))
}

fn source_paths() -> Vec<String> {
    let below = |path: String| path.strip_prefix("crates/").map(str::to_owned);
    house::rust_files()
        .into_iter()
        .filter_map(|file| below(file.path))
        .filter(|path| path.contains("/src/"))
        .collect()
}

#[test]
fn a_file_is_named_by_a_noun() {
    let wrong: Vec<String> = source_paths()
        .into_iter()
        .filter(|path| is_refused(path) && !NOT_RENAMED_YET.contains(&path.as_str()))
        .collect();
    assert!(
        wrong.is_empty(),
        "named by no noun of the field: {wrong:#?}\nhint: name the thing that is in it"
    );
}

#[test]
fn the_files_that_are_not_renamed_yet_are_still_there() {
    let paths = source_paths();
    for path in NOT_RENAMED_YET {
        assert!(
            is_refused(path) && paths.iter().any(|there| there == path),
            "{path} is gone or well named\nhint: take it out of NOT_RENAMED_YET in crates/tidy/tests/names.rs"
        );
    }
}

#[test]
fn parameters_are_not_packed_into_tuples() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in house::rust_files().into_iter().filter(|file| !house::is_test_file(&file.path)) {
        let Some((name, _)) = file.path.trim_start_matches("crates/").split_once("/src/") else { continue };
        for function in functions(&without_tests(&layers(&file.text).code)) {
            let place = format!("{}:{}: {}", file.path, function.line, function.name);
            let packed = vec![place; tuple_parameters(&function.parameters)];
            found.entry(name.to_owned()).or_default().extend(packed);
        }
    }
    let mut wrong = Vec::new();
    for (name, places) in found {
        let allowed =
            TUPLE_PARAMETERS.iter().find(|(listed, _)| *listed == name).map_or(0, |(_, count)| *count);
        match places.len().cmp(&allowed) {
            Ordering::Greater => {
                wrong.push(format!("crates/{name}, where {allowed} were before: {places:#?}"))
            }
            Ordering::Less => {
                wrong.push(format!("crates/{name} has {} and not {allowed}: change the table", places.len()))
            }
            Ordering::Equal => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "parameters packed into tuples (TUPLE_PARAMETERS of crates/tidy/tests/names.rs):\n{}\n\
         hint: give what belongs together a type",
        wrong.join("\n")
    );
}
