//! The page by keyboard alone.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::common::report;
use crate::html::browser::{Browser, key};
use crate::html::{assert_quiet, file};

/// The focused element: its id, or its text.
const FOCUSED: &str = "const it = document.activeElement; return it.id || it.textContent.trim()";

/// Each on a page that was just opened; a browser takes seconds to start, so that all share one.
#[test]
fn everything_can_be_done_by_keyboard() {
    let Some(browser) = Browser::start() else { return };
    let file = file(&report("every-outcome"));
    browser.emulate(1280, "light");
    for check in [
        every_control_is_reached,
        the_first_key_leads_past_everything_to_the_table,
        keys_sort_the_table,
        keys_filter_table_and_charts,
        a_case_opens_and_closes,
        arrows_lead_from_mark_to_mark,
        arrows_lead_through_a_map,
    ] {
        browser.open(&file.path);
        check(&browser);
        assert_quiet(&browser);
    }
}

fn focused(browser: &Browser) -> String {
    browser.get(FOCUSED).as_str().expect("a text").to_owned()
}

/// Presses Tab until what has this id or text has the focus.
fn tab_to(browser: &Browser, wanted: &str) {
    for _ in 0..120 {
        if focused(browser) == wanted {
            return;
        }
        browser.strike(&[key::TAB]);
    }
    panic!("`{wanted}` is not reached");
}

/// A column of the rows that the table shows.
fn column(browser: &Browser, number: usize) -> Vec<String> {
    let body = format!(
        "return [...document.querySelectorAll('#cases-table tbody tr[data-case]')].map((row) => \
         row.cells[{number}].textContent)"
    );
    let cells = browser.get(&body);
    cells.as_array().expect("cells").iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn every_control_is_reached(browser: &Browser) {
    let controls = "return [...document.querySelectorAll('button, select, input, a[href], \
                    [tabindex=\"0\"]')].filter((it) => it.checkVisibility()).map((it, at) => \
                    (it.dataset.control = at))";
    let controls: BTreeSet<u64> = browser
        .get(controls)
        .as_array()
        .expect("controls")
        .iter()
        .map(|at| at.as_u64().expect("a number"))
        .collect();
    let mut reached = BTreeSet::new();
    for _ in 0..controls.len() + 2 {
        browser.strike(&[key::TAB]);
        let state = "const it = document.activeElement; return [it.dataset.control ?? null, \
                     it === document.body || getComputedStyle(it).outlineStyle !== 'none', \
                     it.textContent]";
        let state = browser.get(state);
        assert_eq!(state[1], Value::Bool(true), "no ring around {}", state[2]);
        reached.extend(state[0].as_str().map(|at| at.parse::<u64>().expect("a number")));
    }
    assert_eq!(reached, controls);
    assert!(controls.len() > 25, "{}", controls.len());
}

fn the_first_key_leads_past_everything_to_the_table(browser: &Browser) {
    browser.strike(&[key::TAB]);
    assert_eq!(focused(browser), "Skip to the table of all cases");
    browser.press(&[key::ENTER]);
    assert_eq!(focused(browser), "cases");
}

fn keys_sort_the_table(browser: &Browser) {
    let order = |expected: &str| {
        let state = "return [...document.querySelectorAll('#cases-table th')].map((it) => \
                     it.getAttribute('aria-sort')).filter((it) => it !== 'none')";
        let expected = if expected == "none" { json!([]) } else { json!([expected]) };
        assert_eq!(browser.get(state), expected);
    };
    let plain = column(browser, 2);
    order("none");
    tab_to(browser, "Time");
    browser.press(&[key::ENTER]);
    order("ascending");
    let times = column(browser, 2);
    assert_eq!(
        times[..4],
        [
            "6.789 ms[6.701, 6.810]",
            "12.34 ms[12.30, 12.41]",
            "13.10 ms[12.95, 13.24]",
            "31.20 s[31.00, 31.60]"
        ]
    );
    assert!(times[4..].iter().all(String::is_empty), "what has no time is last: {times:?}");
    browser.press(&[key::SPACE]);
    order("descending");
    let times = column(browser, 2);
    assert_eq!(times[0], "31.20 s[31.00, 31.60]");
    assert!(times[4..].iter().all(String::is_empty), "what has no time is last: {times:?}");
    browser.press(&[key::ENTER]);
    order("none");
    assert_eq!(column(browser, 2), plain);
}

fn keys_filter_table_and_charts(browser: &Browser) {
    assert_eq!(browser.text("#filter-count"), "14 cases");
    tab_to(browser, "filter-text");
    browser.type_text("int8dq 1024x");
    assert_eq!(browser.text("#filter-count"), "2 of 14 cases");
    let cases = column(browser, 0);
    assert!(cases.iter().all(|it| it.contains("int8dq") && it.contains("1024x")), "{cases:?}");
    assert_eq!(browser.count("#recipes-chart .bar"), 1);
    browser.type_text(" nowhere");
    assert_eq!(browser.text("#filter-count"), "0 of 14 cases");
    assert!(browser.text("#table").contains("No case matches the filter."));
    assert!(browser.text("#recipes-chart").contains("None of these cases has a speed-up"));
    tab_to(browser, "Clear");
    browser.press(&[key::ENTER]);
    assert_eq!(browser.text("#filter-count"), "14 cases");
    tab_to(browser, "filter-status");
    browser.type_text("f");
    assert_eq!(browser.text("#filter-count"), "1 of 14 cases");
    assert!(column(browser, 1)[0].contains("failed"));
}

fn a_case_opens_and_closes(browser: &Browser) {
    let first = "document.querySelector('#cases-table tbody button').id = 'first'";
    browser.act(first);
    tab_to(browser, "first");
    browser.press(&[key::ENTER]);
    assert_eq!(focused(browser), "Close");
    let said = browser.text("#details");
    for part in ["inference/quick/linear/cpu/baseline/", "12.34 ms [12.30, 12.41]", "SQNR52.3 dB"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    browser.press(&[key::ESCAPE]);
    assert_eq!(browser.get("return document.getElementById('details').open"), Value::Bool(false));
    assert_eq!(focused(browser), "first");
}

/// The text beside a mark, and what a screen reader is told; none where no text is shown.
fn shown_text(browser: &Browser) -> Option<(String, String)> {
    let body = "const tip = document.getElementById('tip'); return tip.hidden ? null : \
                [tip.textContent, document.activeElement.getAttribute('aria-label')]";
    let said = browser.get(body);
    let text = |at: usize| said[at].as_str().map(str::to_owned);
    text(0).zip(text(1))
}

/// The place of the mark with the focus among those of its chart.
fn mark(browser: &Browser, chart: &str) -> Value {
    let body = format!(
        "return [...document.querySelectorAll('#{chart} [data-tip]')].indexOf(document.activeElement)"
    );
    browser.get(&body)
}

fn arrows_lead_from_mark_to_mark(browser: &Browser) {
    browser.act("document.getElementById('memory-order').focus()");
    browser.press(&[key::TAB]);
    assert_eq!(mark(browser, "memory-chart"), 0);
    let (shown, told) = shown_text(browser).expect("a text");
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "inference/quick/linear/cpu/baseline/bf16-1024x1024x1024",
            "12.34 ms [12.30, 12.41]",
            "weights 2.00 MiB, inputs 2.00 MiB, step 2.00 MiB",
        ]
    );
    assert_eq!(told, shown.replace('\n', "; "));
    browser.press(&[key::DOWN, key::RIGHT]);
    assert_eq!(mark(browser, "memory-chart"), 2);
    assert!(shown_text(browser).expect("a text").0.contains("/int8dq/"));
    browser.press(&[key::END]);
    let last = browser.count("#memory-chart [data-tip]") - 1;
    browser.press(&[key::DOWN]);
    assert_eq!(mark(browser, "memory-chart"), last);
    browser.press(&[key::UP, key::HOME, key::LEFT]);
    assert_eq!(mark(browser, "memory-chart"), 0);
    browser.press(&[key::DOWN, key::ESCAPE]);
    assert_eq!((mark(browser, "memory-chart"), shown_text(browser)), (json!(1), None));
    browser.press(&[key::ENTER]);
    assert!(browser.text("#details-title").contains("/int8wo/"));
    browser.press(&[key::ESCAPE]);
    assert_eq!(mark(browser, "memory-chart"), 1);
    // A new drawing, for another width or filter, keeps the focus where it was.
    browser.act("document.getElementById('filter').dispatchEvent(new Event('input'))");
    assert_eq!(mark(browser, "memory-chart"), 1);
    // Tab leaves the chart, and comes back to the mark that was left.
    browser.press(&[key::TAB]);
    assert_eq!((mark(browser, "memory-chart"), shown_text(browser)), (json!(-1), None));
    browser.act("document.getElementById('memory-order').focus()");
    browser.press(&[key::TAB]);
    assert_eq!(mark(browser, "memory-chart"), 1);
}

fn arrows_lead_through_a_map(browser: &Browser) {
    browser.act("document.querySelector('.map [tabindex=\"0\"]').focus()");
    let at = || {
        let body = "const it = document.activeElement; return [it.parentElement.rowIndex, \
                    it.cellIndex, it.closest('[role=grid]') !== null, it.tabIndex]";
        browser.get(body)
    };
    let start = at();
    assert_eq!((&start[2], &start[3]), (&json!(true), &json!(0)));
    browser.press(&[key::RIGHT]);
    assert_eq!((&at()[0], at()[1].as_u64() > start[1].as_u64()), (&start[0], true));
    browser.press(&[key::LEFT, key::DOWN]);
    assert_eq!((&at()[1], at()[0].as_u64() > start[0].as_u64()), (&start[1], true));
    browser.press(&[key::HOME]);
    assert_eq!(at(), start);
    assert!(shown_text(browser).expect("a text").0.contains("/int8wo/"));
}
