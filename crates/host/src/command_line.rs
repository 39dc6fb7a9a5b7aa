//! This process's own command line, as others see it in /proc and by ps: a secret in it is written over, as the databases' own
//! programs do.

use crate::process_time::stat_field;
use crate::roots::Roots;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Where the argument list begins in the process's memory, from its stat.
fn begins(stat: &str) -> Option<u64> {
    stat_field(stat, 48)?.parse().ok()
}

/// Writes `x` over a secret wherever it stands on the command line.
///
/// # Errors
/// The kernel lets the process neither see nor write to its own memory.
pub fn hide(roots: &Roots, secret: &[u8]) -> io::Result<()> {
    let own = roots.proc.join("self");
    let words = std::fs::read(own.join("cmdline"))?;
    let missing = || io::Error::from(io::ErrorKind::Unsupported);
    let begins = begins(&std::fs::read_to_string(own.join("stat"))?).ok_or_else(missing)?;
    let places = words.windows(secret.len().max(1)).enumerate().filter(|(_, at)| *at == secret);
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    if places.is_empty() {
        return Ok(());
    }
    let memory = File::options().write(true).open(own.join("mem"))?;
    let over = vec![b'x'; secret.len()];
    places.into_iter().try_for_each(|place| memory.write_all_at(&over, begins + place as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_begin_where_the_kernel_says() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(begins(&format!("7 (a ) b) {}", fields.join(" "))), Some(48));
        assert!(hide(&Roots::default(), b"nobody typed this").is_ok());
    }
}
