//! The kinds of use that keep the guard from writing to a device or file. Reads nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The thirteen kinds of use, and bytes that no known mark explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UseKind {
    /// A mounted file system
    Mounted,
    /// Active swap
    Swap,
    PartitionTable,
    /// Another process has it open
    HeldOpen,
    /// The kernel or a process has claimed it for itself alone
    HeldExclusively,
    /// A loop device shows it
    LoopBacked,
    /// md, device mapper, bcache or drbd stand on it
    Holder,
    /// The signature of a file system
    FileSystem,
    LvmPhysicalVolume,
    /// A member of a software RAID
    MdMember,
    /// An Oracle ASM disk
    OracleAsm,
    /// One of several paths to a LUN
    MultipathMember,
    /// A database's or an encryption's content
    Content,
    /// A byte that is not zero
    NonZero,
}
