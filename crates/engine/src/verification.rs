//! What a plan may ask of verification, and what follows from it for the bytes that are written.

use fathom_content::fio;
use fathom_record::ExecuteError;
use fathom_spec::{Blocks, Bytes, Content, Sizes, Stream, Work};

fn refuse(what: String, hint: &str) -> ExecuteError {
    ExecuteError::Plan { what, hint: hint.to_owned() }
}

/// The bytes of a stream. Where operations of several sizes may overlap, headers stand at the distance of the smallest
/// piece that is overwritten as a whole: else a later, shorter write would look like damage of an earlier one.
pub(crate) fn content(blocks: &Blocks) -> Result<Content, ExecuteError> {
    let Content::FioHeader { hash, interval, swap, pattern } = &blocks.content else {
        return Ok(blocks.content.clone());
    };
    let sizes: Vec<u64> = match &blocks.sizes {
        Sizes::One(size) => vec![size.0],
        Sizes::Range(least, _) => vec![least.0],
        Sizes::Any(..) => vec![1],
        Sizes::Split(parts) => parts.iter().map(|part| part.1.0).collect(),
    };
    let step = if blocks.align.0 == 0 { sizes.iter().copied().min().unwrap_or(0) } else { blocks.align.0 };
    let piece = sizes.iter().fold(step, |a, b| common(a, *b));
    let one = matches!(blocks.sizes, Sizes::One(size) if size.0 == piece);
    let interval = match *interval {
        0 if one => 0,
        0 => piece as u32,
        given => given,
    };
    let length = fio::Hash::of_number(*hash).map_or(0, fio::Hash::length) + fio::HEADER_BYTES;
    let room = if interval == 0 { piece } else { u64::from(interval) };
    if room <= length as u64 || !piece.is_multiple_of(room) {
        return Err(refuse(
            format!("headers of {length} bytes every {} do not fit blocks of {}", Bytes(room), Bytes(piece)),
            "use an interval that divides every block size and is longer than a header",
        ));
    }
    Ok(Content::FioHeader { hash: *hash, interval, swap: *swap, pattern: pattern.clone() })
}

/// Greatest common divisor (Euclid).
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Does a stream write, and read again what it wrote?
pub(crate) fn reads_again(stream: &Stream) -> bool {
    match &stream.work {
        Work::Blocks(blocks) => {
            let again = blocks.verify.is_some_and(|verify| !verify.only && verify.then_read_pass);
            again && crate::source::writes(&blocks.mix)
        }
        _ => false,
    }
}

/// How many threads check beside each worker, and on which CPUs.
pub(crate) fn checkers(blocks: &Blocks) -> Result<(u32, Vec<u32>), ExecuteError> {
    // Pairs wait for each other where they were read.
    let wanted = blocks.verify.map_or(0, |verify| verify.checkers);
    if wanted == 0 || matches!(blocks.content, Content::Alike | Content::SysbenchSum) {
        return Ok((0, Vec::new()));
    }
    let cpus = &blocks.checker_cpus;
    let here = crate::cpus::allowed_cpus();
    if !cpus.is_empty() && !cpus.iter().any(|cpu| here.contains(&(*cpu as usize))) {
        return Err(refuse(
            format!("threads that check cannot run on the CPUs {cpus:?}"),
            "name CPUs that this process may use",
        ));
    }
    Ok((wanted, cpus.clone()))
}

/// Buffers that a worker has beyond its depth: one for each thread that checks, and one that waits for it.
pub(crate) fn spare(checkers: u32) -> u32 {
    checkers * 2
}
