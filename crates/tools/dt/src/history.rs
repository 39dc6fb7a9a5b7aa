//! The history of operations, as dt tells it.

use super::options::Options;

/// One operation of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it came back, ns since 1970.
    pub at_ns: u64,
    /// It was a read, not a write.
    pub reads: bool,
    /// Number of its record.
    pub record: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Where in it a piece begins, and the piece.
    pub pieces: Vec<(u32, Vec<u8>)>,
}

/// The lines of a history, the newest operation first; in brackets stands the time since the one before it.
pub fn history(options: &Options, kept: &[HistoryEntry]) -> Vec<String> {
    let mut lines = vec![format!("Dumping History Data ({} entries):", kept.len()), String::new()];
    for (i, past) in kept.iter().enumerate().rev() {
        let before = i.checked_sub(1).and_then(|i| kept.get(i)).map_or(past.at_ns, |before| before.at_ns);
        let times = match options.watch.history_times {
            true => {
                let (at, since) = (past.at_ns / 1000, past.at_ns.saturating_sub(before) / 1000);
                let split = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
                format!("{} ({}) ", split(at), split(since))
            }
            false => String::new(),
        };
        let block = options.block.max(1);
        let (blocks, first) = (past.length.div_ceil(block), past.offset / block);
        let last = (first + blocks).saturating_sub(1);
        let verb = if past.reads { "Read" } else { "Wrote" };
        lines.push(format!(
            "{times}Record #{} - {verb} {} bytes ({blocks} blocks) Relative LBA's {first} - {last} (offset {})",
            past.record, past.length, past.offset
        ));
        let rows = past.pieces.iter().flat_map(|(start, piece)| {
            let at = (u64::from(*start)..).step_by(16);
            at.zip(piece.chunks(16))
        });
        for (at, bytes) in rows {
            let cells: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
            let text: String = bytes
                .iter()
                .map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' })
                .collect();
            lines.push(format!("    {at:>6} |{cells:<48} \"{text}\""));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn options(line: &str) -> Options {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 4096).unwrap()
    }

    #[test]
    fn the_history_is_told_as_dt_does_the_newest_first() {
        let mut options = options("if=f history=2 hdsize=4 enable=htiming");
        let past = |number: u64, at_ns| HistoryEntry {
            at_ns,
            reads: true,
            record: number,
            offset: (number - 1) * 8192,
            length: 8192,
            pieces: vec![(0, vec![0x70, 0, 0, 0]), (512, vec![0x71])],
        };
        let kept = [past(7, 1_795_225_039_549_890_000), past(8, 1_795_225_039_549_891_500)];
        let lines = super::history(&options, &kept);
        assert_eq!(
            lines[2..5],
            [
                "1795225039.549891 (0.000001) Record #8 - Read 8192 bytes (16 blocks) Relative LBA's 112 - 127 (offset 57344)",
                "         0 | 70 00 00 00                                     \"p...\"",
                "       512 | 71                                              \"q\""
            ]
        );
        assert_eq!(lines.len(), 8);
        options.watch.history_times = false;
        assert!(super::history(&options, &kept)[2].starts_with("Record #8 - Read"));
    }
}
