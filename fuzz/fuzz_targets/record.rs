//! Records of the store, as text, JSON, CSV and pages.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_render::terminal::Style;

fuzz_target!(|data: &[u8]| {
    let Ok(record) = serde_json::from_slice::<fathom_record::ResultRecord>(data) else { return };
    let style = Style::default();
    let _ = fathom_render::report::write(&record, Some("1"), style, &mut Vec::new());
    let _ = fathom_render::brief::write(&record, style, &mut Vec::new());
    let _ = fathom_render::kv::write(&record, &mut Vec::new());
    let _ = fathom_render::markdown::write(&record, &mut Vec::new());
    let _ = fathom_render::openmetrics::write(&record, &mut Vec::new());
    let _ = fathom_render::json::write(&record, &mut Vec::new());
    let _ = fathom_render::csv::figures(&record, &mut Vec::new());
    let _ = fathom_render::html::write(&record, &mut Vec::new());
});
