//! A JSON document in fio's own layout: two blanks a level, ` : ` between key and value, integers plain, other numbers
//! with six decimals, the braces of the document alone on their lines. Scripts cut documents out of mixed output by
//! those braces.

use std::io::{self, Write};

/// One value. Objects keep the order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A whole number.
    Int(i64),
    /// A number with six decimals; what is not a number is written as 0.
    Float(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Bool(bool),
    /// Nothing.
    Null,
    /// Values in order.
    Array(Vec<Tree>),
    /// Keys and values in order.
    Object(Vec<(String, Tree)>),
}

impl From<u64> for Tree {
    fn from(value: u64) -> Self {
        Tree::Int(value.min(i64::MAX as u64) as i64)
    }
}

impl From<i32> for Tree {
    fn from(value: i32) -> Self {
        Tree::Int(i64::from(value))
    }
}

impl From<u32> for Tree {
    fn from(value: u32) -> Self {
        Tree::Int(i64::from(value))
    }
}

impl From<f64> for Tree {
    fn from(value: f64) -> Self {
        Tree::Float(value)
    }
}

impl From<&str> for Tree {
    fn from(value: &str) -> Self {
        Tree::Text(value.to_owned())
    }
}

impl From<serde_json::Value> for Tree {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(value),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Tree::Int(whole),
                None => Tree::Float(number.as_f64().unwrap_or(0.0)),
            },
            Value::String(text) => Tree::Text(text),
            Value::Array(values) => Tree::Array(values.into_iter().map(Tree::from).collect()),
            Value::Object(map) => {
                Tree::Object(map.into_iter().map(|(key, value)| (key, Tree::from(value))).collect())
            }
        }
    }
}

/// An object of these pairs.
pub fn object<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Tree)>) -> Tree {
    Tree::Object(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

impl Tree {
    /// Adds a key to an object; does nothing to anything else.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<Tree>) {
        if let Tree::Object(pairs) = self {
            pairs.push((key.into(), value.into()));
        }
    }

    /// Writes the document, a line's end after its last brace.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_at(0, out)?;
        writeln!(out)
    }

    fn write_at(&self, level: usize, out: &mut impl Write) -> io::Result<()> {
        let inside = "  ".repeat(level + 1);
        let outside = "  ".repeat(level);
        match self {
            Tree::Int(value) => write!(out, "{value}"),
            Tree::Float(value) if !value.is_finite() => write!(out, "{:.6}", 0.0),
            Tree::Float(value) => write!(out, "{value:.6}"),
            Tree::Text(text) => quoted(text, out),
            Tree::Bool(value) => write!(out, "{value}"),
            Tree::Null => write!(out, "null"),
            Tree::Array(values) => {
                writeln!(out, "[")?;
                for (at, value) in values.iter().enumerate() {
                    write!(out, "{inside}")?;
                    value.write_at(level + 1, out)?;
                    writeln!(out, "{}", if at + 1 < values.len() { "," } else { "" })?;
                }
                write!(out, "{outside}]")
            }
            // An empty line between the braces is the peer's own way.
            Tree::Object(pairs) if pairs.is_empty() => write!(out, "{{\n\n{outside}}}"),
            Tree::Object(pairs) => {
                writeln!(out, "{{")?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(out, "{inside}")?;
                    quoted(key, out)?;
                    write!(out, " : ")?;
                    value.write_at(level + 1, out)?;
                    writeln!(out, "{}", if at + 1 < pairs.len() { "," } else { "" })?;
                }
                write!(out, "{outside}}}")
            }
        }
    }
}

fn quoted(text: &str, out: &mut impl Write) -> io::Result<()> {
    write!(out, "\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\u{0}'..'\u{20}' => write!(out, "\\u{:04x}", c as u32)?,
            _ => write!(out, "{c}")?,
        }
    }
    write!(out, "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_object_has_an_empty_line() {
        let mut text = Vec::new();
        object([("job options", Tree::Object(Vec::new()))]).write(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "{\n  \"job options\" : {\n\n  }\n}\n");
    }

    #[test]
    fn a_document_is_laid_out_as_the_peer_does() {
        let mut tree = object([("fio version", Tree::from("fio-3.33")), ("error", Tree::from(0))]);
        tree.push("iops", 12.5);
        tree.push("jobs", Tree::Array(vec![object([("a\"b\n", Tree::Float(f64::NAN))])]));
        let mut text = Vec::new();
        tree.write(&mut text).unwrap();
        let expected = "{\n  \"fio version\" : \"fio-3.33\",\n  \"error\" : 0,\n  \"iops\" : 12.500000,\n  \"jobs\" : [\n    {\n      \"a\\\"b\\u000a\" : 0.000000\n    }\n  ]\n}\n";
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
        assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
    }
}
