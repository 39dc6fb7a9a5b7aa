//! The entries of a ring: what the kernel is told of one operation.

use super::arena::Arena;
use crate::files::OpenTarget;
use fathom_drive::Operation;
use fathom_spec::{SyncKind, Verb};
use io_uring::{opcode, squeue, types};
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Makes entries over targets and buffers.
pub struct Entries {
    /// Given back only when nothing is in flight.
    pub arena: ManuallyDrop<Arena>,
    /// By their number in operations.
    pub targets: Arc<[OpenTarget]>,
    /// Are the targets registered?
    pub fixed_files: bool,
    /// Are the buffers?
    pub fixed_buffers: bool,
    /// 0: all of the arena is one registered buffer; all ones: each tag has its own.
    pub buffer_mask: u32,
    /// Of every read and write.
    pub rw_flags: i32,
    /// The ring polls for completions, and such a ring knows no syncs and no holes: the thread does them itself.
    pub io_poll: bool,
}

impl Entries {
    /// The descriptor of a target.
    pub fn fd(&self, file: u16) -> RawFd {
        self.targets.get(file as usize).map_or(-1, |target| target.raw())
    }

    /// A read, or else a write, of a tag's buffer.
    #[inline(always)]
    pub fn transfer(&self, tag: u32, operation: &Operation, priority: u16) -> squeue::Entry {
        let Operation { offset, length, target, .. } = *operation;
        assert!(length as usize <= self.arena.stride());
        let buffer = self.arena.pointer(tag);
        let index = (tag & self.buffer_mask) as u16;
        let flags = self.rw_flags;
        macro_rules! entry {
            ($kind:ident $(, $index:ident)?) => {
                if self.fixed_files {
                    let file = types::Fixed(target.into());
                    opcode::$kind::new(file, buffer, length $(, $index)?).offset(offset).rw_flags(flags).ioprio(priority).build()
                } else {
                    let file = types::Fd(self.fd(target));
                    opcode::$kind::new(file, buffer, length $(, $index)?).offset(offset).rw_flags(flags).ioprio(priority).build()
                }
            };
        }
        let entry = match (operation.verb, self.fixed_buffers) {
            (Verb::Read, true) => entry!(ReadFixed, index),
            (Verb::Read, false) => entry!(Read),
            (_, true) => entry!(WriteFixed, index),
            (_, false) => entry!(Write),
        };
        entry.user_data(u64::from(tag))
    }

    /// The sync of a target; `None` where the ring cannot do it.
    pub fn sync(&self, file: u16, kind: SyncKind, range: (u64, u32)) -> Option<squeue::Entry> {
        let file = types::Fd(self.fd(file));
        let whole = |flags| opcode::Fsync::new(file).flags(flags).build();
        match kind {
            _ if self.io_poll => None,
            SyncKind::None | SyncKind::Flush | SyncKind::Close => None,
            SyncKind::Fsync => Some(whole(types::FsyncFlags::empty())),
            SyncKind::Fdatasync | SyncKind::Msync => Some(whole(types::FsyncFlags::DATASYNC)),
            SyncKind::Range => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                Some(opcode::SyncFileRange::new(file, range.1).offset(range.0).flags(flags).build())
            }
        }
    }

    /// A hole in place of the operation's bytes; `None` where the ring cannot do it. A device is asked by the thread itself.
    pub fn trim(&self, operation: &Operation) -> Option<squeue::Entry> {
        let target = &self.targets[operation.target as usize];
        if self.io_poll || target.is_device() {
            return None;
        }
        let entry = opcode::Fallocate::new(types::Fd(target.raw()), operation.length.into())
            .offset(operation.offset)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE);
        Some(entry.build())
    }
}
