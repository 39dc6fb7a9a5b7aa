//! Several recordings of blktrace put together into one by their times: `merge_blktrace_file` and its kin. An event is
//! changed in nothing but its time, which counts from the beginning of its own recording.

use super::blktrace::{HEADER, Header, headers};
use crate::recording::Merge;

/// Bytes that a merged recording may have.
const BYTES_MOST: u64 = 8 << 30;

/// Puts recordings together; each is told with its name. An error names the recording and says what is wrong.
pub fn merge(recordings: &[(&str, &[u8])], how: &Merge) -> Result<Vec<u8>, String> {
    let mut events: Vec<(u64, usize, Header, &[u8])> = Vec::new();
    let (mut order, mut bytes) = (None, 0u64);
    for (number, (name, recording)) in recordings.iter().enumerate() {
        let (big, found) = headers(recording).map_err(|what| format!("{name}: {what}"))?;
        if *order.get_or_insert(big) != big {
            return Err(format!("{name} was recorded on a machine with the other order of bytes"));
        }
        let scalar = how.scalars.get(number).copied().unwrap_or(100.0) / 100.0;
        let repeats = how.repeats.get(number).copied().unwrap_or(1).max(1);
        bytes = bytes.saturating_add((recording.len() as u64).saturating_mul(repeats));
        if bytes > BYTES_MOST {
            return Err(format!("{name}: with it there are {bytes} bytes to be written"));
        }
        let times = found.iter().filter(|header| header.is_timed()).map(Header::time_ns);
        let (first, last) = times.fold((u64::MAX, 0), |(first, last), at| (first.min(at), last.max(at)));
        let length = last.saturating_sub(first);
        for repeat in 0..repeats {
            for header in &found {
                let own = header.time_ns().saturating_sub(first).min(length);
                let at_ns = (repeat.saturating_mul(length) as f64 + own as f64) * scalar;
                let part = &recording[header.at..header.end];
                events.push((at_ns as u64, number, *header, part));
            }
        }
    }
    // Stable: events of one moment stay in the order of their recordings, and in each as they were written.
    events.sort_by_key(|(at_ns, number, ..)| (*at_ns, *number));
    let mut merged = Vec::with_capacity(bytes as usize);
    for (at_ns, _, header, part) in events {
        merged.extend_from_slice(&part[..8]);
        merged.extend(if header.big { at_ns.to_be_bytes() } else { at_ns.to_le_bytes() });
        merged.extend_from_slice(&part[16..HEADER]);
        merged.extend_from_slice(&part[HEADER..]);
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::super::blktrace::{read, tests::event};
    use super::*;

    const QUEUE: u32 = 1 << 20 | 1;

    fn recording(times: &[u64], sector: u64) -> Vec<u8> {
        times.iter().flat_map(|at| event(*at, sector, 512, QUEUE, 8 << 20, &[7; 4])).collect()
    }

    fn told(scalars: &[f64], repeats: &[u64]) -> Vec<(u64, u64)> {
        let (one, other) = (recording(&[1000, 2000, 3000], 1), recording(&[50, 1550], 2));
        let how = Merge { file: String::new(), scalars: scalars.to_vec(), repeats: repeats.to_vec() };
        let merged = merge(&[("a", &one), ("b", &other)], &how).unwrap();
        read(&mut merged.as_slice()).unwrap().actions.iter().map(|a| (a.at_ns, a.offset / 512)).collect()
    }

    #[test]
    fn events_come_by_the_time_since_their_recording_began() {
        assert_eq!(told(&[], &[]), [(0, 1), (0, 2), (1000, 1), (1500, 2), (2000, 1)]);
    }

    #[test]
    fn a_recording_may_be_faster_and_repeated() {
        let wanted = [(0, 1), (0, 2), (500, 1), (1000, 1), (1000, 1), (1500, 1), (1500, 2), (2000, 1)];
        assert_eq!(told(&[50.0, 100.0], &[2, 1]), wanted);
    }

    #[test]
    fn broken_recordings_are_told_by_name() {
        let how = Merge { file: String::new(), scalars: Vec::new(), repeats: Vec::new() };
        let good = recording(&[1], 1);
        assert!(merge(&[("a", &good), ("b", &good[..40])], &how).unwrap_err().starts_with("b: event 1"));
        assert!(
            merge(&[("a", b"fio version 2 iolog")], &how).unwrap_err().starts_with("a: it does not begin")
        );
    }
}
