//! `kernel_manifest.json`: the kernels that the records know.

use std::collections::{BTreeMap, BTreeSet};

use plan::{KernelTolerances, KernelWork, SkipCondition};
use serde_json::Value;

use super::outcomes;
use crate::model::once;
use crate::order::Sorted as _;
use crate::render::object::document;
use crate::views::kernels::KernelResult;

document! {
    /// A kernel, by all its cases.
    pub struct Kernel<'a> = of(cases: &[&'a KernelResult<'a>]) [
        works = cases.iter().filter_map(|case| case.work()).collect::<Vec<_>>();
        facts = cases.iter().filter_map(|case| case.record()?.kernel.as_ref());
        implementations = implementations(cases);
        baseline = implementations.get(KernelWork::BASELINE).copied().flatten();
        // The widest first.
        precisions = cases.iter().filter_map(|case| case.precision).sorted_set();
        metadata = works.iter().flat_map(|work| &work.metadata);
    ] {
        name: &'a str = cases[0].kernel,
        path: Option<&'a str> = baseline.map(|work| &*work.file),
        backends: BTreeSet<&'a str> = cases.iter().map(|case| case.backend).sorted_set(),
        precisions: Vec<&'static str> = precisions.iter().map(|it| it.precision()).collect(),
        implementations: Vec<Implementation<'a>> =
            implementations.iter().map(|(name, work)| Implementation::of(name, *work)).collect(),
        /// Null where no case ran.
        has_reference: Option<bool> =
            facts.map(|facts| facts.has_reference).reduce(|one, other| one || other),
        problem_sizes: Vec<&'a BTreeMap<String, Value>> = problem_sizes(cases),
        tolerances: Vec<KernelTolerances> = once(works.iter().map(|work| work.tolerances)),
        skip_conditions: Vec<&'a SkipCondition> =
            once(works.iter().flat_map(|work| &work.skip_conditions)),
        metadata: BTreeMap<&'a String, &'a Value> = metadata.sorted_map(),
        outcomes: BTreeMap<&'a str, usize> = outcomes(cases.iter().copied()),
    }

    /// Its name, and the code that it runs, if known.
    struct Implementation<'a> = of(name: &'a str, work: Option<&'a KernelWork>) {
        name: &'a str = name,
        path: Option<&'a str> = work.map(|work| &*work.file),
        pytorch: Option<bool> = work.map(|work| work.uses_torch),
        baseline: bool = name == KernelWork::BASELINE,
    }
}

/// The implementations of the cases by name, with the code that they run.
fn implementations<'a>(cases: &[&KernelResult<'a>]) -> BTreeMap<&'a str, Option<&'a KernelWork>> {
    let mut all = BTreeMap::new();
    for case in cases {
        let work = all.entry(case.implementation).or_insert(None);
        *work = work.or(case.work());
    }
    all
}

/// In the order of the cases. Cases that never ran know only a part of the size that cases that ran
/// know.
fn problem_sizes<'a>(cases: &[&KernelResult<'a>]) -> Vec<&'a BTreeMap<String, Value>> {
    let covers = |whole: &BTreeMap<String, Value>, part: &BTreeMap<String, Value>| {
        part.iter().all(|(field, value)| whole.get(field) == Some(value))
    };
    let mut sizes: Vec<&BTreeMap<String, Value>> = Vec::new();
    for size in cases.iter().filter_map(|case| case.problem_size()) {
        if !sizes.iter().any(|known| covers(known, size)) {
            sizes.retain(|known| !covers(size, known));
            sizes.push(size);
        }
    }
    sizes
}
