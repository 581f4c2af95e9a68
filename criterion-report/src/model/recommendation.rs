//! Chooses a recipe for each group of a model's linear layers. The times of the groups add up, and so do their bytes.

use plan::recommendation::Objective;
use plan::{Shape, Variant};
use statistics::{Ratio, quotient};

use super::view::gather;
use crate::order::Order as _;

/// All runs of a product in a request, within one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The place of the phase in the request.
    pub phase: usize,
    pub shape: Shape,
    /// Nanoseconds that the baseline takes.
    pub baseline_ns: f64,
    /// How many times faster the recipe is.
    pub speedup: Ratio,
}

impl Part {
    /// Nanoseconds that the recipe takes.
    pub fn ns(&self) -> f64 {
        self.baseline_ns / self.speedup.ratio
    }
}

/// A recipe that a group may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub variant: Variant,
    pub parts: Vec<Part>,
    /// Bytes of the weights of all layers.
    pub bytes: u64,
    /// Decibels of the output, the lowest of all shapes.
    pub sqnr_db: Option<f64>,
    /// Joules of a request, if all its measurements have some.
    pub joules: Option<f64>,
}

impl Candidate {
    /// Nanoseconds of a request.
    pub fn ns(&self) -> f64 {
        self.parts.iter().map(Part::ns).sum()
    }

    /// How many times faster it is than another candidate of its group.
    pub fn over(&self, other: &Self) -> Ratio {
        over([self], [other])
    }
}

/// How many times faster these groups are than those, which are the same groups under other recipes.
pub fn over<'a>(
    these: impl IntoIterator<Item = &'a Candidate>,
    those: impl IntoIterator<Item = &'a Candidate>,
) -> Ratio {
    let [these, those] = [these.into_iter().collect::<Vec<_>>(), those.into_iter().collect()];
    if these.iter().map(|it| it.variant).eq(those.iter().map(|it| it.variant)) {
        return Ratio::ONE;
    }
    quotient(&over_baseline(&these), &over_baseline(&those))
}

/// How many times faster groups are than their baselines. A recipe was measured once at a shape, whichever layers and phases
/// have it: that error counts as one. The errors of different measurements are independent.
fn over_baseline(groups: &[&Candidate]) -> Ratio {
    let parts = groups.iter().flat_map(|it| it.parts.iter().map(move |part| (it.variant, part)));
    let (mut baseline_ns, mut own_ns) = (0.0, 0.0);
    let mut measured = Vec::new();
    for parts in gather(parts, |(variant, part)| (variant.to_string(), part.shape)) {
        let ns: f64 = parts.iter().map(|(_, part)| part.ns()).sum();
        baseline_ns += parts.iter().map(|(_, part)| part.baseline_ns).sum::<f64>();
        own_ns += ns;
        measured.push((ns, parts[0].1.speedup));
    }
    if own_ns == 0.0 {
        return Ratio::ONE;
    }
    let distance = |bound: fn(&Ratio) -> f64| {
        let of = |(ns, speedup): &(f64, Ratio)| ns / own_ns * bound(speedup).ln();
        measured.iter().map(of).fold(0.0, f64::hypot)
    };
    let [below, above] = [distance(|it| it.ratio / it.low), distance(|it| it.high / it.ratio)];
    Ratio::from_ln((baseline_ns / own_ns).ln(), below, above)
}

/// A time in nanoseconds, with the half-width of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    pub ns: f64,
    pub half_width_ns: f64,
}

/// How many times faster a block gets if its layers run so many times faster than in the `products` of its baseline, and the
/// rest of the block takes as long as before. The errors of all times and speed-ups are independent.
pub fn predicted(block: TimeEstimate, products: &[(TimeEstimate, Ratio)]) -> Ratio {
    let baseline_ns: f64 = products.iter().map(|(time, _)| time.ns).sum();
    let own_ns: f64 = products.iter().map(|(time, speedup)| time.ns / speedup.ratio).sum();
    let rest_ns = (block.ns - baseline_ns).max(0.0);
    let (before_ns, after_ns) = (rest_ns + baseline_ns, rest_ns + own_ns);
    let of_block = (1.0 / before_ns - 1.0 / after_ns) * block.half_width_ns;
    let distance = |bound: fn(&Ratio) -> f64| {
        let of_product = |(time, speedup): &(TimeEstimate, Ratio)| {
            let of_time = (1.0 - 1.0 / speedup.ratio) * time.half_width_ns;
            let of_speedup = time.ns / speedup.ratio * bound(speedup).ln();
            f64::hypot(of_time, of_speedup) / after_ns
        };
        products.iter().map(of_product).fold(of_block, f64::hypot)
    };
    let [below, above] = [distance(|it| it.ratio / it.low), distance(|it| it.high / it.ratio)];
    Ratio::from_ln((before_ns / after_ns).ln(), below, above)
}

/// The candidate of a group that was chosen, and others that may serve as well: the intervals leave it open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    pub chosen: usize,
    pub rivals: Vec<usize>,
}

/// No choice has as few bytes as were asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the smallest choice of recipes has {least} bytes of weights")]
pub struct TooFewBytes {
    pub least: u64,
}

/// One candidate for each group, by their places.
#[derive(Debug, Clone)]
pub struct State {
    pub ns: f64,
    pub bytes: u64,
    picks: Vec<usize>,
}

impl State {
    fn of(groups: &[Vec<Candidate>], picks: Vec<usize>) -> Self {
        let chosen = || groups.iter().zip(&picks).map(|(group, pick)| &group[*pick]);
        Self { ns: chosen().map(Candidate::ns).sum(), bytes: bytes(chosen()), picks }
    }

    fn with(&self, groups: &[Vec<Candidate>], place: usize, pick: usize) -> Self {
        let mut picks = self.picks.clone();
        picks[place] = pick;
        Self::of(groups, picks)
    }
}

/// Bytes of weights of several groups.
pub fn bytes<'a>(groups: impl IntoIterator<Item = &'a Candidate>) -> u64 {
    groups.into_iter().fold(0, |sum, it| sum.saturating_add(it.bytes))
}

/// Every choice that no other one beats in both time and bytes, the smallest first. A choice that is beaten within some of the
/// groups is beaten in all of them together, so that the groups are added one by one.
pub fn front(groups: &[Vec<Candidate>]) -> Vec<State> {
    let mut front = vec![State { ns: 0.0, bytes: 0, picks: Vec::new() }];
    for group in groups {
        let add = |state: &State| -> Vec<State> {
            let with = |(pick, it): (usize, &Candidate)| State {
                ns: state.ns + it.ns(),
                bytes: state.bytes.saturating_add(it.bytes),
                picks: [&state.picks[..], &[pick]].concat(),
            };
            group.iter().enumerate().map(with).collect()
        };
        front = front.iter().flat_map(add).collect();
        front.order_by(|a, b| a.bytes.cmp(&b.bytes).then(a.ns.total_cmp(&b.ns)));
        let mut least = f64::INFINITY;
        front.retain(|state| {
            let is_faster = state.ns < least;
            least = least.min(state.ns);
            is_faster
        });
    }
    front
}

/// Chooses for each group among its candidates, of which the first is the unquantized layer. That one is also chosen where the
/// best is not faster beyond its interval, and not needed for its size. `front` is that of the groups.
pub fn choose(
    groups: &[Vec<Candidate>],
    front: &[State],
    objective: Objective,
) -> Result<Vec<Choice>, TooFewBytes> {
    let least_ns = front.last().map_or(0.0, |state| state.ns);
    let (limit_ns, limit_bytes) = match objective {
        Objective::Fastest => (f64::INFINITY, u64::MAX),
        Objective::Smallest { within } => (least_ns * (1.0 + within), u64::MAX),
        Objective::Memory { bytes } => (f64::INFINITY, bytes),
    };
    let is_for_size = matches!(objective, Objective::Smallest { .. });
    let fits = |state: &State| state.ns <= limit_ns && state.bytes <= limit_bytes;
    let mut fitting = front.iter().filter(|state| fits(state));
    let best = if is_for_size { fitting.next() } else { fitting.next_back() };
    let least = front.first().map_or(0, |state| state.bytes);
    let mut best = best.cloned().ok_or(TooFewBytes { least })?;
    for (place, group) in groups.iter().enumerate() {
        let (own, unquantized) = (&group[best.picks[place]], &group[0]);
        let is_useful = own.over(unquantized).low > 1.0;
        let is_needed = is_for_size && own.bytes < unquantized.bytes;
        let without = best.with(groups, place, 0);
        if !is_useful && !is_needed && fits(&without) {
            best = without;
        }
    }
    let may_serve = |place: usize, it: usize| {
        let (own, other) = (&groups[place][best.picks[place]], &groups[place][it]);
        let swapped = best.with(groups, place, it);
        let lead = own.over(other).low;
        match is_for_size {
            true => {
                let least_ns = swapped.ns - other.ns() + own.ns() * lead;
                other.bytes < own.bytes && least_ns <= limit_ns
            }
            false => swapped.bytes <= limit_bytes && lead <= 1.0,
        }
    };
    let choice = |(place, &chosen): (usize, &usize)| {
        let others = (0..groups[place].len()).filter(|it| *it != chosen);
        Choice { chosen, rivals: others.filter(|it| may_serve(place, *it)).collect() }
    };
    Ok(best.picks.iter().enumerate().map(choice).collect())
}

#[cfg(test)]
#[path = "recommendation_tests.rs"]
mod tests;
