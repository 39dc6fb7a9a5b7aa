//! Error numbers in the system's words, without the number: as C's programs print them.

/// An error of the system in its words.
pub fn of_error(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => of_number(errno),
        None => error.to_string(),
    }
}

/// An error number in the system's words.
pub fn of_number(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.strip_suffix(&format!(" (os error {errno})")).unwrap_or(&text).to_owned()
}

/// Why an operation failed, in the system's words; a part of a block that found no place has no number of its own.
pub fn of_write(errno: i32) -> String {
    of_number(if errno == 0 { rustix::io::Errno::NOSPC.raw_os_error() } else { errno })
}

/// Why a read failed, in the system's words; one that came back short has no number of its own.
pub fn of_read(errno: i32) -> String {
    match errno {
        0 => "The file is shorter than it was".to_owned(),
        errno => of_number(errno),
    }
}
