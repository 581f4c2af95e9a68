//! Leaderboards: the fastest of cases that do the same.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use super::result::KernelResult;
use crate::model::machine;

/// The measured cases of one kernel at one problem size on one machine: they do the same thing, in
/// other precisions, on other backends, by other implementations. Unlike problems are never ranked
/// against each other.
#[derive(Debug)]
pub struct Contest<'r, 'a> {
    pub kernel: &'a str,
    pub problem_size: BTreeMap<String, Value>,
    /// The machine; a CUDA case is on the machine that has the GPU.
    pub host: String,
    /// By the median of single calls, the fastest first; those without come last.
    pub ranked: Vec<&'r KernelResult<'a>>,
}

impl Contest<'_, '_> {
    /// Whether the first is surely the fastest: the interval of its step lies below all others'.
    pub fn is_decided(&self) -> bool {
        let interval = |result: &KernelResult<'_>| result.time()?.interval;
        let Some(first) = self.ranked.first().and_then(|first| interval(first)) else {
            return false;
        };
        let mut others = self.ranked.iter().skip(1);
        others.all(|other| interval(other).is_some_and(|other| first.high < other.low))
    }
}

/// All contests, in the order in which kernels and problems first appear.
pub fn contests<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<Contest<'r, 'a>> {
    let mut contests: IndexMap<_, Contest<'r, 'a>> = IndexMap::new();
    for result in results {
        let Some(record) = result.measured() else { continue };
        let host = machine(record);
        let contest = contests.entry((result.kernel, result.problem_key(), host.clone()));
        let contest = contest.or_insert_with(|| {
            let problem_size = result.problem_size().cloned().unwrap_or_default();
            Contest { kernel: result.kernel, problem_size, host, ranked: Vec::new() }
        });
        contest.ranked.push(result);
    }
    let mut contests: Vec<_> = contests.into_values().collect();
    let p50 = |result: &KernelResult<'_>| {
        result.latency().map_or(f64::INFINITY, |latency| latency.p50_ns)
    };
    for contest in &mut contests {
        contest.ranked.sort_by(|a, b| p50(a).total_cmp(&p50(b)));
    }
    contests
}
