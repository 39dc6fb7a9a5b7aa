//! The lines of `--debug`, one for each operation: made from the engine's log when the run has ended.

use super::Voice;
use crate::Options;
use std::collections::BTreeMap;

/// A log under way; its file goes with it.
pub struct Log {
    /// Where it is.
    pub path: String,
}

impl Log {
    /// A log where one is wanted, in the current directory.
    pub fn wanted(options: &Options, id: &str) -> Option<Self> {
        options.debug.then(|| Log { path: format!(".fathom-sysbench-{id}.log") })
    }

    /// Tells every operation but the syncs at the end.
    pub fn tell(&self, options: &Options) {
        let Ok(text) = std::fs::read_to_string(&self.path) else { return };
        let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(' ').collect()).collect();
        let mut left: BTreeMap<&str, u32> = BTreeMap::new();
        let mut told = Vec::new();
        for line in lines.iter().rev() {
            let [_, _, _, worker, verb, target, offset, bytes, ..] = line[..] else { continue };
            let last = left.entry(worker).or_insert(if options.syncs_at_end() { options.files } else { 0 });
            if verb == "sync" && *last > 0 {
                *last -= 1;
                continue;
            }
            let kind = match verb {
                "read" => 1,
                "sync" => 3,
                _ => 2,
            };
            // sysbench prints the lower 32 bits.
            let offset = offset.parse::<u64>().unwrap_or(0) as i32;
            told.push(format!(
                "Executing request, operation: {kind}, file_id: {target}, pos: {offset}, size: {bytes}"
            ));
        }
        told.iter().rev().for_each(|line| Voice::of(options).debug(line));
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
