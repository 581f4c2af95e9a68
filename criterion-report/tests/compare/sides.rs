//! Sides that are made here.

use criterion_report::compare::{
    Compared, Comparison, Estimate, Floors, Hosts, Limits, Point, Policy, Settings, Side,
    SideLabels, SideRun, Thresholds, compare,
};
use plan::{Memory, StepMemory};
use statistics::{CONFIDENCE_LEVEL, RunMedian};

pub const ID: &str = "kernels/default/gemv/cpu/kernel/f32-4096";

/// Estimates of samples of a step, in nanoseconds, in the order in which they were taken.
pub fn of_samples(samples: &[f64]) -> Estimate {
    Estimate {
        median_ns: statistics::median(samples),
        interval: None,
        confidence_level: CONFIDENCE_LEVEL,
        run: RunMedian::from_samples(samples),
        drift: statistics::drift(samples),
    }
}

/// A measured case whose samples lie ±0.5 % about a median.
pub fn point(ns: f64) -> Point {
    let samples: Vec<f64> =
        (0..30).map(|index| ns * (0.995 + 0.01 * f64::from(index * 7 % 30) / 29.0)).collect();
    Point {
        full_id: ID.to_owned(),
        host: Some("a machine".to_owned()),
        status: Point::MEASURED.to_owned(),
        time: Some(of_samples(&samples)),
        relative_error: Some(1e-4),
        rmse: Some(1e-5),
        memory: Some(memory(1 << 20)),
        ..Point::default()
    }
}

pub fn memory(peak: u64) -> Memory {
    Memory {
        weights_bytes: peak / 2,
        inputs_bytes: peak - peak / 2 - peak / 4,
        outputs_bytes: 0,
        saved_bytes: None,
        step: StepMemory { peak_bytes: peak / 4, total_bytes: 0, allocations: 0 },
    }
}

pub fn ended(status: &str) -> Point {
    Point { status: status.to_owned(), time: None, ..point(1.0) }
}

/// A side of these runs of one case.
pub fn side(name: &str, points: impl IntoIterator<Item = Point>) -> Side {
    let runs = points.into_iter().map(|point| SideRun::new(name, vec![point])).collect();
    Side { name: name.to_owned(), runs }
}

pub fn comparison(a: Side, b: Side, floors: Floors<'_>) -> Comparison {
    comparison_at(Limits::default(), a, b, floors)
}

fn comparison_at(limits: Limits, a: Side, b: Side, floors: Floors<'_>) -> Comparison {
    let thresholds = Thresholds { limits, rules: Vec::new() };
    let settings = Settings {
        policy: Policy::Default,
        thresholds: &thresholds,
        floors,
        hosts: Hosts::Refused,
        words: SideLabels::SIDES,
        lockstep: None,
    };
    compare(&a, &b, settings).expect("one machine")
}

/// The only case of the comparison.
pub fn compared(
    a: impl IntoIterator<Item = Point>,
    b: impl IntoIterator<Item = Point>,
    floors: Floors<'_>,
) -> Compared {
    only(comparison(side("a", a), side("b", b), floors))
}

/// Compares at these thresholds, without a floor.
pub fn compared_at(limits: Limits, a: Vec<Point>, b: Vec<Point>) -> Compared {
    only(comparison_at(limits, side("a", a), side("b", b), Floors::Ignored))
}

fn only(mut comparison: Comparison) -> Compared {
    assert_eq!(comparison.cases.len(), 1);
    comparison.cases.remove(0)
}

/// Runs with medians one thousandth apart.
pub fn runs(count: u32, ns: f64) -> Vec<Point> {
    (0..count).map(|run| point(ns * (1.0 + 0.001 * f64::from(run)))).collect()
}
