//! How long the next operation is.

use super::refuse;
use super::uniform::below;
use fathom_record::ExecuteError;
use fathom_spec::{Sizes, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::RngCore;

/// Lengths of operations, bytes.
#[derive(Clone, Debug)]
pub(crate) enum Lengths {
    /// Always the same.
    One(u32),
    /// Any multiple of `least`, up to so many of it.
    Range { least: u32, multiples: u64 },
    /// Any number of bytes from `least` on, so many of them.
    Any { least: u32, count: u64 },
    /// By weight, for each verb its own.
    Split(Vec<(Verb, u32, u64)>),
}

impl Lengths {
    /// What the plan says. `exact`: each length must be a multiple of `step`, the bytes from one block to the next.
    pub(crate) fn of(sizes: &Sizes, step: u64, exact: bool) -> Result<Self, ExecuteError> {
        let length = |bytes: u64| match u32::try_from(bytes) {
            Ok(length) if length > 0 && length <= i32::MAX as u32 => Ok(length),
            _ => Err(refuse("operations of no bytes, or of 2 GiB and more")),
        };
        match sizes {
            Sizes::One(size) => Ok(Lengths::One(length(size.0)?)),
            Sizes::Range(least, most) if most.0 >= least.0 && least.0.is_multiple_of(step) => {
                length(most.0)?;
                Ok(Lengths::Range { least: length(least.0)?, multiples: most.0 / least.0.max(1) })
            }
            Sizes::Any(least, most) if most.0 >= least.0 => {
                length(most.0)?;
                Ok(Lengths::Any { least: length(least.0)?, count: most.0 - least.0 + 1 })
            }
            Sizes::Split(parts) if !exact || parts.iter().all(|part| part.1.0.is_multiple_of(step)) => {
                let parts =
                    parts.iter().map(|(verb, size, weight)| Ok((*verb, length(size.0)?, u64::from(*weight))));
                Ok(Lengths::Split(parts.collect::<Result<_, ExecuteError>>()?))
            }
            _ => Err(refuse("sizes that are no multiples of the smallest, or of the alignment")),
        }
    }

    /// Is it the same for all?
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Lengths::One(_))
    }

    /// The smallest of a verb's.
    pub(crate) fn least(&self, verb: Verb) -> u64 {
        match self {
            Lengths::One(length) => u64::from(*length),
            Lengths::Range { least, .. } | Lengths::Any { least, .. } => u64::from(*least),
            Lengths::Split(parts) => {
                let own = parts.iter().filter(|part| part.0 == verb && part.2 > 0).map(|part| part.1).min();
                own.or_else(|| parts.iter().map(|part| part.1).min()).map_or(1, u64::from)
            }
        }
    }

    /// The length of the next operation. A verb without a size of its own takes any.
    #[inline]
    pub(crate) fn draw(&self, verb: Verb, random: &mut Xoshiro256Plus) -> u32 {
        match self {
            Lengths::One(length) => *length,
            Lengths::Range { least, multiples } => least * (1 + below(random.next_u64(), *multiples)) as u32,
            Lengths::Any { least, count } => least + below(random.next_u64(), *count) as u32,
            Lengths::Split(parts) => {
                let own = parts.iter().any(|part| part.0 == verb && part.2 > 0);
                let mine = |part: &&(Verb, u32, u64)| !own || part.0 == verb;
                let total: u64 = parts.iter().filter(mine).map(|part| part.2).sum();
                let mut at = below(random.next_u64(), total.max(1));
                for part in parts.iter().filter(mine) {
                    if at < part.2 {
                        return part.1;
                    }
                    at -= part.2;
                }
                parts.first().map_or(0, |part| part.1)
            }
        }
    }
}
