//! Operators in the other formats.

use super::*;
use criterion_report::export::dashboard;
use criterion_report::views::show;

const DASHBOARD: dashboard::Options =
    dashboard::Options { torchao_compat: false, seed_format: false, jsonl: true };

fn fixture() -> Fixture {
    Fixture::of_operators("quick", SMALL)
        .without("softmax")
        .end("/aten-out/", &skipped())
        .edit("/rust/", |it| {
            let accuracy = it.record.accuracy.as_mut().expect("measured");
            accuracy.gates[1].worst = plan::JsonFloat(0.93);
        })
        .edit("/aten/", |it| it.record.accuracy.as_mut().expect("measured").gates.clear())
}

#[test]
fn show_prints_operators() {
    let show = |details| {
        Writer::Show(show::Options { color: ColorChoice::Auto, details, ..Default::default() })
    };
    let report = fixture().operators_report("");
    let text = write(&show(false), &report);
    assert_snapshot!("show", text);
    assert!(text.contains("`criterion-report operators`: how near"));
    let details = write(&show(true), &report);
    assert_snapshot!("details", details);
    assert!(details.contains("  0.930     denormal   3x5x17\n"), "{details}");
    for text in [text, details] {
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None);
    }
}

#[test]
fn the_csv_has_operators() {
    let report = fixture().operators_report("");
    let text = write(&Writer::Csv(Default::default()), &report);
    let mut reader = csv_lines(&text);
    let heading = reader.remove(0);
    let column = |line: &[String], name: &str| {
        line[heading.iter().position(|it| it == name).expect("a column")].clone()
    };
    assert_eq!(reader.len(), 5);
    let rust = reader.iter().find(|line| column(line, "variant") == "rust").expect("its line");
    assert_eq!(column(rust, "outcome"), "measured");
    for (name, value) in [("gb_per_s", 36.0), ("gflop_per_s", 22.5)] {
        let found: f64 = column(rust, name).parse().expect("a number");
        assert!((found - value).abs() < 1e-4, "{name} {found}");
    }
    for name in ["quantization", "m", "k", "n", "model_type"] {
        assert_eq!(column(rust, name), "", "{name}");
    }
    let out = reader.iter().find(|line| column(line, "variant") == "aten-out").expect("its line");
    assert_eq!(column(out, "reason"), "this machine has no CUDA device");
    assert_eq!(column(out, "gb_per_s"), "");
}

/// No cell of these has a quote or a comma.
fn csv_lines(text: &str) -> Vec<Vec<String>> {
    assert!(!text.contains('"'));
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn the_dashboard_has_operators() {
    let text = write(&Writer::Dashboard(DASHBOARD), &fixture().operators_report(""));
    let records = text.lines().filter(|line| line.starts_with('{'));
    let records: Vec<Value> =
        records.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |name: &str| -> Vec<&Value> {
        records.iter().filter(|record| record["model"]["name"] == name).collect()
    };
    let rust = of("gelu-rust-32x512x768-f32");
    let value = |metric: &str| {
        let found = rust.iter().find(|record| record["metric"]["name"] == metric);
        let found = found.unwrap_or_else(|| panic!("no {metric}"));
        found["metric"]["benchmark_values"][0].as_f64().expect("a number")
    };
    assert!((value("Fwd Speedup (x)") - 1.8).abs() < 1e-6);
    assert!((value("Fwd Throughput (GB/s)") - 36.0).abs() < 1e-4);
    assert!((value("rust Fwd Time (us)") - 2796.203).abs() < 1e-9);
    assert!((value("ATen Fwd Time (us)") - 5033.165).abs() < 1e-9);
    assert_eq!(value("Allocated Memory (% of aten)"), 100.0);
    assert!(of("gelu-aten-out-32x512x768-f32").is_empty(), "skipped is no result");
    let aten = of("gelu-aten-32x512x768-f32");
    assert!(aten.iter().all(|record| record["metric"]["name"] != "Fwd Speedup (x)"));
    assert!(aten.iter().any(|record| record["metric"]["name"] == "ATen Fwd Time (ms)"));
    let info = &rust[0]["model"]["extra_info"];
    assert_eq!((&info["operator"], &info["size"]), (&"gelu".into(), &"32x512x768".into()));
}
