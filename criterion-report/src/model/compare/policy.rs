//! Rules by which a difference is called one.

use schemars::JsonSchema;
use serde::Serialize;

use super::finding::Finding;
use super::floor::Floors;
use super::pairing::Pairing;
use super::{counted, hud, noisy, quasim, within};

/// A rule. Each has a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize, JsonSchema)]
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
    pub fn judge(self, pairings: &[Pairing<'_>], floors: Floors<'_>) -> Vec<Vec<Finding>> {
        match self {
            Self::Default => by_default(pairings, floors),
            Self::Within => pairings.iter().map(within::judge).collect(),
            Self::Hud => pairings.iter().map(hud::judge).collect(),
            Self::Quasim => pairings.iter().map(quasim::judge).collect(),
        }
    }
}

fn by_default(pairings: &[Pairing<'_>], floors: Floors<'_>) -> Vec<Vec<Finding>> {
    let times = noisy::times(pairings, floors);
    let energies = noisy::energies(pairings, floors);
    let judged = pairings.iter().zip(times).zip(energies);
    judged
        .map(|((pairing, time), energy)| {
            let counted = [counted::memory(pairing), counted::accuracy(pairing)];
            std::iter::once(time).chain(counted.into_iter().flatten()).chain(energy).collect()
        })
        .collect()
}
