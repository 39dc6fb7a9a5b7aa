//! Prints what a path stands on and, for a file or device, what holds it: `inspect PATH`.

use std::path::Path;

use fathom_host::{holding, machine, roots::Roots, storage};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let roots = Roots::default();
    let Some(path) = std::env::args().nth(1) else {
        println!("{}", serde_json::to_string_pretty(&machine::read_machine(&roots))?);
        return Ok(());
    };
    let found = storage::resolve(&roots, Path::new(&path))?;
    println!("{}", serde_json::to_string_pretty(&found)?);
    if matches!(found.kind, storage::TargetKind::RegularFile | storage::TargetKind::BlockDevice) {
        println!("{}", serde_json::to_string_pretty(&holding::inspect(&roots, Path::new(&path))?)?);
    }
    Ok(())
}
