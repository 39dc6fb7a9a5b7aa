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
    Path::new(name).display().to_string()
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
    }
}
