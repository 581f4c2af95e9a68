//! Training: the parts of a step that were measured of a recipe at a shape, brought together, and from
//! which shapes on a recipe gains.

mod cost;
mod crossover;
mod json;
mod map;
mod prediction;
mod scaling;
pub mod text;

use plan::{Dtype, Mode, ModelWork, Pass, Recipe};

use crate::model::{
    Caution, Entry, Figure, Interval, Key, Row, Speedup, Time, fingerprint, gather,
};
use crate::read::Report;
use crate::render::units;
use crate::views::calibration::RooflineSet;
pub use cost::{Cost, Load, ModelError, Sample, Terms};
pub use crossover::{Crossover, Field, Gains};
pub use prediction::{NoCrossover, Prediction, RecipeCost};
pub use scaling::scaling_repr;

/// Results of one model, dtype, place and machine.
pub type Block<'r, 'a> = Vec<&'r TrainingResult<'a>>;

#[derive(Debug, Clone)]
pub struct TrainingResult<'a> {
    /// The work without its pass.
    pub key: Key<ModelWork>,
    pub config: &'a str,
    /// Each with its place among the report's entries; never empty.
    parts: Vec<(usize, Entry<'a>)>,
    /// The rate of the forward and backward pass. `None` of a result without its time, or emulated.
    pub rate: Option<Rate>,
}

impl<'a> TrainingResult<'a> {
    /// The parts of all training cases that are shown, in the order in which their recipes and shapes first
    /// appear. The parts of a result are of one machine: their times are added and compared.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let entries = report.entries().enumerate();
        let training = entries.filter(|(_, entry)| entry.row.record.case.mode == Mode::Training);
        let keyed = training.filter_map(|(place, entry)| {
            let record = &entry.row.record;
            let work = ModelWork { pass: None, ..*record.case.work.model()? };
            Some((Key::new(work, record), (place, entry)))
        });
        let blocks = gather(keyed, |(key, (_, entry))| {
            let Key { work, dtype, place } = key;
            let (variant, model) = (work.variant.to_string(), work.model.to_string());
            let config = entry.row.record.case.config.clone();
            let at = (place.to_string(), fingerprint(&entry.row.record));
            (config, model, work.shape.to_string(), variant, *dtype, at)
        });
        let roofline_sets = RooflineSet::all(report.with_calibrations());
        let of = |block: Vec<(Key<ModelWork>, (usize, Entry<'a>))>| {
            let (key, (_, entry)) = block.first()?;
            let (key, config) = (key.clone(), &*entry.row.record.case.config);
            let parts = block.into_iter().map(|(_, part)| part).collect();
            let result = Self { key, config, parts, rate: None };
            Some(Self { rate: Rate::new(&result, &roofline_sets), ..result })
        };
        blocks.into_iter().filter_map(of).collect()
    }

    /// Results of one model of one config, in one dtype at one place on one machine.
    pub fn blocks(results: &[Self]) -> Vec<Block<'_, 'a>> {
        gather(results, |it| {
            let Key { work, dtype, place } = &it.key;
            (it.config, work.model.to_string(), *dtype, place.to_string(), it.machine())
        })
    }

    /// The first of its parts.
    pub fn first(&self) -> &Entry<'a> {
        &self.parts[0].1
    }

    /// The machine of its parts.
    pub fn machine(&self) -> String {
        fingerprint(&self.first().row.record)
    }

    /// The parts that were selected, measured or not.
    pub fn parts(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.parts.iter().map(|(_, entry)| entry)
    }

    pub fn part(&self, pass: Pass) -> Option<&Entry<'a>> {
        self.parts().find(|entry| entry.row.pass() == Some(pass))
    }

    /// The place of a part among the report's entries.
    pub fn place(&self, pass: Pass) -> Option<usize> {
        let found = self.parts.iter().find(|(_, entry)| entry.row.pass() == Some(pass));
        found.map(|(place, _)| *place)
    }

    /// The name that its parts share: `float8-tensorwise+compile`.
    pub fn variant(&self) -> String {
        self.key.work.variant.to_string()
    }

    pub fn is_baseline(&self) -> bool {
        self.first().row.is_baseline()
    }

    /// Whether it is the model without a recipe, compiled or not.
    pub fn is_unquantized(&self) -> bool {
        self.key.work.variant.recipe == Recipe::Baseline
    }

    pub const fn is_emulated(&self) -> bool {
        self.key.work.variant.emulated
    }

    pub fn time(&self, pass: Pass) -> Option<&'a Time> {
        self.part(pass)?.row.time.as_ref().ok()
    }

    /// The speed-up of a part over the same part of the baseline, from pairs.
    pub fn speedup(&self, pass: Pass) -> Option<&'a Speedup> {
        self.part(pass)?.speedup()
    }

    /// The time of the casts as a share of the baseline's forward and backward pass, with which they were
    /// measured in turn: what the products have to save.
    pub fn casts_share(&self) -> Option<Figure> {
        let Speedup { ratio, interval, .. } = self.speedup(Pass::Casts)?;
        let interval = Interval { low: 1.0 / interval.high, high: 1.0 / interval.low };
        Some(Figure { value: 1.0 / ratio, interval: Some(interval) })
    }

    /// Bytes of activations that the forward pass keeps for the backward pass, the input among them.
    pub fn saved_bytes(&self) -> Option<u64> {
        self.parts().find_map(|entry| entry.row.record.measures.memory?.saved_bytes)
    }

    /// Decibels of a tensor: of the forward and backward pass where it is known there, else of the first part
    /// that computes it.
    pub fn sqnr_db(&self, of: fn(&Row) -> Option<f64>) -> Option<f64> {
        let whole = self.part(Pass::ForwardBackward).into_iter();
        whole.chain(self.parts()).find_map(|entry| of(entry.row))
    }

    /// Whether the forward and the backward pass take as long as both together.
    pub fn additivity(&self) -> Option<Additivity> {
        let time = |pass: Pass| self.time(pass);
        Additivity::new(time(Pass::Forward)?, time(Pass::Backward)?, time(Pass::ForwardBackward)?)
    }

    /// The rows of the parts, for what concerns all of them.
    pub fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.parts.iter().map(|(_, entry)| entry.row)
    }
}

/// Whether forward and backward pass, measured apart, take as long as both measured together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Additivity {
    /// The sum of both over their time together, less 1.
    pub excess: f64,
    /// The difference that the intervals of all three allow, relative to the time together.
    pub allowed: f64,
}

impl Additivity {
    /// `None` where a time has no interval. The three are independent: their half-widths add as squares.
    fn new(forward: &Time, backward: &Time, together: &Time) -> Option<Self> {
        let half = |time: &Time| {
            let Interval { low, high } = time.interval?;
            Some((high - low) / 2.0)
        };
        let halves = [half(forward)?, half(backward)?, half(together)?];
        let allowed = halves.iter().map(|half| half * half).sum::<f64>().sqrt();
        let sum = forward.median_ns + backward.median_ns;
        Some(Self { excess: sum / together.median_ns - 1.0, allowed: allowed / together.median_ns })
    }

    pub fn holds(&self) -> bool {
        self.excess.abs() <= self.allowed
    }

    /// The caution on a result for which it does not hold.
    pub fn caution(&self) -> Option<Caution> {
        let percent = |share: f64| units::significant(share.abs() * 100.0, 2);
        let (excess, allowed) = (percent(self.excess), percent(self.allowed));
        let side = if self.excess > 0.0 { "more" } else { "less" };
        let text = format!(
            "forward + backward take {excess} % {side} than forward_backward; their intervals \
             allow {allowed} %"
        );
        let kind = "forward + backward do not add up to forward_backward within the intervals, in % (allowed)";
        let figures = format!("{excess} ({allowed})");
        (!self.holds()).then(|| Caution::from(text).with_figures(kind, figures))
    }
}

/// How fast the three products of a step are done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// 10⁹ floating-point operations per second.
    pub gflop_per_s: f64,
    /// A share of the peak that this machine was measured to reach in the dtype before quantization, on as many
    /// threads.
    pub peak_share: Option<f64>,
}

impl Rate {
    fn new(result: &TrainingResult<'_>, roofline_sets: &[RooflineSet]) -> Option<Self> {
        let row = result.part(Pass::ForwardBackward)?.row;
        let gflop_per_s = row.gflop_per_s()?;
        let roof = roofline_sets.iter().find_map(|roofline_set| roofline_set.over(row));
        Some(Self { gflop_per_s, peak_share: roof.map(|it| gflop_per_s / it.peak_gflops.value) })
    }
}

/// The operations per second that upstream divides by on every device: an H100 SXM's, with sparsity but
/// for float32. `None` of dtypes that it has no constant for.
pub const fn upstream_peak(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::Float32 => Some(67e12),
        Dtype::BFloat16 | Dtype::Float16 => Some(1979e12),
        Dtype::Float8E4M3Fn => Some(3958e12),
        Dtype::Float64 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(median_ns: f64, half: f64) -> Time {
        let interval = Some(Interval { low: median_ns - half, high: median_ns + half });
        Time {
            median_ns,
            interval,
            mean_ns: median_ns,
            std_dev_ns: 0.0,
            fastest_ns: median_ns,
            slowest_ns: median_ns,
            confidence_level: 0.95,
            samples: 10,
            quick: false,
        }
    }

    #[test]
    fn intervals_decide() {
        let of = |together: f64| {
            Additivity::new(&time(100.0, 3.0), &time(200.0, 4.0), &time(together, 0.0))
                .expect("intervals")
        };
        // √(3² + 4²) = 5.
        assert!(of(300.0).holds() && of(304.9).holds() && of(295.1).holds());
        assert!(!of(306.0).holds() && !of(294.0).holds());
        let text = of(250.0).caution().expect("not within").to_string();
        let expected = "forward + backward take 20 % more than forward_backward; their intervals \
                        allow 2.0 %";
        assert_eq!(text, expected);
        assert_eq!(of(300.0).caution(), None);
    }

    #[test]
    fn without_intervals_nothing_is_said() {
        let quick = Time { interval: None, ..time(100.0, 1.0) };
        assert_eq!(Additivity::new(&quick, &time(1.0, 1.0), &time(1.0, 1.0)), None);
    }
}
