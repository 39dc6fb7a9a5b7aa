//! Writes docs/record.md, which a test holds equal to the types.

fn main() -> std::io::Result<()> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    std::fs::create_dir_all(folder)?;
    std::fs::write(format!("{folder}/record.md"), fathom_render::record_doc())
}
