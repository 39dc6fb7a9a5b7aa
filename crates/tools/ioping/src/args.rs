//! ioping's options: their letters and long names, and what they mean together.

use crate::UsageError;
use crate::getopt::{Definition, Item, Value, Words};
use crate::number::{self, COUNT_MOST, COUNTS, LONG_MOST, RATE_MOST, SIZES, TIMES};
use crate::stamp::StampFormat;
use fathom_spec::{Bytes, Durability, KIB, MIB, Nanos};
use std::ffi::OsString;

/// The most that one read or write of Linux moves.
pub const REQUEST_MOST: Bytes = Bytes(0x7fff_f000);

/// What the words ask for.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// To measure.
    Measure(Box<Options>),
    /// [`crate::USAGE`] on stdout, and status 0.
    Help,
    /// [`crate::VERSION`] on stdout, and status 0.
    Version,
    /// There are no words: [`crate::USAGE`] on stdout, and status 1.
    NoWords,
}

/// Which requests are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operations {
    /// Reads.
    #[default]
    Read,
    /// Writes (`-W`).
    Write,
    /// A write, then a read, in turn (`-G`).
    Alternate,
}

/// What was asked for, with ioping's defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The directory, file or device.
    pub target: String,
    /// `-a`: first requests that do not count.
    pub warmup: u64,
    /// `-b`: requests without a pause between them; 0 and 1 differ in what is printed only.
    pub burst: u64,
    /// `-c`.
    pub count: Option<u64>,
    /// `-e`: the seed; none: another each time.
    pub seed: Option<u64>,
    /// `-i`, `-l`, `-r`: from the start of a request to that of the next.
    pub interval: Nanos,
    /// `-t`: what is faster does not count.
    pub time_min: Nanos,
    /// `-T`: what is slower does not count.
    pub time_max: Option<Nanos>,
    /// `-s`.
    pub size: Bytes,
    /// `-S`; none: 1 MiB in a directory (64 MiB with `-R`), all of a file or a device.
    pub work_size: Option<Bytes>,
    /// `-o`.
    pub work_offset: Bytes,
    /// `-w`: no request begins later.
    pub work_time: Option<Nanos>,
    /// `-p`: raw statistics whenever so many requests count.
    pub print_count: Option<u64>,
    /// `-P`: raw statistics whenever so long has passed.
    pub print_interval: Option<Nanos>,
    /// `-W`, `-G`.
    pub operations: Operations,
    /// How often `-W` and `-G` were said: three of them consent to the loss of what a file or a device holds.
    pub write_consents: u32,
    /// `-A`: Linux AIO.
    pub asynchronous: bool,
    /// `-C`: the page cache is left alone.
    pub cached: bool,
    /// `-D`: O_DIRECT.
    pub direct: bool,
    /// `-N`: RWF_NOWAIT.
    pub nowait: bool,
    /// `-H`: RWF_HIPRI.
    pub high_priority: bool,
    /// `-Y`, `-y`.
    pub durability: Durability,
    /// `-R`: its defaults are filled in, of the other options too.
    pub rapid: bool,
    /// `-L`.
    pub linear: bool,
    /// `-k`: the working file keeps its name and stays.
    pub keep: bool,
    /// `-B`.
    pub batch: bool,
    /// `-J`.
    pub json: bool,
    /// `-q`, and what `-R` implies.
    pub quiet: bool,
    /// `-I`.
    pub stamp: Option<StampFormat>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            target: String::new(),
            warmup: 1,
            burst: 0,
            count: None,
            seed: None,
            interval: Nanos::from_seconds(1),
            time_min: Nanos(0),
            time_max: None,
            size: Bytes(4 * KIB),
            work_size: None,
            work_offset: Bytes(0),
            work_time: None,
            print_count: None,
            print_interval: None,
            operations: Operations::Read,
            write_consents: 0,
            asynchronous: false,
            cached: false,
            direct: false,
            nowait: false,
            high_priority: false,
            durability: Durability::None,
            rapid: false,
            linear: false,
            keep: false,
            batch: false,
            json: false,
            quiet: false,
            stamp: None,
        }
    }
}

impl Options {
    /// Does the `number`-th request, counted from 1, write?
    pub fn writes(&self, number: u64) -> bool {
        match self.operations {
            Operations::Read => false,
            Operations::Write => true,
            Operations::Alternate => !number.is_multiple_of(2),
        }
    }

    /// From the start of the `number`-th request to that of the next: nothing within a burst.
    pub fn gap(&self, number: u64) -> Nanos {
        if self.burst > 0 && !number.is_multiple_of(self.burst) { Nanos(0) } else { self.interval }
    }

    /// Is there a line, or an element of JSON, for each request?
    pub fn tells_requests(&self) -> bool {
        !self.quiet && !self.batch
    }

    /// What ioping says on stderr before it looks at the target, and goes on.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.size > REQUEST_MOST {
            warnings.push(format!("this platform supports requests {} bytes at most", REQUEST_MOST.0));
        }
        if self.nowait && !self.cached && !self.direct {
            warnings.push("nowait without cached or direct I/O is supposed to fail".to_owned());
        }
        warnings
    }
}

/// All options, those with a common beginning in the order in which ioping names them.
const DEFINITIONS: &[Definition] = &{
    const fn option(short: char, long: &'static str, value: Value) -> Definition {
        Definition { short, long, value }
    }
    use Value::{None, Optional, Required};
    [
        option('h', "help", None),
        option('v', "version", None),
        option('k', "keep", None),
        option('q', "quiet", None),
        option('B', "batch", None),
        option('J', "json", None),
        option('I', "time", Optional),
        option('R', "rapid", None),
        option('L', "linear", None),
        option('A', "async", None),
        option('C', "cached", None),
        option('D', "direct", None),
        option('Y', "sync", None),
        option('y', "dsync", None),
        option('N', "nowait", None),
        option('H', "hipri", None),
        option('W', "write", None),
        option('G', "read-write", None),
        option('s', "size", Required),
        option('S', "work-size", Required),
        option('o', "work-offset", Required),
        option('w', "work-time", Required),
        option('a', "warmup", Required),
        option('b', "burst", Required),
        option('c', "count", Required),
        option('e', "entropy", Required),
        option('i', "interval", Required),
        option('l', "speed-limit", Required),
        option('r', "rate-limit", Required),
        option('t', "min-time", Required),
        option('T', "max-time", Required),
        option('p', "print-count", Required),
        option('P', "print-interval", Required),
    ]
};

/// What was said, where a default depends on other options.
#[derive(Default)]
struct Said {
    options: Options,
    size: u64,
    interval: Option<Nanos>,
    speed: Option<f64>,
    rate: Option<f64>,
    work_time: Option<Nanos>,
}

/// Reads the words behind the program's name.
pub fn parse(words: &[OsString]) -> Result<Invocation, UsageError> {
    if words.is_empty() {
        return Ok(Invocation::NoWords);
    }
    let text = |word: &'_ OsString| UsageError::Encoding(word.clone());
    let words: Vec<&str> =
        words.iter().map(|word| word.to_str().ok_or_else(|| text(word))).collect::<Result<_, _>>()?;
    let mut words = Words::new(DEFINITIONS, words);
    let mut said = Said::default();
    let mut targets = Vec::new();
    while let Some(item) = words.next()? {
        match item {
            Item::Operand(target) => targets.push(target),
            Item::Option('h', _) => return Ok(Invocation::Help),
            Item::Option('v', _) => return Ok(Invocation::Version),
            Item::Option('I', format) => said.options.stamp = Some(StampFormat::of(format.as_deref())?),
            Item::Option(letter, Some(value)) => said.set(letter, &value)?,
            Item::Option(letter, None) => said.flag(letter),
        }
    }
    let target = targets.pop().ok_or(UsageError::NoTarget)?;
    if !targets.is_empty() {
        return Err(UsageError::Targets);
    }
    Ok(Invocation::Measure(Box::new(said.resolve(target))))
}

impl Said {
    fn flag(&mut self, letter: char) {
        let options = &mut self.options;
        match letter {
            'A' => options.asynchronous = true,
            'B' => options.batch = true,
            'C' => options.cached = true,
            'D' => options.direct = true,
            'H' => options.high_priority = true,
            'J' => options.json = true,
            'L' => options.linear = true,
            'N' => options.nowait = true,
            'R' => options.rapid = true,
            'Y' => options.durability = Durability::Full,
            // O_SYNC has O_DSYNC in it.
            'y' if options.durability == Durability::None => options.durability = Durability::Data,
            'k' => options.keep = true,
            'q' => options.quiet = true,
            'G' => {
                options.operations = Operations::Alternate;
                options.write_consents += 1;
            }
            'W' => {
                if options.operations == Operations::Read {
                    options.operations = Operations::Write;
                }
                options.write_consents += 1;
            }
            _ => {}
        }
    }

    fn set(&mut self, letter: char, value: &str) -> Result<(), UsageError> {
        let count = || number::whole(value, COUNTS, COUNT_MOST);
        let size = || number::whole(value, SIZES, LONG_MOST);
        let time = || number::whole(value, TIMES, LONG_MOST).map(Nanos);
        let unless_zero = |number: u64| (number > 0).then_some(number);
        let options = &mut self.options;
        match letter {
            'a' => options.warmup = count()?,
            'b' => options.burst = count()?,
            'c' => options.count = unless_zero(count()?),
            'e' => options.seed = unless_zero(number::seed(value)),
            'i' => self.interval = Some(time()?),
            'l' => self.speed = Some(number::fractional(value, SIZES, LONG_MOST)?.trunc()),
            'o' => options.work_offset = Bytes(size()?),
            'p' => options.print_count = unless_zero(count()?),
            'P' => options.print_interval = unless_zero(time()?.0).map(Nanos),
            'r' => self.rate = Some(number::fractional(value, COUNTS, RATE_MOST)?),
            's' => self.size = size()?,
            'S' => options.work_size = unless_zero(size()?).map(Bytes),
            't' => options.time_min = time()?,
            'T' => options.time_max = Some(time()?),
            'w' => self.work_time = Some(time()?),
            _ => {}
        }
        Ok(())
    }

    fn resolve(self, target: String) -> Options {
        let Said { mut options, size, interval, speed, rate, work_time } = self;
        options.target = target;
        options.size = match (size, options.linear) {
            (0, true) => Bytes(256 * KIB),
            (0, false) => Bytes(4 * KIB),
            (size, _) => Bytes(size),
        };
        let limited = speed.is_some() || rate.is_some();
        let own = if options.rapid || limited { Nanos(0) } else { Nanos::from_seconds(1) };
        let positive = |limit: &f64| *limit > 0.0;
        let by_speed = speed.filter(positive).map(|speed| 1e9 * options.size.0 as f64 / speed);
        let by_rate = rate.filter(positive).map(|rate| 1e9 / rate);
        let gaps = [by_speed, by_rate].into_iter().flatten().map(|gap_ns| Nanos(gap_ns as u64));
        options.interval = gaps.fold(interval.unwrap_or(own), Nanos::max);
        let rapid_time = options.rapid.then_some(Nanos::from_seconds(3));
        options.work_time = work_time.or(rapid_time).filter(|time| time.0 > 0);
        options.quiet |= options.rapid;
        options
    }
}

/// The working set of a directory for which none was asked: at least one request.
pub(crate) fn directory_work_size(options: &Options) -> Bytes {
    let usual = if options.rapid { Bytes(64 * MIB) } else { Bytes(MIB) };
    options.work_size.unwrap_or(usual.max(options.size))
}

#[cfg(test)]
mod tests;
