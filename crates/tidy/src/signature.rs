//! Functions and types of a source: where they begin, what they take, and what is said of them. Knows no types.

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
}
