//! The summary of one implementation's results at several sizes.
//!
//! Means are geometric and of ratios. A mean of times is the mean of the largest sizes, whatever the
//! others did; and of the arithmetic mean of ratios the verdict depends on which side is called the
//! baseline: of 2× and ½× it is 1.25 either way round.

use std::collections::{BTreeMap, BTreeSet};

use plan::OperatorShape;
use statistics::Verdict;

use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::{units, words};
use crate::views::footnotes::{Footnotes, Note};
use crate::views::verdict::SIGNS;
use crate::views::view::{Layout, Room, Table, left, right};
use crate::views::{EfficiencySource, OperatorResult};

/// A dimension of the sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Axis {
    /// Batch sizes.
    Batch,
    /// Sequence lengths.
    Sequence,
    /// Tensor dimensions.
    Dimension,
}

impl Axis {
    pub const fn of(self, size: OperatorShape) -> u64 {
        match self {
            Self::Batch => size.batch_size,
            Self::Sequence => size.sequence_length,
            Self::Dimension => size.tensor_dimension,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// exp of the mean logarithm.
    pub value: f64,
    pub lowest: f64,
    pub highest: f64,
    pub count: usize,
}

impl Mean {
    /// The mean of positive values; none of none.
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
        Some(Self {
            value: (logarithms / values.len() as f64).exp(),
            lowest: values.iter().copied().min_by(f64::total_cmp)?,
            highest: values.iter().copied().max_by(f64::total_cmp)?,
            count: values.len(),
        })
    }
}

/// An implementation over several cases of one place and dtype.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The implementation in full, `aten+compile`, or a value along an axis.
    pub name: String,
    pub is_baseline: bool,
    /// Cases, measured or not.
    pub cases: usize,
    /// Mean of the speed-ups over `aten` of the cases that have one.
    pub speedup: Option<Mean>,
    /// Speed-ups by what they let one say: faster, slower, same, inconclusive.
    pub verdicts: [usize; 4],
    /// Mean of the shares of the limit; `stream` itself has none.
    pub efficiency: Option<Mean>,
    pub sources: BTreeSet<&'static str>,
}

impl Summary {
    /// One for each implementation, in the order of the words, each eager before compiled.
    pub fn all(results: &[&OperatorResult<'_>]) -> Vec<Self> {
        contenders(results).iter().map(|own| Self::new(own[0].entry.variant(), own)).collect()
    }

    /// Each implementation, and the summaries of it at each value along an axis, the lowest first.
    pub fn along(axis: Axis, results: &[&OperatorResult<'_>]) -> Vec<(String, Vec<Self>)> {
        let of = |own: Vec<&OperatorResult<'_>>| {
            let at = by(&own, |it| axis.of(it.key.work.size)).into_iter();
            let all = at.map(|(value, there)| Self::new(value.to_string(), &there)).collect();
            (own[0].entry.variant(), all)
        };
        contenders(results).into_iter().map(of).collect()
    }

    /// The summary of results of one implementation, of which there are some.
    fn new(name: String, results: &[&OperatorResult<'_>]) -> Self {
        let speedups = || results.iter().filter_map(|it| it.entry.speedup());
        let efficiencies = || {
            let all = results.iter().filter_map(|it| it.efficiency.as_ref().ok());
            all.filter(|it| it.source != EfficiencySource::Itself)
        };
        let verdicts = [Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Inconclusive];
        Self {
            name,
            is_baseline: results[0].entry.row.is_baseline(),
            cases: results.len(),
            speedup: Mean::from_values(speedups().map(|speedup| speedup.ratio)),
            verdicts: verdicts.map(|it| speedups().filter(|own| own.verdict() == it).count()),
            efficiency: Mean::from_values(efficiencies().map(|efficiency| efficiency.share)),
            sources: efficiencies().map(|efficiency| efficiency.source.word()).collect(),
        }
    }
}

/// The results of each implementation, and of each mode of the compiler if that has a part in it.
fn contenders<'r, 'a>(results: &[&'r OperatorResult<'a>]) -> Vec<Vec<&'r OperatorResult<'a>>> {
    by(results, |it| (it.key.work.implementation, it.key.work.compile)).into_values().collect()
}

fn by<'r, 'a, K: Ord>(
    results: &[&'r OperatorResult<'a>],
    key: impl Fn(&OperatorResult<'a>) -> K,
) -> BTreeMap<K, Vec<&'r OperatorResult<'a>>> {
    let mut all: BTreeMap<K, Vec<_>> = BTreeMap::new();
    for &result in results {
        all.entry(key(result)).or_default().push(result);
    }
    all
}

fn layout(first: String) -> Layout<Summary> {
    Layout::of([
        left(first, |it| it.name.clone().into()),
        right("speed-up", |it| match &it.speedup {
            Some(mean) => units::ratio(mean.value, None).into(),
            None => Cell::new(if it.is_baseline { "baseline" } else { ABSENT }, Paint::Dim),
        }),
        right("low", |it: &Summary| of(it.speedup, |mean| units::ratio(mean.lowest, None)))
            .gives_way(2, "low"),
        right("high", |it: &Summary| of(it.speedup, |mean| units::ratio(mean.highest, None)))
            .gives_way(1, "high"),
        right(SIGNS[0], |it| of(it.speedup, |_| it.verdicts[0].to_string())),
        right(SIGNS[1], |it| of(it.speedup, |_| it.verdicts[1].to_string())),
        right(SIGNS[2], |it| of(it.speedup, |_| it.verdicts[2].to_string())),
        right(SIGNS[3], |it| of(it.speedup, |_| it.verdicts[3].to_string())),
        right("cases", |it| of(it.speedup, |mean| of_cases(mean.count, it.cases))),
        right("of limit", |it| of(it.efficiency, |mean| units::percent(mean.value))),
        right("cases", |it| of(it.efficiency, |mean| of_cases(mean.count, it.cases))),
    ])
}

/// A line per implementation, over all operators and sizes of one config, dtype and place.
pub fn summary(block: &[&OperatorResult<'_>], room: Room) -> Table {
    let (layout, all) = (layout(String::new()), Summary::all(block));
    layout.table(&[], |footnotes| lines(&layout, &all, footnotes), room)
}

/// Per implementation of one operator a line for each value along the axis.
pub fn along(axis: Axis, block: &[&OperatorResult<'_>], room: Room) -> Table {
    let (layout, all) = (layout(words::of_flag(axis)), Summary::along(axis, block));
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for (variant, values) in &all {
            let mark = if is_even(values) {
                String::new()
            } else {
                let note = "its means cover different sizes, which may explain a trend";
                format!("  {}", footnotes.mark(note.to_owned()))
            };
            lines.push(Line::Text(Cell::new(format!("  {variant}{mark}"), Paint::Dim)));
            lines.extend(self::lines(&layout, values, footnotes));
        }
        lines
    };
    layout.table(&[], lines, room)
}

/// Whether each mean is of as many cases at every value.
fn is_even(values: &[Summary]) -> bool {
    let counts =
        |it: &Summary| [it.speedup, it.efficiency].map(|mean| mean.map_or(0, |it| it.count));
    values.windows(2).all(|pair| counts(&pair[0]) == counts(&pair[1]))
}

fn lines(layout: &Layout<Summary>, all: &[Summary], footnotes: &mut Footnotes) -> Vec<Line> {
    let line = |it: &Summary| {
        if it.speedup.is_none() && it.efficiency.is_none() && !it.is_baseline {
            let text = format!("none of {} measured in pairs", units::count(it.cases, "case"));
            return Line::Spanning(it.name.clone().into(), Cell::new(text, Paint::Warn));
        }
        let sources: Vec<&str> = it.sources.iter().copied().collect();
        let mixed = (sources.len() > 1).then(|| {
            let sources = sources.join(" and ");
            format!("its limits have different sources, {sources}: choose one with --filter")
        });
        layout.line(it, mixed.into_iter().map(Note::from).collect(), footnotes)
    };
    all.iter().map(line).collect()
}

fn of(mean: Option<Mean>, text: impl Fn(Mean) -> String) -> Cell {
    mean.map(text).unwrap_or_default().into()
}

/// `3 of 4`, or `4` of as many.
fn of_cases(count: usize, cases: usize) -> String {
    if count == cases { count.to_string() } else { format!("{count} of {cases}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> Mean {
        Mean::from_values(values.iter().copied()).expect("there are some")
    }

    #[test]
    fn a_mean_of_ratios_is_the_same_from_either_side() {
        let values = [2.0, 0.5, 4.0, 1.25];
        let other_way = values.map(|value| 1.0 / value);
        let product = mean(&values).value * mean(&other_way).value;
        assert!((product - 1.0).abs() < 1e-12);
        assert!((mean(&[2.0, 0.5]).value - 1.0).abs() < 1e-12, "the arithmetic one is 1.25");
        let Mean { value, lowest, highest, count } = mean(&values);
        assert_eq!((lowest, highest, count), (0.5, 4.0, 4));
        assert!(lowest < value && value < highest);
    }

    #[test]
    fn one_value_is_its_own_mean_and_none_has_none() {
        assert!((mean(&[3.0]).value - 3.0).abs() < 1e-12);
        assert_eq!(Mean::from_values([]), None);
    }

    #[test]
    fn an_axis_is_its_dimension() {
        let size = OperatorShape { batch_size: 2, sequence_length: 3, tensor_dimension: 5 };
        let values = [Axis::Batch, Axis::Sequence, Axis::Dimension].map(|axis| axis.of(size));
        assert_eq!(values, [2, 3, 5]);
    }
}
