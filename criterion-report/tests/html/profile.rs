//! The panel of a case that was profiled.

use criterion_report::cli::writer::Writer;
use criterion_report::html;
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::written::Target;
use serde_json::{Value, json};

use crate::common::made::profiled_siblings;
use crate::common::text_and_notes;
use crate::html::assert_quiet;
use crate::html::browser::Browser;

/// The page of the profiled siblings beside their records; the candidate's snapshot is gone.
fn written() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = profiled_siblings();
    let own = "criterion-torch/profiles/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024";
    let snapshot = folder.path().join(own).join("custom_1024_1024_1024_memory_profile.pickle");
    std::fs::remove_file(snapshot).expect("it was there");
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    let path = folder.path().join("report.html");
    let target = Target { colour_terminal: false, width: None, file: Some(&path) };
    let options = html::Options { title: "A report".to_owned() };
    let (text, _) = text_and_notes(&Writer::Html(options), &report, target).expect("a page");
    std::fs::write(&path, text).expect("written");
    (folder, path)
}

#[test]
fn a_profiled_case_has_a_panel() {
    let Some(browser) = Browser::start() else { return };
    let (_folder, page) = written();
    for (width, theme) in [(1280, "light"), (1280, "dark"), (360, "light")] {
        browser.emulate(width, theme);
        browser.open(&page);
        let open = "[...document.querySelectorAll('#cases-table tbody button')].find((it) => \
                    it.textContent.startsWith('int8wo')).click()";
        browser.act(open);
        let inside = "const it = document.getElementById('details'); \
                      return it.scrollWidth <= it.clientWidth";
        assert_eq!(browser.get(inside), true, "{width}, {theme}");
    }
    its_time_is_explained(&browser);
    operations_are_told_and_drawn(&browser);
    files_that_are_there_are_links(&browser);
    assert_quiet(&browser);
}

fn its_time_is_explained(browser: &Browser) {
    assert_eq!(
        browser.text(".explanation .statement"),
        "50 % of the time converts the weight on every call"
    );
    let parts = "return [...document.querySelectorAll('.parts tr')].map((row) => \
                 [row.cells[0].textContent, parseFloat(row.cells[1].textContent)])";
    let parts = browser.get(parts);
    assert_eq!(parts[0], json!(["weight conversion: aten::copy_", 50]));
    let sum: f64 = parts.as_array().expect("rows").iter().filter_map(|row| row[1].as_f64()).sum();
    assert!((sum - 100.0).abs() < 0.5, "{parts}");
    let filled = "const stack = document.querySelector('.stack'); const width = (it) => \
                  it.getBoundingClientRect().width; return \
                  [...stack.children].map(width).reduce((a, b) => a + b) / width(stack)";
    let filled = browser.get(filled).as_f64().expect("a number");
    assert!((filled - 1.0).abs() < 0.01, "{filled}");
}

fn operations_are_told_and_drawn(browser: &Browser) {
    let head = browser.text(".profile .fine");
    assert!(head.starts_with("10 steps of 7.475 ms") && head.contains("1.10×"), "{head}");
    let rows = "return [...document.querySelectorAll('.profile tbody tr')].map((row) => \
                [row.cells[0].textContent, row.cells[1].textContent])";
    let rows = browser.get(rows);
    assert_eq!(rows[0], json!(["aten::copy_ 1024x1024, 1024x1024", "50.0 %"]));
    let shares = rows.as_array().expect("rows").iter().map(|row| {
        let (number, _) = row[1].as_str().and_then(|it| it.split_once(' ')).expect("a share");
        number.parse::<f64>().expect("a number")
    });
    let sum: f64 = shares.sum();
    assert!((sum - 100.0).abs() < 0.5, "{rows}");
    let bars = "return [...document.querySelectorAll('.profile .track')].slice(0, 2).map((it) => \
                it.firstChild.getBoundingClientRect().width / it.getBoundingClientRect().width)";
    let bars = browser.get(bars);
    assert!((bars[0].as_f64().expect("a number") - 0.5).abs() < 0.02, "{bars}");
    assert!((bars[1].as_f64().expect("a number") - 0.36).abs() < 0.02, "{bars}");
    // Nothing of it ran on a device.
    let headings = "return [...document.querySelectorAll('.profile th[scope=col]')].map((it) => \
                    it.textContent)";
    let expected = ["operation", "of the step", "calls", "self", "total", "MFLOP", "inputs"];
    assert_eq!(browser.get(headings), json!(expected));
}

fn files_that_are_there_are_links(browser: &Browser) {
    let links = "return [...document.querySelectorAll('.profile a')].map((it) => \
                 [it.textContent, it.getAttribute('href')])";
    let href = "./criterion-torch/profiles/inference_quick_linear_cpu/int8wo/bf16-1024x1024x1024/\
                custom_1024_1024_1024_profile.json";
    let svg = href.replace("profile.json", "memory_profile.svg");
    assert_eq!(browser.get(links), json!([["trace", href], ["memory timeline", svg]]));
    // The picture is a part of the page.
    let picture = "const it = document.querySelector('.profile img'); \
                   return [it.complete, it.naturalWidth, it.naturalHeight]";
    assert_eq!(browser.get(picture), json!([true, 40, 20]));
    let facts = browser.text(".profile dl");
    let gone = "no longer there: custom_1024_1024_1024_memory_profile.pickle; measure";
    assert!(facts.contains("missing files") && facts.contains(gone), "{facts}");
    let dialogs = "return document.querySelectorAll('.profile').length";
    assert_eq!(browser.get(dialogs), Value::from(1));
}
