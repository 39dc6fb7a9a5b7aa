//! The options of fio 3.33: what an option is, and how one is found by the name a user typed. Code names an option by
//! its constant, [`OptionId`], and the table itself is [`option_table`](super::option_table).

use super::numbers::TimeUnit;
pub use super::option_table::{OPTIONS, OptionId};
use std::sync::LazyLock;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    One(&'static [&'static str]),
    /// One of these, then whatever it takes behind a colon.
    Begins(&'static [&'static str]),
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
#[derive(Clone, Copy, Debug)]
pub struct FioOption {
    /// Its constant.
    pub id: OptionId,
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
    pub engines: &'static [&'static str],
}

impl FioOption {
    /// May it be said without a value? Logs have the job's name then.
    pub fn may_be_bare(&self) -> bool {
        let log = self.name.starts_with("write_") && self.name.ends_with("_log");
        log || matches!(self.kind, Kind::Flag)
    }

    /// Is it everybody's, or one of this engine's?
    pub fn belongs_to(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.alias)
    }
}

impl OptionId {
    /// Its row of the table.
    pub fn option(self) -> &'static FioOption {
        &OPTIONS[self as usize]
    }

    /// fio's name for it.
    pub fn name(self) -> &'static str {
        self.option().name
    }
}

/// Names and aliases in the order of the alphabet, with the options they name.
static BY_NAME: LazyLock<Vec<(&'static str, OptionId)>> = LazyLock::new(|| {
    let mut names: Vec<_> =
        OPTIONS.iter().flat_map(|option| option.names().map(|name| (name, option.id))).collect();
    names.sort_unstable();
    names
});

/// The option of that name or alias. Engines' options are found whatever the engine: see [`FioOption::belongs_to`].
pub fn find(name: &str) -> Option<OptionId> {
    let at = BY_NAME.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    Some(BY_NAME[at].1)
}

/// All names and aliases that begin like this, in the order of the alphabet.
pub fn beginning(start: &str) -> Vec<&'static str> {
    BY_NAME.iter().map(|(name, _)| *name).filter(|name| name.starts_with(start)).collect()
}

/// The longest word for which a likely one is looked for: none of the names is half as long.
const LONGEST: usize = 64;

/// The name most like a misspelt one, if any is like it at all: one letter in four may be missing, be one too many, be another
/// or have changed places with the next.
pub fn like<'a>(misspelt: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if misspelt.len() > LONGEST {
        return None;
    }
    let misspelt = misspelt.to_ascii_lowercase();
    let most = 1 + misspelt.chars().count() / 4;
    names
        .map(|name| (strsim::osa_distance(&misspelt, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

/// The option most like a misspelt one.
pub fn did_you_mean(misspelt: &str) -> Option<&'static str> {
    like(misspelt, BY_NAME.iter().map(|(name, _)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_says_what_it_is_and_gives_its_reason() {
        assert!(OPTIONS.len() > 240, "{}", OPTIONS.len());
        for option in OPTIONS {
            assert!(!option.about.is_empty(), "{} says nothing of itself", option.name);
            let reasoned = option.state == State::Works || !option.why.is_empty();
            assert!(reasoned, "{} gives no reason", option.name);
        }
    }

    #[test]
    fn a_constant_is_one_of_the_options_names() {
        for (number, option) in OPTIONS.iter().enumerate() {
            assert_eq!(option.id as usize, number);
            let constant = format!("{:?}", option.id).to_lowercase();
            assert!(
                option.names().any(|name| name.replace(['_', '-'], "") == constant),
                "{constant} is not named like {}",
                option.name
            );
        }
    }

    #[test]
    fn a_name_is_that_of_one_option() {
        for pair in BY_NAME.windows(2) {
            assert!(pair[0].0 != pair[1].0, "{} stands twice", pair[0].0);
        }
    }

    #[test]
    fn aliases_find_their_option() {
        for (alias, id) in [
            ("blocksize", OptionId::Blocksize),
            ("bs", OptionId::Blocksize),
            ("readwrite", OptionId::Readwrite),
            ("timeout", OptionId::Runtime),
            ("ss", OptionId::Steadystate),
        ] {
            assert_eq!(find(alias), Some(id));
        }
        assert_eq!(find("blok"), None);
    }

    #[test]
    fn engines_options_belong_to_their_engines() {
        let belongs = |id: OptionId, engine: &str| id.option().belongs_to(engine);
        let hipri = OptionId::Hipri;
        assert!(belongs(hipri, "io_uring") && belongs(hipri, "pvsync2") && !belongs(hipri, "libaio"));
        assert!(belongs(OptionId::Blocksize, "libaio"));
        assert!(belongs(OptionId::Hostname, "rdma") && belongs(OptionId::Port, "net"));
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
