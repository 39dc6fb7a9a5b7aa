//! Words to options as the C library's `getopt_long_only` reads them: long options with one dash or two, shortened as long as
//! that is unambiguous, clusters of short ones, words that are no options anywhere. Knows no option's meaning.

use crate::UsageError;
use std::collections::VecDeque;

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// It has none.
    None,
    /// It has one, in its word or as the next word.
    Required,
    /// It may have one, in its word only.
    Optional,
}

/// One option: its short and its long name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) short: char,
    pub(crate) long: &'static str,
    pub(crate) value: Value,
}

/// What a word, or a part of it, was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The option with this short name.
    Option(char, Option<String>),
    /// No option.
    Operand(String),
}

/// The words that are still to be read.
pub(crate) struct Words<'a> {
    definitions: &'a [Definition],
    words: VecDeque<&'a str>,
    /// What is left of a cluster of short options.
    cluster: &'a str,
    /// `--` was there: no options follow.
    operands_only: bool,
}

impl<'a> Words<'a> {
    pub(crate) fn new(definitions: &'a [Definition], words: impl IntoIterator<Item = &'a str>) -> Self {
        Words { definitions, words: words.into_iter().collect(), cluster: "", operands_only: false }
    }

    /// The next item; `None` behind the last.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, UsageError> {
        if !self.cluster.is_empty() {
            return self.short().map(Some);
        }
        let Some(word) = self.words.pop_front() else { return Ok(None) };
        let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty() && !self.operands_only) else {
            return Ok(Some(Item::Operand(word.to_owned())));
        };
        if name == "-" {
            self.operands_only = true;
            return self.next();
        }
        if let Some(name) = name.strip_prefix('-') {
            return self.long("--", name)?.map(Some).ok_or(UsageError::Unrecognized(word.to_owned()));
        }
        let is_short = name.chars().next().is_some_and(|first| self.find(first).is_some());
        // One letter that is a short option is that option, not the beginning of a long one.
        let one_letter = name.chars().nth(1).is_none();
        if !(is_short && one_letter)
            && let Some(item) = self.long("-", name)?
        {
            return Ok(Some(item));
        }
        if !is_short {
            return Err(UsageError::Unrecognized(word.to_owned()));
        }
        self.cluster = name;
        self.short().map(Some)
    }

    fn find(&self, short: char) -> Option<Definition> {
        self.definitions.iter().find(|definition| definition.short == short).copied()
    }

    /// The long option that is called so or begins so, if there is one.
    fn long(&mut self, dashes: &'static str, text: &str) -> Result<Option<Item>, UsageError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let begin: Vec<Definition> =
            self.definitions.iter().filter(|definition| definition.long.starts_with(name)).copied().collect();
        let exact = begin.iter().find(|definition| definition.long == name);
        let definition = match (exact, begin.as_slice()) {
            (Some(exact), _) => *exact,
            (None, []) => return Ok(None),
            (None, [only]) => *only,
            (None, several) => {
                let possible = several.iter().map(|one| format!("{dashes}{}", one.long)).collect();
                return Err(UsageError::Ambiguous { found: format!("{dashes}{text}"), possible });
            }
        };
        let full = || format!("{dashes}{}", definition.long);
        let value = match (definition.value, value) {
            (Value::None, Some(_)) => return Err(UsageError::NoValueAllowed(full())),
            (Value::Required, None) => match self.words.pop_front() {
                Some(next) => Some(next.to_owned()),
                None => return Err(UsageError::LongValueMissing(full())),
            },
            (_, value) => value,
        };
        Ok(Some(Item::Option(definition.short, value)))
    }

    /// The first option of a cluster.
    fn short(&mut self) -> Result<Item, UsageError> {
        let mut letters = self.cluster.chars();
        let letter = letters.next().unwrap_or_default();
        let rest = letters.as_str();
        self.cluster = "";
        let definition = self.find(letter).ok_or(UsageError::Invalid(letter))?;
        let own = (!rest.is_empty()).then(|| rest.to_owned());
        let value = match definition.value {
            Value::None => {
                self.cluster = rest;
                None
            }
            Value::Optional => own,
            Value::Required => {
                let next = own.or_else(|| self.words.pop_front().map(str::to_owned));
                Some(next.ok_or(UsageError::ShortValueMissing(letter))?)
            }
        };
        Ok(Item::Option(letter, value))
    }
}
