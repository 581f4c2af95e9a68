//! The text of the page, without a browser.

use criterion_report::cli::writer::Writer;
use criterion_report::html;
use criterion_report::model::Row;
use criterion_report::read::{Inputs, Report, Selection};
use criterion_report::views::written::Target;
use insta::assert_snapshot;
use plan::{Outcome, Record};
use serde_json::Value;

use crate::common::made::profile;
use crate::common::{READABLE, report, text_and_notes};
use crate::html::browser::Browser;
use crate::html::{assert_quiet, file, page};

/// The text between two marks, of which there is one each.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect("the beginning");
    rest.split_once(to).expect("the end").0
}

/// The page's data, checked to be JSON.
fn data(text: &str) -> Value {
    let data = between(text, "<script type=\"application/json\" id=\"data\">", "</script>");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn what_is_written_of_outcomes() {
    let text = page(&report("every-outcome"));
    let mut shown = text.clone();
    for (from, to) in [
        ("<style>", "</style>"),
        ("<script type=\"application/json\" id=\"data\">", "</script>"),
        ("<script>", "</script>"),
    ] {
        shown = shown.replace(between(&text, from, to), "…");
    }
    let data = serde_json::to_string_pretty(&data(&text)).expect("JSON");
    assert_snapshot!("page-every-outcome", shown);
    assert_snapshot!("data-every-outcome", data);
}

#[test]
fn every_column_has_a_value_for_every_case() {
    for name in READABLE {
        let data = data(&page(&report(name)));
        let cases = data["cases"]["count"].as_u64().expect("a number") as usize;
        for (column, values) in data["cases"]["columns"].as_object().expect("columns") {
            let values = values.as_array().expect("values");
            assert_eq!(values.len(), cases, "{name}: {column}");
            assert!(!values.iter().all(Value::is_null), "{name}: {column}");
        }
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let text = page(&report("every-outcome"));
    for address in ["http://", "https://", "@import", "url(", "src="] {
        let own = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(address), "{address}");
    }
}

#[test]
fn a_terminal_gets_no_page() {
    let options = html::Options { title: String::new() };
    let target = Target { colour_terminal: true, width: Some(100), file: None };
    let error = text_and_notes(&Writer::Html(options), &report("two-siblings"), target);
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("--output"), "{error}");
}

/// Texts that would end an element, an attribute or a string, or run, if they were taken for markup.
const HOSTILE: &str = "</script><script>hacked()</script><img src=x onerror=hacked()>\"'`&amp;{{data}}\
                       \u{2028}<!--";

/// The visible text: nothing in it ends a line.
fn shown() -> String {
    HOSTILE.replace('\u{2028}', "\\u{2028}")
}

/// A report in which every text that can be is hostile.
fn hostile() -> Report {
    let template = "tests/fixtures/two-siblings/criterion-torch/new/inference.jsonl";
    let lines = std::fs::read_to_string(template).expect("readable");
    let records = lines.lines().map(|line| {
        let mut record: Record = serde_json::from_str(line).expect("a record");
        record.case.id.group = format!("inference/{HOSTILE}/cpu");
        record.full_id = record.case.full_id();
        record.outcome = Outcome::Failed { error: HOSTILE.to_owned() };
        record.notes = vec![HOSTILE.to_owned()];
        record.run_id = HOSTILE.to_owned();
        record.kernels = vec![HOSTILE.to_owned()];
        let mut profile = profile(1e6, HOSTILE);
        profile.operations[0].name = HOSTILE.to_owned();
        profile.absent.insert("hardware".to_owned(), HOSTILE.to_owned());
        record.profile = Some(profile);
        record.environment_mut().host.cpu_model = HOSTILE.to_owned();
        record.environment_mut().torch.libtorch = HOSTILE.to_owned();
        record.environment_mut().git_branch = Some(HOSTILE.to_owned());
        record.environment_mut().variables.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
        record
    });
    let inputs = Inputs {
        cases: records.map(|it| (it.full_id.clone(), Row::new(Box::new(it)))).collect(),
        foreign: vec![HOSTILE.to_owned()],
        warnings: vec![HOSTILE.to_owned()],
        unreadable: vec![HOSTILE.to_owned()],
        ..Inputs::default()
    };
    Report::new(inputs, HOSTILE, Selection::default())
}

#[test]
fn text_is_never_taken_for_markup() {
    let text = page(&hostile());
    assert!(!text.contains("<img"), "an element was made of a text");
    assert!(!text.contains("<script>hacked"), "a script was made of a text");
    assert_eq!(text.matches("</script>").count(), 2, "the data's and the page's own");
    let texts = data(&text)["texts"].clone();
    assert!(texts.as_array().expect("texts").contains(&Value::from(shown())));
}

#[test]
fn a_browser_takes_text_for_text_and_needs_no_script() {
    let Some(browser) = Browser::start() else { return };
    hostile_text_runs_nothing_and_is_shown_as_it_is(&browser);
    without_scripts_the_page_says_what_to_do_and_how_it_went(&browser);
}

fn hostile_text_runs_nothing_and_is_shown_as_it_is(browser: &Browser) {
    browser.open(&file(&hostile()).path);
    let ran = "return [window.hacked, document.images.length, document.scripts.length]";
    assert_eq!(browser.get(ran), serde_json::json!([null, 0, 2]));
    assert!(browser.text("#cases-table tbody").contains(&shown()));
    assert!(browser.text("#notices").contains(&shown()));
    assert!(browser.text("#environment").contains(&shown()));
    browser.act("document.querySelector('#cases-table tbody button').click()");
    assert!(browser.text("#details").contains(&shown()));
    assert_quiet(browser);
}

fn without_scripts_the_page_says_what_to_do_and_how_it_went(browser: &Browser) {
    browser.cdp("Emulation.setScriptExecutionDisabled", serde_json::json!({ "value": true }));
    let file = file(&report("every-outcome"));
    browser.load(&file.path);
    // The page's scripts do not run; the driver's do not either, so what is drawn is asked for.
    let nodes = browser.cdp(
        "DOMSnapshot.captureSnapshot",
        serde_json::json!({
            "computedStyles": [], "includePaintOrder": false,
        }),
    );
    let strings = nodes["strings"].as_array().expect("strings");
    let layout = nodes["documents"][0]["layout"]["text"].as_array().expect("laid out texts");
    let shown = layout.iter().filter_map(|at| strings.get(usize::try_from(at.as_i64()?).ok()?));
    let shown: String = shown.filter_map(Value::as_str).collect();
    for text in ["allow scripts for this file", "14", "measured", "AMD EPYC 7763"] {
        assert!(shown.contains(text), "{text} is not in {shown}");
    }
    assert!(!shown.contains("Speed against accuracy"), "an empty section is shown");
}
