//! Rust source, read just closely enough to tell code from comments, strings and tests. Knows nothing of files.

/// A source text split into layers of the same length and the same lines: what is not of a layer is blank in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Code, with comments and the insides of strings and characters blanked.
    pub code: String,
    /// Comments alone.
    pub comments: String,
}

/// Splits a source text into code and comments.
pub fn layers(text: &str) -> Layers {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut comments = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (kind, end) = token(&chars, at);
        for &c in &chars[at..end] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(if kind == Kind::Code { c } else { blank });
            comments.push(if kind == Kind::Comment { c } else { blank });
        }
        at = end;
    }
    Layers { code, comments }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// What begins at a place, and where it ends.
fn token(chars: &[char], at: usize) -> (Kind, usize) {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => (Kind::Comment, position(chars, at, '\n')),
        '/' if next == Some('*') => (Kind::Comment, block_comment(chars, at)),
        '"' => (Kind::Literal, string(chars, at)),
        'r' if !follows_a_word(chars, at) => match raw_string(chars, at) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        // After b, c: the r of br"..." and cr"..." follows a word of one letter.
        'b' | 'c' if !follows_a_word(chars, at) && next == Some('r') => match raw_string(chars, at + 1) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 2),
        },
        '\'' => match character(chars, at) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        _ => (Kind::Code, at + 1),
    }
}

fn position(chars: &[char], from: usize, wanted: char) -> usize {
    chars[from..].iter().position(|&c| c == wanted).map_or(chars.len(), |found| from + found)
}

fn follows_a_word(chars: &[char], at: usize) -> bool {
    at > 0 && is_word(chars[at - 1])
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

fn string(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn raw_string(chars: &[char], from: usize) -> Option<usize> {
    let hashes = chars[from + 1..].iter().take_while(|&&c| c == '#').count();
    let mut at = from + 1 + hashes;
    if chars.get(at) != Some(&'"') {
        return None;
    }
    loop {
        at = position(chars, at + 1, '"');
        if at >= chars.len() {
            return Some(chars.len());
        }
        if chars[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes {
            return Some(at + 1 + hashes);
        }
    }
}

/// The end of a character literal, or nothing where the quote begins a lifetime.
fn character(chars: &[char], from: usize) -> Option<usize> {
    match chars.get(from + 1)? {
        '\\' => Some((position(chars, (from + 3).min(chars.len()), '\'') + 1).min(chars.len())),
        _ if chars.get(from + 2) == Some(&'\'') => Some(from + 3),
        _ => None,
    }
}

/// Blanks the items under `#[cfg(test)]` in a code layer.
pub fn without_tests(code: &str) -> String {
    let mut kept: Vec<char> = code.chars().collect();
    let marker: Vec<char> = "#[cfg(test)]".chars().collect();
    let mut at = 0;
    while at + marker.len() <= kept.len() {
        if kept[at..at + marker.len()] != marker[..] {
            at += 1;
            continue;
        }
        let end = item_end(&kept, at + marker.len());
        for c in &mut kept[at..end] {
            if *c != '\n' {
                *c = ' ';
            }
        }
        at = end;
    }
    kept.into_iter().collect()
}

/// The end of the item that begins at a place: its closing brace, or the semicolon before any brace.
fn item_end(code: &[char], from: usize) -> usize {
    let (mut depth, mut brackets) = (0_i32, 0_i32);
    for (offset, &c) in code[from..].iter().enumerate() {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets -= 1,
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth <= 0 {
                    return from + offset + 1;
                }
            }
            ';' if depth == 0 && brackets == 0 => return from + offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// The lines (from 1) on which a word or path stands, not as a part of a longer word.
pub fn lines_with(text: &str, wanted: &str) -> Vec<usize> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| holds_word(line, wanted))
        .map(|(number, _)| number + 1)
        .collect()
}

fn holds_word(line: &str, wanted: &str) -> bool {
    line.match_indices(wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + wanted.len()..].chars().next();
        let open_start = !wanted.starts_with(is_word) || !before.is_some_and(is_word);
        let open_end = !wanted.ends_with(is_word) || !after.is_some_and(is_word);
        open_start && open_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let text =
            "let a = \"unsafe // no\"; // unsafe here\nlet b = 'x'; /* one /* two */ still */ unsafe {}\n";
        let layers = layers(text);
        assert_eq!(lines_with(&layers.code, "unsafe"), [2]);
        assert_eq!(lines_with(&layers.comments, "unsafe"), [1]);
        assert_eq!(lines_with(&layers.comments, "still"), [2]);
        assert_eq!(layers.code.lines().count(), 2);
    }

    #[test]
    fn raw_strings_escapes_and_lifetimes_do_not_confuse_it() {
        let text = r####"
fn f<'a>(x: &'a str) -> char { let q = '\''; let r = r#"a " unsafe"#; let b = br"unsafe"; let n = "\""; q }
static Y: char = '"'; fn unsafe_name() {} // end
"####;
        let layers = layers(text);
        assert_eq!(lines_with(&layers.code, "unsafe"), [0; 0]);
        assert_eq!(lines_with(&layers.code, "unsafe_name"), [3]);
        assert_eq!(lines_with(&layers.comments, "end"), [3]);
    }

    #[test]
    fn test_modules_are_left_out() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { x.unwrap() }\n}\nfn c() {}\n#[cfg(test)]\nuse d;\nfn e() {}";
        let kept = without_tests(code);
        assert!(!kept.contains("unwrap") && !kept.contains("use d"));
        assert!(kept.contains("fn a") && kept.contains("fn c") && kept.contains("fn e"));
    }
}
