//! Text that a user names to be read: job files, configurations, lists of devices. Regular files and pipes, and no more of
//! them than a limit: a device in their place is a slip of the hand, and reading one would take all memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// `16 MiB`, `64 KiB`
fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// Bytes that a text may have.
pub const BYTES_MOST: u64 = 16 << 20;

/// Why a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The system refuses it.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A device stands where a text is meant.
    #[error("it is a {}, and a text file is meant", if *block { "block device" } else { "character device" })]
    Device {
        /// A block device, not a character device?
        block: bool,
    },
    /// It is longer than a text may be.
    #[error("it has more than {}, the most that is read", size(*most))]
    TooLong {
        /// The limit, bytes.
        most: u64,
    },
    /// Its bytes are no UTF-8 text.
    #[error("it is no UTF-8 text")]
    NotText,
}

/// The text of a file, or of stdin where the name is `-`.
///
/// # Errors
/// [`TextError`]
pub fn read_named(name: &str) -> Result<String, TextError> {
    text(read_named_bytes(name)?)
}

/// The same where the bytes need not be UTF-8.
///
/// # Errors
/// [`TextError`], but for [`TextError::NotText`].
pub fn read_named_bytes(name: &str) -> Result<Vec<u8>, TextError> {
    match name {
        "-" => limited(io::stdin().lock(), BYTES_MOST),
        _ => read_bytes(name),
    }
}

/// The text of a file.
///
/// # Errors
/// [`TextError`]
pub fn read(path: impl AsRef<std::path::Path>) -> Result<String, TextError> {
    text(read_bytes(path)?)
}

/// The bytes of a small file that need not be text.
///
/// # Errors
/// [`TextError`], but for [`TextError::NotText`].
pub fn read_bytes(path: impl AsRef<std::path::Path>) -> Result<Vec<u8>, TextError> {
    limited(open(path.as_ref())?, BYTES_MOST)
}

/// The first bytes of a file, at most so many.
///
/// # Errors
/// [`TextError`], but for [`TextError::NotText`] and [`TextError::TooLong`].
pub fn read_head(path: impl AsRef<std::path::Path>, most: usize) -> Result<Vec<u8>, TextError> {
    let mut bytes = Vec::new();
    open(path.as_ref())?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A recording, to be read piece by piece: it may be longer than memory. Regular files alone, which end.
///
/// # Errors
/// [`TextError::System`] and [`TextError::Device`].
pub fn recording(path: impl AsRef<std::path::Path>) -> Result<(Box<dyn BufRead>, u64), TextError> {
    let file = open(path.as_ref())?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is no regular file").into());
    }
    Ok((Box::new(BufReader::new(file)), about.len()))
}

/// Opens what may be read. A terminal is typed at, and what is typed ends; /dev/null has ended.
fn open(path: &std::path::Path) -> Result<File, TextError> {
    let null = rustix::fs::makedev(1, 3);
    let refused = |about: &std::fs::Metadata| {
        let kind = about.file_type();
        (kind.is_block_device(), kind.is_char_device() && about.rdev() != null)
    };
    // Before it is opened, since opening some devices does something.
    let before = refused(&std::fs::metadata(path)?);
    if before.0 {
        return Err(TextError::Device { block: true });
    }
    let file = File::open(path)?;
    match refused(&file.metadata()?) {
        (true, _) => Err(TextError::Device { block: true }),
        (_, true) if !file.is_terminal() => Err(TextError::Device { block: false }),
        _ => Ok(file),
    }
}

/// All of an input, if it is no longer than so many bytes.
///
/// # Errors
/// [`TextError::System`] and [`TextError::TooLong`].
pub fn limited(input: impl Read, most: u64) -> Result<Vec<u8>, TextError> {
    let mut bytes = Vec::new();
    match input.take(most + 1).read_to_end(&mut bytes)? as u64 {
        read if read > most => Err(TextError::TooLong { most }),
        _ => Ok(bytes),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, TextError> {
    String::from_utf8(bytes).map_err(|_| TextError::NotText)
}

/// Appends the next line of a recording with its end; `false` where it has ended.
///
/// # Errors
/// [`TextError::TooLong`] where the line is longer than `most`.
pub fn next_line(input: &mut dyn BufRead, most: u64, line: &mut Vec<u8>) -> Result<bool, TextError> {
    line.clear();
    match input.take(most + 1).read_until(b'\n', line)? as u64 {
        read if read > most => Err(TextError::TooLong { most }),
        read => Ok(read > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_no_text() {
        for (name, block) in [("/dev/zero", false), ("/dev/loop0", true)] {
            match read(name) {
                Err(TextError::Device { block: is_block }) => assert_eq!(is_block, block, "{name}"),
                Err(TextError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                    fathom_tidy::skip(name, "it is not there");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!(read("/dev/null").unwrap(), "");
    }

    #[test]
    fn a_text_is_read_up_to_its_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(BYTES_MOST).unwrap();
        assert_eq!(read(file.path()).unwrap().len() as u64, BYTES_MOST);
        file.as_file().set_len(BYTES_MOST + 1).unwrap();
        assert!(matches!(read(file.path()), Err(TextError::TooLong { most: BYTES_MOST })));
        // A hole of a terabyte takes no more memory.
        file.as_file().set_len(1 << 40).unwrap();
        assert!(matches!(read(file.path()), Err(TextError::TooLong { .. })));
        std::fs::write(file.path(), b"caf\xe9").unwrap();
        assert!(matches!(read(file.path()), Err(TextError::NotText)));
        assert_eq!(read_head(file.path(), 2).unwrap(), b"ca");
    }

    #[test]
    fn a_line_of_a_recording_has_a_limit() {
        let mut input: &[u8] = b"one\nthree\nno end";
        let mut line = Vec::new();
        assert!(next_line(&mut input, 4, &mut line).unwrap());
        assert_eq!(line, b"one\n");
        assert!(matches!(next_line(&mut input, 4, &mut line), Err(TextError::TooLong { most: 4 })));
        assert_eq!(line.len(), 5);
    }
}
