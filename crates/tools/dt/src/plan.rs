//! From options to the plans of one pass: one that writes, one that reads and compares, or one that does both.

use super::options::{Options, Pattern};
use super::shape::{Increment, Mode, Records};
use fathom_spec::{
    Access, Arrival, Begin, BlockTag, Blocks, Bytes, Content, DataTest, Durability, Extent, Growth, Mix,
    PathTarget, Plan, Rate, Space, SpaceId, Spacing, Start, Stream, SyncKind, Target, TargetId, TestPattern,
    Then, Timetable, VariableRecords, Verb, Verify,
};

/// What one plan of a pass does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Fills a file that reads among writes (`readp=`) are to find there.
    Fill,
    /// Writes.
    Write,
    /// Reads and compares.
    Read,
    /// Writes, and reads each record at once (`enable=raw`); with `readp=` there are other reads among them.
    ReadAfterWrite,
    /// Writes and reads by their shares (`readp=`).
    Percentages,
    /// Copies one file to the other.
    Copy,
    /// Compares one file with the other.
    Verify,
}

impl Half {
    /// As statistics name it.
    pub fn title(self) -> &'static str {
        match self {
            Half::Fill => "Fill",
            Half::Write | Half::Percentages => "Write",
            Half::Read => "Read",
            Half::ReadAfterWrite => "Read After Write",
            Half::Copy => "Copy",
            Half::Verify => "Verify",
        }
    }

    /// As keep-alive messages name it.
    pub fn mode(self) -> &'static str {
        match self {
            Half::Fill | Half::Write | Half::Percentages | Half::ReadAfterWrite => "write",
            Half::Read => "read",
            Half::Copy => "copy",
            Half::Verify => "verify",
        }
    }

    /// Does it write test data?
    pub fn writes(self) -> bool {
        matches!(self, Half::Fill | Half::Write | Half::ReadAfterWrite | Half::Percentages)
    }

    /// The halves of a pass of this test.
    pub fn of(options: &Options) -> Vec<Half> {
        let (shape, verify) = (&options.shape, options.verify);
        let mut halves = match options.mode {
            Mode::Copy => vec![Half::Copy],
            Mode::Verify => return vec![Half::Verify],
            _ if !options.writes() => return vec![Half::Read],
            // What is written among reads is read at once: nobody knows any more in the end what stands where.
            _ if shape.reads.is_some() => {
                let raw = shape.raw || verify;
                return vec![if raw { Half::ReadAfterWrite } else { Half::Percentages }];
            }
            _ if shape.raw => vec![Half::ReadAfterWrite],
            _ => vec![Half::Write],
        };
        let again = match halves[0] {
            Half::Copy => Some(Half::Verify),
            Half::ReadAfterWrite => shape.reread.then_some(Half::Read),
            _ => Some(Half::Read),
        };
        halves.extend(again.filter(|_| verify));
        halves
    }
}

/// Bytes of a pointer, through which `align=rotate` moves buffers.
const POINTER: u8 = 8;

/// Words of the passes, where no pattern is asked for.
pub const WORDS: [u32; 13] = [
    0x39c3_9c39,
    0x00ff_00ff,
    0x0f0f_0f0f,
    0xc6de_c6de,
    0x6db6_db6d,
    0x5555_5555,
    0xaaaa_aaaa,
    0x3333_3333,
    0x2667_3333,
    0x6667_3326,
    0x71c7_c71c,
    0x0000_0000,
    0xffff_ffff,
];

/// What is known of the target and of this process when a pass begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassFacts {
    /// Bytes of data.
    pub length: u64,
    /// A regular file, not a disk.
    pub file: bool,
    /// Inode of the file, or number of the device.
    pub inode: u64,
    /// The host.
    pub host: String,
    /// This process.
    pub process: u32,
    /// Seconds since 1970.
    pub now: u32,
    /// The prefix with its names filled in; empty: none.
    pub prefix: String,
    /// Bytes of `pf=`.
    pub pattern: Vec<u8>,
    /// Every byte of the data is what this pass writes, before it writes it.
    pub known: bool,
}

/// The word of a pass.
pub fn word_of(options: &Options, pass: u64) -> u32 {
    match options.pattern {
        Pattern::Word(word) => word,
        // Threads and slices take the next words too.
        _ if options.unique => {
            let turn = pass - 1 + u64::from(options.crew.thread) - 1;
            WORDS[(turn % WORDS.len() as u64) as usize]
        }
        _ => WORDS[0],
    }
}

/// Are the bytes of every pass the same?
pub fn is_constant(options: &Options) -> bool {
    let pattern = match options.pattern {
        Pattern::Iot => false,
        Pattern::Words => !options.unique,
        _ => true,
    };
    pattern && !options.tags
}

/// The pattern of a pass as the statistics name it.
pub fn pattern_text(options: &Options, pass: u64) -> String {
    match &options.pattern {
        Pattern::Words | Pattern::Word(_) => format!("0x{:08x}", word_of(options, pass)),
        Pattern::Iot => {
            let seed = options.iot_seed.wrapping_mul(iot_pass(options, pass));
            format!("IOT Pattern (blocking is {} bytes, seed 0x{seed:x})", options.block)
        }
        Pattern::Incrementing => "Incrementing".to_owned(),
        Pattern::Text(text) => format!("'{}'", String::from_utf8_lossy(text).escape_default()),
        Pattern::File(name) => format!("file {name}"),
    }
}

fn iot_pass(options: &Options, pass: u64) -> u32 {
    options.iot_pass.wrapping_add(pass as u32 - 1)
}

/// The bytes of a pass.
pub fn format(options: &Options, facts: &PassFacts, pass: u64) -> DataTest {
    let word = word_of(options, pass);
    let number = iot_pass(options, pass);
    // The pattern's kind in a tag, and its first word: of the I/O tester pattern the pass's step.
    let (pattern, kind, tag_word) = match &options.pattern {
        Pattern::Words | Pattern::Word(_) => (TestPattern::Bytes(word.to_le_bytes().to_vec()), 3, word),
        Pattern::Iot => {
            let seed = options.iot_seed;
            (TestPattern::Iot { seed, pass: number }, 1, seed.wrapping_mul(number))
        }
        Pattern::Incrementing => (TestPattern::Bytes((0..=255).collect()), 2, 0),
        Pattern::Text(text) => (TestPattern::Bytes(text.clone()), 3, first_word(text)),
        Pattern::File(_) => (TestPattern::Bytes(facts.pattern.clone()), 4, 0),
    };
    let mut prefix = facts.prefix.clone().into_bytes();
    if !prefix.is_empty() {
        // Its ending zero counts.
        prefix.resize((prefix.len() + 1).next_multiple_of(4), 0);
    }
    let flags = u8::from(options.numbered) << 6 | u8::from(options.timestamp) << 7;
    let tag = options.tags.then(|| {
        Box::new(BlockTag {
            inode: facts.inode,
            file: facts.file,
            serial: String::new(),
            host: facts.host.clone(),
            write_start: facts.now,
            pattern: tag_word,
            pattern_kind: kind | flags,
            generation: pass as u32,
            process: facts.process,
            job: 1,
            thread: options.crew.thread,
            record_bytes: options.records_of(true).most as u32,
            random: options.random,
            reverse: options.shape.reverse,
            any_writer: !options.writes() || options.mode == Mode::Mirror,
        })
    });
    let words = if options.pattern == Pattern::Words { WORDS.to_vec() } else { Vec::new() };
    DataTest {
        pattern,
        block_bytes: options.block as u32,
        prefix,
        // dt's I/O tester pattern has the number in each word, and its own number has no place in it.
        numbered: options.numbered && options.pattern != Pattern::Iot,
        time: options.timestamp.then_some(facts.now),
        start: (!options.random && !options.shape.reverse)
            .then(|| options.pattern_start.unwrap_or_else(|| options.start())),
        tag,
        words,
    }
}

/// The first four bytes of a text as a word; of a shorter one over and over.
fn first_word(text: &[u8]) -> u32 {
    let mut bytes = text.iter().cycle();
    u32::from_le_bytes(std::array::from_fn(|_| bytes.next().copied().unwrap_or(0)))
}

/// The bytes of a file that is filled first. dt fills with the inverted word; where that is not asked for, the pattern's
/// own bytes let what is read among the writes be compared.
fn filled(options: &Options, facts: &PassFacts, pass: u64) -> DataTest {
    if options.fill.is_pattern() {
        return format(options, facts, pass);
    }
    let word = options.fill.word.unwrap_or_else(|| !word_of(options, pass));
    DataTest {
        pattern: TestPattern::Bytes(word.to_le_bytes().to_vec()),
        block_bytes: options.block as u32,
        prefix: Vec::new(),
        numbered: false,
        time: None,
        start: None,
        tag: None,
        words: Vec::new(),
    }
}

/// The plan of one half of a pass.
pub fn plan(options: &Options, facts: &PassFacts, pass: u64, half: Half) -> Plan {
    match half {
        Half::Copy | Half::Verify => pair(options, facts, half),
        _ => one_file(options, facts, pass, half),
    }
}

fn target(options: &Options, path: &str, create: Option<Bytes>, writes: bool) -> Target {
    Target::Path(PathTarget {
        path: path.to_owned(),
        access: if writes { Access::Write } else { Access::Read },
        create,
        direct: options.direct,
        durability: match () {
            () if options.sync => Durability::Full,
            () if options.dsync => Durability::Data,
            () => Durability::None,
        },
    })
}

fn verify(options: &Options, only: bool) -> Option<Verify> {
    options.compare.then_some(Verify { only, fatal: options.errors == 1, ..Verify::READS })
}

/// What is common to all streams of a test.
fn blocks(options: &Options, space: SpaceId, start: u64, length: u64, size: u64) -> Blocks {
    let mut blocks = Blocks::random_reads(space, Bytes(size));
    blocks.region = (Extent::Bytes(Bytes(start)), Extent::Bytes(Bytes(length)));
    blocks.queue_options.buffer_offset = options.shape.buffer_offset;
    blocks.queue_options.buffer_turns = if options.shape.buffers_turn { POINTER } else { 0 };
    blocks
}

/// Sizes of records: none is larger than the data.
fn sizes_of(blocks: &mut Blocks, records: Records, length: u64) {
    let (least, most) = (records.least.min(length), records.most.min(length));
    blocks.sizes = match least == most {
        true => fathom_spec::Sizes::One(Bytes(most)),
        false => fathom_spec::Sizes::Range(Bytes(least), Bytes(most)),
    };
}

fn growth(options: &Options, records: Records) -> Growth {
    match records.increment {
        Some(Increment::By(step)) => Growth::By(Bytes(step)),
        Some(Increment::Variable) => Growth::Drawn(Bytes(options.block)),
        None => Growth::By(Bytes(records.most)),
    }
}

/// A copy, or the comparison of two files.
fn pair(options: &Options, facts: &PassFacts, half: Half) -> Plan {
    let copies = half == Half::Copy;
    let (input, output) = (options.input.as_deref().unwrap_or_default(), options.name());
    let second = Bytes(options.second_start());
    let mut plan = Plan::new(options.random_seed);
    let create = (copies && facts.file).then(|| Bytes(second.0 + facts.length));
    plan.targets = vec![target(options, input, None, false), target(options, output, create, copies)];
    plan.spaces = vec![Space::Concat(vec![TargetId(0), TargetId(1)])];
    let records = options.records_of(copies);
    let mut blocks = blocks(options, SpaceId(0), options.start(), facts.length, records.most);
    sizes_of(&mut blocks, records, facts.length);
    let then = if copies { Then::WriteSecond(second) } else { Then::ReadSecond(second) };
    let rules = variable_records(options, records, then, !copies);
    blocks.pattern = fathom_spec::Pattern::VariableRecords(Box::new(rules));
    blocks.mix = Mix::Only(Verb::Read);
    blocks.content = if copies { Content::Kept } else { Content::Alike };
    blocks.verify = if copies { None } else { verify(options, true) };
    let depth = if copies { 1 } else { options.aios.max(2) * 2 };
    let mut stream = stream(options, if copies { "copy" } else { "verify" }, blocks, depth);
    stream.stop.passes = Some(1);
    if copies && options.fsync {
        stream.after_last.push(SyncKind::Fsync);
    }
    plan.add_stream(stream);
    plan
}

fn variable_records(options: &Options, records: Records, then: Then, checks: bool) -> VariableRecords {
    let (shape, seed) = (&options.shape, options.random_seed);
    let all = if options.random { 100 } else { 0 };
    let share = |percent: Option<super::shape::Percent>| percent.map_or(all, |percent| percent.value(seed));
    VariableRecords {
        sizes: (Bytes(records.least), Bytes(records.most)),
        growth: growth(options, records),
        backwards: shape.reverse,
        random_percent: (share(shape.random_reads), share(shape.random_writes)),
        random_align: Bytes(shape.random_align.unwrap_or(options.block)),
        random_within: Bytes(shape.random_within.unwrap_or(u64::MAX)),
        // Where all are of one size the length of the data says it already.
        records: if shape.varies() { options.records } else { 0 },
        then,
        checks,
    }
}

/// Does a half need more than one record behind the other, all of one size?
fn walks(options: &Options, half: Half) -> bool {
    let shape = &options.shape;
    let random = options.random || shape.random_reads.is_some() || shape.random_writes.is_some();
    let mixed = matches!(half, Half::ReadAfterWrite | Half::Percentages);
    half != Half::Fill && (shape.varies() || shape.reverse || random || mixed)
}

fn one_file(options: &Options, facts: &PassFacts, pass: u64, half: Half) -> Plan {
    let writes = half.writes();
    let mut plan = Plan::new(options.random_seed);
    let start = options.start();
    let path = if writes { options.name() } else { options.reads_from() };
    let create = (writes && facts.file).then(|| Bytes(start + facts.length));
    let space = plan.add_target(target(options, path, create, writes));
    let content = || {
        Content::DataTest(Box::new(match half {
            Half::Fill => filled(options, facts, pass),
            _ => format(options, facts, pass),
        }))
    };
    let compares = half == Half::Read && options.compare;
    if walks(options, half) {
        plan.add_stream(walk(options, facts, half, space, content()));
        return plan;
    }
    let record = options.records_of(writes).most;
    let full = facts.length / record * record;
    let name = half.mode();
    let mut blocks = blocks(options, space, start, full, record);
    blocks.mix = Mix::Only(if writes { Verb::Write } else { Verb::Read });
    blocks.pattern = fathom_spec::Pattern::Sequential(Begin::First);
    if writes || compares {
        blocks.content = content();
    }
    blocks.verify = verify(options, true).filter(|_| compares);
    // While one record is compared the next one is read.
    let depth = if compares { options.aios.max(2) } else { options.aios };
    let tail = facts.length - full;
    if full > 0 {
        let mut stream = stream(options, name, blocks.clone(), depth);
        stream.stop.passes = Some(1);
        if writes && options.fsync && tail == 0 {
            stream.after_last.push(SyncKind::Fsync);
        }
        plan.add_stream(stream);
    }
    if tail > 0 {
        blocks.sizes = fathom_spec::Sizes::One(Bytes(tail));
        blocks.region = (Extent::Bytes(Bytes(start + full)), Extent::Bytes(Bytes(tail)));
        let mut stream = stream(options, name, blocks, 1);
        stream.stop.operations = Some(1);
        if writes && options.fsync {
            stream.after_last.push(SyncKind::Fsync);
        }
        if full > 0 {
            stream.start = Start { after: vec![fathom_spec::StreamId(0)], ..Start::default() };
        }
        plan.add_stream(stream);
    }
    plan
}

/// One stream of such records.
fn walk(options: &Options, facts: &PassFacts, half: Half, space: SpaceId, content: Content) -> Stream {
    let (writes, shape) = (half.writes(), &options.shape);
    let records = options.records_of(writes);
    let mut blocks = blocks(options, space, options.start(), facts.length, records.most);
    sizes_of(&mut blocks, records, facts.length);
    let raw = half == Half::ReadAfterWrite;
    let then = if raw { Then::ReadAgain } else { Then::Nothing };
    let checks = options.compare && (half == Half::Read || facts.known);
    let mut rules = variable_records(options, records, then, checks);
    blocks.mix = match (half, shape.reads) {
        (Half::Read, _) => Mix::Only(Verb::Read),
        (_, Some(reads)) => Mix::Random { read_percent: reads.value(options.random_seed) },
        _ => Mix::Only(Verb::Write),
    };
    if half == Half::Read && options.writes() {
        // What was written is read: the shares of the writes say where that is.
        rules.random_percent.0 = rules.random_percent.1;
    }
    blocks.pattern = fathom_spec::Pattern::VariableRecords(Box::new(rules));
    let compares = checks || raw && options.compare;
    if writes || compares {
        blocks.content = content;
    }
    blocks.verify = verify(options, half == Half::Read).filter(|_| compares);
    let depth = match half {
        // Tags tell the records to which blocks belong: two that overlap must not be under way together.
        _ if writes && options.tags => 1,
        Half::Read if compares => options.aios.max(2),
        _ => options.aios,
    };
    let mut stream = stream(options, half.mode(), blocks, depth);
    stream.stop.passes = Some(1);
    if writes && options.fsync {
        stream.after_last.push(SyncKind::Fsync);
    }
    stream
}

fn stream(options: &Options, name: &str, blocks: Blocks, depth: u32) -> Stream {
    let verbs = match blocks.mix {
        Mix::Only(verb) => vec![verb],
        _ => vec![Verb::Read, Verb::Write],
    };
    let shares = match blocks.mix {
        Mix::Random { read_percent } => vec![f64::from(read_percent), 100.0 - f64::from(read_percent)],
        _ => vec![100.0],
    };
    let mut stream = Stream::closed(name, blocks, depth);
    if let Some(iops) = options.iops {
        let rate = |share: f64| Rate::Operations(iops * share / 100.0);
        let tables = verbs.into_iter().zip(shares).filter(|(_, share)| *share > 0.0);
        let tables =
            tables.map(|(verb, share)| Timetable { verb, rate: rate(share), spacing: Spacing::Even });
        stream.arrival = Arrival::Open(tables.collect());
    }
    stream
}
