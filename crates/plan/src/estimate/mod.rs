//! Estimates how long measuring a case will take. `plan` prints the estimate, a run's progress line uses it, and a
//! total budget is checked against it.
//!
//! Most of a case's time is decided by the harness, not by the machine: a sample lasts 2 ms, sampling and pairs have a
//! maximum duration. [`stages`] computes it from the time of a step and its noise. Both values, and a correction of the
//! formula, come from the best available source ([`Basis`]):
//!
//! 1. an earlier run of the same case with the same settings: its measured duration;
//! 2. earlier runs of similar cases ([`similar`]): how far the formula was off there;
//! 3. probes that `cargo bench --bench calibration` has measured on this machine;
//! 4. defaults, which were measured on two cores of an AMD EPYC (Zen 4).

mod folder;
mod learnt;
mod machine;
mod similar;
mod stages;
mod step;

use std::collections::HashMap;

pub use folder::Unread;
use learnt::Learnt;
use machine::Machine;

use crate::case::Case;
use crate::record::{Outcome, Record, WallTimes};
use crate::words::closed::closed_set;
use similar::{Likeness, likenesses};
use stages::Step;

closed_set! {
    /// The source of an estimate, the best first.
    Basis, "basis" {
        /// An earlier run of the same case.
        SameCase = "same_case",
        /// Earlier runs of similar cases.
        SimilarCases = "similar_cases",
        /// This machine's limits as calibration measured them.
        Calibration = "calibration",
        /// Defaults.
        Defaults = "defaults",
    }
}

/// The expected time of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Wall seconds by stage.
    pub wall: WallTimes,
    /// The minimum: its check, the fewest samples, the passes, the fewest blocks of its pair.
    pub least_s: f64,
    /// The minimum without its pair, which waits for what others leave where the fastest of each group is looked for.
    pub alone_s: f64,
    /// The source of the estimate.
    pub basis: Basis,
}

impl Estimate {
    /// Wall seconds of all stages.
    pub fn seconds(&self) -> f64 {
        self.wall.seconds()
    }

    /// The estimate of a case that is known not to run on this machine.
    pub const NOTHING: Self = Self {
        wall: WallTimes {
            prepare_s: 0.0,
            sampling_s: 0.0,
            passes_s: 0.0,
            pairs_s: 0.0,
            as_configured: true,
        },
        least_s: 0.0,
        alone_s: 0.0,
        basis: Basis::SameCase,
    };
}

/// Estimates cases by what is known of this machine.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    machine: Machine,
    same: HashMap<String, Same>,
    similar: HashMap<Likeness, Learnt>,
}

/// The result of an earlier run of the same case.
#[derive(Debug, Clone)]
enum Same {
    /// It did not run, and will not run on this machine while its config is the same.
    Refused { config_hash: String },
    /// Its step; and its duration, if no option changed how long it was measured.
    Ran { case: Box<Case>, step: Step, wall: Option<WallTimes> },
}

impl Estimator {
    /// Learns from a record; a later one of the same case takes the place of an earlier one.
    pub fn learn(&mut self, record: &Record) {
        let case = &record.case;
        match &record.outcome {
            Outcome::Measured => {}
            Outcome::Skipped { .. } | Outcome::Unsupported { .. } => {
                let config_hash = case.config_hash.clone();
                self.same.insert(record.full_id.clone(), Same::Refused { config_hash });
                return;
            }
            // It failed after some time, but its record does not say how much.
            _ => return,
        }
        let Some(step) = Step::from_record(record) else { return };
        self.machine.learn(case, step);
        let wall = record.wall.filter(|wall| wall.as_configured);
        let ran = Same::Ran { case: Box::new(case.clone()), step, wall };
        self.same.insert(record.full_id.clone(), ran);
    }

    /// Learns the corrections by comparing the records with the formula. Called once, when everything is learnt: probes
    /// of the machine change the formula.
    fn compare(&mut self) {
        self.similar.clear();
        for same in self.same.values() {
            let Same::Ran { case, step, wall } = same else { continue };
            let expected = self.machine.step(case);
            let by_formula = stages::wall(case, *step);
            for likeness in likenesses(case) {
                let learnt = self.similar.entry(likeness).or_default();
                learnt.step(*step, expected);
                if let Some(wall) = wall {
                    learnt.wall(*wall, by_formula);
                }
            }
        }
    }

    /// The expected time of a case.
    pub fn estimate(&self, case: &Case) -> Estimate {
        let same = self.same.get(&case.full_id());
        match same {
            Some(Same::Refused { config_hash }) if *config_hash == case.config_hash => {
                return Estimate::NOTHING;
            }
            Some(Same::Ran { case: ran, step, wall: Some(wall) })
                if ran.settings == case.settings =>
            {
                return Self::at_least(case, *step, *wall, Basis::SameCase);
            }
            _ => {}
        }
        let similar = |known: fn(&Learnt) -> bool| {
            let mut learnt = likenesses(case).filter_map(|it| self.similar.get(&it));
            learnt.find(|learnt| known(learnt))
        };
        let expected = self.machine.step(case);
        let (step, basis) = match (same, similar(Learnt::knows_steps)) {
            (Some(Same::Ran { step, .. }), _) => (*step, Basis::SameCase),
            (_, Some(learnt)) => (learnt.expected_step(expected), Basis::SimilarCases),
            _ => (expected, self.machine.basis(case)),
        };
        let mut wall = stages::wall(case, step);
        if let Some(learnt) = similar(Learnt::knows_walls) {
            wall = learnt.expected_wall(wall);
        }
        Self::at_least(case, step, wall, basis)
    }

    fn at_least(case: &Case, step: Step, wall: WallTimes, basis: Basis) -> Estimate {
        let alone_s = stages::least_alone(case, step, wall.prepare_s).min(wall.seconds());
        let least_s = (alone_s + stages::least_pair(case, step)).min(wall.seconds());
        Estimate { wall, least_s, alone_s, basis }
    }

    /// The expected time of several cases, one after another.
    pub fn total_s<'c>(&self, cases: impl IntoIterator<Item = &'c Case>) -> f64 {
        cases.into_iter().map(|case| self.estimate(case).seconds()).sum()
    }
}

impl<'r> FromIterator<&'r Record> for Estimator {
    fn from_iter<T: IntoIterator<Item = &'r Record>>(records: T) -> Self {
        let mut estimator = Self::default();
        records.into_iter().for_each(|record| estimator.learn(record));
        estimator.compare();
        estimator
    }
}
