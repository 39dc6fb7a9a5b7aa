//! The words of fathom's own commands.
#![no_main]
use libfuzzer_sys::fuzz_target;

use clap::Parser;

fuzz_target!(|data: &[u8]| {
    let mut words = fathom_fuzz::os_words(data);
    words.insert(0, "fathom".into());
    let _ = fathom_cli::args::Cli::try_parse_from(words);
});
