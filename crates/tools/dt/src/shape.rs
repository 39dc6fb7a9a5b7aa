//! The shape of a test: sizes of records, direction, shares of reads and of random places, and who takes part.

use super::error::{OptionError, wrong};
use super::number::Numbers;

/// How the size of a record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increment {
    /// By so many bytes, from `min=` to `max=` and round again.
    By(u64),
    /// Drawn anew for each record.
    Variable,
}

/// A share of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percent {
    /// So many of a hundred.
    Of(u8),
    /// Drawn from the seed.
    Any,
}

impl Percent {
    /// Of a hundred.
    pub fn value(self, seed: u64) -> u8 {
        match self {
            Percent::Of(percent) => percent,
            Percent::Any => (drawn(seed) % 101) as u8,
        }
    }
}

/// A number below 2^31 that looks random and follows from a seed: one step of SplitMix64.
pub(super) fn drawn(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed >> 33
}

/// What is done with two files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One of them: `of=` is written and read, `if=` is read.
    #[default]
    Test,
    /// `if=` is copied to `of=`, and then both are compared.
    Copy,
    /// `if=` and `of=` are compared.
    Verify,
    /// `of=` is written, `if=` is read: two sides of one mirror.
    Mirror,
}

/// How records look and in which order they come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// `ibs=`: bytes of a read.
    pub read_record: Option<u64>,
    /// `obs=`: bytes of a write.
    pub write_record: Option<u64>,
    /// `min=`.
    pub least: Option<u64>,
    /// `max=`.
    pub most: Option<u64>,
    /// `incr=`.
    pub increment: Option<Increment>,
    /// `iodir=reverse`.
    pub reverse: bool,
    /// `iodir=vary`: each pass draws its direction.
    pub varies_direction: bool,
    /// `iotype=vary`: each pass draws whether its places are random.
    pub varies_type: bool,
    /// `ralign=`.
    pub random_align: Option<u64>,
    /// `rlimit=`.
    pub random_within: Option<u64>,
    /// `readp=`.
    pub reads: Option<Percent>,
    /// `rrandp=`, or `randp=`.
    pub random_reads: Option<Percent>,
    /// `wrandp=`, or `randp=`.
    pub random_writes: Option<Percent>,
    /// `enable=raw`: each write is read again at once.
    pub raw: bool,
    /// `enable=reread`: and everything again in a pass of its own.
    pub reread: bool,
    /// `align=`: bytes of a buffer behind the start of a page.
    pub buffer_offset: u32,
    /// `align=rotate`: buffers begin 0 to 7 bytes behind it, each record's one further than the last one's.
    pub buffers_turn: bool,
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crew {
    /// `threads=`, each on a file of its own.
    pub threads: u32,
    /// `slices=`, each on its part of one file.
    pub slices: u32,
    /// `slice=`: only this one of them.
    pub slice: Option<u32>,
    /// Which one this is, from 1.
    pub thread: u32,
}

impl Default for Crew {
    fn default() -> Self {
        Crew { threads: 1, slices: 0, slice: None, thread: 1 }
    }
}

/// Sizes of the records of one half of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// The smallest, bytes.
    pub least: u64,
    /// The largest, bytes.
    pub most: u64,
    /// How they change, if they do.
    pub increment: Option<Increment>,
}

impl Records {
    /// All of one size.
    pub fn one(bytes: u64) -> Self {
        Records { least: bytes, most: bytes, increment: None }
    }

    /// As the statistics name them.
    pub fn text(&self) -> String {
        let Records { least, most, increment } = self;
        match increment {
            None => format!("@ {most} bytes/record ({:.3} Kbytes)", *most as f64 / 1024.0),
            Some(Increment::By(step)) => format!("with min={least}, max={most}, incr={step}"),
            Some(Increment::Variable) => format!("with min={least}, max={most}, incr=variable"),
        }
    }

    /// As options say them.
    pub fn words(&self) -> String {
        let Records { least, most, increment } = self;
        match increment {
            None => format!("bs={most}"),
            Some(Increment::By(step)) => format!("min={least} max={most} incr={step}"),
            Some(Increment::Variable) => format!("min={least} max={most} incr=variable"),
        }
    }
}

impl Shape {
    /// Takes an option, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &str, numbers: Numbers) -> Result<bool, OptionError> {
        let count = || numbers.value(value).ok_or_else(|| wrong(name, value, "a number such as 64k or 0x10"));
        let bytes = || match count()? {
            0 => Err(wrong(name, value, "more than nothing")),
            bytes => Ok(bytes),
        };
        match name {
            "ibs" => self.read_record = Some(bytes()?),
            "obs" => self.write_record = Some(bytes()?),
            "min" => self.least = Some(bytes()?),
            "max" => self.most = Some(bytes()?),
            "incr" if value.starts_with("var") => self.increment = Some(Increment::Variable),
            "incr" => self.increment = Some(Increment::By(bytes()?)),
            "ralign" => self.random_align = Some(bytes()?),
            "rlimit" => self.random_within = Some(bytes()?),
            "readp" => self.reads = Some(percent(name, value)?),
            "randp" => {
                self.random_reads = Some(percent(name, value)?);
                self.random_writes = self.random_reads;
            }
            "rrandp" => self.random_reads = Some(percent(name, value)?),
            "wrandp" => self.random_writes = Some(percent(name, value)?),
            "align" if value == "rotate" => self.buffers_turn = true,
            "align" => match count()? {
                offset @ 0..4096 => self.buffer_offset = offset as u32,
                _ => return Err(wrong(name, value, "less than 4096 bytes behind the start of a page")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `bs=random`: the size of each record is drawn, from a block to 1 MiB.
    pub(super) fn draw_sizes(&mut self, block: u64) {
        (self.least, self.most) = (Some(block), Some((1 << 20).max(block)));
        self.increment = Some(Increment::Variable);
    }

    /// Does the size of records change?
    pub fn varies(&self) -> bool {
        self.least.is_some() || self.most.is_some() || self.increment.is_some()
    }
}

fn percent(name: &str, value: &str) -> Result<Percent, OptionError> {
    match value {
        "random" | "-1" => Ok(Percent::Any),
        _ => match value.parse::<u8>() {
            Ok(percent) if percent <= 100 => Ok(Percent::Of(percent)),
            _ => Err(wrong(name, value, "0 to 100, or random")),
        },
    }
}

impl Crew {
    /// Takes an option, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &str, numbers: Numbers) -> Result<bool, OptionError> {
        let number = || match numbers.value(value) {
            Some(number @ 1..=256) => Ok(number as u32),
            _ => Err(wrong(name, value, "1 to 256")),
        };
        match name {
            "threads" | "procs" => self.threads = number()?,
            "slices" => self.slices = number()?,
            "slice" => self.slice = Some(number()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_share_comes_from_the_seed() {
        assert_eq!(Percent::Any.value(7), Percent::Any.value(7));
        let values: std::collections::BTreeSet<u8> = (0..64).map(|seed| Percent::Any.value(seed)).collect();
        assert!(values.len() > 30 && values.iter().all(|value| *value <= 100));
        assert_eq!(Percent::Of(30).value(7), 30);
    }
}
