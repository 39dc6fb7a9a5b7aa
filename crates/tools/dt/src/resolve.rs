//! What typed options mean together: which file, which sizes, from where, who takes part, and what does not go together.

use super::error::OptionError;
use super::options::Options;
use super::shape::{Increment, Mode, Records, Shape, drawn};

impl Options {
    /// The target's name.
    pub fn name(&self) -> &str {
        self.output.as_deref().or(self.input.as_deref()).unwrap_or_default()
    }

    /// Is it written with test data?
    pub fn writes(&self) -> bool {
        matches!(self.mode, Mode::Test | Mode::Mirror) && self.output.is_some()
    }

    /// Is the output changed at all?
    pub fn changes(&self) -> bool {
        self.output.is_some() && self.mode != Mode::Verify
    }

    /// Two files: one is the other's copy.
    pub fn pairs(&self) -> bool {
        matches!(self.mode, Mode::Copy | Mode::Verify)
    }

    /// The file that is read and compared.
    pub fn reads_from(&self) -> &str {
        match (self.mode, &self.input) {
            (Mode::Mirror, Some(input)) => input,
            _ => self.name(),
        }
    }

    /// Sizes of the records that are written, or read.
    pub fn records_of(&self, writes: bool) -> Records {
        let Shape { read_record, write_record, least, most, increment, .. } = &self.shape;
        if self.shape.varies() {
            return Records {
                least: least.unwrap_or(self.block),
                most: most.unwrap_or(self.record),
                increment: Some(increment.unwrap_or(Increment::By(self.block))),
            };
        }
        let own = if writes { write_record } else { read_record };
        Records::one(own.unwrap_or(self.record))
    }

    /// The largest record there is.
    pub fn largest(&self) -> u64 {
        self.records_of(true).most.max(self.records_of(false).most)
    }

    /// First byte of the first record.
    pub fn start(&self) -> u64 {
        let reads = self.input.is_some() && self.mode != Mode::Mirror;
        // In dt skip= belongs to the input and seek= to the output; with one file both mean the same.
        let records = if self.pairs() { self.skip } else { self.skip.max(self.seek) };
        self.position.saturating_add(records.saturating_mul(self.records_of(!reads).most))
    }

    /// First byte of the first record in the copy.
    pub fn second_start(&self) -> u64 {
        let position = self.output_position.unwrap_or(self.position);
        position.saturating_add(self.seek.saturating_mul(self.records_of(true).most))
    }

    /// The limit that is drawn, where one is: whole blocks within its bounds.
    pub(super) fn drawn_limit(&self) -> Option<u64> {
        let (least, most) = self.limits?;
        let (first, last) = (least.div_ceil(self.block).max(1), most / self.block);
        Some((first + drawn(self.random_seed) % (last + 1 - first)) * self.block)
    }

    /// The test as a pass does it, whose direction and places may be drawn.
    pub fn of_pass(&self, pass: u64) -> Options {
        let mut own = self.clone();
        // Two bits of one number, which the sizes and places of records do not come from.
        let bits = drawn(self.random_seed.wrapping_mul(31).wrapping_add(pass)) >> 8;
        if self.shape.varies_direction {
            own.shape.reverse = bits & 1 == 1;
        }
        if self.shape.varies_type {
            own.random = bits & 2 == 2;
        }
        own
    }

    /// The tests of this one's threads, each with its number, its file and its part of the data, which has `length` bytes.
    pub fn crew_of(&self, length: u64) -> Vec<Options> {
        let (threads, slices) = (self.crew.threads, self.crew.slices);
        let made = |thread: u32| {
            let mut own = self.clone();
            own.crew.thread = thread;
            own.random_seed = self.random_seed.wrapping_add(u64::from(thread) - 1);
            own
        };
        if slices > 1 {
            let each = length / u64::from(slices) / self.block * self.block;
            let which = (1..=slices).filter(|slice| self.crew.slice.is_none_or(|only| only == *slice));
            let of_slice = |slice: u32| {
                let mut own = made(slice);
                let before = each * (u64::from(slice) - 1);
                own.position = self.start() + before;
                (own.skip, own.seek) = (0, 0);
                own.limit = Some(if slice == slices { length - before } else { each });
                own
            };
            return which.map(of_slice).collect();
        }
        let of_thread = |thread: u32| {
            let mut own = made(thread);
            own.limit = own.drawn_limit().or(own.limit);
            if threads > 1
                && let Some(output) = own.output.as_mut().filter(|name| !name.starts_with("/dev/"))
            {
                *output += &format!("-j1t{thread}");
            }
            own
        };
        (1..=threads).map(of_thread).collect()
    }
}

/// Says what does not go together.
pub(super) fn together(options: &Options) -> Result<(), OptionError> {
    let say = |text: &str| Err(OptionError::Together(text.to_owned()));
    match (&options.output, &options.input, options.mode) {
        (None, None, _) => return say("You must specify an input file (if=) or an output file (of=)."),
        (Some(_), Some(_), Mode::Test) => return say("Only one of if= and of= may be given (iomode=test)."),
        (Some(_), Some(_), _) | (_, _, Mode::Test) => {}
        _ => return say("iomode=copy, verify and mirror need both if= and of=."),
    }
    if options.record == 0 || options.block == 0 || options.passes == 0 {
        return say("bs=, dsize= and passes= must be greater than zero.");
    }
    let sizes = [options.records_of(true), options.records_of(false)];
    if options.largest() > u64::from(u32::MAX) / 2 || options.block > 1 << 20 {
        return say("A record may have 2 GiB at most (bs=), a block 1 MiB (dsize=).");
    }
    for Records { least, most, increment } in sizes {
        let step = match increment {
            Some(Increment::By(step)) => step,
            _ => options.block,
        };
        if least > most {
            return say("The smallest record (min=) must not be larger than the largest (max=, or bs=).");
        }
        if [least, most, step].iter().any(|size| !size.is_multiple_of(options.block)) {
            return say("The record size (bs=) must be a multiple of the block size (dsize=).");
        }
    }
    if let Some((least, most)) = options.limits
        && (least > most || most < options.block || least.div_ceil(options.block) > most / options.block)
    {
        return say("Between min_limit= and max_limit= there must be a whole block (dsize=).");
    }
    if (options.fill.always || options.fill.word.is_some()) && (!options.writes() || options.pairs()) {
        return say("What is filled first must be written (of=): fill_pattern= and enable=fill_always.");
    }
    if options.writes()
        && options.limit.is_none()
        && options.limits.is_none()
        && (options.records == 0 || options.shape.varies())
    {
        return say("Please say how much to write: limit= or records=.");
    }
    if options.tags && options.block < 512 {
        return say("Block tags need blocks of 512 bytes or more (dsize=).");
    }
    let starts = [options.start(), options.second_start()];
    if starts.iter().any(|start| !start.is_multiple_of(options.block)) {
        return say("The position (position=) must be a multiple of the block size (dsize=).");
    }
    shapes_together(options)
}

/// Shapes that would read what nobody wrote, or that nobody could compare.
fn shapes_together(options: &Options) -> Result<(), OptionError> {
    let say = |text: &str| Err(OptionError::Together(text.to_owned()));
    let Options { shape, crew, .. } = options;
    let random =
        options.random || shape.varies_type || shape.random_reads.is_some() || shape.random_writes.is_some();
    if options.writes() && random && options.records_of(true) != options.records_of(false) {
        return say("With random I/O ibs= and obs= must be the same: else what was not written is read.");
    }
    if options.writes()
        && !options.pairs()
        && shape.reads.is_none()
        && shape.random_reads != shape.random_writes
    {
        return say("rrandp= and wrandp= may differ only with readp=: else what was not written is read.");
    }
    if (shape.reads.is_some() || shape.raw) && (!options.writes() || options.mode == Mode::Mirror) {
        return say("readp= and enable=raw need an output file (of=) that is read itself.");
    }
    if options.pairs() && (random || options.aios > 1 && options.mode == Mode::Copy) {
        return say(
            "Copies are made and compared in sequence, one record at a time (iotype=, randp=, aios=).",
        );
    }
    if shape.buffers_turn && options.mode == Mode::Copy {
        return say(
            "A copy is written from the buffer into which it was read, where it stands (align=rotate).",
        );
    }
    if crew.slices > 1 && crew.threads > 1 {
        return say("Either threads= or slices= may be given.");
    }
    if (crew.slices > 1 || crew.threads > 1) && options.mode != Mode::Test {
        return say("threads= and slices= need iomode=test.");
    }
    if crew.slice.is_some_and(|slice| slice > crew.slices) {
        return say("There is no such slice (slice=) among those of slices=.");
    }
    Ok(())
}
