//! The operations that a candidate adds, removes or changes against its baseline.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use super::operation::{is_attention, is_product};
use super::split::Split;
use crate::order::{Order as _, Sorted as _};
use crate::render::object::document;

/// The change of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Only the candidate runs it.
    Added,
    /// Only the baseline runs it.
    Removed,
    /// Both run it.
    Changed,
    /// Both compute a product, or attention, each by another operation.
    Replaced,
    /// The time outside every recorded operation: what remains when all operations are subtracted.
    Outside,
}

document! {
    /// An operation on both sides.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Changed = of(key: &Key<'_>, before: Option<Side>, after: Option<Side>) [
        (name, shapes) = key;
        change = match (name, before, after) {
            (None, ..) => Change::Outside,
            (_, None, _) => Change::Added,
            (_, _, None) => Change::Removed,
            _ => Change::Changed,
        };
        (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    ] {
        /// The change of the operation.
        pub change: Change = change,
        /// Its name; null for `outside`.
        pub operation: Option<String> = name.map(str::to_owned),
        /// The baseline's operation in its place; null unless it is `replaced`.
        pub instead_of: Option<String> = None,
        /// The shapes of its arguments, if it runs with several lists of shapes; else null.
        pub shapes: Option<Vec<Vec<i64>>> = shapes.map(<[_]>::to_vec),
        /// Calls in a step of the baseline.
        pub baseline_calls: f64 = before.calls,
        /// Calls in a step of the candidate.
        pub calls: f64 = after.calls,
        /// Its nanoseconds in a step of the baseline.
        pub baseline_ns: f64 = before.ns,
        /// Its nanoseconds in a step of the candidate.
        pub ns: f64 = after.ns,
        /// Candidate less baseline: below zero the candidate saves time.
        pub difference_ns: f64 = after.ns - before.ns,
        /// Its share of the difference of the two times; null where these are equal.
        pub share: Option<f64> = None,
    }

    /// A candidate against its baseline. The differences of `operations` add up to `difference_ns`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Difference = of(
        baseline: &str,
        other: &Split,
        own: &Split,
        baseline_stretch: f64,
        speedup_factor: Option<f64>
    ) [difference_ns = own.time_ns - other.time_ns;] {
        /// The baseline's id.
        pub baseline: String = baseline.to_owned(),
        /// Its median time, in nanoseconds.
        pub baseline_ns: f64 = other.time_ns,
        /// Its profiled step over that time, as `stretch` of the candidate's profile.
        pub baseline_stretch: f64 = baseline_stretch,
        /// The candidate's time less the baseline's.
        pub difference_ns: f64 = difference_ns,
        /// The speed-up from pairs; null without one.
        pub speedup_factor: Option<f64> = speedup_factor,
        /// The largest difference first; `outside` last.
        pub operations: Vec<Changed> = changes(other, own, difference_ns),
    }
}

/// The calls and the time of an operation on one side.
#[derive(Debug, Clone, Copy, Default)]
pub struct Side {
    calls: f64,
    ns: f64,
}

type Key<'s> = (Option<&'s str>, Option<&'s [Vec<i64>]>);

/// The operations of two cases that both have a profile.
fn changes(other: &Split, own: &Split, difference_ns: f64) -> Vec<Changed> {
    let several = several_shapes([other, own]);
    let [before, after] = [other, own].map(|split| sides(split, &several));
    let keys: BTreeSet<&Key<'_>> = before.keys().chain(after.keys()).sorted_set();
    let operations: Vec<Changed> = keys
        .into_iter()
        .map(|key| Changed::of(key, before.get(key).copied(), after.get(key).copied()))
        .collect();
    // One that only calls another product is not the one that computes it.
    let working: HashSet<&str> = [other, own].into_iter().flat_map(Split::working).collect();
    let operations = replaced(operations, |name| is_product(name) && working.contains(name));
    let mut operations = replaced(operations, is_attention);
    for it in &mut operations {
        it.share = (difference_ns != 0.0).then(|| it.difference_ns / difference_ns);
    }
    operations.order_by(|a, b| {
        let is_last = |it: &Changed| it.operation.is_none();
        let size = b.difference_ns.abs().total_cmp(&a.difference_ns.abs());
        is_last(a).cmp(&is_last(b)).then(size)
    });
    operations
}

/// Makes one of an operation that only the baseline runs and of another one that only the candidate runs, among the
/// operations that are meant: the longest of each side first, until a side has no more.
fn replaced(operations: Vec<Changed>, is_meant: impl Fn(&str) -> bool) -> Vec<Changed> {
    let is = |it: &Changed, change| {
        it.change == change && it.operation.as_deref().is_some_and(&is_meant)
    };
    let (mut removed, mut rest): (Vec<Changed>, Vec<Changed>) =
        operations.into_iter().partition(|it| is(it, Change::Removed));
    removed.order_by(|a, b| b.baseline_ns.total_cmp(&a.baseline_ns));
    let mut added: Vec<usize> =
        (0..rest.len()).filter(|at| is(&rest[*at], Change::Added)).collect();
    added.order_by(|a, b| rest[*a].ns.total_cmp(&rest[*b].ns).then(a.cmp(b)));
    // By rank: those of each name, and the longest of each name.
    let mut of_names: HashMap<String, Vec<usize>> = HashMap::new();
    let name =
        |rest: &[Changed], rank: usize| rest[added[rank]].operation.clone().unwrap_or_default();
    for rank in 0..added.len() {
        of_names.entry(name(&rest, rank)).or_default().push(rank);
    }
    let mut longest: BTreeSet<usize> = of_names.values_mut().filter_map(Vec::pop).collect();
    for old in removed {
        let is_other = |rank: &&usize| rest[added[**rank]].operation != old.operation;
        let Some(&rank) = longest.iter().rev().find(is_other) else {
            rest.push(old);
            continue;
        };
        longest.remove(&rank);
        longest.extend(of_names.get_mut(&name(&rest, rank)).and_then(Vec::pop));
        let new = &mut rest[added[rank]];
        new.change = Change::Replaced;
        new.instead_of = old.operation;
        new.baseline_calls = old.baseline_calls;
        new.baseline_ns = old.baseline_ns;
        new.difference_ns = new.ns - old.baseline_ns;
    }
    rest
}

/// The operations that run with several lists of shapes on one side. They are matched by name and shapes; all others by
/// name.
fn several_shapes(splits: [&Split; 2]) -> BTreeSet<&str> {
    let mut several = BTreeSet::new();
    for split in splits {
        let mut seen = BTreeSet::new();
        let names = split.slices.iter().filter_map(|it| it.name.as_deref());
        several.extend(names.filter(|name| !seen.insert(*name)));
    }
    several
}

fn sides<'s>(split: &'s Split, several: &BTreeSet<&str>) -> BTreeMap<Key<'s>, Side> {
    let mut sides: BTreeMap<Key<'s>, Side> = BTreeMap::new();
    for slice in &split.slices {
        let name = slice.name.as_deref();
        let shapes = name.filter(|name| several.contains(name)).map(|_| &*slice.shapes);
        let side = sides.entry((name, shapes)).or_default();
        side.calls += slice.calls;
        side.ns += slice.ns;
    }
    sides
}
