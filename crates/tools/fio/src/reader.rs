//! Reads single options of a job as it was said.

use super::diagnostic::{Place, Trouble};
use super::inherit::{Given, Typed};
use super::numbers::{Amount, KbBase};
use super::options::find;
use super::values::Value;
use fathom_spec::Nanos;

/// Reads one option of a job.
pub(crate) struct Look<'a>(pub &'a Typed);

impl Look<'_> {
    fn given(&self, name: &str) -> Option<&Given> {
        // A job says a dozen things and is asked two hundred times: most names are looked for in vain.
        if !self.0.said.may_hold(name) {
            return None;
        }
        self.0.values.get(&find(name)?).map(|given| &**given)
    }
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.given(name).map(|given| &given.value)
    }
    pub(crate) fn place(&self, name: &str) -> &Place {
        self.given(name).map_or(&self.0.at, |given| &given.at)
    }
    pub(crate) fn switch(&self, name: &str, default: bool) -> bool {
        match self.value(name) {
            Some(Value::Switch(on)) => *on,
            _ => default,
        }
    }
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.integer(name).and_then(|number| u64::try_from(number).ok())
    }
    pub(crate) fn small(&self, name: &str, default: u32) -> Result<u32, Trouble> {
        match self.count(name) {
            None => Ok(default),
            Some(number) => {
                u32::try_from(number).map_err(|_| self.wrong(name, "that is too many", "say fewer"))
            }
        }
    }
    pub(crate) fn word(&self, name: &str, default: &'static str) -> (&'static str, Option<String>) {
        match self.value(name) {
            Some(Value::Word(word, rest)) => (word, rest.clone()),
            _ => (default, None),
        }
    }
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
    pub(crate) fn time(&self, name: &str) -> Option<Nanos> {
        match self.value(name) {
            Some(Value::Time(time, _)) => Some(*time),
            _ => None,
        }
    }
    pub(crate) fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name) {
            Some(Value::Size(amount)) => Some(*amount),
            _ => None,
        }
    }
    pub(crate) fn bytes(&self, name: &str) -> Result<u64, Trouble> {
        match self.amount(name) {
            None => Ok(0),
            Some(Amount::Bytes(bytes)) => Ok(bytes),
            Some(Amount::Percent(_)) => Err(self.wrong(name, "percent mean nothing here", "say bytes")),
        }
    }
    pub(crate) fn three(&self, name: &str) -> [Option<u64>; 3] {
        match self.value(name) {
            Some(Value::Integers(values)) => {
                values.map(|value| value.and_then(|number| u64::try_from(number).ok()))
            }
            _ => [None; 3],
        }
    }
    pub(crate) fn wrong(&self, name: &str, what: &str, hint: &str) -> Trouble {
        let what = format!("{}: {what}", name.rsplit('/').next().unwrap_or(name));
        Trouble::at(self.place(name), what, hint)
    }
    pub(crate) fn base(&self) -> KbBase {
        self.0.base
    }
}
