//! `kernel_manifest.json`: the kernels that the records know.

use std::collections::BTreeMap;

use plan::KernelWork;
use serde_json::Value;

use super::outcomes;
use crate::model::once;
use crate::order::Sorted as _;
use crate::render::object::object;
use crate::views::kernels::KernelResult;

/// A kernel, by all its cases.
pub struct Kernel<'r, 'a>(pub &'r [&'r KernelResult<'a>]);

/// Its name, and the code that it runs, if known.
struct Implementation<'a>(&'a str, Option<&'a KernelWork>);

object! {
    Kernel<'_, '_> => |it| [
        cases = it.0;
        works = cases.iter().filter_map(|case| case.work()).collect::<Vec<_>>();
        facts = cases.iter().filter_map(|case| case.record()?.kernel.as_ref());
        implementations = implementations(cases);
        // The widest first.
        precisions = cases.iter().filter_map(|case| case.precision).sorted_set();
        metadata = works.iter().flat_map(|work| &work.metadata);
    ] {
        "name": cases[0].kernel,
        "path": implementations.get(KernelWork::BASELINE).copied().flatten().map(|work| &work.file),
        "backends": cases.iter().map(|case| case.backend).sorted_set(),
        "precisions": precisions.iter().map(|it| it.precision()).collect::<Vec<_>>(),
        "implementations": implementations.iter()
            .map(|(name, work)| Implementation(name, *work))
            .collect::<Vec<_>>(),
        // Null where no case ran.
        "has_reference": facts.map(|facts| facts.has_reference).reduce(|one, other| one || other),
        "problem_sizes": problem_sizes(cases),
        "tolerances": once(works.iter().map(|work| work.tolerances)),
        "skip_conditions": once(works.iter().flat_map(|work| &work.skip_conditions)),
        "metadata": metadata.sorted_map(),
        "outcomes": outcomes(cases.iter().copied()),
    }

    Implementation<'_> => |it| {
        "name": it.0,
        "path": it.1.map(|work| &work.file),
        "pytorch": it.1.map(|work| work.uses_torch),
        "baseline": it.0 == KernelWork::BASELINE,
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
