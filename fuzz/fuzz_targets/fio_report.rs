//! fio's JSON.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = fathom_fuzz::text(data);
    let _ = fathom_fio::import::unix_seconds(&text);
    let imported = fathom_fio::import::Imported { id: "1".to_owned(), version: "0", ended: String::new() };
    if let Ok(record) = fathom_fio::import::import(&text, &imported) {
        let _ = fathom_render::html::write(&record, &mut Vec::new());
    }
});
