//! Rules by which a difference is called one.

use serde::Serialize;

use super::finding::{Finding, Measure};
use super::floor::Floors;
use super::pairing::Pairing;
use super::{counted, noisy, upstream, within};

/// A rule by which a difference is called one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Intervals, tests over runs and a noise floor
    #[default]
    Default,
    /// The rule of `kernels --compare-to`: one run per side, and the noise within both
    Within,
    /// PyTorch's HUD: 1.20 × the least time of A, twice in a row at the end of B; no statistics
    Hud,
    /// QuASIM's tools: a median longer by the threshold, an error that differs; no statistics
    Quasim,
}

impl Policy {
    /// The measures of cases that both sides measured, all cases at once: in a family of tests the
    /// verdict on one depends on the others.
    pub fn judge(self, pairings: &[&Pairing<'_>], floors: Floors<'_>) -> Vec<Vec<Finding>> {
        let one_by_one = match self {
            Self::Default => return by_default(pairings, floors),
            Self::Within => within::judge,
            Self::Hud => upstream::hud,
            Self::Quasim => upstream::quasim,
        };
        pairings.iter().map(|it| one_by_one(it)).collect()
    }
}

fn by_default(pairings: &[&Pairing<'_>], floors: Floors<'_>) -> Vec<Vec<Finding>> {
    let times = noisy::judge(Measure::Time, pairings, floors);
    let energies = noisy::judge(Measure::Energy, pairings, floors);
    let judged = pairings.iter().zip(times).zip(energies);
    judged
        .map(|((pairing, time), energy)| {
            let findings = [time, counted::memory(pairing), counted::accuracy(pairing), energy];
            findings.into_iter().flatten().collect()
        })
        .collect()
}
