//! Which file of a crate imports which other one, read from its `use` lines and from paths in its code. Knows modules and
//! re-exports, and no types.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::{self, File};
use crate::source::{layers, without_tests};

/// One file's import of another file of the same crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The file that imports.
    pub from: String,
    /// The file in which the item stands.
    pub to: String,
}

/// The arrows between the files of every crate, without those between a module's file and the files below it: a module that
/// hands work to its parts and gives them its types is one thing.
pub fn arrows(files: &[File]) -> BTreeSet<Arrow> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| !house::is_test_file(&file.path)) {
        if let Some((name, _)) = file.path.split_once("/src/") {
            crates.entry(name).or_default().push(file);
        }
    }
    crates.into_iter().flat_map(|(name, files)| Modules::read(name, &files).arrows()).collect()
}

/// The circles that arrows make: groups of files each of which reaches all others of its group.
pub fn circles(arrows: &BTreeSet<Arrow>) -> Vec<Vec<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Arrow { from, to } in arrows {
        next.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|from| (*from, reach(&next, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, there) in &reached {
        if there.contains(from) {
            let back = |to: &&&str| reached.get(**to).is_some_and(|back| back.contains(from));
            circles.insert(there.iter().filter(back).map(|file| (*file).to_owned()).collect());
        }
    }
    circles.into_iter().collect()
}

fn reach<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = waiting.pop() {
        if reached.insert(file) {
            waiting.extend(next.get(file).into_iter().flatten());
        }
    }
    reached
}

/// A module path from the root of its crate: `["backend", "postgres"]`.
type ModulePath = Vec<String>;

/// The modules of one crate.
struct Modules {
    /// Each module's file.
    by_path: BTreeMap<ModulePath, Module>,
}

struct Module {
    file: String,
    code: String,
    /// Paths that it imports, with the names under which they are known in it; `*` for all names of a module.
    imports: Vec<(String, Vec<String>)>,
    /// Other paths of its code.
    mentions: Vec<Vec<String>>,
}

impl Modules {
    fn read(name: &str, files: &[&File]) -> Self {
        let mut by_path = BTreeMap::new();
        for file in files {
            let inside = &file.path[name.len() + "/src/".len()..];
            let mut path: ModulePath = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                path.pop();
            }
            // A program's main stands on its library and nothing imports it.
            if inside == "main.rs" {
                continue;
            }
            let code = without_tests(&layers(&file.text).code);
            let (imports, mentions) = paths(&code);
            by_path.insert(path, Module { file: file.path.clone(), code, imports, mentions });
        }
        Modules { by_path }
    }

    fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        for (at, module) in &self.by_path {
            let wanted = module.imports.iter().map(|(_, path)| path).chain(&module.mentions);
            for target in wanted.filter_map(|path| self.target(at, path, 0)) {
                if !target.starts_with(at) && !at.starts_with(&target) {
                    let to = self.by_path[&target].file.clone();
                    arrows.push(Arrow { from: module.file.clone(), to });
                }
            }
        }
        arrows
    }

    /// The module in which the item of a path stands, as seen from the module at `at`.
    fn target(&self, at: &[String], path: &[String], depth: usize) -> Option<ModulePath> {
        let mut module = at.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => {
                module.pop();
            }
            // A part of this module; else another crate, or a name that an import has brought.
            first => {
                module.push(first.to_owned());
                self.by_path.get(&module)?;
            }
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|segment| segment == "super") {
            module.pop();
            rest = &rest[1..];
        }
        while let Some(segment) = rest.first() {
            module.push(segment.clone());
            if !self.by_path.contains_key(&module) {
                module.pop();
                return Some(self.home_of(&module, segment, depth).unwrap_or(module));
            }
            rest = &rest[1..];
        }
        self.by_path.contains_key(&module).then_some(module)
    }

    /// The module that defines a name which another one gives on, or nothing where that one defines it.
    fn home_of(&self, module: &[String], name: &str, depth: usize) -> Option<ModulePath> {
        const MOST_STEPS: usize = 8;
        let here = self.by_path.get(module)?;
        if depth > MOST_STEPS || defines(&here.code, name) {
            return None;
        }
        let given = here.imports.iter().find(|(known, _)| known == name);
        if let Some((_, path)) = given {
            return self.target(module, path, depth + 1);
        }
        here.imports.iter().filter(|(known, _)| known == "*").find_map(|(_, path)| {
            let of = self.target(module, path, depth + 1)?;
            defines(&self.by_path.get(&of)?.code, name).then_some(of)
        })
    }
}

/// Whether a code layer defines an item of that name.
fn defines(code: &str, name: &str) -> bool {
    let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!')).collect();
    words.windows(2).any(|pair| {
        let defining = ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "macro_rules!"];
        defining.contains(&pair[0]) && pair[1] == name
    })
}

/// The imports of a code layer, each with the name it brings, and the other paths that begin at the crate or a module above.
fn paths(code: &str) -> (Vec<(String, Vec<String>)>, Vec<Vec<String>>) {
    let tokens = tokens(code);
    let (mut imports, mut mentions) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "use" => at = tree(&tokens, at + 1, &mut Vec::new(), &mut imports),
            "crate" | "super" if starts_a_path(&tokens, at) => {
                let mut path = vec![tokens[at].to_owned()];
                at += 1;
                while tokens.get(at) == Some(&"::") && tokens.get(at + 1).is_some_and(|t| is_name(t)) {
                    path.push(tokens[at + 1].to_owned());
                    at += 2;
                }
                mentions.push(path);
            }
            _ => at += 1,
        }
    }
    (imports, mentions)
}

/// `crate::x`, but neither the visibility `pub(in crate::x)` nor `$crate::x`, which is another crate's for its caller.
fn starts_a_path(tokens: &[&str], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before]);
    tokens.get(at + 1) == Some(&"::") && !matches!(before, Some("::" | "in" | "$"))
}

/// Reads a tree of imports, `a::{b, c::d as e, *}`, and returns the place after it.
fn tree(
    tokens: &[&str],
    mut at: usize,
    prefix: &mut Vec<String>,
    imports: &mut Vec<(String, Vec<String>)>,
) -> usize {
    let depth = prefix.len();
    while at < tokens.len() {
        match tokens[at] {
            "::" => at += 1,
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at = tree(tokens, at, prefix, imports);
                    if tokens.get(at) == Some(&",") {
                        at += 1;
                    }
                }
                prefix.truncate(depth);
                return at + 1;
            }
            "*" => {
                imports.push(("*".to_owned(), prefix.clone()));
                at += 1;
                break;
            }
            "as" => {
                imports.push((tokens.get(at + 1).copied().unwrap_or("_").to_owned(), prefix.clone()));
                prefix.truncate(depth);
                return at + 2;
            }
            word if is_name(word) => {
                // `self` at the end of a path is the module itself; at its start it is a place.
                if word != "self" || prefix.is_empty() {
                    prefix.push(word.to_owned());
                }
                at += 1;
                if !matches!(tokens.get(at), Some(&("::" | "as"))) {
                    imports.push((prefix.last().cloned().unwrap_or_default(), prefix.clone()));
                    break;
                }
            }
            _ => break,
        }
    }
    prefix.truncate(depth);
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::`, and single other characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
            }
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(files: &[(&str, &str)]) -> BTreeSet<Arrow> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/x/src/{path}"),
            text: (*text).to_owned(),
        };
        arrows(&files.iter().map(file).collect::<Vec<_>>())
    }

    fn short(circles: Vec<Vec<String>>) -> Vec<String> {
        let name = |path: &String| path["crates/x/src/".len()..].to_owned();
        circles.iter().map(|files| files.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let arrows = house(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::{c, a::{self, A as Other}}; pub struct B;"),
            ("c.rs", "pub fn f() {}"),
        ]);
        assert_eq!(short(circles(&arrows)), ["a.rs b.rs"]);
    }

    #[test]
    fn a_name_that_a_parent_gives_on_leads_to_the_file_that_defines_it() {
        let arrows = house(&[
            ("lib.rs", "mod a; mod b; pub use b::{B, Other}; pub use inner::*; mod inner;"),
            ("a.rs", "fn f(_: crate::B) {}"),
            ("b.rs", "use crate::inner::I; pub struct B; pub struct Other;"),
            ("inner.rs", "use super::a::f; pub struct I;"),
        ]);
        assert_eq!(short(circles(&arrows)), ["a.rs b.rs inner.rs"]);
    }

    #[test]
    fn a_module_and_its_parts_are_one_thing_and_tests_are_none() {
        let arrows = house(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod part; use part::g; pub struct A; fn f() { self::part::g() }"),
            ("a/part.rs", "use super::A; pub(in crate::a) fn g() {}"),
            ("b.rs", "use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::part::g; }"),
        ]);
        assert!(circles(&arrows).is_empty(), "{arrows:?}");
        assert_eq!(arrows.len(), 1);
    }
}
