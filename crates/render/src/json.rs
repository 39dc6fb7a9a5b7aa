//! The record as JSON. Its description for people is [`mod@crate::record_doc`].

use fathom_record::ResultRecord;
use std::io::{self, Write};

/// Writes the record as JSON over many lines, with a newline at the end.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, record)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;
    use serde_json::Value;

    #[test]
    fn the_paths_that_scripts_read_are_there() {
        let mut out = Vec::new();
        write(&sample_record(), &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert!(value.pointer("/summary/max_iops/value").is_some_and(Value::is_f64));
        assert!(value.pointer("/summary/max_mbps/value").is_some_and(Value::is_f64));
        assert_eq!(value.pointer("/verdict/state"), Some(&Value::from("cannot tell")));
    }

    #[test]
    fn the_text_comes_back_as_the_same_record() {
        let record = sample_record();
        let mut out = Vec::new();
        write(&record, &mut out).unwrap();
        let back: ResultRecord = serde_json::from_slice(&out).unwrap();
        assert_eq!(back.summary.len(), record.summary.len());
        assert_eq!(back.runs.len(), record.runs.len());
    }
}
