//! Which part of a plan each group is in. The unit is a group: a baseline and its siblings at one shape share a process,
//! so that every speed-up is one machine's.
//!
//! All machines have to come to the same parts without talking to each other, so the assignment depends on nothing but
//! the plan: times are estimated by the defaults, whatever the machine has measured before, in whole milliseconds, whose
//! sums are the same in any order. Each mode is divided by itself, so that a bench target of one mode and one of all
//! modes put a group into the same part.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::case::{Case, Group, Plan, mode_of};
use crate::estimate::Estimator;
use crate::hash::fnv1a;
use crate::shard::Partition;

/// The shard of each group of a plan, from 1, in the order of the groups; there are `count`.
pub fn shards(plan: &Plan, count: u32, partition: Partition) -> Vec<u32> {
    match partition {
        Partition::Balanced => {
            let estimator = Estimator::default();
            let time = |group: &Group| {
                group.cases.iter().map(|case| milliseconds(&estimator, case)).sum::<u64>()
            };
            balanced(plan.groups.iter().map(|group| (group.id(), time(group))), count)
        }
        Partition::Hash => plan.groups.iter().map(|group| hashed(&group.id(), count)).collect(),
    }
}

/// At least one, so that cases of which nothing is expected are spread, too.
fn milliseconds(estimator: &Estimator, case: &Case) -> u64 {
    (estimator.estimate(case).seconds() * 1e3).round().max(1.0) as u64
}

/// The longest first, each into the part that has the least until then; of equal ones the smallest id, and of equal
/// parts the one that comes first, counted from a place that differs by mode.
fn balanced(units: impl Iterator<Item = (String, u64)>, count: u32) -> Vec<u32> {
    let mut modes: BTreeMap<String, Vec<(Reverse<u64>, String, usize)>> = BTreeMap::new();
    let mut groups = 0;
    for (place, (id, time)) in units.enumerate() {
        modes.entry(mode_of(&id).to_owned()).or_default().push((Reverse(time), id, place));
        groups += 1;
    }
    let mut shards = vec![0; groups];
    for (mode, mut units) in modes {
        units.sort_unstable();
        let first = spread(&mode, count);
        let mut loads: BinaryHeap<Reverse<(u64, u32)>> =
            (0..count).map(|place| Reverse((0, place))).collect();
        for (Reverse(time), _, place) in units {
            let mut least = loads.peek_mut().expect("there is a shard at least");
            let Reverse((load, shard)) = &mut *least;
            *load += time;
            shards[place] = (*shard + first) % count + 1;
        }
    }
    shards
}

fn hashed(id: &str, count: u32) -> u32 {
    spread(id, count) + 1
}

/// A number below `count`, the same on every machine and in every version.
fn spread(text: &str, count: u32) -> u32 {
    u32::try_from(fnv1a(text) % u64::from(count)).expect("it is below a u32")
}

#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
