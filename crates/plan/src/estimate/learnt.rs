//! Corrections to the formula, learnt from earlier cases and applied to similar ones.

use super::stages::Step;
use crate::record::WallTimes;

/// How far the formula was off.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// ln of measured over expected time of a step.
    steps: Vec<f64>,
    noises: Vec<f64>,
    /// Sums over all cases: the measured time, and the formula's time with the measured step. Sums give long cases,
    /// which dominate a suite's time, more weight.
    measured: WallTimes,
    by_formula: WallTimes,
}

impl Learnt {
    /// Adds a case's measured step and its expected step.
    pub fn step(&mut self, measured: Step, expected: Step) {
        self.steps.push((measured.seconds / expected.seconds).ln());
        self.noises.extend(measured.noise);
    }

    /// Adds a case's measured time and the formula's time.
    pub fn wall(&mut self, measured: WallTimes, by_formula: WallTimes) {
        self.measured = by_stage(self.measured, measured, |a, b| a + b);
        self.by_formula = by_stage(self.by_formula, by_formula, |a, b| a + b);
    }

    pub fn knows_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    pub fn knows_walls(&self) -> bool {
        self.measured.seconds() > 0.0
    }

    /// Corrects the expected step of a similar case.
    pub fn expected_step(&self, expected: Step) -> Step {
        let factor = statistics::median(&self.steps).exp();
        let noise = (!self.noises.is_empty()).then(|| statistics::median(&self.noises));
        Step { seconds: factor * expected.seconds, noise: noise.or(expected.noise) }
    }

    /// Corrects the expected time of a similar case.
    pub fn expected_wall(&self, by_formula: WallTimes) -> WallTimes {
        let factor = |measured: f64, formula: f64| {
            if formula > 0.0 { measured / formula } else { 1.0 }
        };
        let factors = by_stage(self.measured, self.by_formula, factor);
        by_stage(by_formula, factors, |seconds, factor| seconds * factor)
    }
}

fn by_stage(a: WallTimes, b: WallTimes, of: impl Fn(f64, f64) -> f64) -> WallTimes {
    WallTimes {
        prepare_s: of(a.prepare_s, b.prepare_s),
        sampling_s: of(a.sampling_s, b.sampling_s),
        passes_s: of(a.passes_s, b.passes_s),
        pairs_s: of(a.pairs_s, b.pairs_s),
        as_configured: true,
    }
}
