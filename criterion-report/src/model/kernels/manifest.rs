//! The kernels that the records know.

use std::collections::{BTreeMap, BTreeSet};

use plan::{KernelTolerances, KernelWork, SkipCondition};
use serde_json::Value;

use super::result::KernelResult;
use crate::object::object;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct KernelEntry<'a> {
    pub name: &'a str,
    /// Its files, relative to their package, each with the name of its implementation.
    pub implementations: BTreeMap<&'a str, Option<&'a str>>,
    /// Devices on which it is to run.
    pub backends: BTreeSet<&'a str>,
    /// Precisions, the widest first.
    pub precisions: BTreeSet<plan::Dtype>,
    /// Problem sizes, in the order of the cases.
    pub problem_sizes: Vec<&'a BTreeMap<String, Value>>,
    /// Whether an output was compared with a reference; none where no case ran.
    pub has_reference: Option<bool>,
    /// How far the output may be from it.
    pub tolerances: Vec<KernelTolerances>,
    pub skip_conditions: Vec<&'a SkipCondition>,
    /// The author's own.
    pub metadata: BTreeMap<&'a str, &'a Value>,
    /// Cases by status.
    pub outcomes: BTreeMap<&'static str, usize>,
}

/// An implementation: its name, its file, and whether the others are compared with it.
struct Implementation<'a>(&'a str, Option<&'a str>);

// As `kernel_manifest.json` has them.
object! {
    KernelEntry<'_> => |it| {
        "name": it.name,
        "path": it.implementations.get(KernelWork::BASELINE).copied().flatten(),
        "backends": it.backends,
        "precisions": it.precisions.iter().map(|it| it.precision()).collect::<Vec<_>>(),
        "implementations": it.implementations.iter()
            .map(|(name, path)| Implementation(name, *path))
            .collect::<Vec<_>>(),
        "has_reference": it.has_reference,
        "problem_sizes": it.problem_sizes,
        "tolerances": it.tolerances,
        "skip_conditions": it.skip_conditions,
        "metadata": it.metadata,
        "outcomes": it.outcomes,
    }

    Implementation<'_> => |it| {
        "name": it.0,
        "path": it.1,
        "baseline": it.0 == KernelWork::BASELINE,
    }
}

/// Every kernel, in the order of the names.
pub fn manifest<'a>(results: &[KernelResult<'a>]) -> Vec<KernelEntry<'a>> {
    let mut kernels: BTreeMap<&str, KernelEntry<'a>> = BTreeMap::new();
    for result in results {
        let kernel = kernels.entry(result.kernel).or_default();
        kernel.name = result.kernel;
        kernel.add(result);
    }
    kernels.into_values().collect()
}

impl<'a> KernelEntry<'a> {
    fn add(&mut self, result: &KernelResult<'a>) {
        *self.outcomes.entry(result.status).or_insert(0) += 1;
        self.backends.insert(result.backend);
        self.precisions.extend(result.precision);
        let work = result.work();
        let file = self.implementations.entry(result.implementation).or_insert(None);
        *file = file.or(work.map(|work| work.file.as_str()));
        if let Some(size) = result.problem_size() {
            self.add_problem_size(size);
        }
        if let Some(facts) = result.record().and_then(|record| record.kernel.as_ref()) {
            self.has_reference =
                Some(self.has_reference.unwrap_or_default() || facts.has_reference);
        }
        let Some(work) = work else { return };
        if !self.tolerances.contains(&work.tolerances) {
            self.tolerances.push(work.tolerances);
        }
        for condition in &work.skip_conditions {
            if !self.skip_conditions.contains(&condition) {
                self.skip_conditions.push(condition);
            }
        }
        self.metadata.extend(work.metadata.iter().map(|(key, value)| (key.as_str(), value)));
    }

    /// Cases that never ran know only a part of the size that cases that ran know.
    fn add_problem_size(&mut self, size: &'a BTreeMap<String, Value>) {
        let covers = |whole: &BTreeMap<String, Value>, part: &BTreeMap<String, Value>| {
            part.iter().all(|(field, value)| whole.get(field) == Some(value))
        };
        if !self.problem_sizes.iter().any(|known| covers(known, size)) {
            self.problem_sizes.retain(|known| !covers(size, known));
            self.problem_sizes.push(size);
        }
    }
}
