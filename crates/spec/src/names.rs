//! Names of files. They are bytes to the kernel and text in a plan: what is not text is refused here, by name, and never
//! replaced by the name of another file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A name that is no UTF-8 text, where a plan or a tool's language keeps text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?} is not UTF-8 text")]
pub struct NotText {
    /// As the kernel knows it; printed with its bytes escaped.
    pub name: OsString,
}

impl NotText {
    /// What to do about it.
    pub const HINT: &str = "give the file another name, or make a link to it";
}

/// The name as text, exactly.
///
/// # Errors
/// [`NotText`], where the text would name another file.
pub fn text(name: &(impl AsRef<OsStr> + ?Sized)) -> Result<&str, NotText> {
    let name = name.as_ref();
    name.to_str().ok_or_else(|| NotText { name: name.to_owned() })
}

/// All of some words as text.
///
/// # Errors
/// [`NotText`] with the first that is none.
pub fn texts(words: &[OsString]) -> Result<Vec<String>, NotText> {
    words.iter().map(|word| text(word).map(str::to_owned)).collect()
}

/// The name for people to read; nothing is opened by it.
pub fn shown(name: &(impl AsRef<OsStr> + ?Sized)) -> String {
    printable(&Path::new(name).display().to_string())
}

/// A text of somebody else's in a line of ours: what would move a cursor, begin a line or turn the direction of reading is
/// written as an escape (`\\u{1b}`).
pub fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || turns(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_name_that_is_no_text_is_refused_with_its_bytes() {
        let name = OsStr::from_bytes(b"caf\xe9");
        assert_eq!(text("café"), Ok("café"));
        let error = text(name).unwrap_err();
        assert!(error.to_string().starts_with(r#"the name "caf\xE9" is not UTF-8 text"#), "{error}");
        assert_eq!(texts(&["a".into(), name.to_owned()]), Err(error));
        assert_eq!(shown(name), "caf\u{fffd}");
        assert_eq!(shown("a\u{1b}[2J\nb\u{202e}é"), r"a\u{1b}[2J\nb\u{202e}é");
    }
}
