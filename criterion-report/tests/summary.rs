//! The screen that answers, and what programs get of it.

use crate::common::made::Fixture;
use crate::common::{self, READABLE, made, many, report, write, write_on};
use crate::kernels::fixture::Make;
use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::model::{Entry, Row};
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::summary::{Format, Options};
use criterion_report::views::{Answers, Question};
use insta::assert_snapshot;
use plan::{Device, Dtype};
use serde_json::Value;

fn summary(format: Format) -> Writer {
    Writer::Summary(Options { format, color: ColorChoice::Auto })
}

fn is_one_screen(text: &str, what: &str) {
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(text.lines().count() <= 38 && widest <= 100, "{what}:\n{text}");
}

#[test]
fn every_question_has_its_answers() {
    for name in ["every-outcome", "packed-sibling", "fusion", "calibration", "h100"] {
        assert_snapshot!(format!("summary-{name}"), write(&summary(Format::Text), &report(name)));
    }
}

/// The profiled siblings spend half of their time on converting a weight.
#[test]
fn an_answer_has_its_reason() {
    let folder = made::profiled_siblings();
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    let text = write(&summary(Format::Text), &report);
    assert_snapshot!("summary-profiled", text);
    is_one_screen(&text, "profiled siblings");
    let document: Value =
        serde_json::from_str(&write(&summary(Format::Json), &report)).expect("JSON");
    let why = &document["answers"][0]["why"];
    assert_eq!(why["statement"]["statement"], "converts_weight");
    let share = why["statement"]["share"].as_f64().expect("a share");
    assert!((share - 0.5).abs() < 0.01, "{why}");
    assert!(why["full_id"].as_str().is_some_and(|id| id.contains("/int8wo/")), "{why}");
    let unprofiled = write(&summary(Format::Text), &common::report("two-siblings"));
    assert!(!unprofiled.contains("of the time"), "{unprofiled}");
}

#[test]
fn it_is_one_screen_of_any_results() {
    for name in READABLE.iter().chain(&["h100"]) {
        is_one_screen(&write(&summary(Format::Text), &report(name)), name);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let criterion = many::write_baselines(folder.path(), 1000, &["new"]);
    let report = Report::read(&Location::at(criterion), "new", Selection::default());
    let report = report.expect("readable");
    let text = write(&summary(Format::Text), &report);
    is_one_screen(&text, "a thousand cases");
    assert!(text.contains(" more: `show`") && text.contains(" more: `operators`"), "{text}");
    let narrow = write_on(Some(60), &summary(Format::Text), &report);
    assert!(narrow.lines().count() <= 60, "{narrow}");
}

#[test]
fn markdown_has_the_same_answers() {
    assert_snapshot!(write(&summary(Format::Markdown), &report("packed-sibling")));
}

#[test]
#[cfg(feature = "schema")]
fn every_document_is_as_its_schema_says() {
    let schema = std::fs::read_to_string("schema/summary-v1.schema.json");
    let schema = serde_json::from_str(&schema.expect("readable")).expect("JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    for name in READABLE {
        let target = criterion_report::views::written::Target {
            colour_terminal: false,
            width: None,
            file: None,
        };
        let written = common::text_and_notes(&summary(Format::Json), &report(name), target);
        let document = serde_json::from_str(&written.expect(name).0).expect("JSON");
        let errors: Vec<String> =
            schema.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn programs_get_all_of_it() {
    let text = write(&summary(Format::Json), &report("fusion"));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema"], "criterion-torch/summary");
    let answers = document["answers"].as_array().expect("a list");
    let fuse: Vec<_> = answers.iter().map(|it| (&it["subject"], &it["answer"])).collect();
    assert_eq!(fuse.len(), 2, "{fuse:?}");
    assert_eq!(fuse[1], (&"full_attention".into(), &"fuse".into()));
    assert_eq!(answers[1]["pays"], true);
    assert_eq!(answers[1]["cases"], 2);
    let low = answers[1]["speedup_low"].as_f64().expect("a number");
    assert!(low > 2.9 && low < 3.0, "{low}");
}

/// A layer in bfloat16 with its recipes and in float32, as a sibling or in an entry of its own.
fn layers(sibling: &str, entry: &str) -> String {
    format!(
        "quantization_config_recipe_names: [int8wo, int8dq]
packed: false
{sibling}
model_params:
  - {{ matrix_shapes: [{{ name: custom, shapes: [[64, 1024, 1024]] }}] }}
{entry}"
    )
}

const SIBLING: &str = "unquantized_dtypes: [float32]";
const ENTRY: &str = "  - { high_precision_dtype: torch.float32, matrix_shapes: [{ name: custom, shapes: [[64, 1024, 1024]] }] }";

/// The answers where the cases whose ids match are so many times as fast as the bfloat16 baseline, which takes 8 ms.
fn answered(config: &str, speeds: &[(&str, f64)]) -> (String, Vec<Value>) {
    let mut fixture = Fixture::of_config(config).takes("", 8_000_000);
    for (filter, speed) in speeds {
        fixture = fixture.takes(filter, (8e6 / speed) as u64).edit(filter, |it| {
            for pair in &mut it.record.pairs {
                *pair = common::pair_of(pair.against.clone(), *speed);
            }
        });
    }
    let (_folder, criterion) = fixture.write();
    let report = Report::read(&Location::at(criterion), "new", Selection::default());
    let report = report.expect("readable");
    recommends_nothing_slow(&report, config);
    let document: Value =
        serde_json::from_str(&write(&summary(Format::Json), &report)).expect("JSON");
    let answers = document["answers"].as_array().expect("a list").clone();
    (write(&summary(Format::Text), &report), answers)
}

/// No answer about recipes is slower than an unquantized model of its shape in the same results, in any dtype.
fn recommends_nothing_slow(report: &Report, what: &str) {
    let called = |row: &Row| {
        let ns = row.time.as_ref().ok()?.median_ns;
        Some(ns.max(row.record.measures.clocks.map_or(0.0, |it| it.queue_ns)))
    };
    let speed = |entry: &Entry<'_>| match entry.speedup() {
        Some(it) => it.differs_as_called().map_or(it.ratio, |called| called.ratio),
        None => 1.0,
    };
    let shape = |entry: &Entry<'_>| {
        let case = &entry.row.record.case;
        (case.work.model().map(|work| (work.model, work.shape)), case.device, case.mode)
    };
    for answer in Answers::new(report).answers {
        let is_recommended = answer.question == Question::Recipes && answer.pays == Some(true);
        let is_it = |entry: &Entry<'_>| {
            let id = &entry.row.record.case.id;
            answer.answer == id.variant
                && answer.subject.ends_with(&id.parameter.replacen('-', " ", 1))
        };
        let Some(chosen) = report.entries().find(|it| is_recommended && is_it(it)) else {
            continue;
        };
        for other in
            report.entries().filter(|it| it.row.is_unquantized() && shape(it) == shape(&chosen))
        {
            let siblings =
                other.row.record.case.id.parameter == chosen.row.record.case.id.parameter;
            let is_slower = match siblings {
                true => speed(&chosen) < speed(&other),
                false => {
                    let gain =
                        called(chosen.baseline.expect("it has pairs")).zip(called(other.row));
                    gain.is_some_and(|(baseline, other)| speed(&chosen) < baseline / other)
                }
            };
            let (chosen, other) = (chosen.row.full_id(), other.row.full_id());
            assert!(!is_slower, "{what}: {chosen} is recommended, and {other} is faster");
        }
    }
}

/// As on a CPU with AVX2 and without bfloat16: float32 beats every recipe.
#[test]
fn the_fastest_dtype_is_the_answer_where_it_beats_every_recipe() {
    let speeds = [("/int8wo/", 3.2), ("/int8dq/", 2.0), ("float32/|/f32-", 5.06)];
    let (text, answers) = answered(&layers(SIBLING, ""), &speeds);
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((&answer["answer"], &answer["pays"]), (&"baseline+float32".into(), &true.into()));
    assert_eq!(answer["recipe"]["variant"], "int8wo");
    assert!(text.contains("not quantized; the best recipe is int8wo: 3.20×"), "{text}");
    // Another entry of the config has no pairs with this one.
    let (text, answers) = answered(&layers("", ENTRY), &speeds);
    assert_eq!((&answers[0]["answer"], &answers[0]["by_times"]), (&"float32".into(), &true.into()));
    assert!(text.contains("by times, not in turn"), "{text}");
}

#[test]
fn a_recipe_is_held_against_the_fastest_dtype_too() {
    let speeds = [("/int8wo/", 6.0), ("/int8dq/", 2.0), ("float32/|/f32-", 2.0)];
    for (config, name) in
        [(layers(SIBLING, ""), "baseline+float32"), (layers("", ENTRY), "float32")]
    {
        let (text, answers) = answered(&config, &speeds);
        assert_eq!(answers[0]["answer"], "int8wo");
        let beside = &answers[0]["unquantized"];
        let ratio = beside["speedup_factor"].as_f64().expect("a number");
        assert!(beside["variant"] == name && (ratio - 3.0).abs() < 1e-3, "{beside}");
        assert!(text.contains(&format!("over unquantized {name}")), "{text}");
    }
    // As on a CPU with AVX-512: bfloat16 is the fastest dtype, and nothing is said of others.
    let speeds = [("/int8wo/", 0.5), ("/int8dq/", 3.0), ("float32/|/f32-", 0.5)];
    let (text, answers) = answered(&layers(SIBLING, ""), &speeds);
    assert_eq!(
        (&answers[0]["answer"], &answers[0]["unquantized"]),
        (&"int8dq".into(), &Value::Null)
    );
    assert!(!text.contains("unquantized") && !text.contains("float32"), "{text}");
}

/// A kernel that returns what it has computed before, or computes it when it is asked for its output.
#[test]
fn no_kernel_is_faster_than_memory() {
    let answered = |ns: u64| {
        let kernel = "pressure_poisson";
        let fixture = Fixture::of_kernels(&[
            Make(kernel, "kernel", Dtype::Float32, Device::Cpu, 2_000_000),
            Make(kernel, "red_black_sor", Dtype::Float32, Device::Cpu, ns),
        ]);
        let report = fixture.kernels_report();
        (Answers::new(&report).answers.remove(0), write(&summary(Format::Text), &report))
    };
    let (answer, text) = answered(1_000_000);
    assert!(answer.open.is_none() && answer.speedup.is_some(), "4 GB/s: {text}");
    let (answer, text) = answered(100);
    assert!(answer.open.is_some() && answer.speedup.is_none(), "40 TB/s: {text}");
    let why = "red_black_sor would move 40000 GB/s, which no memory does: it leaves work out";
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(why) && !words.contains('×'), "{text}");
}

#[test]
fn no_recorded_result_recommends_what_is_slower_than_no_quantization() {
    for name in READABLE.iter().chain(&["h100"]) {
        recommends_nothing_slow(&report(name), name);
    }
}

#[test]
fn an_interval_wider_than_a_factor_of_two_is_no_figure() {
    let wide = |it: &mut made::Measured| {
        for pair in &mut it.record.pairs {
            (pair.speedup, pair.low, pair.high) = (1.2, 0.5, 3.0);
        }
    };
    let fixture = Fixture::of_config(&layers("", "")).edit("int8", wide);
    let (_folder, criterion) = fixture.write();
    let report = Report::read(&Location::at(criterion), "new", Selection::default());
    let text = write(&summary(Format::Text), &report.expect("readable"));
    assert!(text.contains("between 0.50× and 3.00×: `--budget 5min`"), "{text}");
}

#[test]
fn other_programs_on_the_cpus_of_a_case_leave_the_answer_open() {
    let speeds = [("/int8wo/", 6.0), ("/int8dq/", 2.0), ("float32/", 0.86)];
    let (_, answers) = answered(&layers(SIBLING, ""), &speeds);
    assert_eq!((&answers[0]["answer"], &answers[0]["pays"]), (&"int8wo".into(), &true.into()));
    // As measured beside two busy programs: four time slices in a step of 15.9 ms, half of the CPU time.
    let contended = |switches| {
        let fixture = Fixture::of_config(&layers(SIBLING, "")).edit("float32/", move |it| {
            it.record.measures.counters = Some(plan::Counters {
                iters: 3,
                minor_faults: 0.0,
                major_faults: 0.0,
                voluntary_switches: 0.0,
                involuntary_switches: switches,
                user_ns: 8e6,
                system_ns: 0.0,
                wall_ns: 15.9e6,
                fault_share: None,
            });
        });
        let (_folder, criterion) = fixture.write();
        let report = Report::read(&Location::at(criterion), "new", Selection::default());
        let report = report.expect("readable");
        let answer = Answers::new(&report).answers.remove(0);
        (
            answer.answer == "undecided",
            answer.open.is_some(),
            write(&summary(Format::Text), &report),
        )
    };
    let (undecided, contended_at_4, text) = contended(4.0);
    assert!(undecided && contended_at_4, "{text}");
    assert!(text.contains("other programs took the CPUs: measure again"), "{text}");
    let (undecided, contended_at_1, text) = contended(1.0);
    assert!(!undecided && !contended_at_1 && !text.contains("other programs"), "{text}");
}
