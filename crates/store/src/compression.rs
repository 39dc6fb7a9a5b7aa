//! A record's JSON text in zlib's format, and the SQL functions that read and write it.
//!
//! The functions are named as those of the sqlite3 shell (`sqlar_compress`, `sqlar_uncompress`,
//! <https://sqlite.org/sqlar.html>) and do the same, so that one view serves fathom and the shell.

use fathom_record::ResultRecord;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use std::io::{self, Read, Write};

/// A text as it lies in the store.
#[derive(Debug)]
pub(crate) struct Compressed {
    /// Bytes of the text.
    pub size_bytes: usize,
    /// The text in zlib's format, or as it is where that is no smaller.
    pub zlib: Vec<u8>,
}

/// Counts what goes through it.
struct Counter<W> {
    inner: W,
    bytes: usize,
}

impl<W: Write> Write for Counter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The record as compressed JSON.
pub(crate) fn compress_record(record: &ResultRecord) -> io::Result<Compressed> {
    compress(|out| serde_json::to_writer(out, record).map_err(io::Error::from))
}

/// What is written, compressed where that makes it smaller; the text is never whole in memory then.
fn compress(text: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<Compressed> {
    let encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut counter = Counter { inner: encoder, bytes: 0 };
    text(&mut counter)?;
    let (size_bytes, mut zlib) = (counter.bytes, counter.inner.finish()?);
    if zlib.len() >= size_bytes {
        zlib.clear();
        text(&mut zlib)?;
    }
    Ok(Compressed { size_bytes, zlib })
}

/// The text again. An error where it is damaged or has another size.
pub(crate) fn uncompress(data: &[u8], size_bytes: usize) -> io::Result<Vec<u8>> {
    if data.len() == size_bytes {
        return Ok(data.to_vec());
    }
    let mut text = Vec::new();
    ZlibDecoder::new(data).take(size_bytes as u64 + 1).read_to_end(&mut text)?;
    match text.len() == size_bytes {
        true => Ok(text),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "the record's size is not as stored")),
    }
}

/// Makes both functions known to a connection.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let user_error = |error: io::Error| rusqlite::Error::UserFunctionError(Box::new(error));
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(c"sqlar_compress", 1, flags, move |context| {
        let text = context.get_raw(0).as_bytes()?;
        compress(|out| out.write_all(text)).map(|compressed| compressed.zlib).map_err(user_error)
    })?;
    connection.create_scalar_function(c"sqlar_uncompress", 2, flags, move |context| {
        let size_bytes = usize::try_from(context.get::<i64>(1)?).unwrap_or(0);
        uncompress(context.get_raw(0).as_bytes()?, size_bytes).map_err(user_error)
    })
}
