//! Ten thousand cases.

use criterion_report::read::{Report, Selection};

use crate::common::sweep::{FAILED_EVERY, RECIPES, ten_thousand};
use crate::html::browser::{Browser, key};
use crate::html::{assert_quiet, file};

/// Elements of a page that is still easy to lay out.
const ELEMENTS: u64 = 12_000;

#[test]
fn ten_thousand_cases_respond() {
    let report = Report::new(ten_thousand(), "new", Selection::default());
    let file = file(&report);
    let bytes = std::fs::metadata(&file.path).expect("there").len();
    assert!(bytes < 8_000_000, "{bytes} bytes");
    let Some(browser) = Browser::start() else { return };
    browser.emulate(1280, "light");
    browser.open(&file.path);
    assert_eq!(browser.text("#filter-count"), "10\u{202f}000 cases");
    let few = |what: &str| {
        let elements = browser.count("*");
        assert!(elements < ELEMENTS, "{what}: {elements} elements");
    };
    few("at first");
    // The page says what is not shown.
    assert!(browser.text("#recipes-chart").contains("First 40 of "));
    assert!(browser.text("#frontier-chart").contains("1200 of 9897 cases"));

    long_numbers_are_in_groups(&browser);
    marks_are_no_trap(&browser);
    browser.act("document.querySelector('#recipes-chart .limit button').click()");
    assert_eq!(browser.count("#recipes-chart .line[data-case]"), 80);

    browser.type_into_filter("int4wo-64 bf16-64x64x");
    assert_eq!(browser.text("#filter-count"), "10 of 10\u{202f}000 cases");
    let rows = browser.count("#cases-table tbody tr[data-case]");
    assert_eq!(rows, 10);
    browser.act("document.querySelector('#filter [type=reset]').click()");
    assert_eq!(browser.text("#filter-count"), "10\u{202f}000 cases");

    // To the end of the table, as by its own scroll bar.
    browser.act("document.querySelector('.scroll.cases').focus()");
    browser.press(&[key::END]);
    browser.until(
        "return [...document.querySelectorAll('#cases-table tbody tr[data-case]')].at(-1)\
         .getAttribute('aria-rowindex') === '10001'",
    );
    few("at the end of the table");

    browser.act("document.querySelector('#cases-table th.status button').focus()");
    browser.press(&[key::ENTER]);
    let failed = 10_000 / FAILED_EVERY;
    let first = browser.text("#cases-table tbody tr[data-case]");
    assert!(first.contains("failed"), "{first}");
    browser.act(
        "const select = document.getElementById('filter-status'); select.value = 'failed'; \
         select.dispatchEvent(new Event('input', { bubbles: true }))",
    );
    assert_eq!(browser.text("#filter-count"), format!("{failed} of 10\u{202f}000 cases"));
    few("of failed cases");
    // Rows of the map of all shapes that are cut off are there once the filter asks for them.
    let view = "const view = document.getElementById('heatmap-kind'); view.value = 'shapes'; \
                view.dispatchEvent(new Event('change'))";
    browser.act("document.querySelector('#filter [type=reset]').click()");
    browser.act(view);
    assert!(browser.text("#heatmap-chart").contains("First 40 of 1000 rows"));
    browser.type_into_filter("640x640x640");
    let shape = browser.text("#heatmap-chart tbody th");
    assert_eq!(
        (shape.as_str(), browser.count("#heatmap-chart td.field") > 7),
        ("bf16-640x640x640", true)
    );
    browser.act("document.querySelector('#filter [type=reset]').click()");
    browser.act(&view.replace("'shapes'", "'sweep'"));
    // One map for each recipe at each k.
    browser.act("document.querySelector('#filter [type=reset]').click()");
    let maps = (RECIPES.len() - 1) * 10;
    assert!(browser.text("#heatmap-chart").contains(&format!("of {maps} maps")));
    // On paper nothing scrolls: rows are there while it is printed, and what is left out is said.
    let rows = "#cases-table tbody tr[data-case]";
    let seen = browser.count(rows);
    browser.act("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.count(rows), 2_000);
    let limit = browser.text("#table-limit");
    assert_eq!(limit, "First 2000 of 10\u{202f}000 cases; filter to print others.");
    browser.act("dispatchEvent(new Event('afterprint'))");
    assert!(browser.count(rows) == seen && seen < 100, "{seen} rows on the screen");
    assert_quiet(&browser);
}

/// However many marks a chart has, Tab leads past it at once.
fn marks_are_no_trap(browser: &Browser) {
    let chart = "return document.activeElement.closest('.chart')?.id";
    browser.act("document.querySelector('#frontier-chart [tabindex=\"0\"]').focus()");
    assert_eq!(browser.count("#frontier-chart [role=option]"), 1_200);
    browser.press(&[key::END, key::RIGHT, key::LEFT]);
    assert_eq!(browser.get(chart), "frontier-chart");
    browser.press(&[key::TAB]);
    assert_ne!(browser.get(chart), "frontier-chart");
    for selector in [".lines", "svg.plot", ".map table"] {
        let stops = format!(
            "return [...document.querySelectorAll('{selector}')].every((it) => \
             it.querySelectorAll('[tabindex=\"0\"]').length === 1)"
        );
        assert_eq!(browser.get(&stops), true, "{selector}");
    }
}

/// All numbers that people read are written alike.
fn long_numbers_are_in_groups(browser: &Browser) {
    let others = r"return document.body.innerText.match(/\d,\d{3}|\b\d{5,}\b/g)";
    assert_eq!(browser.get(others), serde_json::Value::Null);
}
