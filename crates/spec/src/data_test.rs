//! The bytes of dt's blocks: each tells where it belongs and in which pass it was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Blocks as dt (Data Test) writes them. In a block stand, in this order: a tag, a prefix, the block's number or the
/// time, and the pattern; all but the pattern are left out where they are not asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataTest {
    /// What fills a block.
    pub pattern: TestPattern,
    /// Bytes of a block, 512 where nothing else is asked for.
    pub block_bytes: u32,
    /// What stands before the pattern, filled up to a multiple of 4.
    pub prefix: Vec<u8>,
    /// The first four bytes of the pattern are the block's number, its high byte first.
    pub numbered: bool,
    /// The first four bytes of the pattern are this time, seconds since 1970; they are not compared.
    pub time: Option<u32>,
    /// Byte of the target at which a byte pattern begins. It goes on from block to block, past tags and prefixes.
    /// `None`: it begins anew in each block.
    #[serde(default)]
    pub start: Option<u64>,
    /// A tag before everything else.
    pub tag: Option<Box<BlockTag>>,
    /// Words of the passes, for telling an earlier pass from other damage.
    pub words: Vec<u32>,
}

/// What fills a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestPattern {
    /// These bytes over and over.
    Bytes(Vec<u8>),
    /// Word i of block L in pass p is L + i * p * seed, little-endian (dt's I/O tester pattern).
    Iot {
        /// Of the first pass.
        seed: u32,
        /// Which pass, from 1.
        pass: u32,
    },
}

/// What dt's block tag says of whoever wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTag {
    /// Inode of the file, or number of the device.
    pub inode: u64,
    /// A file: offsets are bytes. A disk: they are block numbers.
    pub file: bool,
    /// Serial number of the disk.
    pub serial: String,
    /// The host.
    pub host: String,
    /// When the writing began, seconds since 1970.
    pub write_start: u32,
    /// The first word of the pattern.
    pub pattern: u32,
    /// dt's number of the pattern's kind: 1 I/O tester, 2 incrementing, 3 word, 4 file; flags above.
    pub pattern_kind: u8,
    /// The pass.
    pub generation: u32,
    /// The process.
    pub process: u32,
    /// Job and thread.
    pub job: u32,
    /// The thread.
    pub thread: u32,
    /// Bytes of a record.
    pub record_bytes: u32,
    /// Random offsets.
    pub random: bool,
    /// From the end to the beginning.
    pub reverse: bool,
    /// Only what a reader may know is compared: whoever wrote it may have been another process in another pass.
    pub any_writer: bool,
}
