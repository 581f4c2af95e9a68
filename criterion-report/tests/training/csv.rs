//! torchao's columns of training, filled with what was measured.

use criterion_report::cli::writer::Writer;
use criterion_report::export::csv;

use crate::common::write;
use crate::training::fixture::Fixture;
use crate::training::{GRID, ONE};

const LAYOUT: Writer = Writer::Csv(csv::Options {
    layout: csv::Layout::Training,
    raw: true,
    columns: Vec::new(),
    torchao_output: None,
});

/// The heading, and the cells of each line.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = ::csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let heading = reader.headers().expect("a heading").iter().map(str::to_owned).collect();
    let lines = reader.records().map(|line| line.expect("a line"));
    (heading, lines.map(|line| line.iter().map(str::to_owned).collect()).collect())
}

#[test]
fn the_columns_are_torchaos() {
    let (heading, _) =
        table(&write(&LAYOUT, &Fixture::of_training("train", ONE).training_report("")));
    let expected = "name quantization sparsity m k n high_precision_dtype use_torch_compile \
                    torch_compile_mode device model_type output_dir enable_profiler \
                    enable_memory_profiler scaling_type_input scaling_type_weight \
                    scaling_type_grad_output scaling_granularity use_fast_accum repeat_n \
                    model_inference_time_in_ms profiler_json_path memory_profile_path \
                    memory_visualization_path memory_stats forward_time_ms backward_time_ms \
                    total_time_ms reference_forward_time_ms reference_backward_time_ms \
                    reference_total_time_ms speedup scaling_repr ref_tops_sec ref_pct_top_peak \
                    tops_sec pct_top_peak absent";
    assert_eq!(heading, expected.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn the_documented_columns_are_those_written() {
    let (mut written, _) =
        table(&write(&LAYOUT, &Fixture::of_training("train", ONE).training_report("")));
    let page = std::fs::read_to_string("../docs/book/src/exports/csv.md").expect("readable");
    let (_, section) = page.split_once("`--layout training`").expect("the layout");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    let names = rows.flat_map(|(names, _)| names.split(", "));
    let mut documented: Vec<String> = names.map(|name| name.replace('`', "")).collect();
    written.sort();
    documented.sort();
    assert_eq!(documented, written);
}

#[test]
fn every_value_is_measured_or_has_a_reason() {
    for config in [ONE, GRID] {
        let (heading, lines) =
            table(&write(&LAYOUT, &Fixture::of_training("train", config).training_report("")));
        assert!(lines.len() >= 4);
        for line in lines {
            let absent = line.last().expect("a cell");
            // Settings and names are always there, except for the sparse layout.
            for (name, cell) in heading.iter().zip(&line).skip(14) {
                let reason = absent.contains(&format!("{name}: "));
                assert_eq!(cell.is_empty(), reason, "{name} of {line:?}");
            }
        }
    }
}

#[test]
fn the_values_are_those_of_the_passes() {
    let (heading, lines) =
        table(&write(&LAYOUT, &Fixture::of_training("train", ONE).training_report("")));
    let cell = |line: &[String], name: &str| {
        line[heading.iter().position(|it| it == name).expect("a column")].clone()
    };
    let number = |line: &[String], name: &str| cell(line, name).parse::<f64>().expect("a number");
    let of = |recipe: &str| {
        lines.iter().find(|line| cell(line, "quantization") == recipe).expect("a line")
    };
    let (own, baseline) = (of("float8-tensorwise"), of("baseline"));
    let (forward, total) = (number(own, "forward_time_ms"), number(own, "total_time_ms"));
    assert!((forward * 3.0 / total - 1.0).abs() < 1e-6);
    assert_eq!(cell(own, "reference_total_time_ms"), cell(baseline, "total_time_ms"));
    let speedup = number(baseline, "total_time_ms") / total;
    assert!((number(own, "speedup") / speedup - 1.0).abs() < 1e-5);
    let operations = 6.0 * 512.0 * 1024.0 * 1024.0;
    assert!((number(own, "tops_sec") / (operations / (total / 1e3)) - 1.0).abs() < 1e-6);
    assert!((number(own, "pct_top_peak") * 3958e12 / number(own, "tops_sec") - 1.0).abs() < 1e-9);
    assert_eq!(cell(own, "ref_tops_sec"), cell(baseline, "tops_sec"));
    let share = number(own, "ref_pct_top_peak") * 1979e12 / number(own, "ref_tops_sec");
    assert!((share - 1.0).abs() < 1e-9);
    assert_eq!(cell(own, "scaling_repr"), "i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2");
    assert_eq!(cell(baseline, "scaling_repr"), "baseline (bfloat16)");
    assert_eq!(cell(own, "use_fast_accum"), "True");
    let emulated = of("float8-rowwise");
    assert!(number(emulated, "total_time_ms") > 0.0);
    assert_eq!((cell(emulated, "speedup"), cell(emulated, "tops_sec")), Default::default());
    assert!(cell(emulated, "absent").contains("speedup: emulated: "));
}
