//! The three lines in which users of DBMS_RESOURCE_MANAGER.CALIBRATE_IO print its answer: I/Os a second, milliseconds, and
//! 2^20 bytes a second. Nothing else stands in the text, so that a script can take it as it is.

use crate::labels;
use fathom_record::{FigureName, ResultRecord};
use std::io::{self, Write};

/// Writes the three lines; `-` stands for what was not measured.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let of = |name, scale: f64, decimals: usize| match labels::figure(record, name) {
        Some(figure) => format!("{:.decimals$}", figure.value / scale),
        None => "-".to_owned(),
    };
    writeln!(out, "max_iops = {}", of(FigureName::MaxIops, 1.0, 0))?;
    writeln!(out, "latency  = {}", of(FigureName::Latency, 1e6, 3))?;
    writeln!(out, "max_mbps = {}", of(FigureName::MaxMbps, 1.0, 0))
}
