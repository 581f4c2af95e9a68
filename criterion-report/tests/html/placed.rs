//! The roofline in a case's details, in which the case is marked.

use criterion_report::model::Row;
use criterion_report::read::Report;
use criterion_report::views::calibration::Placement;
use serde_json::{Value, json};

use crate::common::report;
use crate::html::browser::Browser;
use crate::html::{assert_quiet, file};

const GROUP: &str = "fusion/machine/linear_bias/cpu";
const PARAMETER: &str = "f32-512x1024x1024";

/// The values that an axis names, with their places in the plot.
struct Ticks(Vec<(f64, f64)>);

impl Ticks {
    /// The texts along an axis: those of the horizontal one are centred, those of the other one end at it.
    fn new(texts: &Value, anchor: &str, place: usize) -> Self {
        let own = texts.as_array().expect("texts").iter().filter(|it| it[1] == anchor);
        let tick = |it: &Value| {
            let name = it[0].as_str().expect("a name");
            let value = name.replace('\u{202f}', "").parse();
            (value.expect(name), it[place].as_f64().expect("a place"))
        };
        Self(own.map(tick).collect())
    }

    /// The position of a value on this logarithmic axis.
    fn place(&self, value: f64) -> f64 {
        let (Some((low, from)), Some((high, to))) = (self.0.first(), self.0.last()) else {
            panic!("no ticks")
        };
        assert!(low != high, "one tick is no axis");
        from + (to - from) * (value / low).ln() / (high / low).ln()
    }
}

fn placement(report: &Report, variant: &str) -> Placement {
    let id = format!("{GROUP}/{variant}/{PARAMETER}");
    let row: &Row = report.rows().iter().find(|it| it.full_id() == id).expect("a case");
    Placement::from_row(row).expect("a place in the roofline")
}

/// Opens the details of a case.
fn open(browser: &Browser, variant: &str) {
    let id = format!("{GROUP}/{variant}/{PARAMETER}");
    browser.act(&format!(
        "const dialog = document.getElementById('details'); \
         for (const it of document.querySelectorAll('#cases-table tbody button')) {{ \
         dialog.close(); it.click(); \
         if (document.getElementById('details-title').textContent === {}) return; }} \
         throw new Error('no such case')",
        json!(id)
    ));
}

#[test]
fn a_case_is_marked_in_the_roofline_of_its_machine() {
    let Some(browser) = Browser::start() else { return };
    let report = report("calibration");
    let page = file(&report);
    browser.emulate(1280, "light");
    browser.open(&page.path);
    for variant in ["unfused", "fused"] {
        open(&browser, variant);
        assert_eq!(browser.count(".placed .roof"), 1, "of float32 on 2 threads");
        assert_eq!(browser.count(".placed .point.chosen"), 1);
        assert_eq!(browser.text(".placed .point.chosen text"), variant);
        let place = "const it = document.querySelector('.placed .point.chosen circle'); \
                     return [Number(it.getAttribute('cx')), Number(it.getAttribute('cy'))]";
        let place = browser.get(place);
        let ticks = "return [...document.querySelectorAll('.placed g[aria-hidden] \
                     text:not(.title)')].map((it) => [it.textContent, \
                     it.getAttribute('text-anchor'), Number(it.getAttribute('x')), \
                     Number(it.getAttribute('y'))])";
        let ticks = browser.get(ticks);
        let own = placement(&report, variant);
        let across = Ticks::new(&ticks, "middle", 2).place(own.flop_per_byte);
        // A name stands four pixels below the line that it is of.
        let up = Ticks::new(&ticks, "end", 3).place(own.gflop_per_s) - 4.0;
        for (found, expected) in [(&place[0], across), (&place[1], up)] {
            let found = found.as_f64().expect("a number");
            assert!((found - expected).abs() < 0.1, "{variant}: {place}, not {across}, {up}");
        }
        // One sibling has a time, and so a point, without a name.
        let others = "return [...document.querySelectorAll('.placed .point.off title')].map((it) \
                      => it.textContent)";
        let sibling = if variant == "fused" { "unfused" } else { "fused" };
        assert_eq!(browser.get(others), json!([sibling]));
        assert_eq!(browser.count(".placed .point.off text"), 0);
    }
    assert_quiet(&browser);
}
