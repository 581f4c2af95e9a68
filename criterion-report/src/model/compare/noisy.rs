//! The default rule's input: each case's time and energy.

use rayon::prelude::*;
use statistics::RunMedian;

use super::finding::Finding;
use super::floor::{Floors, KnownFloor};
use super::pairing::{Doubts, Pairing, some_times};
use super::point::Point;
use super::ratio_test::{Noisy, judge};
use super::verdict::Measure;

pub fn times(pairings: &[Pairing<'_>], floors: Floors<'_>) -> Vec<Finding> {
    let cases: Vec<Result<Noisy, String>> =
        pairings.par_iter().map(|it| time(it, floors)).collect();
    judge(Measure::Time, &cases)
}

/// The energies of all cases that have one on either side.
pub fn energies(pairings: &[Pairing<'_>], floors: Floors<'_>) -> Vec<Option<Finding>> {
    let (places, cases): (Vec<usize>, Vec<_>) = pairings
        .iter()
        .enumerate()
        .filter_map(|(place, it)| Some((place, energy(it, floors)?)))
        .unzip();
    let mut found = vec![None; pairings.len()];
    for (place, finding) in places.into_iter().zip(judge(Measure::Energy, &cases)) {
        found[place] = Some(finding);
    }
    found
}

/// The times of a side's runs.
pub fn runs(name: &str, side: &[&Point]) -> Result<Vec<RunMedian>, String> {
    let times = some_times(&format!("in {name}"), side)?;
    let runs: Vec<RunMedian> = times.iter().filter_map(|time| time.run).collect();
    if runs.is_empty() {
        return Err(format!("its time in {name} has no noise: it was measured in quick mode"));
    }
    Ok(runs)
}

fn time(pairing: &Pairing<'_>, floors: Floors<'_>) -> Result<Noisy, String> {
    Ok(Noisy {
        a: runs("A", &pairing.a)?,
        b: runs("B", &pairing.b)?,
        floor: floor(pairing, floors, Measure::Time),
        threshold: pairing.limits.latency,
        doubts: pairing.doubts(),
    })
}

fn energy(pairing: &Pairing<'_>, floors: Floors<'_>) -> Option<Result<Noisy, String>> {
    let (a, b) = (energies_of(&pairing.a), energies_of(&pairing.b));
    let side = match (a.is_empty(), b.is_empty()) {
        (true, true) => return None,
        (true, false) => "A",
        (false, true) => "B",
        (false, false) => {
            return Some(Ok(Noisy {
                a,
                b,
                floor: floor(pairing, floors, Measure::Energy),
                threshold: pairing.limits.energy,
                doubts: Doubts::default(),
            }));
        }
    };
    Some(Err(format!("it was not measured in {side}")))
}

/// Energies as runs have them. An energy no larger than the idle machine's has no logarithm.
pub fn energies_of(side: &[&Point]) -> Vec<RunMedian> {
    let joules = side.iter().filter_map(|point| point.joules);
    let positive = joules.filter(|joules| *joules > 0.0 && joules.is_finite());
    positive.map(|joules| RunMedian { ln_median: joules.ln(), variance: 0.0 }).collect()
}

/// The floor of a measure; the larger one counts if the sides are of two machines.
pub fn floor(pairing: &Pairing<'_>, floors: Floors<'_>, measure: Measure) -> KnownFloor {
    let of = |side: &[&Point]| {
        let host = side.iter().find_map(|point| point.host.as_deref());
        floors.of(host, pairing.full_id, measure)
    };
    of(&pairing.a).or_larger(of(&pairing.b))
}
