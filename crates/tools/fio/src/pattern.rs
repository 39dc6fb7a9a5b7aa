//! Patterns of bytes: `0xdeadbeef`, `"abcd"`, `-12`, `'a file'`, `%o` for a block's own offset, and any of them after one
//! another.

use super::diagnostic::Trouble;
use super::inherit::{Given, Typed};
use super::options::OptionId;
use super::values::Value;
use std::fmt::Write;

/// The most bytes of a pattern.
const BYTES_MOST: usize = 512;

/// The first bytes of a file: its name, and at most how many.
pub type ReadHead<'a> = &'a dyn Fn(&str, usize) -> Result<Vec<u8>, String>;

/// Puts the bytes of files in the place of their names in what a job says of patterns.
pub fn read_files(job: &mut Typed, read: ReadHead) -> Result<(), Trouble> {
    for id in [OptionId::BufferPattern, OptionId::VerifyPattern] {
        let Some(given) = job.values.get(id) else { continue };
        let Value::Text(text) = &given.value else { continue };
        if !text.contains('\'') {
            continue;
        }
        let text = with_files(text, read)
            .map_err(|(what, hint)| Trouble::at(&given.at, format!("{}: {what}", id.name()), hint))?;
        let given = Given { value: Value::Text(text), at: given.at.clone() };
        job.values.set(id, given);
    }
    Ok(())
}

/// A pattern with the bytes of its files as hexadecimal digits; of each as many as there is room for. Empty quotes around
/// them keep them apart from digits beside them.
fn with_files(text: &str, read: ReadHead) -> Result<String, (String, String)> {
    let (mut told, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, from) = rest.split_at(at);
        told.push_str(before);
        let quote = if from.starts_with('"') { '"' } else { '\'' };
        // A quote that is never closed is told when the pattern is read.
        let Some((inner, behind)) = from[1..].split_once(quote) else {
            rest = from;
            break;
        };
        if quote == '"' {
            told.push_str(&from[..inner.len() + 2]);
        } else {
            let used = placed(&told).map_or(0, |(bytes, _)| bytes.len());
            let bytes = read(inner, BYTES_MOST.saturating_sub(used)).map_err(|why| {
                (format!("cannot read {inner}: {why}"), "name a file with bytes in it".to_owned())
            })?;
            told.push_str(if bytes.is_empty() { "\"\"" } else { "\"\"0x" });
            bytes.iter().for_each(|byte| {
                let _ = write!(told, "{byte:02x}");
            });
            told.push_str("\"\"");
        }
        rest = behind;
    }
    Ok(told + rest)
}

/// The bytes of a pattern without offsets, or what is wrong with it and what to do.
pub fn bytes(text: &str) -> Result<Vec<u8>, (String, String)> {
    match placed(text)? {
        (bytes, places) if places.is_empty() => Ok(bytes),
        _ => Err(("%o stands here for nothing".to_owned(), "say it with verify=pattern only".to_owned())),
    }
}

/// Bytes of an offset in a pattern.
const OFFSET_BYTES: usize = 8;

/// The bytes of a pattern and where in them a block's offset begins, or what is wrong with it and what to do.
pub fn placed(text: &str) -> Result<(Vec<u8>, Vec<u32>), (String, String)> {
    let wrong = |what: String| {
        Err((
            what,
            "say 0x and hexadecimal digits, \"text\" in quotes, 'a file', a number, or several of them"
                .to_owned(),
        ))
    };
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('"') {
            let Some((inner, after)) = behind.split_once('"') else {
                return wrong("a quote is never closed".to_owned());
            };
            bytes.extend_from_slice(inner.as_bytes());
            rest = after;
        } else if rest.starts_with('\'') {
            return wrong("a quote is never closed".to_owned());
        } else if let Some(behind) = rest.strip_prefix("%o") {
            places.push(bytes.len() as u32);
            bytes.extend([0; OFFSET_BYTES]);
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let digits = behind.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(behind.len());
            if digits == 0 {
                return wrong("0x has no digits".to_owned());
            }
            hexadecimal(&behind[..digits], &mut bytes);
            rest = &behind[digits..];
        } else {
            let signed = usize::from(rest.starts_with(['-', '+']));
            let mut length =
                rest[signed..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| at + signed);
            // `-120xff` is -12 and 0xff.
            if length > signed + 1 && rest[..length].ends_with('0') && rest[length..].starts_with(['x', 'X'])
            {
                length -= 1;
            }
            let Ok(number) = rest[..length].parse::<i32>() else {
                let shown: String = rest.chars().take(20).collect();
                return wrong(format!("{shown:?} is no pattern"));
            };
            // The number's bytes, lowest first, without zeros above it; those of a negative one are always four.
            let four = number.to_le_bytes();
            let used = 4 - four.iter().rev().take_while(|byte| **byte == 0).count();
            bytes.extend_from_slice(&four[..used.max(1)]);
            rest = &rest[length..];
        }
    }
    match bytes.len() {
        0 => wrong("a pattern needs bytes".to_owned()),
        1..=BYTES_MOST => Ok((bytes, places)),
        more => wrong(format!("a pattern has at most {BYTES_MOST} bytes, not {more}")),
    }
}

/// Pairs of digits as bytes, in the order in which they stand; an odd one at the front is a byte of its own.
fn hexadecimal(digits: &str, bytes: &mut Vec<u8>) {
    let values: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    let (odd, even) = values.split_at(values.len() % 2);
    bytes.extend_from_slice(odd);
    bytes.extend(even.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_hexadecimal_text_numbers_or_all_of_them() {
        assert_eq!(bytes("0xdeadbeef").unwrap(), [0xde, 0xad, 0xbe, 0xef]);
        assert_eq!(bytes("0xabc").unwrap(), [0x0a, 0xbc]);
        assert_eq!(bytes("\"abcd\"").unwrap(), b"abcd");
        assert_eq!(bytes("-12").unwrap(), [0xf4, 0xff, 0xff, 0xff]);
        assert_eq!(bytes("0").unwrap(), [0]);
        assert_eq!(bytes("258").unwrap(), [2, 1]);
        assert_eq!(bytes("0xface\"ab\"-1").unwrap(), [0xfa, 0xce, b'a', b'b', 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn an_offset_has_eight_bytes_in_its_place() {
        let expected = [&[0xff][..], &[0; 8], b"abcd", &[0xf4, 0xff, 0xff, 0xff]].concat();
        assert_eq!(placed("0xff%o\"abcd\"-12").unwrap(), (expected, vec![1]));
        assert_eq!(placed("%o%o").unwrap(), (vec![0; 16], vec![0, 8]));
    }

    #[test]
    fn a_file_gives_as_many_bytes_as_there_is_room_for() {
        let read = |name: &str, most: usize| match name {
            "none" => Err("no such file".to_owned()),
            "empty" => Ok(Vec::new()),
            "it's" => unreachable!("a quote of text is no name"),
            _ => Ok((0..600u32).map(|n| n as u8).take(most).collect()),
        };
        let of = |text: &str| with_files(text, &read).and_then(|text| placed(&text)).map(|(bytes, _)| bytes);
        let head: Vec<u8> = (0..600u32).map(|n| n as u8).collect();
        assert_eq!(of("'f'").unwrap(), head[..512]);
        assert_eq!(of("0xface'f'").unwrap(), [&[0xfa, 0xce], &head[..510]].concat());
        assert_eq!(of("'empty'12'empty'\"'it's'\"7").unwrap(), b"\x0c'it's'\x07");
        assert!(of("'none'").unwrap_err().0.contains("cannot read none: no such file"));
        assert!(of("'empty'").unwrap_err().0.contains("needs bytes"));
        assert!(of("'f").unwrap_err().0.contains("never closed"));
        assert!(of("'f'1").unwrap_err().0.contains("at most 512"), "what stands behind has no room");
    }

    #[test]
    fn what_is_none_says_so() {
        for text in ["", "\"a", "'file'", "0x", "%o", "%x", "hello", "--1", "99999999999"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(bytes(&"1".repeat(100_000)).is_err());
        assert!(bytes(&format!("0x{}", "a".repeat(2000))).is_err());
    }
}
