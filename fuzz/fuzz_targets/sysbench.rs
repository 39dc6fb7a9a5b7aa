//! sysbench's command line and configuration file, down to the plan.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_sysbench::{Command, parse};

fuzz_target!(|data: &[u8]| {
    let text = fathom_fuzz::text(data);
    let (words, file) = text.split_once("\n\n").unwrap_or((&text, ""));
    let words: Vec<String> = words.lines().map(str::to_owned).collect();
    let invocation = parse(&words, &|_| Ok(file.to_owned()));
    if let Command::Run(options) | Command::Prepare(options) = &invocation.command
        && options.files <= 1024
        && let Some(mode) = options.mode
    {
        fathom_sysbench::run(options, mode, 1);
    }
});
