//! How an option of fio is found by the name a user typed. Code names an option by its constant, [`OptionId`], and the
//! options themselves stand in [`option_table`](super::option_table).

pub use super::option_table::{FioOption, Kind, OPTIONS, OptionId, State};
use std::sync::LazyLock;

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
