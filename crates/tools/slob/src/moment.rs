//! The time of day of a moment of a run, from the record's beginning. Knows no clock.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::{SignedDuration, Zoned};

/// The moment at which a result began, by the clock on its wall.
#[derive(Clone, Debug)]
pub struct When {
    began: DateTime,
    zone: String,
}

impl When {
    /// From a time in RFC 3339, such as the record's `started`; midnight of 1970 where it is none.
    pub fn of(started: &str) -> Self {
        let pieces = Pieces::parse(started).ok();
        let began = pieces.as_ref().map(|p| p.date().to_datetime(p.time().unwrap_or_default()));
        let utc = pieces.and_then(|p| p.to_numeric_offset()).is_none_or(|offset| offset.seconds() == 0);
        let zone = if utc { "UTC" } else { "" }.to_owned();
        When { began: began.unwrap_or(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)), zone }
    }

    /// From the clock's own words.
    pub fn now(zoned: &Zoned) -> Self {
        When { began: zoned.datetime(), zone: zoned.strftime("%Z").to_string() }
    }

    fn after(&self, ns: u64) -> DateTime {
        let later = SignedDuration::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX));
        self.began.saturating_add(later)
    }

    /// So many ns later, in strftime's words.
    pub fn at(&self, ns: u64, format: &str) -> String {
        self.after(ns).strftime(format).to_string()
    }

    /// The zone's name, where it is known.
    pub fn zone(&self) -> &str {
        &self.zone
    }
}
