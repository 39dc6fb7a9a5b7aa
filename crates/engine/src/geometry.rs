//! Where a block of an address space lies: which target, which byte.

use fathom_record::ExecuteError;
use fathom_spec::{Bytes, Space};

/// An address space over open targets, and the part of it that is used.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// How the targets make one space.
    pub space: Space,
    /// Sizes of all targets of the plan, bytes.
    pub sizes: Vec<u64>,
    /// First byte of the region.
    pub start: u64,
    /// Its length, bytes.
    pub length: u64,
    /// What direct I/O asks of offsets and lengths.
    pub align: u64,
}

impl Geometry {
    /// Bytes of a space.
    pub fn length_of(space: &Space, sizes: &[u64]) -> u64 {
        let size = |id: &fathom_spec::TargetId| sizes.get(id.0 as usize).copied().unwrap_or(0);
        match space {
            Space::Whole(target) => size(target),
            Space::Concat(over) => over.iter().map(size).sum(),
            // A region lies in each of them.
            Space::Picked { over, .. } => over.iter().map(size).min().unwrap_or(0),
            Space::Striped { over, depth } => {
                let shortest = over.iter().map(size).min().unwrap_or(0);
                shortest / depth.0.max(1) * depth.0.max(1) * over.len() as u64
            }
        }
    }

    /// The part of the region on each of its targets.
    pub(crate) fn parts(&self) -> Vec<Geometry> {
        let parts = self.space.members().iter().copied().zip(self.stretches());
        let part = |(target, (start, length))| Geometry {
            space: Space::Whole(target),
            sizes: self.sizes.clone(),
            start,
            length,
            align: self.align,
        };
        parts.filter(|(_, (_, length))| *length > 0).map(part).collect()
    }

    /// Of each target: the region's first byte on it, and how many bytes lie there.
    fn stretches(&self) -> Vec<(u64, u64)> {
        let (mut at, end) = (0u64, self.start + self.length);
        let each = matches!(self.space, Space::Picked { .. });
        let one = |target: fathom_spec::TargetId| {
            let size = self.sizes.get(target.0 as usize).copied().unwrap_or(0);
            let (from, to) = (self.start.max(at), end.min(at + size));
            let stretch = (from.saturating_sub(at), to.saturating_sub(from));
            at += if each { 0 } else { size };
            stretch
        };
        self.space.members().iter().copied().map(one).collect()
    }

    /// The region as blocks of one size, of which none crosses a target's end or a stripe's.
    pub(crate) fn grid(&self, size: u64, align: u64) -> Result<Grid, ExecuteError> {
        let step = if align == 0 { size } else { align };
        let bad = |what: String, hint: &str| Err(ExecuteError::Plan { what, hint: hint.to_owned() });
        if step == 0 || !step.is_multiple_of(self.align) || !size.is_multiple_of(self.align) {
            return bad(
                format!(
                    "blocks of {} at multiples of {} do not fit the device's {} ",
                    Bytes(size),
                    Bytes(step),
                    Bytes(self.align)
                ),
                "direct I/O needs sizes and offsets that are multiples of the device's logical block",
            );
        }
        let one = |target: u16, start: u64, length: u64| Piece {
            target,
            start,
            blocks: blocks_in(length, size, step),
            first: 0,
        };
        let mut pieces = match &self.space {
            Space::Whole(target) => {
                let from = self.start.next_multiple_of(self.align);
                vec![one(target.0 as u16, from, self.length.saturating_sub(from - self.start))]
            }
            Space::Concat(_) | Space::Picked { .. } => self.pieces(one),
            Space::Striped { over, depth } => {
                if !depth.0.is_multiple_of(size) || step != size || !self.start.is_multiple_of(step) {
                    return bad(
                        format!("blocks of {} do not fit stripes of {}", Bytes(size), depth),
                        "use a stripe depth that is a multiple of the block size",
                    );
                }
                return Ok(Grid {
                    size,
                    step,
                    pieces: over.iter().map(|t| one(t.0 as u16, 0, 0)).collect(),
                    stripe: Some((depth.0 / step, self.start / step)),
                    blocks: self.length / step,
                });
            }
        };
        let mut first = 0;
        for piece in &mut pieces {
            piece.first = first;
            first += piece.blocks;
        }
        Ok(Grid { size, step, pieces, stripe: None, blocks: first })
    }

    /// The stretches on several targets, from where the device allows.
    fn pieces(&self, one: impl Fn(u16, u64, u64) -> Piece) -> Vec<Piece> {
        let over = self.space.members().iter().copied().zip(self.stretches());
        let piece = |(target, (from, length)): (fathom_spec::TargetId, (u64, u64))| {
            let start = from.next_multiple_of(self.align);
            one(target.0 as u16, start, length.saturating_sub(start - from))
        };
        over.filter(|(_, (_, length))| *length > 0).map(piece).collect()
    }
}

fn blocks_in(length: u64, size: u64, step: u64) -> u64 {
    if length < size { 0 } else { (length - size) / step + 1 }
}

/// A run of blocks on one target.
#[derive(Clone, Copy, Debug)]
struct Piece {
    target: u16,
    start: u64,
    blocks: u64,
    first: u64,
}

/// A region as numbered blocks.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Bytes of an operation.
    pub(crate) size: u64,
    /// Bytes from one block to the next.
    pub(crate) step: u64,
    pieces: Vec<Piece>,
    /// Blocks in a stripe, and the number of the region's first block.
    stripe: Option<(u64, u64)>,
    blocks: u64,
}

impl Grid {
    /// How many blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Target and first byte, when the region lies on one target.
    pub(crate) fn one_target(&self) -> Option<(u16, u64)> {
        match (&self.pieces[..], self.stripe) {
            ([piece], None) => Some((piece.target, piece.start)),
            _ => None,
        }
    }

    /// The targets, in order.
    pub(crate) fn targets(&self) -> impl DoubleEndedIterator<Item = u16> + ExactSizeIterator + '_ {
        self.pieces.iter().map(|piece| piece.target)
    }

    /// Bytes from a block's start to the end of its piece, or of its stripe, or of the region.
    pub(crate) fn room(&self, block: u64) -> u64 {
        let blocks = match (self.stripe, &self.pieces[..]) {
            (Some((per_stripe, first)), _) => {
                (per_stripe - (block + first) % per_stripe).min(self.blocks - block)
            }
            (None, pieces) => {
                let piece = &pieces[pieces.partition_point(|p| p.first <= block).saturating_sub(1)];
                piece.first + piece.blocks - block
            }
        };
        (blocks - 1) * self.step + self.size
    }

    /// Target and first byte of a block.
    #[inline]
    pub(crate) fn place(&self, block: u64) -> (u16, u64) {
        if let Some((per_stripe, first)) = self.stripe {
            let block = block + first;
            let (stripe, inside) = (block / per_stripe, block % per_stripe);
            let count = self.pieces.len() as u64;
            let target = self.pieces[(stripe % count) as usize].target;
            return (target, ((stripe / count) * per_stripe + inside) * self.step);
        }
        let piece = match &self.pieces[..] {
            [piece] => piece,
            pieces => &pieces[pieces.partition_point(|p| p.first <= block).saturating_sub(1)],
        };
        (piece.target, piece.start + (block - piece.first) * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::TargetId;

    fn geometry(space: Space, sizes: &[u64], start: u64, length: u64) -> Geometry {
        Geometry { space, sizes: sizes.to_vec(), start, length, align: 512 }
    }

    #[test]
    fn no_block_crosses_the_end_of_a_target() {
        let space = Space::Concat(vec![TargetId(0), TargetId(1)]);
        let grid = geometry(space, &[10_240, 20_480], 0, 30_720).grid(8192, 0).unwrap();
        let places: Vec<_> = (0..grid.blocks()).map(|b| grid.place(b)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (1, 8192)]);
    }

    #[test]
    fn stripes_go_round_the_members() {
        let space = Space::Striped { over: vec![TargetId(0), TargetId(1)], depth: Bytes(16_384) };
        let grid = geometry(space, &[65_536, 65_536], 0, 131_072).grid(8192, 0).unwrap();
        let places: Vec<_> = (0..6).map(|b| grid.place(b)).collect();
        assert_eq!(places, [(0, 0), (0, 8192), (1, 0), (1, 8192), (0, 16_384), (0, 24_576)]);
        assert_eq!(grid.blocks(), 16);
    }

    #[test]
    fn a_block_that_direct_io_cannot_take_is_refused() {
        assert!(geometry(Space::Whole(TargetId(0)), &[1 << 20], 0, 1 << 20).grid(1000, 0).is_err());
    }
}
