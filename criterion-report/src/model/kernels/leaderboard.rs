//! Who is faster than whom, among cases that do the same.

use std::collections::BTreeMap;

use serde_json::Value;

use super::result::KernelResult;
use crate::model::machine;

/// The measured cases of one kernel at one problem size on one machine: they do the same thing, in
/// other precisions, on other backends, by other implementations. Unlike problems are never ranked
/// against each other.
#[derive(Debug)]
pub struct Contest<'r, 'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The problem.
    pub problem_size: BTreeMap<String, Value>,
    /// The machine; a CUDA case is on the machine that has the GPU.
    pub host: String,
    /// By the median of single calls, the fastest first; those without come last.
    pub ranked: Vec<&'r KernelResult<'a>>,
}

/// All contests, in the order in which kernels and problems first appear.
pub fn contests<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<Contest<'r, 'a>> {
    let mut contests: Vec<Contest<'r, 'a>> = Vec::new();
    for result in results {
        let Some(record) = result.measured() else { continue };
        let problem_size = result.problem_size().cloned().unwrap_or_default();
        let host = machine(record);
        let same = |it: &&mut Contest<'_, '_>| {
            it.kernel == result.kernel && it.problem_size == problem_size && it.host == host
        };
        match contests.iter_mut().find(same) {
            Some(contest) => contest.ranked.push(result),
            None => contests.push(Contest {
                kernel: result.kernel,
                problem_size,
                host,
                ranked: vec![result],
            }),
        }
    }
    let p50 = |result: &KernelResult<'_>| {
        result.latency().map_or(f64::INFINITY, |latency| latency.p50_ns)
    };
    for contest in &mut contests {
        contest.ranked.sort_by(|a, b| p50(a).total_cmp(&p50(b)));
    }
    contests
}
