//! The whole output of every writer, as snapshots.

use std::collections::BTreeMap;

use crate::common::{READABLE, in_graphs, report, try_report, write, write_on};
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::export::{csv, dashboard};
use criterion_report::views::show;
use insta::assert_snapshot;
use serde_json::{Value, json};

fn show() -> Writer {
    Writer::Show(show::Options { color: ColorChoice::Auto, details: false, ..Default::default() })
}

fn details() -> Writer {
    Writer::Show(show::Options { color: ColorChoice::Auto, details: true, ..Default::default() })
}

fn csv() -> Writer {
    Writer::Csv(csv::Options::default())
}

fn dashboard(torchao_compat: bool, seed_format: bool, jsonl: bool) -> Writer {
    Writer::Dashboard(dashboard::Options { torchao_compat, seed_format, jsonl })
}

#[test]
fn show_of_every_fixture() {
    for name in READABLE {
        assert_snapshot!(format!("show-{name}"), write(&show(), &report(name)));
    }
}

#[test]
fn details_of_what_is_there_and_what_is_not() {
    for name in [
        "probes",
        "compiled",
        "compiled-modes",
        "every-outcome",
        "fusion",
        "host-bound",
        "noisy",
        "packed-sibling",
        "page-faults",
        "preallocated",
        "quick-mode",
    ] {
        assert_snapshot!(format!("details-{name}"), write(&details(), &report(name)));
    }
}

#[test]
fn show_stays_within_a_hundred_columns() {
    for name in READABLE {
        let text = write(&show(), &report(name)) + &write(&details(), &report(name));
        // A path or an id does not break.
        let long = text.lines().find(|line| line.chars().count() > 100 && !line.contains('/'));
        assert_eq!(long, None, "{name}");
    }
}

#[test]
fn text_follows_the_terminals_width() {
    let at = |width| write_on(Some(width), &show(), &report("unreached-cases"));
    assert_snapshot!("show-narrow-unreached-cases", at(60));
    assert_eq!(at(20), at(60), "below this text is not broken further");
    assert_eq!(at(100), write(&show(), &report("unreached-cases")));
    assert!(at(160).lines().count() < at(100).lines().count());
}

/// Columns that `--details` repeats are dropped if the table would be wider than the terminal.
#[test]
fn a_narrow_table_leaves_out_steps_then_bits() {
    let heading = |width| {
        let text = write_on(Some(width), &show(), &report("packed-sibling"));
        let heading = text.lines().find(|line| line.contains("SQNR")).expect("a heading");
        assert!(heading.chars().count() <= width || !heading.contains("bits"), "{heading}");
        [heading.contains(" bits"), heading.contains(" step")]
    };
    assert_eq!(heading(120), [true, true]);
    assert_eq!(heading(101), [true, true]);
    assert_eq!(heading(100), [true, false]);
    assert_eq!(heading(95), [true, false]);
    assert_eq!(heading(80), [false, false]);
}

#[test]
fn show_in_colour_has_the_same_letters() {
    let coloured = Writer::Show(show::Options {
        color: ColorChoice::Always,
        details: false,
        ..Default::default()
    });
    let codes = regex::Regex::new("\x1b\\[[0-9]+m").expect("a valid pattern");
    for name in READABLE {
        let text = write(&coloured, &report(name));
        assert!(codes.is_match(&text), "{name}");
        assert_eq!(codes.replace_all(&text, ""), write(&show(), &report(name)), "{name}");
    }
}

#[test]
fn csv_of_outcomes_and_missing_values() {
    for name in [
        "probes",
        "candidate-alone",
        "compiled",
        "compiled-modes",
        "different-runs",
        "every-outcome",
        "host-bound",
        "no-pair",
        "noisy",
        "packed-sibling",
        "preallocated",
        "quick-mode",
        "stale-baseline",
        "two-siblings",
        "unreached-cases",
    ] {
        assert_snapshot!(format!("csv-{name}"), write(&csv(), &report(name)));
    }
}

fn v_final() -> Writer {
    Writer::Csv(csv::Options { layout: csv::Layout::VFinal, ..csv::Options::default() })
}

#[test]
fn the_last_layout_has_eager_and_compiled_side_by_side() {
    for name in ["compiled-modes", "every-outcome", "packed-sibling", "probes", "stale-baseline"] {
        assert_snapshot!(format!("csv-v-final-{name}"), write(&v_final(), &report(name)));
    }
}

/// The names and their order are torchao's at its last commit.
#[test]
fn the_last_layout_is_exactly_upstreams() {
    let text = write(&v_final(), &report("compiled-modes"));
    let heading = "name,quantization,sparsity,m,k,n,high_precision_dtype,torch_compile_mode,device,\
                   model_type,output_dir,enable_profiler,enable_memory_profiler,\
                   baseline_model_eager_inference_time_in_ms,\
                   quantized_model_eager_inference_time_in_ms,\
                   baseline_model_compiled_inference_time_in_ms,\
                   quantized_model_compiled_inference_time_in_ms,eager speedup on baseline,\
                   compile speedup on baseline,eager vs compile speedup,profiler_json_path,\
                   memory_profile_path,memory_visualization_path,memory_stats";
    assert_eq!(text.lines().next(), Some(heading));
}

#[test]
fn upstreams_columns_come_first_in_its_order() {
    let text = write(&csv(), &report("two-siblings"));
    let heading = text.lines().next().expect("a heading line");
    let upstream = "name,quantization,sparsity,m,k,n,high_precision_dtype,use_torch_compile,\
        torch_compile_mode,device,model_type,output_dir,enable_profiler,enable_memory_profiler,\
        baseline_inference_time_in_ms,model_inference_time_in_ms,speedup,profiler_json_path,\
        memory_profile_path,memory_visualization_path,memory_stats,";
    assert!(heading.starts_with(upstream), "{heading}");
}

#[test]
fn the_documented_columns_of_the_last_layout_are_those_written() {
    let text = write(&v_final(), &report("probes"));
    let written: Vec<&str> = text.lines().next().expect("a heading line").split(',').collect();
    let page = std::fs::read_to_string("../docs/book/src/exports/csv.md").expect("readable");
    let (_, section) = page.split_once("`--layout v-final`").expect("the layout");
    let section = section.split("\n## ").next().expect("a section");
    let first = regex::Regex::new("(?m)^\\| (`[^|]*`) \\|").expect("a valid pattern");
    let cells: String = first.captures_iter(section).map(|row| row[1].to_owned()).collect();
    let names = cells.split('`').filter(|name| !name.trim_matches(&[',', ' '][..]).is_empty());
    let documented: Vec<&str> = names.collect();
    assert_eq!(documented, written);
}

#[test]
fn dashboard_for_the_database() {
    let v3 = dashboard(false, false, false);
    let failed = try_report("every-outcome", "new", "float8dq-row").expect("a readable fixture");
    assert_snapshot!("dashboard-v3-two-siblings", write(&v3, &report("two-siblings")));
    assert_snapshot!("dashboard-v3-failed", write(&v3, &failed));
    let jsonl = dashboard(false, false, true);
    for name in [
        "compiled",
        "compiled-modes",
        "different-runs",
        "every-outcome",
        "host-bound",
        "no-pair",
        "other-dtype",
        "packed-sibling",
        "preallocated",
        "small-kernels",
        "stale-estimate",
    ] {
        assert_snapshot!(format!("dashboard-{name}"), table(&write(&jsonl, &report(name))));
    }
}

/// Lines of records as names and values: a record's metric, below what tells the record from the
/// one before. Other lines stay as they are.
fn table(lines: &str) -> String {
    let mut before = BTreeMap::new();
    let mut out = String::new();
    for line in lines.lines() {
        let Ok(Value::Object(mut record)) = serde_json::from_str(line) else {
            out.push_str(&format!("{line}\n"));
            continue;
        };
        let mut metric = record.remove("metric").expect("a metric");
        let name = metric.as_object_mut().and_then(|it| it.remove("name")).expect("its name");
        let mut fields = BTreeMap::new();
        flatten("", &Value::Object(record), &mut fields);
        let gone = before.keys().filter(|path| !fields.contains_key(*path));
        let gone: String = gone.map(|path| format!("{path} is absent\n")).collect();
        let new = fields.iter().filter(|(path, value)| before.get(*path) != Some(*value));
        let new: String = new.map(|(path, value)| format!("{path} {value}\n")).collect();
        out.push_str(&(gone + &new));
        before = fields;
        let mut values = BTreeMap::new();
        flatten("", &metric, &mut values);
        let values: Vec<String> =
            values.iter().map(|(path, value)| format!("{path} {value}")).collect();
        out.push_str(&format!("  {name}: {}\n", values.join(", ")));
    }
    out
}

/// The values in `value` by their path, empty containers included.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, it)| (i.to_string(), it)).collect()
        }
        _ => Vec::new(),
    };
    if parts.is_empty() {
        into.insert(path.to_owned(), value.to_string());
    }
    for (key, value) in parts {
        let separator = if path.is_empty() { "" } else { "." };
        flatten(&format!("{path}{separator}{key}"), value, into);
    }
}

#[test]
fn dashboard_in_upstreams_forms() {
    let (compat, seed) = (dashboard(true, false, false), dashboard(false, true, false));
    let compiled = try_report("compiled", "new", "max-autotune").expect("a readable fixture");
    assert_snapshot!("dashboard-compat-two-siblings", write(&compat, &report("two-siblings")));
    assert_snapshot!("dashboard-compat-compiled", write(&compat, &compiled));
    for name in ["candidate-alone", "no-pair", "packed-sibling", "stale-estimate"] {
        assert_snapshot!(format!("dashboard-compat-{name}"), write(&compat, &report(name)));
    }
    assert_snapshot!("dashboard-compat-every-outcome", write(&compat, &report("every-outcome")));
    assert_snapshot!("dashboard-seed-two-siblings", write(&seed, &report("two-siblings")));
}

#[test]
fn upstreams_forms_say_that_they_mix_series() {
    let written = write(&dashboard(true, false, false), &report("compiled"));
    let (_, notes) = written.split_once("\nnote: ").expect("a note below the text");
    assert_snapshot!(notes, @r"
    not for uploading as it is: `Fwd Speedup (x)` and 3 other metrics of `int8wo-1024-1024-1024`: 2 cases of the config `quick` would become one series on the dashboard:
      inference/quick/linear/cpu/int8wo/bf16-1024x1024x1024
      inference/quick/linear/cpu/int8wo+max-autotune/bf16-1024x1024x1024
      choose one with --filter, or those of the latest run with --latest
    ");
}

#[test]
fn what_the_dashboard_refuses() {
    let compat = dashboard(true, false, false);
    assert_snapshot!(write(&compat, &report("other-dtype")), @r"
    error: no case has a result for the dashboard
      left out: 1 case: not bfloat16, the only dtype that its metrics can name
    ");
    assert_snapshot!(write(&compat, &report("preallocated")), @r"
    error: no case has a result for the dashboard
      left out: 2 cases: a preallocated output, which its names cannot distinguish from a fresh one
    ");
    assert_snapshot!(write(&compat, &report("torn-last-line")), @r"
    error: no case has a result for the dashboard
    ");
}

/// torchao's names would give them to the eager recipe.
#[test]
fn torchaos_files_leave_out_steps_in_graphs_and_a_series_names_them() {
    let layout = csv::Layout::VFinal;
    let csv = Writer::Csv(csv::Options { layout, ..csv::Options::default() });
    // The dashboard's forms hold no unquantized model.
    for (writer, cases) in [
        (csv, "2 cases"),
        (dashboard(true, false, false), "1 case"),
        (dashboard(false, true, false), "1 case"),
    ] {
        let text = write(&writer, &in_graphs());
        let reason = "a CUDA graph, which its names cannot distinguish from the eager step";
        assert!(text.contains(&format!("left out: {cases}: {reason}")), "{text}");
        assert!(!text.contains("int8wo"), "{text}");
    }
    let series = write(&dashboard(false, false, true), &in_graphs());
    assert!(series.contains("\"int8wo-1024-1024-1024-graph\""), "{series}");
}

#[test]
fn unreadable_records_name_the_place_and_the_remedy() {
    let error = |name, baseline| match try_report(name, baseline, "") {
        Ok(_) => panic!("{name} was read"),
        Err(error) => error.to_string(),
    };
    assert_snapshot!(error("older-version", "new"), @r"
    tests/fixtures/older-version/criterion-torch/new/inference.jsonl: 2 records written by an earlier version of criterion-torch (record version 1; this criterion-report reads 2): measure again with `cargo bench`
    ");
    assert_snapshot!(error("malformed-line", "new"), @r"
    no record in tests/fixtures/malformed-line/criterion-torch/new can be used:
      tests/fixtures/malformed-line/criterion-torch/new/inference.jsonl:1: not a record: key must be a string at line 1 column 14; delete the line and measure its case again with `cargo bench`
      tests/fixtures/malformed-line/criterion-torch/new/inference.jsonl:2: not a record: key must be a string at line 1 column 14; delete the line and measure its case again with `cargo bench`
    ");
    assert_snapshot!(error("named-baseline", "new"), @r"
    no records: looked for tests/fixtures/named-baseline/criterion-torch/new/*.jsonl
      measure first with `cargo bench`, or say where the results are with --criterion-dir
      baselines that have records: main (choose with --baseline)
    ");
    assert_snapshot!(error("nothing", "new"), @r"
    no records: looked for tests/fixtures/nothing/criterion-torch/new/*.jsonl
      measure first with `cargo bench`, or say where the results are with --criterion-dir
    ");
    assert_snapshot!(error("two-siblings", "mian"), @r"
    no records: looked for tests/fixtures/two-siblings/criterion-torch/mian/*.jsonl
      measure first with `cargo bench`, or say where the results are with --criterion-dir
      baselines that have records: new (choose with --baseline)
    ");
}

#[test]
fn an_unreadable_line_costs_itself_alone() {
    let unreadable = |name| report(name).unreadable.join("\n");
    assert_snapshot!(unreadable("newer-version"), @"tests/fixtures/newer-version/criterion-torch/new/inference.jsonl:2: record version 3, but this criterion-report reads version 2: a newer criterion-torch wrote it; use the criterion-report of that version");
}

/// A pattern is compared with its unfused operations and a probe with its baseline; torchao knows
/// neither.
#[test]
fn a_record_says_what_it_is_compared_with_and_whose_it_is() {
    let shares = |fixture: &str| -> (Vec<String>, Vec<Value>) {
        let text = write(&dashboard(false, false, false), &report(fixture));
        let records: Vec<Value> =
            serde_json::from_str(&text[..=text.rfind(']').expect("a list")]).expect("strict JSON");
        let names = records.iter().map(|it| it["metric"]["name"].as_str().expect("a name"));
        let mut shares: Vec<String> =
            names.filter(|it| it.contains("(% of ")).map(str::to_owned).collect();
        shares.sort();
        shares.dedup();
        let mut origins: Vec<Value> =
            records.iter().map(|it| it["model"]["origins"].clone()).collect();
        origins.dedup();
        (shares, origins)
    };
    for (fixture, whole, origins) in [
        ("two-siblings", "unquantized", json!(["torchao"])),
        ("fusion-products", "unfused", json!(["branes-ai/graphs"])),
        ("probes", "baseline", json!([])),
    ] {
        let (names, found) = shares(fixture);
        let other = names.iter().find(|name| !name.ends_with(&format!("(% of {whole})")));
        assert_eq!((other, found), (None, vec![origins]), "{fixture}");
        if fixture != "probes" {
            assert!(!names.is_empty(), "{fixture}");
        }
    }
}
