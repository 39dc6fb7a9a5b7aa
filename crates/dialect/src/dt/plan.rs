//! From options to the plans of one pass: one that writes, one that reads and compares.

use super::options::{Options, Pattern};
use fathom_spec::{
    Access, Arrival, Begin, BlockTag, Blocks, Bytes, Content, DataTest, Durability, Extent, Mix, PathTarget,
    Plan, Rate, Spacing, Start, Stream, SyncKind, Target, TestPattern, Timetable, Verb, Verify,
};

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
pub struct Place {
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
}

fn word_of(options: &Options, pass: u64) -> u32 {
    match options.pattern {
        Pattern::Word(word) => word,
        _ if options.unique => WORDS[((pass - 1) % WORDS.len() as u64) as usize],
        _ => WORDS[0],
    }
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
pub fn format(options: &Options, place: &Place, pass: u64) -> DataTest {
    let word = word_of(options, pass);
    let (pattern, kind) = match &options.pattern {
        Pattern::Words | Pattern::Word(_) => (TestPattern::Bytes(word.to_le_bytes().to_vec()), 3),
        Pattern::Iot => (TestPattern::Iot { seed: options.iot_seed, pass: iot_pass(options, pass) }, 1),
        Pattern::Incrementing => (TestPattern::Bytes((0..=255).collect()), 2),
        Pattern::Text(text) => (TestPattern::Bytes(text.clone()), 4),
        Pattern::File(_) => (TestPattern::Bytes(place.pattern.clone()), 4),
    };
    let mut prefix = place.prefix.clone().into_bytes();
    if !prefix.is_empty() {
        // Its ending zero counts.
        prefix.resize((prefix.len() + 1).next_multiple_of(4), 0);
    }
    let flags = u8::from(options.numbered) << 6 | u8::from(options.timestamp) << 7;
    let tag = options.tags.then(|| {
        Box::new(BlockTag {
            inode: place.inode,
            file: place.file,
            serial: String::new(),
            host: place.host.clone(),
            write_start: place.now,
            pattern: word,
            pattern_kind: kind | flags,
            generation: pass as u32,
            process: place.process,
            job: 1,
            thread: 1,
            record_bytes: options.record as u32,
            random: options.random,
            reverse: false,
            any_writer: !options.writes(),
        })
    });
    let words = if options.pattern == Pattern::Words { WORDS.to_vec() } else { Vec::new() };
    DataTest {
        pattern,
        block_bytes: options.block as u32,
        prefix,
        numbered: options.numbered,
        time: options.timestamp.then_some(place.now),
        first_number: options.first_number,
        tag,
        words,
    }
}

/// The plan of one half of a pass: `writes`, or reads and compares.
pub fn plan(options: &Options, place: &Place, pass: u64, writes: bool) -> Plan {
    let mut plan = Plan::new(options.random_seed);
    let start = options.start();
    let full = place.length / options.record * options.record;
    let target = PathTarget {
        path: options.name().to_owned(),
        access: if writes { Access::Write } else { Access::Read },
        create: (writes && place.file).then(|| Bytes(start + place.length)),
        direct: options.direct,
        durability: match () {
            () if options.sync => Durability::Full,
            () if options.dsync => Durability::Data,
            () => Durability::None,
        },
    };
    let space = plan.add_target(Target::Path(target));
    let name = if writes { "write" } else { "read" };
    let mut blocks = Blocks::random_reads(space, Bytes(options.record));
    blocks.mix = Mix::Only(if writes { Verb::Write } else { Verb::Read });
    blocks.pattern = match options.random {
        true => fathom_spec::Pattern::Uniform { once: false },
        false => fathom_spec::Pattern::Sequential(Begin::First),
    };
    blocks.region = (Extent::Bytes(Bytes(start)), Extent::Bytes(Bytes(full)));
    let compares = !writes && options.compare;
    if writes || compares {
        blocks.content = Content::DataTest(Box::new(format(options, place, pass)));
    }
    blocks.verify = compares.then_some(Verify {
        backlog: None,
        checkers: 0,
        then_read_pass: false,
        only: true,
        fatal: options.errors == 1,
    });
    // While one record is compared the next one is read.
    let depth = if compares { options.aios.max(2) } else { options.aios };
    let tail = place.length - full;
    if full > 0 {
        let mut stream = stream(options, name, blocks.clone(), depth);
        match options.random {
            true => stream.stop.operations = Some(full / options.record),
            false => stream.stop.passes = Some(1),
        }
        if writes && options.fsync && tail == 0 {
            stream.after_last.push(SyncKind::Fsync);
        }
        plan.add_stream(stream);
    }
    if tail > 0 && !options.random {
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

fn stream(options: &Options, name: &str, blocks: Blocks, depth: u32) -> Stream {
    let verb = match blocks.mix {
        Mix::Only(verb) => verb,
        _ => Verb::Read,
    };
    let mut stream = Stream::closed(name, blocks, depth);
    if let Some(iops) = options.iops {
        let table = Timetable { verb, rate: Rate::Operations(iops), spacing: Spacing::Even };
        stream.arrival = Arrival::Open(vec![table]);
    }
    stream
}
