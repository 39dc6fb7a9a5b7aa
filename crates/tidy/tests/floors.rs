//! Imports point down: what each crate may list, and what only one of them may.

use fathom_tidy::house::{self, File};

/// The floor each crate stands on. A crate may list those of lower floors, and none of its own.
const FLOORS: &[(&str, u8)] = &[
    ("spec", 0),
    ("stats", 0),
    ("content", 1),
    ("host", 1),
    ("record", 2),
    ("drive", 3),
    ("engine", 4),
    ("database", 4),
    ("calibrate", 4),
    ("store", 4),
    ("render", 4),
    ("session", 5),
    ("cli", 7),
    ("cluster", 8),
];

/// The floor of `crates/tools/<tool>`: a tool knows no other tool.
const TOOLS: u8 = 6;

/// Libraries that belong to certain crates alone.
const OWNED: &[(&str, &[&str])] = &[
    ("anyhow", &["session", "tools", "cli", "cluster"]),
    ("clap", &["session", "tools", "cli", "cluster"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["session"]),
    ("io-uring", &["engine"]),
    ("maud", &["render"]),
    ("mpi", &["cluster"]),
    ("mysql", &["database"]),
    ("postgres", &["database"]),
    ("rusqlite", &["store", "database"]),
    ("signal-hook", &["session", "cluster"]),
];

struct Crate {
    name: String,
    manifest: toml::Table,
}

fn crates() -> Vec<Crate> {
    house::files().into_iter().filter_map(manifest).collect()
}

fn manifest(file: File) -> Option<Crate> {
    let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?.to_owned();
    let manifest = file.text.parse().expect("cargo has read this manifest before us");
    Some(Crate { name, manifest })
}

/// Normal and build dependencies, also those of one target only.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut tables: Vec<&toml::Table> = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let mut names = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            names.extend(
                table.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(|d| d.keys().cloned()),
            );
        }
    }
    names
}

/// The folder of a crate below `crates/`, by the name that others list it under.
fn folder(listed: &str) -> String {
    match FLOORS.iter().any(|(known, _)| *known == listed) {
        true => listed.to_owned(),
        false => format!("tools/{listed}"),
    }
}

fn floor(name: &str) -> Option<u8> {
    if name.starts_with("tools/") {
        return Some(TOOLS);
    }
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

#[test]
fn every_crate_has_a_floor() {
    for Crate { name, .. } in crates() {
        assert!(
            name == "tidy" || floor(&name).is_some(),
            "crates/{name} has no floor\nhint: give it one in docs/architecture.md and in FLOORS of crates/tidy/tests/floors.rs"
        );
    }
}

#[test]
fn a_crate_lists_only_those_of_lower_floors() {
    let mut wrong = Vec::new();
    for Crate { name, manifest } in crates() {
        let ours = dependencies(&manifest).into_iter().filter_map(|d| d.strip_prefix("fathom-").map(folder));
        for below in ours {
            let down = floor(&below) < floor(&name) && floor(&below).is_some();
            if !down {
                wrong.push(format!("{name} -> {below}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that do not point down: {wrong:?}\nhint: pass the data through session, or a type of a lower floor"
    );
}

#[test]
fn libraries_stay_in_the_crates_that_own_them() {
    let mut wrong = Vec::new();
    for Crate { name, manifest } in crates() {
        for library in dependencies(&manifest) {
            let owners = OWNED.iter().find(|(owned, _)| *owned == library).map(|(_, owners)| *owners);
            if owners.is_some_and(|owners| !owners.contains(&name.split('/').next().unwrap_or_default())) {
                wrong.push(format!("{name} -> {library} (only {owners:?})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_crate_inherits_what_is_said_once() {
    for Crate { name, manifest } in crates() {
        let package = manifest["package"].as_table().expect("a package");
        assert_eq!(
            package["name"].as_str(),
            Some(format!("fathom-{}", name.trim_start_matches("tools/")).as_str())
        );
        assert!(package.contains_key("description"), "crates/{name} says nothing of itself");
        for key in ["version", "edition", "license", "rust-version", "publish"] {
            let inherited = package.get(key).and_then(|v| v.get("workspace")).and_then(toml::Value::as_bool);
            assert_eq!(inherited, Some(true), "crates/{name}/Cargo.toml: {key}.workspace = true");
        }
        let lints = manifest.get("lints").and_then(|l| l.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(lints, Some(true), "crates/{name}/Cargo.toml: [lints] workspace = true");
    }
}
