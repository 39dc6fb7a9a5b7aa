//! Records of the store, as text, JSON, CSV and pages.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_render::terminal::Style;

fuzz_target!(|data: &[u8]| {
    let Ok(record) = serde_json::from_slice::<fathom_record::ResultRecord>(data) else { return };
    let style = Style::default();
    let _ = fathom_render::text::write(&record, None, style, &mut Vec::new());
    let _ = fathom_render::load::write(&record, Some("1"), style, &mut Vec::new());
    let _ = fathom_render::json::write(&record, &mut Vec::new());
    let _ = fathom_render::csv::figures(&record, &mut Vec::new());
    let _ = fathom_render::html::write(&record, &mut Vec::new());
});
