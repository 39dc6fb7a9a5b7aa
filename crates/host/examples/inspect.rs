//! Prints what a path stands on and, for a file or device, what direct I/O wants and what holds it: `inspect PATH`.

use std::fs::File;
use std::path::Path;

use fathom_host::{device_users, extents, machine, roots::Roots, storage};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let roots = Roots::default();
    let Some(path) = std::env::args().nth(1) else {
        println!("{}", serde_json::to_string_pretty(&machine::read_machine(&roots))?);
        return Ok(());
    };
    let path = Path::new(&path);
    let found = storage::resolve(&roots, path)?;
    println!("{}", serde_json::to_string_pretty(&found)?);
    if matches!(found.kind, storage::TargetKind::RegularFile | storage::TargetKind::BlockDevice) {
        match File::open(path).and_then(|file| extents::direct_alignment(&file)) {
            Ok(alignment) => println!("{}", serde_json::to_string_pretty(&alignment)?),
            Err(error) => println!("{:?}", format!("{}: {error}", path.display())),
        }
        println!("{}", serde_json::to_string_pretty(&device_users::inspect(&roots, path)?)?);
    }
    Ok(())
}
