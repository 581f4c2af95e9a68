//! How a verdict looks, wherever it stands: its words, and one paint for each.

use statistics::{Band, Benefit, Verdict};

use crate::model::{Entry, NoSpeedup, Speedup};
use crate::render::table::{ABSENT, Cell, Paint};
use crate::render::units;
use crate::views::Advice;

/// Signs of faster, slower, same, inconclusive.
pub const SIGNS: [&str; 4] = ["▲", "▼", "=", "?"];

pub const fn sign(verdict: Verdict) -> &'static str {
    SIGNS[match verdict {
        Verdict::Faster => 0,
        Verdict::Slower => 1,
        Verdict::Same => 2,
        Verdict::Inconclusive => 3,
    }]
}

pub const fn of_verdict(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Faster => Paint::Good,
        Verdict::Slower => Paint::Bad,
        Verdict::Same => Paint::Plain,
        Verdict::Inconclusive => Paint::Warn,
    }
}

pub fn of_benefit(benefit: Benefit) -> Paint {
    match benefit {
        Benefit::Of(Band::Strong | Band::Moderate) => Paint::Good,
        Benefit::Of(Band::Minimal) => Paint::Plain,
        Benefit::Of(Band::Slower) => Paint::Bad,
        Benefit::Inconclusive { .. } => Paint::Warn,
    }
}

/// The paint of what to do with a variant or a pattern.
pub const fn of_advice(advice: Advice) -> Paint {
    match advice {
        Advice::Fuse | Advice::Faster => Paint::Good,
        Advice::Indifferent => Paint::Plain,
        Advice::Avoid | Advice::Slower => Paint::Bad,
        Advice::Conditional | Advice::Depends | Advice::Inconclusive => Paint::Warn,
    }
}

/// The speed-up that a caller has, where it is another one than the device's.
pub fn as_called(entry: &Entry<'_>) -> Cell {
    let called = entry.speedup().and_then(Speedup::differs_as_called);
    called.map_or_else(Cell::default, |it| {
        Cell::new(units::ratio(it.ratio, None), of_verdict(statistics::verdict(&it.as_ratio())))
    })
}

/// The speed-up over the baseline, in colour where the interval leaves no doubt.
pub fn of_speedup(entry: &Entry<'_>, paint: impl Fn(&Speedup) -> Paint) -> Cell {
    match entry.comparison.map(|comparison| &comparison.speedup) {
        Some(Ok(it)) => Cell::new(units::ratio(it.ratio, Some(it.interval)), paint(it)),
        None | Some(Err(NoSpeedup::NotMeasured)) => Cell::default(),
        Some(Err(_)) => Cell::new(ABSENT, Paint::Warn),
    }
}
