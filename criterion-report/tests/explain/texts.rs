//! Outputs of `explain`: the text of a screen, Markdown, and the document.

use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::views::explain::{text::Format, text::Options};
use insta::assert_snapshot;
use regex::Regex;

use super::fixture::{Fixture, on, operation, profile};
use super::statements::LINEAR;
use crate::common::{pair_of, write, write_on};

const OPTIONS: Options = Options { cases: None, format: Format::Text, color: ColorChoice::Auto };
pub const TEXT: Writer = Writer::Explain(OPTIONS);
const MARKDOWN: Writer = Writer::Explain(Options { format: Format::Markdown, ..OPTIONS });

/// int8wo, which converts its weight in every step, and the baseline, both profiled on a calibrated machine.
fn converting() -> Fixture {
    let weight: &[i64] = &[512, 1024];
    let product = |ns: f64| {
        let mut it = on("aten::mm", ns, &[(&[16, 1024], "float32"), (&[1024, 512], "float32")]);
        (it.input_bytes, it.flops, it.allocated_bytes) =
            (Some(2_162_688), Some(16_777_216), 32_768);
        it
    };
    let after = vec![
        on("aten::copy_", 1_400_000.0, &[(weight, "float32"), (weight, "int8")]),
        on("aten::mul", 300_000.0, &[(weight, "float32"), (&[512, 1], "float32")]),
        product(220_000.0),
        operation("aten::t", 1_000.0),
    ];
    Fixture::calibrated(LINEAR)
        .weighing("/baseline/", 2 << 20)
        .weighing("/int8wo/", 526_336)
        .takes("/baseline/", 240_000)
        .takes("/int8wo/", 1_950_000)
        .profiled(
            "/baseline/",
            &profile(vec![product(220_000.0), operation("aten::t", 1_000.0)], 9_000.0),
        )
        .profiled("/int8wo/", &profile(after, 10_000.0))
        .counted("/(baseline|int8wo)/", 1.0, 0.000_1, 0.99)
        .edit("/int8wo/", |it| {
            let against = it.record.pairs[0].against.clone();
            it.record.pairs = vec![pair_of(against, 240.0 / 1_950.0)];
        })
}

/// Six cases, of which only one has a profile.
fn many() -> Fixture {
    let shapes = "[16, 1024, 512], [32, 1024, 512], [64, 1024, 512]";
    let fixture = Fixture::calibrated(&LINEAR.replace("[16, 1024, 512]", shapes));
    let mm = profile(vec![operation("aten::mm", 900_000.0)], 100_000.0);
    fixture.weighing("/(baseline|int8wo)/", 2 << 20).profiled("/baseline/f32-16x", &mm)
}

#[test]
fn a_screen_says_the_statement_first() {
    let report = converting().explained();
    assert_snapshot!("text", write(&TEXT, &report));
    assert_snapshot!("narrow", write_on(Some(80), &TEXT, &report));
    let widest = write_on(Some(80), &TEXT, &report).lines().map(|it| it.chars().count()).max();
    assert!(widest.expect("lines") <= 80);
}

#[test]
fn cases_without_a_profile_take_a_line_each_where_there_are_many() {
    assert_snapshot!("many", write(&TEXT, &many().explained()));
    assert_snapshot!("many_markdown", write(&MARKDOWN, &many().explained()));
}

#[test]
fn a_pull_request_has_lists_and_tables() {
    assert_snapshot!("markdown", write(&MARKDOWN, &converting().explained()));
}

/// A product that another one takes the place of, and an operation that is called in every third step.
fn replacing() -> Fixture {
    let empty = |calls: f64, ns: f64| {
        let mut it = operation("aten::empty", ns);
        it.calls = calls;
        it
    };
    let before = vec![operation("aten::mm", 800_000.0), empty(1.0 / 3.0, 30_000.0)];
    let after = vec![operation("mkldnn::_linear_pointwise", 500_000.0), empty(12.5, 20_000.0)];
    Fixture::of_config(LINEAR)
        .profiled("/baseline/", &profile(before, 170_000.0))
        .profiled("/int8wo/", &profile(after, 110_000.0))
        .takes("/int8wo/", 630_000)
}

#[test]
fn a_replaced_operation_has_both_names_and_calls_have_few_digits() {
    /// The lines below the heading of the difference, whatever their layout.
    fn changes(text: &str) -> Vec<String> {
        let below = text.lines().skip_while(|line| !line.contains("difference")).skip(1);
        let words = below.map(|line| line.split(['|', '`', ' ']).filter(|it| !it.is_empty()));
        words.map(|words| words.collect::<Vec<_>>().join(" ")).collect()
    }
    let report = replacing().explained();
    let expected = [
        "−300.0 µs 81.1 % replaced 1 → 1 aten::mm → mkldnn::_linear_pointwise",
        "−10.00 µs 2.7 % changed 0.33 → 12.5 aten::empty",
        "−60.00 µs 16.2 % outside operations",
    ];
    assert_eq!(changes(&write(&TEXT, &report)), expected);
    assert_eq!(changes(&write(&MARKDOWN, &report))[1..], expected);
}

#[test]
#[cfg(feature = "schema")]
fn the_document_is_as_its_schema_says() {
    let schema = std::fs::read_to_string("schema/explain-v1.schema.json").expect("published");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for fixture in [converting(), replacing(), many(), Fixture::of_config(LINEAR)] {
        let json = Writer::Explain(Options { format: Format::Json, ..OPTIONS });
        let text = write(&json, &fixture.explained());
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> = schema.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let cases = document["cases"].as_array().expect("cases");
        for case in cases {
            let [sentences, statements] =
                ["sentences", "statements"].map(|key| case[key].as_array());
            assert_eq!(sentences.map(Vec::len), statements.map(Vec::len));
        }
    }
}

#[test]
fn piped_text_has_no_colours_and_a_terminal_has() {
    let report = converting().explained();
    assert!(!write(&TEXT, &report).contains('\x1b'));
    let always = Writer::Explain(Options { color: ColorChoice::Always, ..OPTIONS });
    assert!(write(&always, &report).contains("\x1b[1m88 % of the time converts the weight"));
}

#[test]
fn nothing_to_explain_has_a_remedy() {
    let error = write(&TEXT, &Fixture::calibrated(LINEAR).without("^inference/").explained());
    assert!(error.contains("hold no case to explain") && error.contains("cargo bench"), "{error}");
}

/// The program with a filter before its options.
fn run(fixture: &Fixture, arguments: &[&str]) -> (Option<i32>, String, String) {
    let (_folder, criterion) = fixture.write();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_criterion-report"))
        .arg("explain")
        .args(arguments)
        .arg("--criterion-dir")
        .arg(&criterion)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_filter_stands_before_the_options_or_in_them() {
    let ids = |text: &str| Regex::new("(?m)^inference/").expect("valid").find_iter(text).count();
    for arguments in [&["int8wo"][..], &["--filter", "int8wo"]] {
        let (code, text, said) = run(&converting(), arguments);
        assert_eq!((code, ids(&text), &*said), (Some(0), 1, ""), "{text}");
        assert!(text.contains("against   inference/made/linear/cpu/baseline"), "{text}");
    }
    let (code, text, said) = run(&converting(), &["fp6"]);
    assert_eq!((code, &*text), (Some(2), ""));
    assert!(said.contains("fp6 matches none of 2 recorded cases"), "{said}");
    assert!(said.contains("lists their ids"), "{said}");
    let (code, _, said) = run(&converting(), &["int8wo", "--filter", "fp6"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("two filters, int8wo and --filter fp6"), "{said}");
}
