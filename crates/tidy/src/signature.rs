//! Functions and types of a source: where they begin, what they take, and what is said of them. Knows no types.

use std::ops::Range;

use crate::source::is_word;

/// A function of a code layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// The text between its parentheses.
    pub parameters: String,
}

/// The functions of a code layer, in their order.
pub fn functions(code: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let rest = &code[at + "fn ".len()..];
        let name: String = rest.chars().take_while(|&c| is_word(c)).collect();
        // `fn(u64) -> u64` is a type, and so is an `Fn (u64)`.
        if name.is_empty() || code[..at].ends_with(is_word) {
            continue;
        }
        if let Some(parameters) = parameters(&rest[name.len()..]) {
            let line = code[..at].matches('\n').count() + 1;
            functions.push(Function { name, line, parameters: parameters.to_owned() });
        }
    }
    functions
}

/// The text between the parentheses that follow a function's name and its type parameters.
fn parameters(after_name: &str) -> Option<&str> {
    let mut angles = 0_i32;
    let mut before = ' ';
    let open = after_name.find(|c| {
        match c {
            '<' => angles += 1,
            '>' if before != '-' => angles -= 1,
            _ => {}
        }
        before = c;
        c == '(' && angles == 0
    })?;
    let inside = &after_name[open + 1..];
    let mut depth = 1_i32;
    let close = inside.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(&inside[..close])
}

/// How many parameters are several things packed into a tuple, `(a, b): (A, B)`.
pub fn tuple_parameters(parameters: &str) -> usize {
    let mut depth = 0_i32;
    let mut at_start = true;
    let mut before = ' ';
    let mut count = 0;
    for c in parameters.chars() {
        if at_start && depth == 0 && c == '(' {
            count += 1;
        }
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            at_start = true;
        } else if !c.is_whitespace() {
            at_start = false;
        }
        before = c;
    }
    count
}

/// A function or type that is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicItem {
    /// `fn`, `struct`, `enum`, `trait` or `type`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// The lines, from 1, between the code before it and itself: those of its attributes and its documentation.
    before: Range<usize>,
}

impl PublicItem {
    /// Does a documentation comment stand right above it, in this layer of comments?
    pub fn is_documented(&self, comments: &str) -> bool {
        let lines = comments.lines().skip(self.before.start - 1).take(self.before.len());
        lines.map(str::trim_start).any(|line| line.starts_with("///"))
    }
}

/// The public functions and types of a code layer, in their order.
pub fn public_items(code: &str) -> Vec<PublicItem> {
    const KINDS: [&str; 5] = ["fn", "struct", "enum", "trait", "type"];
    const BEFORE_KIND: [&str; 3] = ["const", "unsafe", "async"];
    let lines: Vec<&str> = code.lines().collect();
    let mut items = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
        let mut words = rest.split_whitespace().skip_while(|word| BEFORE_KIND.contains(word));
        let (Some(kind), Some(name)) = (words.next(), words.next()) else { continue };
        // A macro's `pub struct $name` is documented where the macro is used.
        if !KINDS.contains(&kind) || !name.starts_with(is_word) {
            continue;
        }
        let name = name.chars().take_while(|&c| is_word(c)).collect();
        let before = first_line_before(&lines, at) + 1..at + 1;
        items.push(PublicItem { kind: kind.to_owned(), name, line: at + 1, before });
    }
    items
}

/// The line, from 0, after the code that ends before the item on line `at`; attributes, of one line or more, are the item's.
fn first_line_before(lines: &[&str], at: usize) -> usize {
    let mut first = at;
    while first > 0 {
        let above = lines[first - 1].trim();
        let attribute = above
            .ends_with(']')
            .then(|| lines[..first].iter().rposition(|line| line.trim_start().starts_with("#[")));
        match attribute.flatten() {
            Some(start)
                if lines[start..first].iter().skip(1).all(|line| !line.trim_start().starts_with("pub ")) =>
            {
                first = start
            }
            _ if above.is_empty() => first -= 1,
            _ => break,
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_parameters() {
        let code = "fn plain() {}\nimpl A {\n    pub(crate) fn of<F: Fn(u64) -> u64>(&self, f: F, (a, b): (u8, u8)) -> fn(u8) -> u8 {}\n}";
        let found = functions(code);
        let names: Vec<(&str, usize)> = found.iter().map(|f| (f.name.as_str(), f.line)).collect();
        assert_eq!(names, [("plain", 1), ("of", 3)]);
        assert_eq!(found[1].parameters, "&self, f: F, (a, b): (u8, u8)");
    }

    #[test]
    fn only_a_pattern_of_a_parameter_is_a_tuple() {
        assert_eq!(tuple_parameters("&self, (a, b): (u8, u8), (c, d): Pair"), 2);
        assert_eq!(
            tuple_parameters("pair: (u8, u8), Pair(a, b): Pair, f: impl Fn((u8, u8), (u8,)) -> u8"),
            0
        );
    }

    #[test]
    fn documentation_stands_above_attributes_or_below_them() {
        let code = "/// Said.\n#[derive(\n    Clone,\n)]\npub struct A {\n    /// A field.\n    pub b: u8,\n}\n\n#[must_use]\npub const fn c() {}\npub(crate) fn d() {}\nfn e() {}\n";
        let crate::source::Layers { code, comments } = crate::source::layers(code);
        let said: Vec<(String, usize, bool)> = public_items(&code)
            .into_iter()
            .map(|i| (i.name.clone(), i.line, i.is_documented(&comments)))
            .collect();
        assert_eq!(said, [("A".to_owned(), 5, true), ("c".to_owned(), 11, false)]);
    }
}
