//! Reads `slob.conf` and `pgio.conf` as they are: assignments as a shell would take them, and nothing else of the shell.

use super::parameter_error::{Wrong, wrong};
use super::settings::{Settings, Words};
use super::table::{Script, parameter};

/// One assignment of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Assignment {
    line: usize,
    name: String,
    value: String,
}

/// Reads a file; `name` is only for the texts of errors. What does not stand in it has the script's own fallback.
pub fn read(name: &str, text: &str) -> Result<Settings, Wrong> {
    let found = assignments(text).map_err(|(line, error)| at(name, line, error))?;
    let words = whose(name, &found);
    let mut settings = Settings::fallbacks(words);
    for Assignment { line, name: parameter, value } in &found {
        settings.set(parameter, value).map_err(|error| at(name, *line, error))?;
    }
    if words == Words::Slob {
        for wanted in ["UPDATE_PCT", "WORK_UNIT", "SCALE", "RUN_TIME"] {
            if !found.iter().any(|a| a.name == wanted) {
                settings.notes.push(format!("{name} does not set {wanted}: SLOB's own fallback holds"));
            }
        }
    }
    settings.check().map_err(|error| wrong(format!("{name}: {}", error.what), error.hint))?;
    Ok(settings)
}

fn at(name: &str, line: usize, error: Wrong) -> Wrong {
    wrong(format!("{name} line {line}: {}", error.what), error.hint)
}

/// Whose file it is: told by its parameters, and where they do not tell by its name.
fn whose(name: &str, found: &[Assignment]) -> Words {
    let any = |script| found.iter().any(|a| parameter(&a.name).is_some_and(|row| row.script == script));
    match (any(Script::Slob), any(Script::Pgio)) {
        (true, false) => Words::Slob,
        (false, true) => Words::Pgio,
        _ if name.to_ascii_lowercase().contains("pgio") => Words::Pgio,
        _ => Words::Slob,
    }
}

/// All assignments in order. The error has its line.
fn assignments(text: &str) -> Result<Vec<Assignment>, (usize, Wrong)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let mut whole = first.trim_end_matches('\r').to_owned();
        while whole.ends_with('\\') && !whole.trim_start().starts_with('#') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push(' ');
            whole.push_str(next.trim_end_matches('\r'));
        }
        let line = index + 1;
        let words = split(&whole).map_err(|error| (line, error))?;
        for word in words {
            if matches!(word.as_str(), "export" | "typeset" | "declare" | "readonly" | ";") {
                continue;
            }
            match word.split_once('=') {
                Some((name, value)) if is_name(name) => {
                    found.push(Assignment { line, name: name.to_owned(), value: value.to_owned() });
                }
                // `export UPDATE_PCT SCAN_PCT` names what was set above.
                _ if is_name(&word) && parameter(&word).is_some() => {}
                _ => {
                    return Err((
                        line,
                        wrong(
                            format!("{word:?} is no assignment"),
                            "one NAME=value a line: the file is read, not run as a script",
                        ),
                    ));
                }
            }
        }
    }
    Ok(found)
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .enumerate()
        .all(|(at, c)| c == b'_' || c.is_ascii_alphabetic() || at > 0 && c.is_ascii_digit())
        && !text.is_empty()
}

/// The words of a line, quotes taken off, up to a comment.
fn split(line: &str) -> Result<Vec<String>, Wrong> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '$' | '`') => {
                return Err(wrong(
                    format!("{letter} asks a shell to fill something in, and the file is read, not run"),
                    "write the value itself",
                ));
            }
            (_, '\\') => word.extend(letters.next()),
            (Some(_), c) => word.push(c),
            (None, '#') if !begun => break,
            (None, '\'' | '"') => (quote, begun) = (Some(letter), true),
            (None, ';') => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                words.push(";".to_owned());
                begun = false;
            }
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if let Some(quote) = quote {
        return Err(wrong(format!("a {quote} is not closed"), "close it on the same line"));
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}
