//! `explain`: cases built for each rule, on a machine whose limits are round numbers.

mod comparisons;
mod fixture;
mod limits;
mod others;
mod parts;
mod statements;
mod texts;

use criterion_report::read::Report;
use criterion_report::views::explain::{Explainer, Explanation};

/// The sum of the parts may differ from the whole by this share.
const ROUNDING: f64 = 1e-9;

fn explained(report: &Report) -> Vec<Explanation> {
    let explainer = Explainer::new(report);
    let all: Vec<Explanation> =
        report.entries().filter_map(|entry| explainer.explain(&entry)).collect();
    for it in &all {
        adds_up(it);
    }
    all
}

/// The explanation of the only case of the report whose id has this text.
fn one(report: &Report, id: &str) -> Explanation {
    let found: Vec<Explanation> =
        explained(report).into_iter().filter(|it| it.full_id.contains(id)).collect();
    assert_eq!(found.len(), 1, "{id}: {found:?}");
    found.into_iter().next().expect("one")
}

/// Checks that the parts add up to the time, that the operations do, and that the entries of a difference add up to it.
fn adds_up(it: &Explanation) {
    let near = |sum: f64, whole: f64, scale: f64| {
        assert!((sum - whole).abs() <= ROUNDING * scale, "{sum} is not {whole}: {it:#?}");
    };
    near(it.parts.iter().map(|part| part.ns).sum(), it.time_ns, it.time_ns);
    near(it.parts.iter().map(|part| part.share).sum(), 1.0, 1.0);
    assert!(it.parts.iter().all(|part| part.ns > 0.0), "{it:#?}");
    assert_eq!(it.operations.is_empty(), it.profile.is_none(), "{it:#?}");
    if it.profile.is_some() {
        near(it.operations.iter().map(|it| it.ns).sum(), it.time_ns, it.time_ns);
    }
    if let Some(difference) = &it.difference {
        let sum = difference.operations.iter().map(|it| it.difference_ns).sum();
        near(sum, difference.difference_ns, it.time_ns + difference.baseline_ns);
        near(it.time_ns - difference.baseline_ns, difference.difference_ns, it.time_ns);
    }
    assert_eq!(it.statements.is_empty(), it.emulated, "{it:#?}");
}
