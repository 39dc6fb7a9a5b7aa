//! Writes docs/tools/fio.md, which a test holds equal to the table of options.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/tools/fio.md");
    std::fs::write(path, fathom_fio::doc::page())
}
