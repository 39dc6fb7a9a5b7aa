//! Sizes, times, limits, mixes, expectations, addresses of databases.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = fathom_fuzz::text(data);
    // What is shown is rounded; that it can be shown is enough.
    let _ = text.parse::<fathom_spec::Bytes>().map(|bytes| bytes.to_string());
    let _ = text.parse::<fathom_spec::Nanos>().map(|time| time.to_string());
    let _ = text.parse::<fathom_spec::Quantile>();
    let _ = text.parse::<fathom_spec::LatencyLimit>();
    let _ = text.parse::<fathom_cli::args::Mix>();
    let _ = text.parse::<fathom_cli::args::Expect>();
    let _ = text.parse::<fathom_database::url::Url>();
    let _ = fathom_spec::names::text(&text);
});
