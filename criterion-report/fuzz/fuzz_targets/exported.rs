//! Exported files: our own document, whole and in lines, and critcmp's export.
#![no_main]

#[path = "../writers.rs"]
mod writers;

use std::sync::LazyLock;

use criterion_report::read::Exported;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));

fuzz_target!(|data: &[u8]| {
    let file = FOLDER.path().join("exported.json");
    std::fs::write(&file, data).expect("written");
    if let Ok(Exported::Report { inputs, .. }) = Exported::read(&file) {
        writers::all(*inputs);
    }
});
