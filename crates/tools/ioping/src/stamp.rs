//! The time of day before each line (`-I`), as C's `strftime` prints it in the C locale. Reads no clock.

use crate::UsageError;
use jiff::Zoned;
use jiff::fmt::strtime;

/// What stands before a line without a format.
const DEFAULT: &str = "%b %d %T";
/// The most bytes of a stamp; the first piece that goes beyond them and all behind it are left out.
const LENGTH_MOST: usize = 63;

/// Conversions that say the same here as in C.
const ALIKE: &str = "aAbBCdDeFgGhHIjklmMnpPRsStTuUVwWyYzZ%";
/// Conversions of the C locale that stand for others.
const COMPOSED: [(char, &str); 4] =
    [('c', "%a %b %e %H:%M:%S %Y"), ('r', "%I:%M:%S %p"), ('x', "%m/%d/%y"), ('X', "%H:%M:%S")];
/// What may stand between the percent sign and the letter in C's library: flags, a width, another alphabet.
const MODIFIERS: &str = "_-0^#+123456789EO";

/// A format of times of day, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampFormat(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    Conversion(String),
}

impl StampFormat {
    /// Reads a format. What is no conversion in C stands for itself; flags, widths and other alphabets are refused.
    pub(crate) fn parse(text: &str) -> Result<Self, UsageError> {
        let mut pieces = Vec::new();
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            let next = rest.clone().next();
            match (letter, next) {
                ('%', Some(next)) if MODIFIERS.contains(next) => {
                    return Err(UsageError::TimeFormat(format!("%{next}")));
                }
                ('%', Some(next)) if ALIKE.contains(next) => {
                    pieces.push(Piece::Conversion(format!("%{next}")))
                }
                ('%', Some(next)) => match COMPOSED.iter().find(|(name, _)| *name == next) {
                    Some((_, meaning)) => pieces.push(Piece::Conversion((*meaning).to_owned())),
                    None => pieces.extend([Piece::Letter('%'), Piece::Letter(next)]),
                },
                (letter, _) => {
                    pieces.push(Piece::Letter(letter));
                    continue;
                }
            }
            rest.next();
        }
        Ok(StampFormat(pieces))
    }

    /// That of `-I` alone.
    pub(crate) fn of(format: Option<&str>) -> Result<Self, UsageError> {
        StampFormat::parse(format.unwrap_or(DEFAULT))
    }

    /// The stamp of a moment.
    pub(crate) fn print(&self, moment: &Zoned) -> String {
        let mut stamp = String::new();
        for piece in &self.0 {
            let text = match piece {
                Piece::Letter(letter) => letter.to_string(),
                // Each conversion was chosen because it can be made of any moment.
                Piece::Conversion(format) => strtime::format(format, moment).unwrap_or_default(),
            };
            if stamp.len() + text.len() > LENGTH_MOST {
                break;
            }
            stamp.push_str(&text);
        }
        stamp
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 2023-11-14 22:13:20.124456789 in UTC.
    pub(crate) fn moment() -> Zoned {
        let timestamp = jiff::Timestamp::new(1_700_000_000, 124_456_789).expect("a valid moment");
        timestamp.to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn stamp(format: &str) -> String {
        StampFormat::parse(format).expect("a format").print(&moment())
    }

    #[test]
    fn conversions_are_those_of_c() {
        assert_eq!(StampFormat::of(None).expect("the default").print(&moment()), "Nov 14 22:13:20");
        assert_eq!(stamp("%x %X %r %D %F %R"), "11/14/23 22:13:20 10:13:20 PM 11/14/23 2023-11-14 22:13");
        assert_eq!(stamp("%c"), "Tue Nov 14 22:13:20 2023");
        assert_eq!(stamp("%k %l %P %p %j %U %e %y %C %z %Z %u"), "22 10 pm PM 318 46 14 23 20 +0000 UTC 2");
        assert_eq!(stamp("%G %g %V %W %w %h %s %t|"), "2023 23 46 46 2 Nov 1700000000 \t|");
    }

    #[test]
    fn what_is_no_conversion_stands_for_itself() {
        assert_eq!(stamp("%Q%%"), "%Q%");
        assert_eq!(stamp("%s.%N"), "1700000000.%N");
        assert_eq!(stamp("%"), "%");
        assert_eq!(stamp("J"), "J");
        assert_eq!(stamp(""), "");
        assert_eq!(stamp("%v%L%f%q%J%:z"), "%v%L%f%q%J%:z");
    }

    #[test]
    fn a_stamp_has_63_bytes_at_most() {
        assert_eq!(stamp(&"x".repeat(300)), "x".repeat(63));
        assert_eq!(
            stamp("%x %X %r %D %F %R %k %l %j"),
            "11/14/23 22:13:20 10:13:20 PM 11/14/23 2023-11-14 22:13 22 10 "
        );
    }

    #[test]
    fn flags_are_refused_by_name() {
        for format in ["%-d", "%5d", "%Ey", "%Od"] {
            let error = StampFormat::parse(format).expect_err("a flag").to_string();
            assert!(error.contains(&format[..2]), "{error}");
        }
    }
}
