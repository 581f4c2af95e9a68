//! The page on screens of all sizes, in both themes, and on paper.

use criterion_report::model::Row;
use criterion_report::read::{Inputs, Report, Selection};
use criterion_report::render::units;
use plan::{Energy, Range, Record, Utilization};
use serde_json::json;

use crate::common::report;
use crate::html::browser::Browser;
use crate::html::{assert_quiet, file};

/// Fixtures that have all kinds of charts between them.
const FIXTURES: [&str; 3] = ["every-outcome", "fusion", "calibration"];

/// Texts that have less than the contrast of 4.5 to their ground that WCAG 2.2 wants at level AA: each
/// kind of colours once.
const PALE: &str = r"
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const bytes = (colour) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([red, green, blue]) => {
        const linear = (byte) => {
            const share = byte / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    };
    const ground = (of) => {
        const own = getComputedStyle(of).backgroundColor;
        return bytes(own)[3] === 255 || !of.parentElement ? own : ground(of.parentElement);
    };
    const pale = new Map();
    for (const of of document.querySelectorAll('body *:not(script, style, noscript, option)')) {
        const own = [...of.childNodes].some((it) => it.nodeType === 3 && it.data.trim() !== '');
        if (!own || !of.checkVisibility()) continue;
        const style = getComputedStyle(of);
        const colours = [of.closest('svg') ? style.fill : style.color, ground(of)];
        const [dark, light] = colours.map(bytes).map(luminance).sort((a, b) => a - b);
        const contrast = (light + 0.05) / (dark + 0.05);
        if (contrast < 4.5) pale.set(String(colours), `${of.className}: ${of.textContent}, ${contrast}`);
    }
    return [...pale.values()];
";

/// A browser takes seconds to start, so that all share one.
#[test]
#[ignore = "long: a browser draws every page at every width, a quarter of a minute"]
fn it_looks_right_everywhere() {
    let Some(browser) = Browser::start() else { return };
    nothing_goes_wrong_at_any_width_in_either_theme(&browser);
    every_section_has_its_marks(&browser);
    a_section_without_anything_to_show_is_left_out(&browser);
    what_a_device_was_asked_has_charts(&browser);
    axes_speak_as_the_figures_do(&browser);
    a_chosen_theme_is_kept(&browser);
    it_prints(&browser);
    paper_is_light_and_has_no_controls(&browser);
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
                if width == 1280 {
                    assert_eq!(browser.get(PALE), json!([]), "{name}, {theme}");
                }
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
                ("#fusion-chart .bar", 16),
                ("#heatmap-chart td.field", 10),
                ("#frontier-chart .point", 9),
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
        ("different-runs", vec![("#environment dl", 3), (".caution", 1)]),
        ("noisy", vec![("#recipes-chart .caution", 1)]),
        ("stale-estimate", vec![("#cases-table .status.stale", 1)]),
        ("unreached-cases", vec![("#cases-table .status.not-reached", 1)]),
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

/// Calibration is about the machine: its cases are no answers to which one is faster.
fn a_section_without_anything_to_show_is_left_out(browser: &Browser) {
    for (name, expected) in [
        ("two-siblings", json!(["recipes", "roofline", "frontier", "memory", "latency"])),
        ("probes", json!(["roofline", "latency"])),
    ] {
        browser.open(&file(&report(name)).path);
        let sections = "return [...document.querySelectorAll('main > section')].map((it) => it.id)\
                        .filter((id) => !['answers', 'notices', 'cases', 'environment'].includes(id))";
        assert_eq!(browser.get(sections), expected, "{name}");
        let broken = "return [...document.querySelectorAll('nav a')].filter((it) => \
                      document.querySelector(it.hash) === null).length";
        assert_eq!(browser.get(broken), 0, "{name}");
    }
    assert_quiet(browser);
}

/// The report of real records with an energy and a utilization that are made up: no machine at hand
/// has both.
fn with_energy() -> Report {
    let lines = "tests/fixtures/two-siblings/criterion-torch/new/inference.jsonl";
    let lines = std::fs::read_to_string(lines).expect("readable");
    let cases = lines.lines().enumerate().map(|(place, line)| {
        let mut record: Record = serde_json::from_str(line).expect("a record");
        let joules = 0.25 / (place + 1) as f64;
        record.measures.energy = Some(Energy {
            joules,
            watts: 61.5,
            idle_watts: None,
            idle_subtracted: false,
            window_s: 2.0,
            iters: 100,
            method: "made up".to_owned(),
        });
        let share = |median: f64| Range { min: median - 0.05, median, max: median + 0.05 };
        record.measures.utilization = Some(Utilization {
            sm: share(0.9),
            memory: share(0.4),
            window_s: 2.0,
            samples: 12,
            method: "made up".to_owned(),
        });
        (record.full_id.clone(), Row::new(Box::new(record)))
    });
    let inputs = Inputs { cases: cases.collect(), ..Inputs::default() };
    Report::new(inputs, "new", Selection::default())
}

fn what_a_device_was_asked_has_charts(browser: &Browser) {
    let report = with_energy();
    let cases = report.rows().len() as u64;
    browser.open(&file(&report).path);
    assert_eq!(browser.count("#energy-chart .part"), cases);
    assert_eq!(browser.count("#utilization-chart .line .part"), 2 * cases);
    assert!(browser.text("#energy-chart .line[data-case] .figure").contains("0.2500 J 61.50 W"));
    assert_eq!(browser.text("#utilization-chart .line[data-case] .figure"), "90 % memory 40 %");
    browser.act("document.querySelector('#cases-table tbody button').click()");
    let said = browser.text("#details");
    assert!(said.contains("kernels 90.0 % [85.0 %, 95.0 %], memory 40.0 %"), "{said}");
    assert_quiet(browser);
}

/// An axis names round numbers in the units in which all other texts have them.
fn axes_speak_as_the_figures_do(browser: &Browser) {
    let axis = |chart: &str| -> Vec<String> {
        let body = format!(
            "return [...document.querySelectorAll('#{chart} .axis text')].map((it) => it.textContent)"
        );
        let texts = browser.get(&body);
        let texts = texts.as_array().expect("a list").iter();
        texts.map(|it| it.as_str().expect("a text").to_owned()).filter(|it| it != "0").collect()
    };
    /// `1.00 MiB` as an axis has it.
    fn round(text: &str) -> String {
        let (number, unit) = text.split_once(' ').expect("a number and its unit");
        format!("{} {unit}", number.parse::<f64>().expect("a number"))
    }
    let value = |text: &str, units: &[(&str, f64)]| {
        let (number, unit) = text.split_once(' ').expect("a number and its unit");
        let (_, scale) = units.iter().find(|(name, _)| *name == unit).expect("a known unit");
        number.parse::<f64>().expect("a number") * scale
    };
    let file = file(&report("every-outcome"));
    browser.open(&file.path);
    browser.act(
        "const scale = document.getElementById('latency-scale'); scale.value = 'absolute'; \
         scale.dispatchEvent(new Event('change'))",
    );
    let bytes: Vec<(&str, f64)> =
        units::ByteUnit::ALL.iter().map(|unit| (unit.name, unit.bytes as f64)).collect();
    let (memory, latency) = (axis("memory-chart"), axis("latency-chart"));
    assert!(memory.len() > 2 && latency.len() > 2, "{memory:?}, {latency:?}");
    for text in memory {
        assert_eq!(text, round(&units::bytes(value(&text, &bytes) as u64)));
    }
    for text in latency {
        assert_eq!(text, round(&units::time(value(&text, units::TIME_UNITS))));
    }
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

fn paper_is_light_and_has_no_controls(browser: &Browser) {
    let file = file(&report("fusion"));
    browser.emulate(768, "dark");
    browser.open(&file.path);
    browser.act("document.getElementById('theme').click()");
    browser.act("document.getElementById('theme').click()");
    assert_eq!(browser.text("#theme"), "Theme: dark");
    browser.type_into_filter("cpu");
    let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
    browser.cdp("Emulation.setEmulatedMedia", json!({ "media": "print", "features": dark }));
    browser.act("dispatchEvent(new Event('beforeprint'))");
    let ground = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.get(ground), "rgb(255, 255, 255)");
    assert_eq!(browser.get(PALE), json!([]));
    let controls = "return [...document.querySelectorAll('button:not(.case), a, dialog, \
                    input[type=checkbox]')].filter((it) => it.checkVisibility()).length";
    assert_eq!(browser.get(controls), 0);
    // The page says how many of all are shown.
    let chosen = "return ['filter-text', 'filter-count', 'frontier-group'].every((id) => \
                  document.getElementById(id).checkVisibility())";
    assert_eq!(browser.get(chosen), true);
    let apart = "const style = (selector) => getComputedStyle(document.querySelector(selector)); \
                 return [...['.group', '.map', '#roofline', '#cases-table tbody tr'].map((it) => \
                 style(it).breakInside), style('#cases-table thead').display]";
    let expected = json!(["avoid", "avoid", "avoid", "avoid", "table-header-group"]);
    assert_eq!(browser.get(apart), expected);
    let overflow =
        "const root = document.documentElement; return root.scrollWidth - root.clientWidth";
    assert_eq!(browser.get(overflow), 0);
    browser.act("dispatchEvent(new Event('afterprint'))");
    browser.cdp("Emulation.setEmulatedMedia", json!({ "media": "" }));
    assert_quiet(browser);
}
