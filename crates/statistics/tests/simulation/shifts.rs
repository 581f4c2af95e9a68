//! Shifts that the blocks of a build or of a run have in common, beside the noise of their batches.
//!
//! `src/builds.rs` assumes how large they are. Its formula stands here a second time, so that a test
//! fails where one of the two changes.

use fastrand::Rng;
use statistics::{Processor, builds_ratio};

use crate::{
    blocks::blocks,
    noise::{Model, normal},
};

/// How the builds of a run follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Looks {
    /// In a row, all in one visit.
    Row,
    /// Two in the first visit, then each in one of its own.
    Rounds,
}

impl Looks {
    pub const ALL: [Self; 2] = [Self::Row, Self::Rounds];

    /// Visits of so many builds.
    pub fn visits(self, builds: usize) -> usize {
        match self {
            Self::Row => 1,
            Self::Rounds => builds.saturating_sub(1).max(1),
        }
    }
}

/// How far builds and runs lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shifts {
    /// Exactly as assumed.
    Assumed,
    /// Around what is assumed, from case to case as widely as a prior of three degrees of freedom says.
    Drawn,
    /// Builds with half of the variance that is assumed, and processes likewise.
    Half,
    /// Builds with twice the variance that is assumed, and processes likewise.
    Twice,
    /// Visits differ as they did on a shared host, and builds hardly.
    SharedHost,
    /// Builds of two kinds that lie 10 % apart; runs as assumed.
    TwoKinds,
    /// Neither builds nor runs differ.
    None,
}

impl Shifts {
    pub const ALL: [Self; 7] = [
        Self::Assumed,
        Self::Drawn,
        Self::Half,
        Self::Twice,
        Self::SharedHost,
        Self::TwoKinds,
        Self::None,
    ];

    /// The levels of one case.
    pub fn levels(self, predicted: Predicted, random: &mut Rng) -> VarianceComponents {
        let Predicted { run, build } = predicted;
        let scaled = |factor: f64, moment: f64| VarianceComponents {
            build: factor * build,
            visit: moment * run * VISIT,
            run: factor * build * PROCESS + moment * run * SLOW,
            apart: 0.0,
        };
        match self {
            Self::Assumed => scaled(1.0, 1.0),
            Self::Drawn => {
                let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                scaled(3.0 / squares, 3.0 / squares)
            }
            Self::Half => scaled(0.5, 1.0),
            Self::Twice => scaled(2.0, 1.0),
            Self::SharedHost => VarianceComponents {
                build: 0.05 * run,
                visit: 0.5 * run,
                run: 0.2 * run,
                apart: 0.0,
            },
            Self::TwoKinds => VarianceComponents { build: 0.0, apart: 0.1, ..scaled(1.0, 1.0) },
            Self::None => VarianceComponents { build: 0.0, visit: 0.0, run: 0.0, apart: 0.0 },
        }
    }
}

/// The variances that the blocks of a case predict.
#[derive(Debug, Clone, Copy)]
pub struct Predicted {
    /// A run of one build.
    pub run: f64,
    /// A build among those of its run, net of its blocks.
    pub build: f64,
}

/// λ, ρ and φ.
const PROCESS: f64 = 1.0 / 3.0;
const VISIT: f64 = 0.3;
const SLOW: f64 = 0.2;

impl Predicted {
    /// With the variance of a block that very many blocks show.
    pub fn new(model: Model, sd: f64) -> Self {
        const BUILDS: usize = 100;
        const BLOCKS: usize = 20;
        let values: Vec<f64> = blocks(model, sd, 1.0, 1.0, 1).take(BUILDS * BLOCKS).collect();
        let found = builds_ratio(&values, BUILDS, 1, Processor::Cpu).expect("whole builds");
        let run = 0.015_f64.powi(2) * (found.within / 0.02).powf(1.6);
        let build = run / (1.0 + PROCESS) - found.within.powi(2) / BLOCKS as f64;
        Self { run, build }
    }
}

/// Variances of ln(speed-up).
#[derive(Debug, Clone, Copy)]
pub struct VarianceComponents {
    build: f64,
    visit: f64,
    run: f64,
    /// How far the two kinds of builds lie apart.
    apart: f64,
}

impl VarianceComponents {
    /// The blocks of a run, build after build, with what they have in common added to their noise.
    pub fn run(self, noise: &[f64], blocks: usize, looks: Looks, random: &mut Rng) -> Vec<f64> {
        let run = self.run.sqrt() * normal(random);
        let (mut visits, mut visit) = (0, 0.0);
        let mut values = Vec::with_capacity(noise.len());
        for (index, build) in noise.chunks(blocks).enumerate() {
            if looks.visits(index + 1) > visits {
                visits += 1;
                visit = self.visit.sqrt() * normal(random);
            }
            let kind = if random.bool() { 0.5 } else { -0.5 };
            let shift = run + visit + self.build.sqrt() * normal(random) + kind * self.apart;
            values.extend(build.iter().map(|value| value + shift));
        }
        values
    }
}
