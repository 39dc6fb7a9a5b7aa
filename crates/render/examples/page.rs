//! Writes the sample calibration as a page: `cargo run -p fathom-render --example page -- page.html`. With a
//! second argument, the JSON file of a real record is shown instead.

use fathom_record::ResultRecord;
use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "page.html".to_owned());
    let record: ResultRecord = match arguments.next() {
        Some(json) => serde_json::from_slice(&std::fs::read(json)?)?,
        None => fathom_render::fixture::sample_record(),
    };
    let mut out = BufWriter::new(std::fs::File::create(&path)?);
    fathom_render::html::write(&record, &mut out)?;
    out.flush()?;
    println!("{path}");
    Ok(())
}
