//! What a terminal can show, and text laid out for it. Colour never carries meaning alone.

use std::fmt::Write;

/// How text is to be shown; whoever calls knows the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// May escape sequences for colour be used?
    pub colour: bool,
    /// May characters beyond ASCII be used?
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

impl Default for Style {
    /// What suits a file: no colour, ASCII, 100 columns.
    fn default() -> Self {
        Style { colour: false, unicode: false, width: 100 }
    }
}

/// What a text means, for colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A figure or a heading.
    Strong,
    /// Less important.
    Quiet,
    /// All is well.
    Good,
    /// Something to look at.
    Warning,
    /// Something is wrong.
    Bad,
}

impl Style {
    /// The text in the colour of its meaning, or as it is where there is no colour.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Strong => "1",
            Tone::Quiet => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "1;31",
        };
        match self.colour {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// Our own words as this terminal shows them: `±` and `µs` where it can, `+-` and `us` where not. Names that users gave
    /// are not to go through it.
    pub fn typeset(self, text: &str) -> String {
        if !self.unicode {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut before = ' ';
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let ends = |skip: usize| !rest[skip..].starts_with(char::is_alphanumeric);
            let (shown, taken) = if rest.starts_with("+-") {
                ("\u{b1}", 2)
            } else if before.is_ascii_digit() && rest.starts_with(" us") && ends(3) {
                (" \u{b5}s", 3)
            } else {
                (&rest[..c.len_utf8()], c.len_utf8())
            };
            out.push_str(shown);
            before = rest[..taken].chars().last().unwrap_or(' ');
            rest = &rest[taken..];
        }
        out
    }

    /// Columns that are used: never fewer than 40.
    pub fn columns(self) -> usize {
        self.width.max(40)
    }

    /// A text after a head, broken at spaces; lines after the first begin at `indent`. The head is taken to
    /// be `indent` columns wide, escape sequences left out. Where fewer than 24 columns are left beside the
    /// head, nothing is broken.
    pub fn hanging(self, head: &str, indent: usize, text: &str) -> String {
        let room = self.columns().saturating_sub(indent);
        let mut out = head.to_owned();
        let mut used = 0;
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if used > 0 && room >= 24 && used + 1 + length > room {
                let _ = write!(out, "\n{:indent$}", "");
                used = 0;
            }
            if used > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += length;
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }
}

/// Rows in columns as wide as their widest cell, two spaces apart; numbers (columns named in `right`) stand
/// to the right.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = match right.contains(&column) {
                true => write!(line, "{cell:>width$}  "),
                false => write!(line, "{cell:<width$}  "),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_hangs_under_its_beginning() {
        let style = Style { width: 40, ..Style::default() };
        let text = style.hanging("head  ", 6, "a sentence that is longer than the room beside its head");
        assert_eq!(text, "head  a sentence that is longer than the\n      room beside its head\n");
    }

    #[test]
    fn signs_are_set_where_they_can_be_shown() {
        let unicode = Style { unicode: true, ..Style::default() };
        assert_eq!(
            unicode.typeset("12 us +-3 %, plus us and 3 users"),
            "12 \u{b5}s \u{b1}3 %, plus us and 3 users"
        );
        assert_eq!(Style::default().typeset("12 us +-3 %"), "12 us +-3 %");
    }

    #[test]
    fn colour_is_only_where_it_is_allowed() {
        let style = Style { colour: true, ..Style::default() };
        assert_eq!(style.paint(Tone::Good, "believable"), "\u{1b}[32mbelievable\u{1b}[0m");
        assert_eq!(Style::default().paint(Tone::Good, "believable"), "believable");
    }
}
