//! Numbers as dt reads them: a suffix, and operators that bind to the right without any order among them:
//! `512k+1m/2` is one mebibyte.

/// What the suffixes `d` and `p` stand for.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Bytes of a block: `d`.
    pub block: u64,
    /// Bytes of a page: `p`.
    pub page: u64,
}

const OPERATORS: &[&str] = &["<<", ">>", "+", "-", "*", "x", "/", "%", "~", "&", "|", "^"];

impl Numbers {
    /// The value of a text; `None` when it is no number.
    pub fn value(&self, text: &str) -> Option<u64> {
        let (first, rest) = self.term(text)?;
        if rest.is_empty() {
            return Some(first);
        }
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator))?;
        let second = self.value(&rest[operator.len()..])?;
        match *operator {
            "+" => first.checked_add(second),
            // As in C: `10-2-3` is 10 - (2 - 3).
            "-" => Some(first.wrapping_sub(second)),
            "*" | "x" => first.checked_mul(second),
            "/" => first.checked_div(second),
            "%" => first.checked_rem(second),
            "<<" => first.checked_shl(second as u32),
            ">>" => first.checked_shr(second as u32),
            "&" => Some(first & second),
            "|" => Some(first | second),
            "~" => Some(first & !second),
            _ => Some(first ^ second),
        }
    }

    fn term<'a>(&self, text: &'a str) -> Option<(u64, &'a str)> {
        if let Some(rest) = text.strip_prefix("inf").or_else(|| text.strip_prefix("INF")) {
            return Some((u64::MAX, rest));
        }
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let hex = hex.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
        let (radix, digits) = match hex {
            Some(rest) => (16, rest),
            None if text.len() > 1 && text.starts_with('0') => (8, text),
            None => (10, text),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let value = u64::from_str_radix(&digits[..end], radix).ok()?;
        let mut rest = &digits[end..];
        let mut value = value;
        while let Some(unit) = rest.chars().next().and_then(|letter| self.unit(letter)) {
            value = value.checked_mul(unit)?;
            rest = &rest[1..];
        }
        Some((value, rest))
    }

    fn unit(&self, letter: char) -> Option<u64> {
        Some(match letter {
            'w' | 'W' => 4,
            'q' | 'Q' => 8,
            'b' | 'B' => 512,
            'k' | 'K' => 1 << 10,
            'm' | 'M' => 1 << 20,
            'g' | 'G' => 1 << 30,
            't' | 'T' => 1 << 40,
            'p' | 'P' => self.page,
            'd' | 'D' => self.block,
            _ => return None,
        })
    }
}

/// A time such as `1d5h10m30s` or plain seconds; `None` when it is none.
pub fn seconds(text: &str) -> Option<u64> {
    let (mut total, mut number) = (0u64, None);
    for letter in text.chars() {
        let unit = match letter {
            '0'..='9' => {
                let digit = u64::from(letter) - 48;
                number = Some(number.unwrap_or(0u64).checked_mul(10)?.checked_add(digit)?);
                continue;
            }
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    match (number, text.is_empty()) {
        (_, true) => None,
        (Some(rest), _) => total.checked_add(rest),
        (None, _) => Some(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_to_the_right_and_suffixes_multiply() {
        let numbers = Numbers { block: 512, page: 4096 };
        for (text, value) in [
            ("512", Some(512)),
            ("0x10", Some(16)),
            ("010", Some(8)),
            ("0", Some(0)),
            ("1m", Some(1 << 20)),
            ("512k+1m/2", Some(1 << 20)),
            ("2p", Some(8192)),
            ("3d", Some(1536)),
            ("2b", Some(1024)),
            ("4w", Some(16)),
            ("10-2-3", Some(11)),
            ("2*3+1", Some(8)),
            ("1<<10", Some(1024)),
            ("7%4", Some(3)),
            ("2x3", Some(6)),
            ("1g", Some(1 << 30)),
            ("inf", Some(u64::MAX)),
            ("6&3", Some(2)),
            ("6|1", Some(7)),
            ("", None),
            ("k", None),
            ("1z", None),
            ("1+", None),
            ("1/0", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(numbers.value(text), value, "{text}");
        }
    }

    #[test]
    fn times_are_added_up() {
        assert_eq!(seconds("1d5h10m30s"), Some(86_400 + 18_000 + 630));
        assert_eq!(
            (seconds("90"), seconds("5m"), seconds(""), seconds("m"), seconds("1y")),
            (Some(90), Some(300), None, None, None)
        );
    }
}
