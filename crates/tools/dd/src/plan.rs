//! From operands to a plan.

use super::options::{Flag, Options};
use super::tables;
use fathom_record::{Counts, Run};
use fathom_spec::{
    Access, Blocks, Bytes, Change, CopyMost, Copying, Durability, Make, PathTarget, Plan, Records, Stream,
    SyncKind, Target, Verb, Work,
};

impl Options {
    /// Is this word of `conv=` given?
    pub fn converts(&self, word: &str) -> bool {
        self.conversions.contains(word)
    }

    /// Bytes of input that are left out; `None`: more than a file can have.
    pub fn skip_bytes(&self) -> Option<u64> {
        let bytes = self.skip.in_bytes || self.input_flags.contains(&Flag::SkipBytes);
        let unit = if bytes { 1 } else { self.read_size };
        self.skip.value.checked_mul(unit).filter(|bytes| *bytes <= i64::MAX as u64)
    }

    /// Bytes of output that are left as they are; `None`: more than a file can have.
    pub fn seek_bytes(&self) -> Option<u64> {
        let bytes = self.seek.in_bytes || self.output_flags.contains(&Flag::SeekBytes);
        let unit = if bytes { 1 } else { self.write_size };
        self.seek.value.checked_mul(unit).filter(|bytes| *bytes <= i64::MAX as u64)
    }

    fn most(&self) -> CopyMost {
        match self.count {
            None => CopyMost::Everything,
            Some(count) if count.in_bytes || self.input_flags.contains(&Flag::CountBytes) => {
                CopyMost::Bytes(Bytes(count.value))
            }
            Some(count) => CopyMost::Blocks(count.value),
        }
    }

    /// Does a short read in the middle deserve a warning? Where blocks are counted, and each stands for itself.
    pub fn warns_of_short_reads(&self) -> bool {
        let direct = self.input_flags.contains(&Flag::Direct) || self.output_flags.contains(&Flag::Direct);
        let counts = self.skip.value > 0 || self.count.is_some_and(|count| count.value > 0) || direct;
        let whole = self.input_flags.contains(&Flag::FullBlock);
        self.both && counts && !whole && self.status != super::options::Status::None
    }

    /// Does each block go out as it came in, rather than through a second buffer?
    pub fn as_read(&self) -> bool {
        self.both && self.change().is_none()
    }

    /// What happens to the bytes.
    pub fn change(&self) -> Change {
        let mut table: Vec<u8> = (0..=255).collect();
        if self.converts("ascii") {
            table = tables::ASCII.to_vec();
        }
        if self.converts("ucase") {
            table.make_ascii_uppercase();
        } else if self.converts("lcase") {
            table.make_ascii_lowercase();
        }
        let code = match () {
            () if self.converts("ebcdic") => Some(&tables::EBCDIC),
            () if self.converts("ibm") => Some(&tables::IBM),
            () => None,
        };
        let (mut newline, mut space) = (b'\n', b' ');
        if let Some(code) = code {
            table.iter_mut().for_each(|byte| *byte = code[usize::from(*byte)]);
            (newline, space) = (code[usize::from(b'\n')], code[usize::from(b' ')]);
        }
        let same = table.iter().enumerate().all(|(at, byte)| at == usize::from(*byte));
        let make = match () {
            () if self.converts("block") => Some(Make::Records),
            () if self.converts("unblock") => Some(Make::Lines),
            () => None,
        };
        Change {
            // Padding comes before the table, so with a code it is a blank of the input's.
            pad: self.converts("sync").then_some(if make.is_some() { b' ' } else { 0 }),
            table: if same { Vec::new() } else { table },
            swap: self.converts("swab"),
            records: make.map(|make| Records { make, length: self.record, newline, space }),
        }
    }
}

/// The plan of one copy; its two targets are the input and the output, in this order.
pub fn plan(options: &Options) -> Plan {
    let mut plan = Plan::new(0);
    let durability = |flags: &std::collections::BTreeSet<Flag>| match () {
        () if flags.contains(&Flag::Sync) => Durability::Full,
        () if flags.contains(&Flag::Dsync) => Durability::Data,
        () => Durability::None,
    };
    let target = |name: &Option<String>, standard: &str, access, flags| PathTarget {
        path: name.clone().unwrap_or_else(|| standard.to_owned()),
        access,
        create: None,
        direct: std::collections::BTreeSet::contains(flags, &Flag::Direct),
        durability: durability(flags),
    };
    let input = target(&options.input, "/dev/stdin", Access::Read, &options.input_flags);
    let output = target(&options.output, "/dev/stdout", Access::Write, &options.output_flags);
    let (from, to) = (plan.add_target(Target::Path(input)), plan.add_target(Target::Path(output)));
    let change = options.change();
    let copying = Copying {
        from,
        to,
        read_size: Bytes(options.read_size),
        write_size: Bytes(options.write_size),
        as_read: options.as_read(),
        skip: Bytes(options.skip_bytes().unwrap_or(i64::MAX as u64)),
        seek: Bytes(options.seek_bytes().unwrap_or(i64::MAX as u64)),
        most: options.most(),
        whole_reads: options.input_flags.contains(&Flag::FullBlock),
        keep_going: options.converts("noerror"),
        holes: options.converts("sparse"),
        forget: (options.input_flags.contains(&Flag::Nocache), options.output_flags.contains(&Flag::Nocache)),
        change,
    };
    let mut stream = Stream::closed("dd", Blocks::random_reads(from, Bytes(512)), 1);
    stream.work = Work::Copy(Box::new(copying));
    if options.converts("fdatasync") {
        stream.after_last.push(SyncKind::Fdatasync);
    }
    if options.converts("fsync") {
        stream.after_last.push(SyncKind::Fsync);
    }
    plan.add_stream(stream);
    plan
}

/// What was read and written in all.
pub fn records(run: &Run) -> (Counts, Counts) {
    let of = |verb: Verb| {
        let mut all = Counts::default();
        let counts = run.workers.iter().flat_map(|worker| &worker.counts);
        counts.filter(|(its, _)| *its == verb).for_each(|(_, counts)| all.merge(counts));
        all
    };
    (of(Verb::Read), of(Verb::Write))
}
