//! sysbench's options by name: their kinds, their defaults, and what was typed for them. Knows the rules of single
//! values; what they mean together is `resolve`'s.

use std::collections::BTreeMap;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number that fits 32 bits, or a word of its own, unchecked, for a fraction.
    Int,
    /// A number that may have a fraction; what is no number is 0.
    Double,
    /// Bytes, with a letter.
    Size,
    /// on or off.
    Bool,
    /// Text.
    Text,
}

/// Options that every test has, with what stands for them when nobody types them. Names have underscores.
pub const GENERAL: &[(&str, ValueKind, &str)] = &[
    ("threads", ValueKind::Int, "1"),
    ("events", ValueKind::Int, "0"),
    ("time", ValueKind::Int, "10"),
    ("forced_shutdown", ValueKind::Text, "off"),
    ("thread_stack_size", ValueKind::Size, "64K"),
    ("rate", ValueKind::Int, "0"),
    ("report_interval", ValueKind::Int, "0"),
    ("report_checkpoints", ValueKind::Text, ""),
    ("debug", ValueKind::Bool, "off"),
    ("validate", ValueKind::Bool, "off"),
    ("help", ValueKind::Bool, "off"),
    ("version", ValueKind::Bool, "off"),
    ("tx_rate", ValueKind::Int, "0"),
    ("max_requests", ValueKind::Int, "0"),
    ("max_time", ValueKind::Int, "0"),
    ("num_threads", ValueKind::Int, "1"),
    ("rand_type", ValueKind::Text, "special"),
    ("rand_spec_iter", ValueKind::Int, "12"),
    ("rand_spec_pct", ValueKind::Int, "1"),
    ("rand_spec_res", ValueKind::Int, "75"),
    ("rand_seed", ValueKind::Int, "0"),
    ("rand_pareto_h", ValueKind::Double, "0.2"),
    ("verbosity", ValueKind::Int, "3"),
    ("percentile", ValueKind::Int, "95"),
    ("histogram", ValueKind::Bool, "off"),
];

/// Options of the database drivers, accepted and of no meaning to fileio.
const DATABASE: &[&str] = &["db_", "mysql_", "pgsql_"];

/// Options of fileio.
pub const FILEIO: &[(&str, ValueKind, &str)] = &[
    ("file_num", ValueKind::Int, "128"),
    ("file_block_size", ValueKind::Size, "16384"),
    ("file_total_size", ValueKind::Size, "2G"),
    ("file_test_mode", ValueKind::Text, ""),
    ("file_io_mode", ValueKind::Text, "sync"),
    ("file_async_backlog", ValueKind::Int, "128"),
    ("file_extra_flags", ValueKind::Text, ""),
    ("file_fsync_freq", ValueKind::Int, "100"),
    ("file_fsync_all", ValueKind::Bool, "off"),
    ("file_fsync_end", ValueKind::Bool, "on"),
    ("file_fsync_mode", ValueKind::Text, "fsync"),
    ("file_merged_requests", ValueKind::Int, "0"),
    ("file_rw_ratio", ValueKind::Double, "1.5"),
];

/// What was typed, by name.
#[derive(Clone, Debug, Default)]
pub struct OptionValues {
    values: BTreeMap<String, String>,
}

/// Why a value is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// `Invalid value for the 'x' option: 'y'`.
    Value,
    /// `invalid option: --x=y`.
    Option,
}

/// The kind of an option of a table.
pub fn kind_in(table: &[(&str, ValueKind, &str)], name: &str) -> Option<ValueKind> {
    table.iter().find(|option| option.0 == name).map(|option| option.1)
}

/// Does an option belong to a database driver?
pub fn of_a_database(name: &str) -> bool {
    DATABASE.iter().any(|start| name.starts_with(start))
}

impl OptionValues {
    /// Takes a value for an option of that kind.
    pub fn take(&mut self, name: &str, kind: ValueKind, value: Option<&str>) -> Result<(), OptionError> {
        let value = match (kind, value) {
            (ValueKind::Bool, None) => "on",
            (ValueKind::Bool, Some("on" | "true" | "1")) => "on",
            (ValueKind::Bool, Some("off" | "false" | "0")) => "off",
            (ValueKind::Bool, Some(_)) => return Err(OptionError::Option),
            (ValueKind::Int, Some(text)) if !text.is_empty() => {
                text.parse::<i32>().map_err(|_| OptionError::Value)?;
                text
            }
            (_, value) => value.unwrap_or(""),
        };
        self.values.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// The text of an option: typed, or its default.
    pub fn text(&self, name: &str) -> &str {
        let default = || GENERAL.iter().chain(FILEIO).find(|option| option.0 == name).map_or("", |o| o.2);
        self.values.get(name).map_or_else(default, String::as_str)
    }

    /// A whole number; nothing is 0.
    pub fn int(&self, name: &str) -> i64 {
        self.text(name).parse::<i32>().unwrap_or(0).into()
    }

    /// A number with a fraction; what is none is 0.
    pub fn double(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }

    /// Is it on?
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == "on"
    }

    /// Bytes: digits and a letter, of 1024; what follows the letter is passed over (`4GB`). Anything else is 0.
    pub fn size(&self, name: &str) -> u64 {
        size(self.text(name))
    }
}

fn size(text: &str) -> u64 {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, letter) = text.split_at(digits);
    let Ok(number) = number.parse::<u64>() else { return 0 };
    let power = match letter.chars().next().map(|letter| letter.to_ascii_uppercase()) {
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        Some(_) => return 0,
    };
    number.saturating_mul(1u64 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_one_letter_of_1024_and_pass_over_what_follows_it() {
        let sizes = [
            ("16384", 16_384),
            ("4K", 4096),
            ("2g", 2 << 30),
            ("1x", 0),
            ("", 0),
            ("-5", 0),
            ("1KB", 1024),
            ("2GiB", 2 << 30),
            ("4xK", 0),
            ("4 K", 0),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn values_are_checked_by_kind() {
        let mut typed = OptionValues::default();
        assert_eq!(typed.take("threads", ValueKind::Int, Some("2k")), Err(OptionError::Value));
        assert_eq!(typed.take("threads", ValueKind::Int, Some("99999999999")), Err(OptionError::Value));
        assert_eq!(typed.take("debug", ValueKind::Bool, Some("5")), Err(OptionError::Option));
        assert_eq!(typed.take("debug", ValueKind::Bool, None), Ok(()));
        assert_eq!(typed.take("threads", ValueKind::Int, None), Ok(()));
        assert!(typed.is_on("debug"));
        assert_eq!((typed.int("threads"), typed.int("time"), typed.double("file_rw_ratio")), (0, 10, 1.5));
    }
}
