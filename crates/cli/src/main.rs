//! The program `fathom`.

fn main() {}
