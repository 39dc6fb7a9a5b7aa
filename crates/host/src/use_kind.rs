//! The kinds of use that keep the guard from writing to a device or file. Reads nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kinds of use, and bytes that no known mark explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UseKind {
    /// A mounted file system
    Mounted,
    /// Active swap
    Swap,
    PartitionTable,
    /// Another process has it open to write to it
    HeldOpen,
    /// Another process has it open to read it
    HeldForReading,
    /// It is a running database's
    DatabaseServer,
    /// The kernel or a process has claimed it for itself alone
    HeldExclusively,
    /// A loop device shows it
    LoopBacked,
    /// md, device mapper, bcache or drbd stand on it
    Holder,
    /// A database's own file, or a new one among its files; its server does not run
    Database,
    /// The signature of a file system
    FileSystem,
    LvmPhysicalVolume,
    /// A member of a software RAID
    MdMember,
    /// An Oracle ASM disk
    OracleAsm,
    /// One of several paths to a LUN
    MultipathMember,
    /// An encryption's content, or a file system's without a name of its own here
    Content,
    /// A byte that is not zero
    NonZero,
}

impl UseKind {
    /// Is somebody at work there? No consent excuses writing then.
    pub fn is_in_use(self) -> bool {
        match self {
            UseKind::Mounted
            | UseKind::Swap
            | UseKind::HeldOpen
            | UseKind::HeldForReading
            | UseKind::HeldExclusively
            | UseKind::DatabaseServer
            | UseKind::LoopBacked
            | UseKind::Holder
            | UseKind::MultipathMember => true,
            UseKind::PartitionTable
            | UseKind::Database
            | UseKind::FileSystem
            | UseKind::LvmPhysicalVolume
            | UseKind::MdMember
            | UseKind::OracleAsm
            | UseKind::Content
            | UseKind::NonZero => false,
        }
    }
}
