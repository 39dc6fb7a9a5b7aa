//! What was said for an option, read as its kind.

use super::numbers::{self, Amount, KbBase, TimeUnit};
use super::options::{FioOption, Kind, OPTIONS, OptionId, State, like};
use fathom_spec::Nanos;
use std::sync::LazyLock;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any words.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// For reads, writes and trims; `None` is the default.
    Integers([Option<i64>; 3]),
    /// Bytes or percent.
    Size(Amount),
    /// A time, or two of which one is drawn.
    Time(Nanos, Nanos),
    /// Yes or no.
    Switch(bool),
    /// For reads, writes and trims; `None` is the default.
    Ranges([Option<(u64, u64)>; 3]),
    /// Floating point numbers.
    Floats(Vec<f64>),
    /// One of a list, and what stood behind its colon.
    Word(&'static str, Option<String>),
}

/// What is wrong with a value: what, and what to do.
pub type Wrong = (String, String);

/// Reads what was said for an option.
pub fn read(id: OptionId, said: Option<&str>, base: KbBase) -> Result<Value, Wrong> {
    let option = id.option();
    let Some(said) = said else {
        return match option.kind {
            Kind::Flag => Ok(Value::Switch(true)),
            _ if option.may_be_bare() => Ok(Value::Text(String::new())),
            _ => Err((
                format!("{} needs a value", option.name),
                format!("say {}={}", option.name, example(option)),
            )),
        };
    };
    if said.is_empty() && matches!(option.kind, Kind::Text) && !option.may_be_bare() {
        return Err((
            format!("option {} requires an argument", option.name),
            format!(
                "say {}={}, or leave it out; a variable in it may be empty",
                option.name,
                example(option)
            ),
        ));
    }
    // Sizes of files may be one number, those of blocks are two.
    let ranges = option.id != OptionId::BlocksizeRange || said.split(',').all(|one| one.contains(['-', ':']));
    let value = of_kind(&option.kind, said, base).filter(|_| ranges).ok_or_else(|| not_one(option, said))?;
    within(option, &value)?;
    Ok(value)
}

/// The defaults of the table, each read as its option's kind. None of them has a `k`, whatever that means (a test looks).
static DEFAULTS: LazyLock<Vec<Option<Value>>> = LazyLock::new(|| {
    let one = |option: &FioOption| of_kind(&option.kind, option.default, KbBase::Old);
    OPTIONS.iter().map(|option| one(option).filter(|_| !option.default.is_empty())).collect()
});

/// What the option is when nothing is said, as the table has it.
pub fn default_of(id: OptionId) -> Option<&'static Value> {
    DEFAULTS[id as usize].as_ref()
}

/// Is this what the option is when nothing is said? Such a value of a refused option does no harm.
fn is_default(id: OptionId, value: &Value) -> bool {
    let option = id.option();
    let nothing = match value {
        Value::Switch(on) => !on && option.default.is_empty(),
        Value::Integer(number) => *number == 0 && option.default.is_empty(),
        Value::Text(text) => text.is_empty(),
        _ => false,
    };
    nothing || default_of(id) == Some(value)
}

fn of_kind(kind: &Kind, said: &str, base: KbBase) -> Option<Value> {
    Some(match kind {
        Kind::Text => Value::Text(said.to_owned()),
        Kind::Integer(..) => Value::Integer(numbers::integer(said, base)?),
        Kind::Integers(..) => Value::Integers(numbers::triple(said, |one| numbers::integer(one, base))?),
        Kind::Size => Value::Size(numbers::amount(said, base)?),
        Kind::Time(unit) => times(said, *unit)?,
        Kind::Bool | Kind::Flag => match numbers::integer(said, base)? {
            0 => Value::Switch(false),
            1 => Value::Switch(true),
            _ => return None,
        },
        Kind::Ranges => Value::Ranges(numbers::triple(said, |one| numbers::range(one, base))?),
        Kind::Floats(..) => Value::Floats(numbers::floats(said)?),
        Kind::One(words) => Value::Word(words.iter().find(|word| **word == said)?, None),
        Kind::Begins(words) => {
            let (first, rest) = match said.split_once(':') {
                Some((first, rest)) => (first, Some(rest.to_owned())),
                None => (said, None),
            };
            Value::Word(words.iter().find(|word| **word == first)?, rest)
        }
    })
}

fn times(said: &str, unit: TimeUnit) -> Option<Value> {
    if !said.trim_start().starts_with('(')
        && let Some((one, other)) = said.split_once('-')
    {
        let (one, other) = (numbers::time(one, unit)?, numbers::time(other, unit)?);
        return Some(Value::Time(one.min(other), one.max(other)));
    }
    numbers::time(said, unit).map(|time| Value::Time(time, time))
}

fn within(option: &FioOption, value: &Value) -> Result<(), Wrong> {
    let wrong = |found: String, least: String, most: String| {
        let limits = if most.len() > 18 { format!("at least {least}") } else { format!("{least} to {most}") };
        Err((format!("{} cannot be {found}", option.name), format!("{} takes {limits}", option.name)))
    };
    match (&option.kind, value) {
        (Kind::Integer(least, most), Value::Integer(number)) if !(least..=most).contains(&number) => {
            wrong(number.to_string(), least.to_string(), most.to_string())
        }
        (Kind::Integers(least, most), Value::Integers(numbers)) => {
            match numbers.iter().flatten().find(|number| !(least..=most).contains(number)) {
                Some(number) => wrong(number.to_string(), least.to_string(), most.to_string()),
                None => Ok(()),
            }
        }
        (Kind::Floats(least, most), Value::Floats(numbers)) => {
            match numbers.iter().find(|number| !(*least..=*most).contains(*number)) {
                Some(number) => wrong(number.to_string(), least.to_string(), most.to_string()),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn not_one(option: &FioOption, said: &str) -> Wrong {
    let shown: String = said.chars().take(60).collect();
    let hint = match &option.kind {
        Kind::One(words) | Kind::Begins(words) => {
            let first = shown.split(':').next().unwrap_or_default();
            let near = like(first, words.iter().copied());
            let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
            format!("{near}{} takes one of: {}", option.name, words.join(", "))
        }
        Kind::Integer(..) | Kind::Integers(..) => {
            format!("{} takes a whole number such as {}", option.name, example(option))
        }
        Kind::Size => format!("{} takes bytes or percent, such as 1g or 50%", option.name),
        Kind::Time(_) => format!("{} takes a time such as 30s, 5m or 250ms", option.name),
        Kind::Bool | Kind::Flag => format!("{} takes 0 or 1", option.name),
        Kind::Ranges => format!("{} takes a range such as 4k-64k", option.name),
        Kind::Floats(..) => format!("{} takes numbers with colons between them", option.name),
        Kind::Text => format!("{} takes any text", option.name),
    };
    (format!("{shown:?} is nothing that {} takes", option.name), hint)
}

fn example(option: &FioOption) -> &'static str {
    match (&option.kind, option.default) {
        (Kind::One(words) | Kind::Begins(words), _) => words[0],
        (Kind::Bool | Kind::Flag, _) => "1",
        (_, default) if !default.is_empty() && default != "0" => default,
        (Kind::Integer(least, _) | Kind::Integers(least, _), _) if *least > 1 => "100",
        (Kind::Integer(..) | Kind::Integers(..), _) => "8",
        (Kind::Size, _) => "1g",
        (Kind::Time(_), _) => "10s",
        (Kind::Ranges, _) => "4k-64k",
        (Kind::Floats(..), _) => "0.5",
        _ => "TEXT",
    }
}

/// Names with `:` between them; `\:` is a colon in a name.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let name = names.last_mut().expect("there is always a last name");
        match letter {
            '\\' if letters.peek() == Some(&':') => name.extend(letters.next()),
            ':' => names.push(String::new()),
            letter => name.push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Refuses an option that is known and cannot be honoured, unless its value asks for nothing.
pub fn refuse(id: OptionId, value: &Value) -> Result<(), Wrong> {
    let option = id.option();
    if option.state != State::Refused || is_default(id, value) {
        return Ok(());
    }
    Err((
        format!("{} is known and not supported here: {}", option.name, option.why),
        "leave it out, or run this job with fio itself".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::options::find;
    use super::*;

    fn said(name: &str, value: Option<&str>) -> Result<Value, Wrong> {
        read(find(name).unwrap(), value, KbBase::Old)
    }

    #[test]
    fn defaults_are_values_of_their_kind_whatever_k_means() {
        for option in OPTIONS.iter().filter(|option| !option.default.is_empty()) {
            for base in [KbBase::Old, KbBase::Standard] {
                let value = read(option.id, Some(option.default), base);
                assert_eq!(value.as_ref().ok(), default_of(option.id), "{}={}", option.name, option.default);
            }
        }
    }

    #[test]
    fn values_are_read_as_their_kind() {
        assert_eq!(said("rw", Some("randread:8")), Ok(Value::Word("randread", Some("8".into()))));
        assert_eq!(said("bs", Some("4k,8k")), Ok(Value::Integers([Some(4096), Some(8192), Some(8192)])));
        assert_eq!(said("size", Some("50%")), Ok(Value::Size(Amount::Percent(50.0))));
        let five = Nanos::from_seconds(5);
        assert_eq!(said("startdelay", Some("1-5")), Ok(Value::Time(Nanos::from_seconds(1), five)));
        assert_eq!(said("time_based", None), Ok(Value::Switch(true)));
        assert_eq!(said("write_bw_log", None), Ok(Value::Text(String::new())));
        assert_eq!(said("time_based", Some("0")), Ok(Value::Switch(false)));
        assert_eq!(said("percentile_list", Some("50:99")), Ok(Value::Floats(vec![50.0, 99.0])));
        assert_eq!(said("ioengine", Some("libaio")), Ok(Value::Word("libaio", None)));
    }

    #[test]
    fn wrong_values_say_what_is_taken() {
        for (name, value, part) in [
            ("rw", Some("radread"), "did you mean randread?"),
            ("direct", Some("2"), "takes 0 or 1"),
            ("iodepth", Some("0"), "takes at least 1"),
            ("rwmixread", Some("101"), "takes 0 to 100"),
            ("iodepth", None, "say iodepth=1"),
            ("filename", Some(""), "a variable in it may be empty"),
            ("runtime", Some("soon"), "30s, 5m or 250ms"),
            ("fadvise_hint", Some("2"), "0, 1, random, sequential"),
        ] {
            let (what, hint) = said(name, value).unwrap_err();
            assert!(hint.contains(part), "{name}: {what} / {hint}");
        }
    }

    #[test]
    fn a_refused_option_that_asks_for_nothing_is_fine() {
        let refused = |name: &str, value: &str| {
            let id = find(name).unwrap();
            refuse(id, &read(id, Some(value), KbBase::Old).unwrap())
        };
        assert!(refused("lockfile", "none").is_ok());
        assert!(refused("continue_on_error", "none").is_ok());
        assert!(refused("lockmem", "0").is_ok());
        let (what, _) = refused("lockfile", "exclusive").unwrap_err();
        assert!(what.starts_with("lockfile is known and not supported here: no locks"), "{what}");
    }
}
