//! Bytes laid out to be measured later: files written in order before anything is read from them.

use fathom_spec::*;

/// One file to be laid out.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// Its path.
    pub path: &'a str,
    /// How many bytes are written.
    pub length: Bytes,
    /// Bytes of a write.
    pub block: Bytes,
    /// How it is asked of the kernel.
    pub queue: QueueKind,
    /// Writes outstanding.
    pub depth: u32,
    /// The file is made with its full length first; otherwise it grows from where it ends.
    pub create: bool,
    /// It stops after this time, however much is written.
    pub time: Option<Nanos>,
    /// No completion for so long is told.
    pub stall: Option<Nanos>,
    /// Seed of the bytes.
    pub seed: u64,
}

impl<'a> Layout<'a> {
    /// A file that grows by this many bytes in writes of 1 MiB, eight of them outstanding.
    pub fn new(path: &'a str, length: Bytes) -> Self {
        Layout {
            path,
            length,
            block: Bytes(MIB),
            queue: QueueKind::Auto,
            depth: 8,
            create: false,
            time: None,
            stall: None,
            seed: 1,
        }
    }

    /// The plan: incompressible bytes past the page cache, which no storage can leave out.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::new(self.seed);
        if let Some(stall) = self.stall {
            plan.stall = stall;
        }
        let target = PathTarget {
            access: Access::Write,
            create: self.create.then_some(self.length),
            ..PathTarget::direct_read(self.path)
        };
        let space = plan.add_target(Target::Path(target));
        let mut blocks = Blocks::random_reads(space, self.block);
        let begin = if self.create { Begin::First } else { Begin::Append };
        (blocks.pattern, blocks.mix) = (Pattern::Sequential(begin), Mix::Only(Verb::Write));
        blocks.queue = self.queue;
        let depth = if self.queue == QueueKind::Psync { 1 } else { self.depth };
        let mut stream = Stream::closed("layout", blocks, depth);
        match self.create {
            true => stream.stop.passes = Some(1),
            false => stream.stop.operations = Some(self.length.0 / self.block.0.max(1)),
        }
        stream.stop.time = self.time;
        plan.add_stream(stream);
        plan
    }
}
