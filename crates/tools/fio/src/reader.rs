//! Reads single options of a job: what was said for them, else what the table says they are. Knows no option but by its
//! number, and no default of its own.

use super::diagnostic::{Place, Trouble};
use super::inherit::{Given, Typed};
use super::numbers::{Amount, KbBase};
use super::options::OptionId;
use super::values::{Value, default_of};
use fathom_spec::Nanos;

/// Reads options of one job. To read one as another kind than the table's is a mistake in the program, and ends it.
pub(crate) struct OptionReader<'a>(pub &'a Typed);

/// Takes a value apart that is known to be of one kind.
macro_rules! of_kind {
    ($id:expr, $value:expr, $kind:pat => $out:expr) => {
        match $value {
            None => None,
            Some($kind) => Some($out),
            Some(other) => unreachable!("{:?} is of another kind: {other:?}", $id),
        }
    };
}

impl<'a> OptionReader<'a> {
    fn given(&self, id: OptionId) -> Option<&'a Given> {
        self.0.values.get(id)
    }
    fn said(&self, id: OptionId) -> Option<&'a Value> {
        self.given(id).map(|given| &given.value)
    }
    fn value(&self, id: OptionId) -> Option<&'a Value> {
        self.said(id).or_else(|| default_of(id))
    }

    /// Was it said at all, by the job or by a `[global]` before it?
    pub(crate) fn is_said(&self, id: OptionId) -> bool {
        self.given(id).is_some()
    }
    /// The setting that says it; the job's header if none does.
    pub(crate) fn place(&self, id: OptionId) -> &'a Place {
        self.given(id).map_or(&self.0.at, |given| &given.at)
    }

    pub(crate) fn said_switch(&self, id: OptionId) -> Option<bool> {
        of_kind!(id, self.said(id), Value::Switch(on) => *on)
    }
    /// A flag without a default is off.
    pub(crate) fn switch(&self, id: OptionId) -> bool {
        of_kind!(id, self.value(id), Value::Switch(on) => *on).unwrap_or(false)
    }

    pub(crate) fn said_integer(&self, id: OptionId) -> Option<i64> {
        of_kind!(id, self.said(id), Value::Integer(number) => *number)
    }
    /// 0 without a default.
    pub(crate) fn integer(&self, id: OptionId) -> i64 {
        of_kind!(id, self.value(id), Value::Integer(number) => *number).unwrap_or(0)
    }
    /// The same of an option that is never negative.
    pub(crate) fn count(&self, id: OptionId) -> u64 {
        u64::try_from(self.integer(id)).unwrap_or(0)
    }
    pub(crate) fn said_count(&self, id: OptionId) -> Option<u64> {
        self.said_integer(id).and_then(|number| u64::try_from(number).ok())
    }
    /// A count that has to fit 32 bits.
    pub(crate) fn small(&self, id: OptionId) -> Result<u32, Trouble> {
        u32::try_from(self.count(id)).map_err(|_| self.wrong(id, "that is too many", "say fewer"))
    }
    pub(crate) fn said_small(&self, id: OptionId) -> Result<Option<u32>, Trouble> {
        self.said_count(id).map(|_| self.small(id)).transpose()
    }
    /// For reads, writes and trims, each that was not said as the table has it.
    pub(crate) fn three(&self, id: OptionId) -> [Option<u64>; 3] {
        let of = |value: Option<&Value>| of_kind!(id, value, Value::Integers(numbers) => *numbers);
        let (said, default) = (of(self.said(id)).unwrap_or_default(), of(default_of(id)).unwrap_or_default());
        let one = |at: usize| said[at].or(default[at]).and_then(|number| u64::try_from(number).ok());
        [one(0), one(1), one(2)]
    }
    /// The same, where 0 says as little as nothing.
    pub(crate) fn three_positive(&self, id: OptionId) -> [Option<u64>; 3] {
        self.three(id).map(|value| value.filter(|number| *number > 0))
    }
    /// Smallest and largest of reads, writes and trims.
    pub(crate) fn ranges(&self, id: OptionId) -> [Option<(u64, u64)>; 3] {
        of_kind!(id, self.value(id), Value::Ranges(ranges) => *ranges).unwrap_or_default()
    }
    pub(crate) fn floats(&self, id: OptionId) -> &'a [f64] {
        of_kind!(id, self.value(id), Value::Floats(numbers) => numbers.as_slice()).unwrap_or_default()
    }

    /// One word of its list, and what stands behind the word's colon.
    pub(crate) fn word_and_rest(&self, id: OptionId) -> (&'static str, Option<&'a str>) {
        of_kind!(id, self.value(id), Value::Word(word, rest) => (*word, rest.as_deref())).unwrap_or_default()
    }
    pub(crate) fn word(&self, id: OptionId) -> &'static str {
        self.word_and_rest(id).0
    }
    pub(crate) fn text(&self, id: OptionId) -> Option<&'a str> {
        of_kind!(id, self.value(id), Value::Text(text) => text.as_str())
    }
    /// A text to keep, where an empty one says as little as nothing.
    pub(crate) fn some_text(&self, id: OptionId) -> Option<String> {
        self.text(id).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The two ends of a time, between which one is drawn; no time without a default.
    pub(crate) fn times(&self, id: OptionId) -> (Nanos, Nanos) {
        of_kind!(id, self.value(id), Value::Time(least, most) => (*least, *most)).unwrap_or_default()
    }
    pub(crate) fn time(&self, id: OptionId) -> Nanos {
        self.times(id).0
    }
    /// The same, where no time says as little as nothing.
    pub(crate) fn some_time(&self, id: OptionId) -> Option<Nanos> {
        Some(self.time(id)).filter(|time| time.0 > 0)
    }
    /// The same, where no time stands for the table's.
    pub(crate) fn time_or_default(&self, id: OptionId) -> Nanos {
        let default = of_kind!(id, default_of(id), Value::Time(time, _) => *time).unwrap_or_default();
        self.some_time(id).unwrap_or(default)
    }
    pub(crate) fn amount(&self, id: OptionId) -> Option<Amount> {
        of_kind!(id, self.value(id), Value::Size(amount) => *amount)
    }
    /// An amount that cannot be a share of anything.
    pub(crate) fn bytes(&self, id: OptionId) -> Result<u64, Trouble> {
        match self.amount(id) {
            None => Ok(0),
            Some(Amount::Bytes(bytes)) => Ok(bytes),
            Some(Amount::Percent(_)) => Err(self.wrong(id, "percent mean nothing here", "say bytes")),
        }
    }

    /// What is wrong with an option, at the setting that says it.
    pub(crate) fn wrong(&self, id: OptionId, what: &str, hint: &str) -> Trouble {
        Trouble::at(self.place(id), format!("{}: {what}", id.name()), hint)
    }
    /// What `k` means in this job.
    pub(crate) fn base(&self) -> KbBase {
        self.0.base
    }
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::*;

    #[test]
    fn what_is_not_said_is_as_the_table_has_it() {
        let job =
            &jobs("[global]\niodepth=4\n[a]\nbs=8k,16k,\nrate_cycle=0\nrw=randread:8\n").unwrap().jobs[0];
        let reader = OptionReader(job);
        assert_eq!((reader.count(OptionId::Iodepth), reader.count(OptionId::Numjobs)), (4, 1));
        assert_eq!(reader.three(OptionId::Blocksize), [Some(8192), Some(16_384), Some(4096)]);
        assert_eq!((reader.switch(OptionId::Buffered), reader.said_switch(OptionId::Buffered)), (true, None));
        assert_eq!((reader.is_said(OptionId::Iodepth), reader.is_said(OptionId::Numjobs)), (true, false));
        assert_eq!(reader.word_and_rest(OptionId::Readwrite), ("randread", Some("8")));
        assert_eq!(reader.word(OptionId::Ioengine), "psync");
        assert_eq!(reader.time_or_default(OptionId::RateCycle), Nanos::from_seconds(1));
        assert_eq!((reader.text(OptionId::Bssplit), reader.ranges(OptionId::Filesize)), (None, [None; 3]));
    }

    #[test]
    #[should_panic(expected = "Iodepth is of another kind")]
    fn an_option_read_as_another_kind_is_a_mistake_in_the_program() {
        OptionReader(&jobs("[a]\n").unwrap().jobs[0]).switch(OptionId::Iodepth);
    }
}
