//! Kernels in the other formats.

use clap::ColorChoice;
use common::write;
use criterion_report::cli::writer::Writer;
use criterion_report::export::dashboard;
use criterion_report::views::show;
use insta::assert_snapshot;

use super::*;

#[test]
fn show_prints_kernels() {
    let report = everything().kernels_report();
    let show = |details| {
        Writer::Show(show::Options { color: ColorChoice::Never, details, ..Default::default() })
    };
    assert_snapshot!("show", write(&show(false), &report));
    assert_snapshot!("details", write(&show(true), &report));
}

#[test]
fn the_csv_has_kernels() {
    let report = everything().kernels_report();
    let text = write(&Writer::Csv(Default::default()), &report);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headings = reader.headers().expect("headings").clone();
    let place = |name: &str| headings.iter().position(|it| it == name).expect("a column");
    let lines: Vec<csv::StringRecord> = reader.records().map(|it| it.expect("a line")).collect();
    assert_eq!(lines.len(), 11);
    let line = &lines[1];
    for (column, value) in [
        ("full_id", "kernels/default/pressure_poisson/cpu/red_black_sor/f64-64x64x64-1e-6"),
        ("kernel", "pressure_poisson"),
        ("problem_size", "grid_size 64x64x64, max_iterations 200, tolerance 1e-6"),
        ("rmse", "0.00005"),
        ("determinism_std", "0"),
        ("flops", "2000000"),
        ("gb_per_s", "2"),
        ("speedup_over_group_baseline", "2"),
    ] {
        assert_eq!(&line[place(column)], value, "{column}");
    }
}

#[test]
fn the_dashboard_has_kernels() {
    let options = dashboard::Options { torchao_compat: false, seed_format: false, jsonl: true };
    let report = everything().kernels_report();
    let text = write(&Writer::Dashboard(options), &report);
    let records = text.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<String> = records
        .map(|line| {
            let record: Value = serde_json::from_str(line).expect("JSON");
            let [name, size, metric, value] = [
                "/model/name",
                "/model/extra_info/size",
                "/metric/name",
                "/metric/benchmark_values/0",
            ]
            .map(|pointer| record.pointer(pointer).expect("it has one").to_string());
            format!("{name} {size} {metric} {value}")
        })
        .collect();
    assert_snapshot!("dashboard", lines.join("\n"));
}
