//! The table for people.

use super::*;

#[test]
fn the_table_at_every_width() {
    let report = report("");
    assert_snapshot!("fusion-table", write(&TABLE, &report));
    assert_snapshot!("fusion-table-narrow", write_on(Some(64), &TABLE, &report));
    for width in [60, 80, 100, 120, 160] {
        let text = write_on(Some(width), &TABLE, &report);
        // The last columns, names and speed-ups, need this much.
        let long = text.lines().find(|line| line.chars().count() > width.max(67));
        assert_eq!(long, None, "{width}");
    }
    let wide = write_on(Some(120), &TABLE, &report);
    assert!(wide.lines().count() < write(&TABLE, &report).lines().count(), "it uses the room");
}

#[test]
fn colour_changes_no_letter() {
    let coloured = Writer::Fusion(Options { format: Format::Table, color: ColorChoice::Always });
    let report = report("");
    let text = write(&coloured, &report);
    for (code, word) in [(32, "strong"), (31, "slower"), (33, "inconclusive"), (32, "faster")] {
        assert!(text.contains(&format!("\x1b[{code}m{word}")), "{word}");
    }
    let codes = Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
    assert_eq!(codes.replace_all(&text, ""), write(&TABLE, &report));
    let json = Writer::Fusion(Options { format: Format::Json, color: ColorChoice::Always });
    assert_eq!(write(&json, &report), write(&JSON, &report), "a document has no colour");
}

#[test]
fn nothing_is_dropped() {
    let report = report("");
    let results = FusionResult::all(&report);
    let candidates = report.entries().filter(|entry| !entry.row.is_baseline()).count();
    assert_eq!((results.len(), candidates), (22, 22));
    let text = write(&TABLE, &report);
    for result in &results {
        assert!(text.contains(&result.entry.row.record.case.id.parameter));
    }
    assert!(text.contains("its executor has no fuser on the CPU"));
    assert!(text.contains("failed: SQNR 31.2 dB is below the gate of 40 dB"));
    let document = document(&report);
    let unsupported = entry(&document, "torchscript/f32-128x512x512");
    assert_eq!(unsupported["outcome"], "unsupported");
    assert!(unsupported["reason"].as_str().expect("a reason").contains("no fuser on the CPU"));
    assert_eq!(unsupported["no_speedup_reason"], "it is not measured");
    // Computed values need no run.
    assert_eq!(unsupported["flops"], 67_174_400);
    for key in ["fused_latency_ms", "fused_gflops", "speedup_factor", "benefit"] {
        assert_eq!(unsupported[key], Value::Null, "{key}");
    }
}
