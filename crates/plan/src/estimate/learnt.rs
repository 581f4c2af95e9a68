//! What cases that were run say of those that are like them.

use super::stages::Step;
use crate::record::Wall;

/// How far the formula was off.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// ln of measured over expected time of a step.
    steps: Vec<f64>,
    noises: Vec<f64>,
    /// Measured, and by the formula with the measured step; of all cases together, so that long cases, which make up
    /// a suite's time, weigh more.
    measured: Wall,
    by_formula: Wall,
}

impl Learnt {
    /// The step of a case, and the one that was expected.
    pub fn step(&mut self, measured: Step, expected: Step) {
        self.steps.push((measured.seconds / expected.seconds).ln());
        self.noises.extend(measured.noise);
    }

    /// What a case took, and what the formula says.
    pub fn wall(&mut self, measured: Wall, by_formula: Wall) {
        self.measured = by_stage(self.measured, measured, |a, b| a + b);
        self.by_formula = by_stage(self.by_formula, by_formula, |a, b| a + b);
    }

    pub fn knows_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    pub fn knows_walls(&self) -> bool {
        self.measured.seconds() > 0.0
    }

    /// The step of a like case.
    pub fn expected_step(&self, expected: Step) -> Step {
        let factor = statistics::median(&self.steps).exp();
        let noise = (!self.noises.is_empty()).then(|| statistics::median(&self.noises));
        Step { seconds: factor * expected.seconds, noise: noise.or(expected.noise) }
    }

    /// The time of a like case.
    pub fn expected_wall(&self, by_formula: Wall) -> Wall {
        let factor = |measured: f64, formula: f64| {
            if formula > 0.0 { measured / formula } else { 1.0 }
        };
        let factors = by_stage(self.measured, self.by_formula, factor);
        by_stage(by_formula, factors, |seconds, factor| seconds * factor)
    }
}

fn by_stage(a: Wall, b: Wall, of: impl Fn(f64, f64) -> f64) -> Wall {
    Wall {
        prepare_s: of(a.prepare_s, b.prepare_s),
        sampling_s: of(a.sampling_s, b.sampling_s),
        passes_s: of(a.passes_s, b.passes_s),
        pairs_s: of(a.pairs_s, b.pairs_s),
        as_configured: true,
    }
}
