//! Every option of fio 3.33: one table, from which job files are read, help is printed and `docs/tools/fio.md`
//! is written.

use super::numbers::TimeUnit;
use std::sync::LazyLock;

/// What an option takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Anything.
    Text,
    /// A whole number within limits.
    Integer(i64, i64),
    /// Up to three, for reads, writes and trims.
    Integers(i64, i64),
    /// Bytes or percent.
    Size,
    /// A time, or a range of two.
    Time(TimeUnit),
    /// 0 or 1.
    Bool,
    /// Nothing, 0 or 1.
    Flag,
    /// Up to three ranges.
    Ranges,
    /// Floating point numbers.
    Floats(f64, f64),
    /// Exactly one of these.
    One(Vec<&'static str>),
    /// One of these, then whatever it takes behind a colon.
    Begins(Vec<&'static str>),
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does what fio's does.
    Works,
    /// It is accepted and changes nothing, for a reason.
    Idle,
    /// It is refused, for a reason.
    Refused,
}

/// One option.
#[derive(Clone, Debug)]
pub struct FioOption {
    /// Its name.
    pub name: &'static str,
    /// Its other name.
    pub alias: Option<&'static str>,
    /// How deep it stands in the listing.
    pub depth: usize,
    /// What it takes.
    pub kind: Kind,
    /// What it is when it is not said; empty: nothing.
    pub default: &'static str,
    /// What becomes of it.
    pub state: State,
    /// What it says.
    pub about: &'static str,
    /// Its limits, or why it is refused or without effect.
    pub why: &'static str,
    /// The engines whose option it is; none: everybody's.
    pub engines: Vec<&'static str>,
}

impl FioOption {
    /// May it be said without a value? Logs have the job's name then.
    pub fn may_be_bare(&self) -> bool {
        let log = self.name.starts_with("write_") && self.name.ends_with("_log");
        log || matches!(self.kind, Kind::Flag)
    }
}

/// Its number in the table.
pub type OptionId = usize;

struct Table {
    options: Vec<FioOption>,
    /// Names and aliases with the options they name, by [`slot`]: a million are looked for while a large file is read.
    by_slot: Vec<Vec<(&'static str, Vec<OptionId>)>>,
}

/// How many slots names fall into.
pub(crate) const SLOTS: usize = 256;

/// The slot of a name, from three of its letters and its length.
pub(crate) fn slot(name: &str) -> usize {
    let letters = name.as_bytes();
    let letter = |at: usize| u32::from(letters.get(at).copied().unwrap_or(0));
    let last = letter(letters.len().wrapping_sub(1));
    let sum = last + 31 * (letter(0) + 31 * (letter(letters.len() / 2) + 31 * letters.len() as u32));
    (sum.wrapping_mul(0x9E37_79B1) >> 24) as usize
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let options = read(include_str!("options.txt"));
    let mut by_slot: Vec<Vec<(&'static str, Vec<OptionId>)>> = vec![Vec::new(); SLOTS];
    for (id, option) in options.iter().enumerate() {
        for name in std::iter::once(option.name).chain(option.alias) {
            let named = &mut by_slot[slot(name)];
            match named.iter_mut().find(|(known, _)| *known == name) {
                Some((_, ids)) => ids.push(id),
                None => named.push((name, vec![id])),
            }
        }
    }
    Table { options, by_slot }
});

/// All options in the order of the listing.
pub fn all() -> &'static [FioOption] {
    &TABLE.options
}

/// All options of a name or an alias: engines may have one each.
fn named(name: &str) -> &'static [OptionId] {
    let found = TABLE.by_slot[slot(name)].iter().find(|(known, _)| *known == name);
    found.map_or(&[], |(_, ids)| ids)
}

/// The option of that name or alias. Engines' options are found whatever the engine: see [`belongs`].
pub fn find(name: &str) -> Option<OptionId> {
    named(name).first().copied()
}

/// Is the option everybody's, or one of this engine's?
pub fn belongs(id: OptionId, engine: &str) -> bool {
    let FioOption { name, engines, .. } = &TABLE.options[id];
    if engines.is_empty() {
        return true;
    }
    named(name).iter().any(|id| {
        let engines = &TABLE.options[*id].engines;
        engines.is_empty() || engines.contains(&engine)
    })
}

/// All names and aliases that begin like this.
pub fn beginning(start: &str) -> Vec<&'static str> {
    let names = TABLE.by_slot.iter().flatten().map(|(name, _)| *name);
    let mut names: Vec<_> = names.filter(|name| name.starts_with(start)).collect();
    names.sort_unstable();
    names
}

/// The name most like a misspelt one, if any is like it at all.
pub fn like<'a>(misspelt: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if misspelt.len() > 64 {
        return None;
    }
    let misspelt = misspelt.to_ascii_lowercase();
    let most = 1 + misspelt.chars().count() / 4;
    names
        .map(|name| (distance(&misspelt, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

/// The option most like a misspelt one.
pub fn did_you_mean(misspelt: &str) -> Option<&'static str> {
    like(misspelt, TABLE.options.iter().flat_map(|option| [Some(option.name), option.alias]).flatten())
}

/// Letters to insert, remove, change or swap to come from one word to the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let changed = last[j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

fn read(text: &'static str) -> Vec<FioOption> {
    let mut engines: Vec<&'static str> = Vec::new();
    let mut options = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('@') {
            Some(names) => engines = names.split_whitespace().collect(),
            None => options.push(row(line, &engines).expect("a test reads every line of the table")),
        }
    }
    options
}

fn row(line: &'static str, engines: &[&'static str]) -> Option<FioOption> {
    let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
    let [names, depth, kind, default, state, about, why] = columns.as_slice() else { return None };
    let (name, alias) = match names.split_once(',') {
        Some((name, alias)) => (name, Some(alias)),
        None => (*names, None),
    };
    let state = match *state {
        "+" => State::Works,
        "=" => State::Idle,
        "-" => State::Refused,
        _ => return None,
    };
    let (depth, kind) = (depth.parse().ok()?, kind_of(kind)?);
    Some(FioOption { name, alias, depth, kind, default, state, about, why, engines: engines.to_vec() })
}

fn kind_of(text: &'static str) -> Option<Kind> {
    let (word, inner) = match text.split_once('(') {
        Some((word, inner)) => (word, inner.strip_suffix(')')?),
        None => (text, ""),
    };
    let limits = || -> Option<(i64, i64)> {
        if inner.is_empty() {
            return Some((i64::MIN, i64::MAX));
        }
        let (least, most) = inner.split_once("..")?;
        let most = if most.is_empty() { i64::MAX } else { most.parse().ok()? };
        Some((least.parse().ok()?, most))
    };
    Some(match word {
        "text" => Kind::Text,
        "int" => limits().map(|(least, most)| Kind::Integer(least, most))?,
        "ints" => limits().map(|(least, most)| Kind::Integers(least, most))?,
        "size" => Kind::Size,
        "time" => Kind::Time(match inner {
            "s" => TimeUnit::Seconds,
            "ms" => TimeUnit::Millis,
            "us" => TimeUnit::Micros,
            _ => return None,
        }),
        "bool" => Kind::Bool,
        "flag" => Kind::Flag,
        "ranges" => Kind::Ranges,
        "floats" if inner.is_empty() => Kind::Floats(f64::MIN, f64::MAX),
        "floats" => {
            let (least, most) = inner.split_once("..")?;
            Kind::Floats(least.parse().ok()?, most.parse().ok()?)
        }
        "one" => Kind::One(inner.split(',').collect()),
        "begins" => Kind::Begins(inner.split(',').collect()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_and_gives_its_reason() {
        assert!(all().len() > 240, "{}", all().len());
        for option in all() {
            assert!(!option.about.is_empty(), "{} says nothing of itself", option.name);
            let reasoned = option.state == State::Works || !option.why.is_empty();
            assert!(reasoned, "{} gives no reason", option.name);
        }
    }

    #[test]
    fn names_are_unique_among_what_an_engine_understands() {
        for (id, option) in all().iter().enumerate() {
            for other in &all()[..id] {
                let share = option.engines.is_empty()
                    || other.engines.is_empty()
                    || option.engines.iter().any(|engine| other.engines.contains(engine));
                assert!(!(share && option.name == other.name), "{} stands twice", option.name);
            }
        }
    }

    #[test]
    fn defaults_are_values_of_their_kind() {
        for (id, option) in all().iter().enumerate().filter(|(_, option)| !option.default.is_empty()) {
            let value = crate::values::read(id, Some(option.default), Default::default());
            assert!(value.is_ok(), "{}={}: {value:?}", option.name, option.default);
        }
    }

    #[test]
    fn aliases_find_their_option() {
        for (alias, name) in
            [("blocksize", "bs"), ("readwrite", "rw"), ("timeout", "runtime"), ("ss", "steadystate")]
        {
            assert_eq!(find(alias).map(|id| all()[id].name), Some(name));
        }
        assert_eq!(find("blok"), None);
    }

    #[test]
    fn names_are_spread_over_the_slots() {
        let most = TABLE.by_slot.iter().map(Vec::len).max();
        assert!(most <= Some(8), "{most:?}");
    }

    #[test]
    fn engines_options_belong_to_their_engines() {
        let hipri = find("hipri").unwrap();
        assert!(belongs(hipri, "io_uring") && belongs(hipri, "pvsync2") && !belongs(hipri, "libaio"));
        assert!(belongs(find("bs").unwrap(), "libaio"));
        assert!(belongs(find("hostname").unwrap(), "rdma") && belongs(find("port").unwrap(), "net"));
    }

    #[test]
    fn misspelt_names_get_a_proposal() {
        for (misspelt, meant) in [
            ("iodetph", "iodepth"),
            ("BS", "bs"),
            ("runtme", "runtime"),
            ("numjob", "numjobs"),
            ("group_report", "group_reporting"),
            ("blocksiz", "blocksize"),
        ] {
            assert_eq!(did_you_mean(misspelt), Some(meant), "{misspelt}");
        }
        assert_eq!(did_you_mean("zzzzzzzz"), None);
        assert_eq!(did_you_mean(&"x".repeat(10_000)), None);
    }
}
