//! What a simulated device is like, read from its words, and how long it takes for an operation. Knows no calendar.

use crate::Operation;
use crate::pace::unit;
use fathom_spec::{Bytes, Nanos, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::RngCore;
use std::f64::consts::TAU;
use std::str::FromStr;

/// How service times spread round their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spread {
    /// All alike.
    #[default]
    Fixed,
    /// Exponential: the deviation is the mean.
    Exponential,
    /// Lognormal, with this deviation of the logarithm.
    Lognormal(f64),
}

impl Spread {
    /// A factor with mean 1: by inversion, or from a normal number (Box & Muller 1958).
    fn draw(self, random: &mut Xoshiro256Plus) -> f64 {
        match self {
            Spread::Fixed => 1.0,
            Spread::Exponential => -(1.0 - unit(random.next_u64())).ln(),
            Spread::Lognormal(sigma) => {
                let (u, v) = (1.0 - unit(random.next_u64()), unit(random.next_u64()));
                let normal = (-2.0 * u.ln()).sqrt() * (TAU * v).cos();
                (sigma * normal - sigma * sigma / 2.0).exp()
            }
        }
    }
}

/// A part of the time in which the device is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episode {
    /// When the first begins, ns since the run's start. `None`: somewhere within the first period, by the run's seed.
    pub at_ns: Option<u64>,
    /// ns; 0: never.
    pub length_ns: u64,
    /// From the beginning of one to that of the next, ns; 0: there is one only.
    pub every_ns: u64,
}

impl Episode {
    /// The first episode that ends after a moment.
    fn ends_after(&self, ns: u64) -> Option<(u64, u64)> {
        let at = self.at_ns.unwrap_or(0);
        if self.length_ns == 0 || (self.every_ns == 0 && ns >= at + self.length_ns) {
            return None;
        }
        let over = ns.checked_sub(at + self.length_ns).map_or(0, |past| past / self.every_ns.max(1) + 1);
        let begins = at + over * self.every_ns;
        Some((begins, begins + self.length_ns))
    }

    /// Fixes the first beginning where it was left open.
    fn begin(&mut self, random: &mut Xoshiro256Plus) {
        let drawn = (unit(random.next_u64()) * self.every_ns as f64) as u64;
        self.at_ns.get_or_insert(drawn);
    }
}

/// What a simulated device is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// I/Os served at the same time.
    pub ways: usize,
    /// Mean time of one I/O, ns.
    pub service_ns: u64,
    /// How service times spread.
    pub spread: Spread,
    /// Bytes.
    pub size_bytes: u64,
    /// Bytes at the start that a cache answers.
    pub cache_bytes: u64,
    /// Time of a hit, ns.
    pub hit_ns: u64,
    /// Outstanding I/Os above which it slows down.
    pub cliff: usize,
    /// How much it slows down there.
    pub steep: u64,
    /// Percent a minute.
    pub drift_percent: f64,
    /// Every n-th operation fails; 0: none.
    pub fail: u64,
    /// Time of a sync, ns.
    pub flush_ns: u64,
    /// When it stands still.
    pub stall: Episode,
    /// When it is slow.
    pub slow: Episode,
    /// How many times as long an I/O takes then.
    pub slow_factor: f64,
}

impl Default for Device {
    fn default() -> Self {
        Device {
            ways: 1,
            service_ns: 100_000,
            spread: Spread::Fixed,
            size_bytes: 1 << 30,
            cache_bytes: 0,
            hit_ns: 5_000,
            cliff: usize::MAX,
            steep: 4,
            drift_percent: 0.0,
            fail: 0,
            flush_ns: 1_000_000,
            stall: Episode::default(),
            slow: Episode::default(),
            slow_factor: 2.0,
        }
    }
}

/// The words of a simulated device.
const WORDS: &str = "ways, service, spread, size, cache, hit, cliff, steep, drift, fail, flush, stall, stall_at, \
                     stall_every, slow, slow_at, slow_for, slow_every";

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut device = Device::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("{word:?} is not a setting such as ways=32"))?;
            device.set(key, value)?;
        }
        Ok(device)
    }
}

impl Device {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| format!("{key}={value:?} is not a whole number"));
        let time = || time_of(key, value);
        let size = || value.parse::<Bytes>().map(|b| b.0).map_err(|e| format!("{key}: {e}"));
        match key {
            "ways" => match number()? {
                ways @ 1..=65_536 => self.ways = ways as usize,
                ways => return Err(format!("ways={ways} is not a number from 1 to 65536")),
            },
            "service" => self.service_ns = time()?.max(1),
            "spread" => self.spread = spread(value)?,
            "size" => self.size_bytes = size()?,
            "cache" => self.cache_bytes = size()?,
            "hit" => self.hit_ns = time()?.max(1),
            "cliff" => self.cliff = number()? as usize,
            "steep" => match number()? {
                steep @ 0..=1000 => self.steep = steep.max(1),
                steep => return Err(format!("steep={steep} is more than 1000")),
            },
            "drift" => match value.parse::<f64>() {
                Ok(percent) if (-100.0..=1000.0).contains(&percent) => self.drift_percent = percent,
                _ => return Err(format!("drift={value:?} is not from -100 to 1000 percent")),
            },
            "fail" => self.fail = number()?,
            "flush" => self.flush_ns = time()?.max(1),
            "stall" => self.stall.length_ns = time()?,
            "stall_at" => self.stall.at_ns = Some(time()?),
            "stall_every" => self.stall.every_ns = time()?,
            "slow" => match value.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor <= 1000.0 => self.slow_factor = factor,
                _ => return Err(format!("slow={value:?} is not a factor such as 1.5, up to 1000")),
            },
            "slow_at" => self.slow.at_ns = Some(time()?),
            "slow_for" => self.slow.length_ns = time()?,
            "slow_every" => self.slow.every_ns = time()?,
            _ => return Err(format!("a simulated device has no {key:?}; it has {WORDS}")),
        }
        let ends = [("stall", self.stall), ("slow", self.slow)];
        if let Some((name, _)) = ends.iter().find(|(_, e)| (1..PERIOD_LEAST_NS).contains(&e.every_ns)) {
            return Err(format!("{name}_every is less than 1 ms"));
        }
        match ends.iter().find(|(_, e)| e.every_ns > 0 && e.length_ns >= e.every_ns) {
            Some((name, _)) => Err(format!("{name}: an episode must be shorter than {name}_every")),
            None => Ok(()),
        }
    }

    /// Fixes what the words left to the seed.
    pub(super) fn begin(&mut self, random: &mut Xoshiro256Plus) {
        self.stall.begin(random);
        self.slow.begin(random);
    }

    /// When an operation that is begun at this moment is done, with so many outstanding.
    pub(super) fn ends_at(
        &self,
        operation: &Operation,
        begun_ns: u64,
        outstanding: usize,
        random: &mut Xoshiro256Plus,
    ) -> u64 {
        let mut left = self.service(operation, begun_ns, outstanding, random);
        let mut at = begun_ns;
        while let Some((stands, goes_on)) =
            self.stall.ends_after(at).filter(|(stands, _)| at + left > *stands)
        {
            left -= stands.saturating_sub(at);
            at = goes_on;
        }
        at + left
    }

    fn service(
        &self,
        operation: &Operation,
        now_ns: u64,
        outstanding: usize,
        random: &mut Xoshiro256Plus,
    ) -> u64 {
        if operation.verb == Verb::Sync {
            return self.flush_ns;
        }
        let hit = operation.offset + u64::from(operation.length) <= self.cache_bytes;
        let one = if hit { self.hit_ns } else { self.service_ns };
        let mut time = one.saturating_mul(u64::from(operation.length).div_ceil(1 << 16).max(1));
        if outstanding > self.cliff {
            time = time.saturating_mul(self.steep);
        }
        if operation.verb == Verb::Commit {
            time = time.saturating_add(self.flush_ns);
        }
        let slow = match self.slow.ends_after(now_ns) {
            Some((begins, _)) if begins <= now_ns => self.slow_factor,
            _ => 1.0,
        };
        let drift = 1.0 + self.drift_percent / 100.0 * now_ns as f64 / 60e9;
        ((time as f64 * drift * slow * self.spread.draw(random)) as u64).min(TIME_MOST_NS)
    }

    /// The longest that one operation of so many bytes can take, drift, spread and stalls apart.
    pub fn longest_ns(&self, length: Bytes) -> u64 {
        let parts = length.0.div_ceil(1 << 16).max(1);
        let one = self.service_ns.max(self.hit_ns).saturating_mul(parts).saturating_mul(self.steep);
        let slow = one as f64 * self.slow_factor.max(1.0);
        (slow as u64).saturating_add(self.flush_ns).min(TIME_MOST_NS)
    }
}

/// An operation takes an hour at most, with everything that makes it longer.
const TIME_MOST_NS: u64 = 3_600_000_000_000;
/// Episodes follow each other no faster.
const PERIOD_LEAST_NS: u64 = 1_000_000;

fn time_of(key: &str, value: &str) -> Result<u64, String> {
    let time: Nanos = value.parse().map_err(|e| format!("{key}: {e}"))?;
    match time.0 {
        ns if ns > TIME_MOST_NS => Err(format!("{key}={value} is more than an hour")),
        ns => Ok(ns),
    }
}

fn spread(value: &str) -> Result<Spread, String> {
    let wrong = || format!("spread={value:?} is not fixed, exponential or lognormal:0.8");
    match value.split_once(':') {
        None if value == "fixed" => Ok(Spread::Fixed),
        None if value == "exponential" => Ok(Spread::Exponential),
        None if value == "lognormal" => Ok(Spread::Lognormal(1.0)),
        Some(("lognormal", sigma)) => {
            let sigma = sigma.parse().ok().filter(|sigma| (0.0..=3.0).contains(sigma));
            sigma.map(Spread::Lognormal).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    const MS: u64 = 1_000_000;

    fn read() -> Operation {
        Operation { offset: 0, due_ns: 0, mark: 0, length: 4096, target: 0, verb: Verb::Read, cell: 0 }
    }

    fn ends(words: &str, begun: u64) -> u64 {
        let mut random = Xoshiro256Plus::seed_from_u64(1);
        words.parse::<Device>().unwrap().ends_at(&read(), begun, 1, &mut random)
    }

    #[test]
    fn a_device_that_stands_still_goes_on_where_it_was() {
        let words = "service=10ms,stall=100ms,stall_at=1s,stall_every=1s";
        let times = [0, 990, 995, 1000, 1050, 1100, 1995].map(|ms| ends(words, ms * MS) / MS);
        assert_eq!(times, [10, 1000, 1105, 1110, 1110, 1110, 2105]);
        let once = "service=3s,stall=1s,stall_at=2s";
        assert_eq!([ends(once, 0) / MS, ends(once, 3000 * MS) / MS], [4000, 6000]);
        // One that takes longer than the time between two of them stands still in both.
        assert_eq!(ends("service=1900ms,stall=100ms,stall_at=1s,stall_every=1s", 0) / MS, 2000);
        assert_eq!(ends("service=1901ms,stall=100ms,stall_at=1s,stall_every=1s", 0) / MS, 2101);
    }

    #[test]
    fn a_slow_phase_multiplies_what_begins_in_it() {
        let words = "service=10ms,slow=1.5,slow_at=1s,slow_for=200ms,slow_every=1s";
        let took = [0, 999, 1000, 1199, 1200, 2100].map(|ms| (ends(words, ms * MS) - ms * MS) / MS);
        assert_eq!(took, [10, 10, 15, 15, 10, 15]);
    }

    #[test]
    fn service_times_have_the_mean_and_the_deviation_of_their_spread() {
        let moments = |words: &str| {
            let device: Device = words.parse().unwrap();
            let mut random = Xoshiro256Plus::seed_from_u64(7);
            let times: Vec<f64> =
                (0..200_000).map(|_| device.ends_at(&read(), 0, 1, &mut random) as f64 / 1e6).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let squares = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / times.len() as f64;
            (mean, squares.sqrt())
        };
        let near = |(mean, deviation): (f64, f64), wanted: f64| {
            assert!((mean - 10.0).abs() < 0.1 && (deviation - wanted).abs() < 0.2, "{mean} {deviation}");
        };
        near(moments("service=10ms"), 0.0);
        near(moments("service=10ms,spread=exponential"), 10.0);
        near(moments("service=10ms,spread=lognormal:0.5"), 10.0 * (0.25_f64.exp() - 1.0).sqrt());
    }

    #[test]
    fn words_that_mean_nothing_are_refused_by_name() {
        for words in ["spread=normal", "spread=lognormal:9", "slow=0", "stall=2s,stall_every=1s", "colour=1"]
        {
            assert!(words.parse::<Device>().is_err(), "{words}");
        }
    }
}
