//! Makes the statements from a case's split and its comparisons.

use std::collections::HashMap;

use super::facts::CaseFacts;
use super::operation::{is_attention, is_product, is_same_product, library};
use super::part::PartKind;
use super::slice::Slice;
use super::split::Split;
use super::statement::Statement;
use crate::order::Order as _;

/// A case with its split.
pub struct Case<'a> {
    pub facts: CaseFacts<'a>,
    pub split: Split,
}

impl<'a> Case<'a> {
    /// The operation that computes its product, from its profile or else from its record.
    fn product(&self) -> Option<&str> {
        self.split.product().or_else(|| self.kernels().find(|name| is_product(name)))
    }

    /// The implementation of attention that it was dispatched to.
    pub fn attention(&self) -> Option<&str> {
        let profiled = self.split.total(is_attention).map(|(name, _)| name);
        profiled.or_else(|| self.kernels().find(|name| is_attention(name)))
    }

    fn kernels(&self) -> impl Iterator<Item = &'a str> {
        self.facts.row.record.kernels.iter().map(String::as_str)
    }
}

/// The notable statements, the largest share first; never empty.
pub(super) fn statements(
    case: &Case<'_>,
    baseline: Option<&Case<'_>>,
    siblings: &[Case<'_>],
) -> Vec<Statement> {
    let added =
        baseline.map(|baseline| Added::new(&baseline.split, &case.split)).unwrap_or_default();
    let mut all = of_parts(case, &added);
    all.extend(added.statements(case.split.time_ns));
    all.extend(baseline.and_then(|baseline| other_library(case, baseline)));
    all.extend(other_dispatch(case, siblings));
    let unexplained = unexplained(case, &added);
    all.retain(Statement::is_notable);
    if unexplained.is_notable() || all.is_empty() {
        all.push(unexplained);
    }
    all.order_by(|a, b| b.share().total_cmp(&a.share()));
    all
}

/// Calls of operations that the baseline does not make, net of those that only the baseline makes.
#[derive(Default)]
struct Added {
    /// The share of an operation's time that is added, with the calls.
    operations: HashMap<String, (f64, f64)>,
    /// Nanoseconds of each that the statement about added operations accounts for.
    ns: HashMap<String, f64>,
}

impl Added {
    fn new(before: &Split, after: &Split) -> Self {
        if !before.has_profile || !after.has_profile {
            return Self::default();
        }
        let (mut added, removed) = (surplus(after, before), surplus(before, after));
        added.extend(further_products(after, before));
        let claimable = |slice: &Slice| slice.ns - slice.faults_ns - slice.conversion_ns;
        let time = |split: &Split, surplus: &HashMap<&str, (f64, f64)>| -> HashMap<String, f64> {
            let mut ns = HashMap::new();
            for slice in &split.slices {
                let Some(name) = slice.name.as_deref() else { continue };
                if let Some((share, _)) = surplus.get(name) {
                    *ns.entry(name.to_owned()).or_default() += share * claimable(slice);
                }
            }
            ns
        };
        let (mut ns, gone) = (time(after, &added), time(before, &removed));
        let (sum, gone): (f64, f64) = (ns.values().sum(), gone.values().sum());
        let net = if sum > 0.0 { (1.0 - gone / sum).max(0.0) } else { 0.0 };
        ns.values_mut().for_each(|it| *it *= net);
        let operations =
            added.into_iter().map(|(name, (share, calls))| (name.to_owned(), (share * net, calls)));
        Self { operations: operations.collect(), ns }
    }

    /// The share of a slice that is due to added calls, apart from page faults and conversions.
    fn share(&self, slice: &Slice) -> f64 {
        let own = slice.name.as_deref().and_then(|name| self.operations.get(name));
        own.map_or(0.0, |(share, _)| *share)
    }

    fn statements(&self, time_ns: f64) -> Vec<Statement> {
        let mut added: Vec<(&String, &f64)> = self.ns.iter().collect();
        added.order_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        let statement = |(name, ns): (&String, &f64)| Statement::AddedOperation {
            share: ns / time_ns,
            operation: name.clone(),
            calls: self.operations[name].1,
        };
        added.into_iter().map(statement).collect()
    }
}

/// The operations that `own` calls more often than `other`, without products and attention: the additional calls as a
/// share of its calls, and their number.
fn surplus<'s>(own: &'s Split, other: &'s Split) -> HashMap<&'s str, (f64, f64)> {
    let [mine, theirs] = [own, other].map(calls);
    let more = mine.into_iter().filter_map(|(name, calls)| {
        let more = calls - theirs.get(name).copied().unwrap_or(0.0);
        let other = !is_product(name) && !is_attention(name);
        (other && more > 0.0).then_some((name, (more / calls, more)))
    });
    more.collect()
}

/// The products that `own` runs beyond those of `other`: the share of their time that all products take longer, at
/// most that of the calls, and the calls. A product in the place of another one is not added, and one inside of another
/// implementation of attention is a part of that.
fn further_products<'s>(own: &'s Split, other: &'s Split) -> HashMap<&'s str, (f64, f64)> {
    let attention = |split: &'s Split| split.total(is_attention).map(|(name, _)| name);
    let [mine, theirs] = [own, other].map(products);
    let [calls, other_calls] = [&mine, &theirs].map(|it| it.values().map(|it| it.0).sum::<f64>());
    let [ns, other_ns] = [&mine, &theirs].map(|it| it.values().map(|it| it.1).sum::<f64>());
    if attention(own) != attention(other) || calls <= other_calls || ns <= other_ns {
        return HashMap::new();
    }
    let more = mine.iter().filter_map(|(&name, &(calls, ns))| {
        let more = calls - theirs.get(name).map_or(0.0, |it| it.0);
        (more > 0.0).then_some((name, more, ns / calls))
    });
    let more: Vec<(&str, f64, f64)> = more.collect();
    // This share has no counterpart among the other side's products.
    let added = (calls - other_calls) / more.iter().map(|(_, more, _)| more).sum::<f64>();
    let added_ns = added * more.iter().map(|(_, more, each_ns)| more * each_ns).sum::<f64>();
    let claimed = ((ns - other_ns) / added_ns).min(1.0);
    let further = more.into_iter().map(|(name, more, _)| {
        let more = added * more;
        (name, (claimed * more / mine[name].0, more))
    });
    further.collect()
}

/// The calls and the time of each product that does the work itself.
fn products(split: &Split) -> HashMap<&str, (f64, f64)> {
    let mut products: HashMap<&str, (f64, f64)> = HashMap::new();
    for slice in split.slices.iter().filter(|it| it.works) {
        let Some(name) = slice.name.as_deref().filter(|name| is_product(name)) else { continue };
        let (calls, ns) = products.entry(name).or_default();
        *calls += slice.calls;
        *ns += slice.ns;
    }
    products
}

fn calls(split: &Split) -> HashMap<&str, f64> {
    let mut calls = HashMap::new();
    for slice in &split.slices {
        let Some(name) = slice.name.as_deref() else { continue };
        *calls.entry(name).or_default() += slice.calls;
    }
    calls
}

/// The share of the time that a kind takes, without the time accounted for by added operations.
fn share(split: &Split, added: &Added, kind: PartKind) -> f64 {
    let ns = split.slices.iter().map(|slice| {
        let is_claimable = !matches!(kind, PartKind::PageFaults | PartKind::WeightConversion);
        let kept = if is_claimable { 1.0 - added.share(slice) } else { 1.0 };
        let own = slice.parts(split.has_profile).into_iter().filter(|(it, _)| *it == kind);
        kept * own.map(|(_, ns)| ns).sum::<f64>()
    });
    ns.sum::<f64>() / split.time_ns
}

fn of_parts(case: &Case<'_>, added: &Added) -> Vec<Statement> {
    let Case { facts, split } = case;
    let of = |kind| share(split, added, kind);
    let calls = split.slices.iter().map(|it| it.calls).sum();
    let level = facts.ceiling().and_then(|it| it.level.clone()).unwrap_or_default();
    let mut all = vec![
        Statement::MemoryBound { share: of(PartKind::MemoryLimit), level },
        Statement::ComputeBound { share: of(PartKind::ComputeLimit) },
        Statement::ConvertsWeight { share: of(PartKind::WeightConversion) },
        Statement::LaunchBound {
            share: of(PartKind::CallOverhead),
            calls: split.has_profile.then_some(calls),
            device_busy: split.device_busy,
        },
    ];
    let page_faults = facts.counters.map(|it| Statement::PageFaults {
        share: of(PartKind::PageFaults),
        faults: it.minor_faults,
    });
    let idle = facts.utilization.map(|busy| f64::from(facts.threads()) * (1.0 - busy));
    let idle = idle.filter(|idle| *idle >= FEWEST_IDLE).map(|idle| Statement::IdleThreads {
        share: of(PartKind::IdleThreads),
        idle: idle.round() as u32,
        threads: facts.threads(),
    });
    all.extend(page_faults.into_iter().chain(idle));
    all
}

/// Less than half an idle thread is not reported.
const FEWEST_IDLE: f64 = 0.5;

fn unexplained(case: &Case<'_>, added: &Added) -> Statement {
    let of = |kind| share(&case.split, added, kind);
    let outside_share = of(PartKind::OutsideOperations);
    Statement::Unexplained { share: of(PartKind::Unexplained) + outside_share, outside_share }
}

fn other_library(case: &Case<'_>, baseline: &Case<'_>) -> Option<Statement> {
    let [own, other] = [case, baseline].map(Case::product);
    let (own, other) = (own?, other?);
    if is_same_product(own, other) {
        return None;
    }
    let (share, ratio) = apart(case, baseline, |it| it.split.own_ns(is_product));
    Some(Statement::OtherLibrary {
        share,
        ratio,
        operation: own.to_owned(),
        library: library(own),
        instead_of: other.to_owned(),
        instead_of_library: library(other),
        other: baseline.facts.row.full_id().to_owned(),
    })
}

/// Compares with the sibling whose time differs most.
fn other_dispatch(case: &Case<'_>, siblings: &[Case<'_>]) -> Option<Statement> {
    let own = case.attention()?;
    let ns = |it: &Case<'_>| it.split.total(is_attention).map_or(0.0, |(_, ns)| ns);
    let against = siblings.iter().filter_map(|sibling| {
        let other = sibling.attention().filter(|other| *other != own)?;
        let (share, ratio) = apart(case, sibling, ns);
        Some(Statement::OtherDispatch {
            share,
            ratio,
            operation: own.to_owned(),
            instead_of: other.to_owned(),
            other: sibling.facts.row.full_id().to_owned(),
        })
    });
    against.max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// Compares two cases. Returns the difference of the operations in question (of the whole times if one case has no
/// profile) as a share of the longer time, and the ratio of the other case's time to this one's.
fn apart(case: &Case<'_>, other: &Case<'_>, ns: impl Fn(&Case<'_>) -> f64) -> (f64, f64) {
    let [own, others] = [case, other].map(|it| it.split.time_ns);
    let profiled = case.split.has_profile && other.split.has_profile;
    let difference = if profiled { ns(case) - ns(other) } else { own - others };
    (difference.abs() / own.max(others), others / own)
}
