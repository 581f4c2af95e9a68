//! `fusion`: what its model says, its table and its document. `upstream_defect_n` tests that the
//! n-th known defect of branes-ai/graphs is not one here.

mod common;

use std::process::{Command, Output};

use clap::ColorChoice;
use common::{fixture, text_and_notes, write, write_on};
use criterion_report::model::{
    Advice, FusionResult, Location, NoSpeedup, PatternAdvice, Report, Selection,
};
use criterion_report::write::fusion::{Format, Options};
use criterion_report::write::{Target, Writer};
use insta::assert_snapshot;
use plan::{Device, FusionVariant, Mode, Pattern};
use regex::Regex;
use serde_json::Value;
use statistics::{Band, Benefit};

const TABLE: Writer = Writer::Fusion(Options { format: Format::Table, color: ColorChoice::Auto });
const JSON: Writer = Writer::Fusion(Options { format: Format::Json, color: ColorChoice::Auto });

/// The fusion cases of the fixture whose id matches.
fn report(filter: &str) -> Report {
    let filter = Regex::new(filter).expect("a valid pattern");
    let modes = Some(&[Mode::Fusion][..]);
    let selection = Selection { modes, filter: Some(&filter), ..Selection::default() };
    let location = Location::at(fixture("fusion").join("criterion"));
    Report::read(&location, "new", selection).expect("a readable fixture")
}

/// The one result whose id ends so.
fn result<'a>(results: &'a [FusionResult<'a>], end: &str) -> &'a FusionResult<'a> {
    let mut found = results.iter().filter(|result| result.row.full_id().ends_with(end));
    let result = found.next().expect("the fixture has it");
    assert_eq!(found.count(), 0, "{end} is ambiguous");
    result
}

fn document(report: &Report) -> Value {
    serde_json::from_str(&write(&JSON, report)).expect("strict JSON")
}

/// The one entry of the document's results whose id ends so.
fn entry<'a>(document: &'a Value, end: &str) -> &'a Value {
    let entries = document["results"].as_array().expect("a list");
    let is_it = |entry: &&Value| entry["full_id"].as_str().expect("an id").ends_with(end);
    entries.iter().find(is_it).expect("the fixture has it")
}

fn advice(report: &Report, pattern: Pattern) -> PatternAdvice {
    let all = PatternAdvice::all(&FusionResult::all(report));
    let on_cpu =
        |advice: &PatternAdvice| advice.pattern == pattern && advice.place.device == Device::Cpu;
    all.into_iter().find(on_cpu).expect("the fixture has it")
}

fn of(advice: &PatternAdvice, variant: FusionVariant) -> Advice {
    let mut variants = advice.variants.iter();
    variants.find(|it| it.variant == variant).expect("the fixture has it").advice
}

const ATTENTION: &str = "full_attention";

#[test]
fn the_table_at_every_width() {
    let report = report("");
    assert_snapshot!("fusion-table", write(&TABLE, &report));
    assert_snapshot!("fusion-table-narrow", write_on(Some(64), &TABLE, &report));
    for width in [60, 80, 100, 120, 160] {
        let text = write_on(Some(width), &TABLE, &report);
        // What is left at last, names and speed-ups, needs this much.
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
        assert!(text.contains(&result.row.record.case.id.parameter));
    }
    assert!(text.contains("its executor has no fuser on the CPU"));
    assert!(text.contains("failed: SQNR 31.2 dB is below the gate of 40 dB"));
    let document = document(&report);
    let unsupported = entry(&document, "torchscript/f32-128x512x512");
    assert_eq!(unsupported["outcome"], "unsupported");
    assert!(unsupported["reason"].as_str().expect("a reason").contains("no fuser on the CPU"));
    assert_eq!(unsupported["no_speedup_reason"], "it is not measured");
    // What is computed needs no run.
    assert_eq!(unsupported["flops"], 67_174_400);
    for key in ["fused_latency_ms", "fused_gflops", "speedup_factor", "benefit"] {
        assert_eq!(unsupported[key], Value::Null, "{key}");
    }
}

/// The 0.71× of attention without an axis of heads is a kernel's, not fusion's.
#[test]
fn upstream_defect_1_attention_is_judged_by_a_variant_that_fuses() {
    let whole = report(ATTENTION);
    let attention = advice(&whole, Pattern::FullAttention);
    assert_eq!((attention.advice, attention.best), (Advice::Fuse, Some(FusionVariant::Fused)));
    assert_eq!(of(&attention, FusionVariant::Sdpa3d), Advice::Avoid);
    let text = write(&TABLE, &whole);
    assert!(text.contains("0.71× [0.70, 0.72]"), "its number is shown all the same");
    assert!(text.contains("aten::_scaled_dot_product_attention_math for"), "and explained");

    let alone = report("sdpa-3d");
    let attention = advice(&alone, Pattern::FullAttention);
    assert_eq!((attention.advice, attention.best), (Advice::Inconclusive, None));
    assert!(!write(&TABLE, &alone).contains("attention_math"), "there is nothing beside it");
}

/// Upstream keeps one size of a pattern: the last.
#[test]
fn upstream_defect_2_every_size_and_dtype_survives() {
    let report = report("");
    let results = FusionResult::all(&report);
    for (index, result) in results.iter().enumerate() {
        let twins = results[index + 1..].iter().filter(|other| other.key == result.key);
        assert_eq!(twins.count(), 0, "{}", result.row.full_id());
    }
    let speedup = |end| result(&results, end).speedup.as_ref().expect("measured").ratio;
    assert_eq!(speedup("relu/cpu/fused/f32-128x512x512"), 1.214);
    assert_eq!(speedup("relu/cpu/fused/f32-512x1024x1024"), 1.02);
    assert_eq!(speedup("relu/cpu/fused/bf16-512x1024x1024"), 0.897);
    let document = document(&report);
    assert_eq!(document["results"].as_array().map(Vec::len), Some(results.len()));
}

/// Upstream's memory_reduction is a formula, and the same for code that fuses nothing.
#[test]
fn upstream_defect_3_what_is_computed_is_never_called_measured() {
    let report = report("");
    let results = FusionResult::all(&report);
    let inplace = result(&results, "inplace/f32-128x512x512");
    assert_eq!(inplace.fuses(), Some(false));
    assert_eq!(inplace.memory_reduction(), None, "upstream has no such variant");
    assert_eq!(inplace.consistent_reduction(), Some(0.0), "it runs the same operations");
    assert_eq!(inplace.peak_allocation_reduction(), Some(0.5), "it allocates less");

    let sdpa_3d = result(&results, "sdpa-3d/f32-4x256x64");
    assert_eq!(sdpa_3d.memory_reduction(), Some(0.75), "upstream's claim");
    assert!(sdpa_3d.consistent_reduction().is_some_and(|it| it < 0.0), "its operations move more");
    assert_eq!(
        sdpa_3d.peak_allocation_reduction(),
        Some(-0.25),
        "and more was seen to be allocated"
    );

    // Allocations are the records'.
    let fused = result(&results, "full_attention/cpu/fused/f32-4x256x64");
    let step = |side: criterion_report::model::Side<'_>| side.allocated().expect("measured");
    let (unfused, fused_step) = (step(fused.unfused), step(fused.fused));
    assert_eq!((unfused.peak_bytes, fused_step.peak_bytes), (2 << 20, 256 << 10));
    assert_eq!(fused.peak_allocation_reduction(), Some(1.0 - 0.125));
    let total = 1.0 - fused_step.total_bytes as f64 / unfused.total_bytes as f64;
    assert_eq!(fused.total_allocation_reduction(), Some(total));

    // Under a heading that says which it is.
    let text = write(&TABLE, &report);
    let (_, table) = text.split_once("full_attention/cpu\n").expect("its table");
    let mut lines = table.lines();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let heading = words(lines.next().expect("a heading"));
    assert_eq!(heading[heading.len() - 4..], ["formula", "formula", "measured", "measured"]);
    assert_eq!(
        words(lines.next().expect("its second line")),
        ["bytes", "upstream", "peak", "total"]
    );
    let line = table.lines().rfind(|line| line.trim_start().starts_with("sdpa-3d  2.108"));
    let line = words(line.expect("its line"));
    assert_eq!(line[line.len() - 4..], ["+35.7%", "−75.0%", "+25.0%", "+46.2%"]);
}

#[test]
fn upstream_defect_4_a_speedup_is_a_pairs_and_never_a_quotient_of_times() {
    let report = report("");
    let results = FusionResult::all(&report);
    let quotient = |result: &FusionResult<'_>| {
        let [unfused, fused] = [&result.unfused, &result.fused].map(|side| side.time());
        unfused.expect("a time").median_ns / fused.expect("a time").median_ns
    };
    let noisy = result(&results, "mkldnn/f32-128x512x512");
    let speedup = noisy.speedup.as_ref().expect("a pair");
    assert_eq!(speedup.ratio, 1.31);
    assert!((quotient(noisy) - speedup.ratio).abs() > 0.04, "the fixture tells them apart");

    // Both times, and no pair.
    let unpaired = result(&results, "mkldnn/f32-512x1024x1024");
    assert!(quotient(unpaired) > 1.3);
    let reason = "memory does not suffice for it and its baseline at once".to_owned();
    assert_eq!(unpaired.speedup, Err(NoSpeedup::Recorded(reason.clone())));
    assert_eq!((unpaired.benefit(), unpaired.gflops_improvement()), (None, None));
    let document = document(&report);
    let unpaired = entry(&document, "mkldnn/f32-512x1024x1024");
    assert!(unpaired["unfused_latency_ms"].is_f64() && unpaired["fused_latency_ms"].is_f64());
    assert_eq!(unpaired["speedup_factor"], Value::Null);
    assert_eq!(unpaired["gflops_improvement"], Value::Null);
    assert_eq!(unpaired["no_speedup_reason"], Value::String(reason));

    // A pair, and no time.
    let stale = entry(&document, "addmm/bf16-512x1024x1024");
    assert_eq!(stale["fused_latency_ms"], Value::Null);
    assert!(stale["reason"].as_str().expect("a reason").starts_with("stale: "));
    assert_eq!(stale["speedup_factor"], 0.998);
}

#[test]
fn upstream_defect_4_an_interval_over_two_bands_is_inconclusive() {
    let report = report("");
    let results = FusionResult::all(&report);
    let benefit = |end| result(&results, end).benefit();
    let spans = |lowest, highest| Some(Benefit::Inconclusive { lowest, highest });
    assert_eq!(benefit("mkldnn/f32-128x512x512"), spans(Band::Slower, Band::Strong));
    assert_eq!(benefit("inplace/f32-512x1024x1024"), spans(Band::Minimal, Band::Moderate));
    assert_eq!(benefit("inplace/f32-128x512x512"), Some(Benefit::Of(Band::Strong)));
    assert_eq!(benefit("relu/cpu/fused/bf16-512x1024x1024"), Some(Benefit::Of(Band::Slower)));
    let document = document(&report);
    let noisy = entry(&document, "mkldnn/f32-128x512x512");
    assert_eq!(noisy["benefit"], "inconclusive");
    assert_eq!(
        (&noisy["lowest_band"], &noisy["highest_band"]),
        (&"slower".into(), &"strong".into())
    );
    assert_eq!(entry(&document, "inplace/f32-128x512x512")["benefit"], "strong fusion benefit");
}

/// Whether a line praises a speed-up below 0.95: the first in it, the lowest in a strategy.
fn flatters(line: &str) -> bool {
    let Some((before, _)) = line.split_once('×') else { return false };
    let ratio: f64 = before.rsplit(' ').next().expect("a number").parse().expect("a number");
    let praise = ["strong", "moderate", "faster", "  fuse  "];
    ratio < 0.95 && praise.iter().any(|word| line.contains(word))
}

/// Upstream prints "0.71x faster".
#[test]
fn upstream_defect_4_nothing_slower_is_called_faster() {
    let text = write(&TABLE, &report(""));
    // Each could be said of the slow ones, for it is said of others.
    for word in ["strong", "moderate", "faster", "  fuse  "] {
        let line = text.lines().find(|line| line.contains(word) && line.contains('×'));
        let line = line.expect("something is as fast as that");
        assert!(!flatters(line), "{line}");
        let (before, after) = line.split_once('×').expect("a speed-up");
        let (name, _) = before.rsplit_once(' ').expect("its name");
        assert!(flatters(&format!("{name} 0.71×{after}")), "it would be seen: {line}");
    }
    let slow = text.lines().filter(|line| line.contains(" 0.71×") || line.contains(" 0.90×"));
    assert!(slow.count() >= 2, "something is slower");
    let flattering: Vec<&str> = text.lines().filter(|line| flatters(line)).collect();
    assert_eq!(flattering, Vec::<&str>::new());
}

#[test]
fn the_strategy_follows_from_the_intervals() {
    let report = report("");
    let linear = advice(&report, Pattern::LinearBiasRelu);
    // In place is better still, but fuses nothing.
    assert_eq!((linear.advice, linear.best), (Advice::Conditional, Some(FusionVariant::Fused)));
    assert_eq!(of(&linear, FusionVariant::Inplace), Advice::Fuse);
    assert_eq!(of(&linear, FusionVariant::Addmm), Advice::Indifferent);
    assert_eq!(of(&linear, FusionVariant::Mkldnn), Advice::Inconclusive);
    assert_eq!(of(&linear, FusionVariant::TorchScript), Advice::Inconclusive);

    let document = document(&report);
    let strategy = document["strategy"].as_array().expect("a list");
    assert_eq!(strategy.len(), 3, "one for each pattern on each device");
    let absent = &strategy[2];
    assert_eq!((&absent["device"], &absent["processor"]), (&"cuda".into(), &Value::Null));
    assert_eq!(
        (&absent["advice"], &absent["best_variant"]),
        (&"inconclusive".into(), &Value::Null)
    );
    assert_eq!(strategy[0]["fusion_pattern"], "Linear_Bias_ReLU");
    assert_eq!(strategy[0]["advice"], "fuse conditionally");
    let fused = &strategy[0]["variants"][0];
    assert_eq!((&fused["cases"], &fused["cases_with_speedup"]), (&3.into(), &3.into()));
    assert_eq!(fused["gaining"][0]["size"], "128x512x512");
    assert_eq!(fused["losing"][0]["dtype"], "torch.bfloat16");
    assert_eq!(fused["lowest"]["speedup_factor"], 0.897);
    assert_eq!(fused["highest"]["speedup_high"], 1.236);
}

#[test]
fn the_document_has_every_key_of_upstreams_dictionary() {
    let report = report("");
    let document = document(&report);
    assert_eq!(document["schema"], "criterion-torch/fusion");
    assert_eq!(document["version"], 1);
    let upstream = [
        "fusion_pattern",
        "input_shape",
        "output_shape",
        "kernel_size",
        "unfused_latency_ms",
        "fused_latency_ms",
        "unfused_gflops",
        "fused_gflops",
        "unfused_bytes",
        "fused_bytes",
        "speedup_factor",
        "memory_reduction",
        "flops",
        "gflops_improvement",
        "extra_params",
    ];
    for entry in document["results"].as_array().expect("a list") {
        for key in upstream {
            assert!(entry.get(key).is_some(), "{}: {key}", entry["full_id"]);
        }
    }
    let fused = entry(&document, "full_attention/cpu/fused/f32-4x256x64");
    assert_eq!(fused["fusion_pattern"], "FullAttention_SDPA");
    assert_eq!(fused["input_shape"], serde_json::json!([4, 256, 64]));
    assert_eq!(fused["unfused_bytes"], 4_194_304);
    assert_eq!(fused["fused_bytes"], 1_048_576);
    assert_eq!(fused["memory_reduction"], 0.75);
    assert_eq!(fused["speedup_factor"], 6.12);
    assert_eq!(fused["gflops_improvement"], 5.12);
    let ms = fused["fused_latency_ms"].as_f64().expect("a time");
    let gflops = fused["fused_gflops"].as_f64().expect("a rate");
    assert!((gflops - 68_681_728.0 / (ms * 1e6)).abs() < 1e-9);
    assert_eq!(fused["extra_params"]["heads"], 1);
    let one = self::report("full_attention/cpu/fused/f32-4");
    assert_snapshot!("fusion-json", write(&JSON, &one));
}

#[test]
fn the_documented_keys_are_those_written() {
    let format = std::fs::read_to_string("../docs/FORMAT.md").expect("readable");
    let (_, section) = format.split_once("\n### Fusion\n").expect("the section");
    let section = section.split("\n### ").next().expect("its text");
    let row = Regex::new("(?m)^\\| (`[^|]*`) \\|").expect("a valid pattern");
    let key = Regex::new("[a-z_0-9]+").expect("a valid pattern");
    let documented = |of: &str| -> Vec<String> {
        let (_, after) = section.split_once(&format!("\n{of}")).expect("its sentence");
        let (_, table) = after.split_once("\n| key |").expect("its table");
        let table = table.split("\n\n").next().expect("its text");
        let cells: String = row.captures_iter(table).map(|row| row[1].to_owned()).collect();
        let mut keys: Vec<String> = key.find_iter(&cells).map(|it| it.as_str().into()).collect();
        keys.sort();
        keys
    };
    let document = document(&report(""));
    let written = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    for (of, value) in [
        ("The document:", &document),
        ("A result:", &document["results"][0]),
        ("A strategy:", &document["strategy"][0]),
        ("A variant of a strategy:", &document["strategy"][0]["variants"][0]),
        ("A case of a variant:", &document["strategy"][0]["variants"][0]["lowest"]),
    ] {
        let mut keys = written(value);
        keys.sort();
        assert_eq!(documented(of), keys, "{of}");
    }
}

fn run(fixture: &str, args: &[&str]) -> Output {
    let folder = format!("tests/fixtures/{fixture}/criterion");
    Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .args(["fusion", "--criterion-dir", &folder])
        .args(args)
        .env_remove("CRITERION_HOME")
        .output()
        .expect("the program starts")
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

#[test]
fn exit_codes_and_messages() {
    assert!(run("fusion", &[]).status.success());
    assert!(run("fusion", &["--strict", "--filter", ATTENTION]).status.success());
    // A failed case of another bench target is not this command's.
    let strict = run("fusion", &["--strict", "--format", "json"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(!strict.stdout.is_empty(), "the document is written all the same");
    assert!(err(&strict).starts_with("--strict: 7 cases have no time:\n"), "{}", err(&strict));
    assert!(!err(&strict).contains("inference/"), "{}", err(&strict));

    for (fixture, args, message) in [
        (
            "two-siblings",
            &[][..],
            "error: the records of `new` hold no fusion case\n  measure some with `cargo bench \
             --bench fusion`\n",
        ),
        (
            "two-siblings",
            &["--filter", "int8wo"],
            "error: the records of `new` hold no fusion case\n  measure some with `cargo bench \
             --bench fusion`\n",
        ),
        (
            "fusion",
            &["--filter", "/unfused/"],
            "error: of 28 recorded fusion cases none shown is fused\n  measure some with `cargo \
             bench --bench fusion`\n",
        ),
        (
            "fusion",
            &["--filter", "int8wo"],
            "error: --filter int8wo matches none of 28 recorded cases in \
             tests/fixtures/fusion/criterion-torch\n",
        ),
    ] {
        let output = run(fixture, args);
        assert_eq!(output.status.code(), Some(2), "{fixture} {args:?}");
        assert!(output.stdout.is_empty());
        assert_eq!(err(&output), message, "{fixture} {args:?}");
    }
}

#[test]
fn a_file_holds_what_would_be_printed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("fusion.json");
    let path = file.to_str().expect("text");
    let output = run("fusion", &["--format", "json", "--output", path]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let text = std::fs::read_to_string(&file).expect("written");
    assert_eq!(text.as_bytes(), run("fusion", &["--format", "json"]).stdout);
    assert_eq!(text, write(&JSON, &report("")));
    let target = Target { colour_terminal: true, width: None, file: Some(&file) };
    let (_, notes) = text_and_notes(&TABLE, &report(""), target).expect("written");
    assert!(notes.is_empty(), "the table says everything itself");
}
