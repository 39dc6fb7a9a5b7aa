//! What may be sent to a terminal. Names of files, labels and other programs' words may hold sequences that move its
//! cursor, rename it or type for its user; of ours there are colours and the end of a line.

/// The text with every sequence written out that would steer a terminal, but for colours (`ESC [ ... m`), the rest of a
/// line (`ESC [ K`), tabs, backspaces, and ends and beginnings of lines.
pub fn terminal_text(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'\n' | b'\r' | b'\t' | 0x08 => 1,
            0x1b => colour(rest),
            // Control characters of ISO 6429 in UTF-8: 0x9b alone begins a sequence.
            0xc2 if rest.get(1).is_some_and(|next| (0x80..0xa0).contains(next)) => 0,
            0x00..0x20 | 0x7f => 0,
            _ => 1,
        };
        match length {
            0 => {
                let taken = if byte == 0xc2 { 2 } else { 1 };
                rest[..taken].iter().for_each(|byte| out.extend(format!("\\x{byte:02x}").bytes()));
                at += taken;
            }
            length => {
                out.extend_from_slice(&rest[..length]);
                at += length;
            }
        }
    }
    out
}

/// Bytes of a colour's sequence at the beginning, or of the one that clears the rest of a line; 0: it is another one.
fn colour(bytes: &[u8]) -> usize {
    let Some(parameters) = bytes.strip_prefix(b"\x1b[") else { return 0 };
    let digits = parameters.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    match parameters.get(digits) {
        Some(b'm') => 2 + digits + 1,
        Some(b'K') if digits == 0 => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_pass_and_what_steers_is_written_out() {
        let told = |text: &str| String::from_utf8(terminal_text(text.as_bytes())).unwrap();
        for kept in ["plain é 漢\n", "\u{1b}[1mstrong\u{1b}[0m\r\n", "\u{1b}[38;5;1mx\u{1b}[K", "a\tb\u{8}"]
        {
            assert_eq!(told(kept), kept);
        }
        assert_eq!(told("\u{1b}[2J\u{1b}]0;x\u{7}"), r"\x1b[2J\x1b]0;x\x07");
        assert_eq!(told("\u{9b}2J\u{7f}\u{0}"), r"\xc2\x9b2J\x7f\x00");
        assert_eq!(told("\u{1b}"), r"\x1b");
        assert_eq!(told("\u{1b}[31"), r"\x1b[31");
    }
}
