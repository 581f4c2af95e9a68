//! The page on screens of all sizes, in both themes, and on paper.

use serde_json::json;

use crate::browser::Browser;
use crate::common::report;
use crate::{assert_quiet, file};

/// Fixtures that have all kinds of charts between them.
const FIXTURES: [&str; 3] = ["every-outcome", "fusion", "calibration"];

/// A browser takes seconds to start, so that all share one.
#[test]
fn it_looks_right_everywhere() {
    let Some(browser) = Browser::start() else { return };
    nothing_goes_wrong_at_any_width_in_either_theme(&browser);
    every_section_has_its_marks(&browser);
    a_chosen_theme_is_kept(&browser);
    it_prints(&browser);
}

fn nothing_goes_wrong_at_any_width_in_either_theme(browser: &Browser) {
    for name in FIXTURES {
        let file = file(&report(name));
        for width in [360, 768, 1280, 1920] {
            browser.emulate(width, "light");
            browser.open(&file.path);
            for theme in ["light", "dark"] {
                browser.emulate(width, theme);
                // A scroll bar takes some of the width.
                let widths = browser.get(
                    "const root = document.documentElement; \
                     return [innerWidth, root.scrollWidth - root.clientWidth]",
                );
                assert_eq!(widths, json!([width, 0]), "{name}, {width}, {theme}");
                let ground = "return getComputedStyle(document.body).backgroundColor";
                let dark = browser.get(ground) == "rgb(20, 23, 27)";
                assert_eq!(dark, theme == "dark", "{name}, {width}");
            }
        }
        assert_quiet(browser);
    }
}

fn every_section_has_its_marks(browser: &Browser) {
    for (name, marks) in [
        (
            "fusion",
            vec![
                ("#speedup-chart .bar", 16),
                ("#heatmap-chart td.field", 10),
                ("#frontier-chart .point", 21),
                ("#roofline-chart .point", 21),
                ("#memory-chart .part", 40),
                ("#cases-table tbody tr[data-case]", 10),
            ],
        ),
        ("calibration", vec![("#roofline-chart .roof", 2), ("#roofline-chart .point.on", 10)]),
        (
            "every-outcome",
            vec![
                ("#latency-chart .reach", 4),
                ("#heatmap-chart td.without", 4),
                ("#environment .circumstances", 1),
            ],
        ),
        ("different-runs", vec![("#environment dl", 3), (".mark", 1)]),
    ] {
        let file = file(&report(name));
        browser.emulate(1280, "light");
        browser.open(&file.path);
        for (selector, least) in marks {
            let found = browser.count(selector);
            assert!(found >= least, "{name}: {found} of {selector}, not {least}");
        }
        // A picture is told in words, too.
        let silent = "svg.plot:not([aria-label]), .chart:empty";
        assert_eq!(browser.count(silent), 0, "{name}");
    }
    assert_quiet(browser);
}

fn a_chosen_theme_is_kept(browser: &Browser) {
    let file = file(&report("two-siblings"));
    browser.emulate(1280, "light");
    browser.open(&file.path);
    let ground = "return getComputedStyle(document.body).backgroundColor";
    let light = browser.get(ground);
    for expected in ["Theme: light", "Theme: dark"] {
        browser.act("document.getElementById('theme').click()");
        assert_eq!(browser.text("#theme"), expected);
    }
    assert_ne!(browser.get(ground), light);
    browser.open(&file.path);
    assert_eq!(browser.text("#theme"), "Theme: dark");
    browser.act("document.getElementById('theme').click()");
    assert_eq!((browser.text("#theme"), browser.get(ground)), ("Theme: system".to_owned(), light));
    assert_quiet(browser);
}

fn it_prints(browser: &Browser) {
    let file = file(&report("fusion"));
    browser.emulate(1280, "dark");
    browser.open(&file.path);
    let pdf = browser.print();
    assert!(pdf.starts_with(b"%PDF-"), "no PDF");
    let page = b"/Type /Page\n";
    let pages = pdf.windows(page.len()).filter(|window| window == page).count();
    assert!((3..20).contains(&pages), "{pages} pages");
    assert_quiet(browser);
}
