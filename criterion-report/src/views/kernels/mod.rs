//! Kernels of the authors' own: their cases one by one, and what they say together.

mod advice;
pub mod text;

use std::collections::BTreeMap;

use plan::{Case, Dtype, JsonFloat, Judged, KernelWork, Latency, Outcome, Record};
use serde_json::Value;

pub use crate::compare::Point;
pub use crate::compare::branch::BranchHistory;
pub use crate::compare::past::{Past, SCHEMA, SUMMARY, Trend, VERSION, history, trends};
use crate::model::{Entry, Time, gather, machine};
use crate::order::Order as _;
use crate::read::{Missing, Report};
pub use advice::{
    PrecisionGain, Rival, Valued, descending, high_peak, most, narrower, nondeterministic,
    precision_gains, rivals, shares_of_bandwidth, slow_call, slow_first_call, unsteady,
    without_counts, without_reference,
};

/// A case of a kernel as its last run left it.
#[derive(Debug, Clone)]
pub struct KernelResult<'a> {
    pub full_id: &'a str,
    pub kernel: &'a str,
    /// Device on which it is to run: `cpu`, `cuda`.
    pub backend: &'a str,
    /// Precision; of a case without any record as far as its id says.
    pub precision: Option<Dtype>,
    /// The kernel's file that computes it.
    pub implementation: &'a str,
    /// The case as planned; absent without any record.
    pub case: Option<&'a Case>,
    /// The case with all that is compared; absent where the last run that selected it left no record:
    /// the figures of an earlier run are not this run's.
    pub entry: Option<Entry<'a>>,
    /// How it ended, and what is compared with an earlier run.
    pub point: Point,
}

impl<'a> KernelResult<'a> {
    /// All cases of kernels that a report shows, those without a record behind the others.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let recorded = report.entries().filter_map(|entry| Self::new(entry, report));
        recorded.chain(report.missing.iter().map(|case| Self::missing(case, report))).collect()
    }

    fn new(entry: Entry<'a>, report: &Report) -> Option<Self> {
        let row = entry.row;
        let case = &row.record.case;
        let work = case.work.kernel()?;
        Some(Self {
            full_id: row.full_id(),
            kernel: &work.kernel,
            backend: case.device.as_str(),
            precision: Some(case.dtype),
            implementation: &work.implementation,
            case: Some(case),
            entry: row.outdated.is_none().then_some(entry),
            point: Point::from_entry(&entry, report.runs.is_earlier(row.full_id())),
        })
    }

    /// The result of a case of which nothing is known but its id.
    fn missing(missing: &'a Missing, report: &Report) -> Self {
        let mut parts = missing.full_id.split('/').skip(2);
        let [kernel, backend, implementation, parameter] =
            std::array::from_fn(|_| parts.next().unwrap_or_default());
        Self {
            full_id: &missing.full_id,
            kernel,
            backend,
            precision: parameter.split('-').next().and_then(|word| word.parse().ok()),
            implementation,
            case: None,
            entry: None,
            point: Point::of_missing(missing, report.runs.is_earlier(&missing.full_id)),
        }
    }

    /// Its record, of the last run that selected it.
    pub fn record(&self) -> Option<&'a Record> {
        self.entry.map(|entry| &*entry.row.record)
    }

    /// The case if it was measured.
    pub fn measured(&self) -> Option<&'a Record> {
        self.record().filter(|record| record.outcome == Outcome::Measured)
    }

    /// A key that is greater for a later record.
    pub fn recency(&self) -> Option<(usize, u64)> {
        self.entry.map(|entry| entry.row.recency())
    }

    pub fn work(&self) -> Option<&'a KernelWork> {
        self.case?.work.kernel()
    }

    /// The whole problem size; of a case that never ran, the part that the `bench.yaml` gives.
    pub fn problem_size(&self) -> Option<&'a BTreeMap<String, Value>> {
        match self.entry {
            Some(entry) => entry.row.problem_size(),
            None => Some(&self.work()?.problem_size),
        }
    }

    /// The problem size as a text that equal ones share.
    pub fn problem_key(&self) -> String {
        serde_json::json!(self.problem_size()).to_string()
    }

    /// Single calls.
    pub fn latency(&self) -> Option<Latency> {
        self.measured()?.measures.latency
    }

    /// Standard deviation (population) of the single calls, in nanoseconds.
    pub fn latency_std_ns(&self) -> Option<f64> {
        let measures = &self.measured()?.measures;
        if let Some(std_ns) = measures.latency.and_then(|latency| latency.std_ns) {
            return Some(std_ns);
        }
        // Older records have only the calls.
        let calls: Vec<f64> = measures.calls_ns.iter().map(|&ns| ns as f64).collect();
        (!calls.is_empty()).then(|| statistics::population_sd(&calls))
    }

    /// Peak memory of a step.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.point.memory.map(|memory| memory.peak_bytes())
    }

    pub fn time(&self) -> Option<&'a Time> {
        self.entry?.row.time.as_ref().ok()
    }

    /// The findings of its judge.
    pub fn judged(&self) -> Option<&'a Judged> {
        self.record()?.judged.as_ref()
    }

    /// How many times faster it is than the baseline of its folder, by the clocks of their judges.
    pub fn judged_speedup(&self) -> Option<f64> {
        let Entry { row, comparison, baseline, .. } = self.entry?;
        Some(comparison.and(baseline)?.judged_ns()? / row.judged_ns()?)
    }

    pub fn has_reference(&self) -> bool {
        let facts = self.record().and_then(|record| record.kernel.as_ref());
        facts.is_some_and(|facts| facts.has_reference)
    }

    /// Largest standard deviation of an element of the output over several runs.
    pub fn determinism_std(&self) -> Option<JsonFloat> {
        self.record()?.kernel.as_ref()?.determinism_std
    }
}

/// The measured cases of one kernel at one problem size on one machine: they do the same thing, in
/// other precisions, on other backends, by other implementations. Unlike problems are never ranked
/// against each other. The fastest comes first by the median of single calls, those without one last.
#[derive(Debug)]
pub struct Contest<'r, 'a>(pub Vec<&'r KernelResult<'a>>);

impl Contest<'_, '_> {
    /// Whether the first is surely the fastest: the interval of its step lies below all others'.
    pub fn is_decided(&self) -> bool {
        let interval = |result: &KernelResult<'_>| result.time()?.interval;
        let Some(first) = self.0.first().and_then(|first| interval(first)) else { return false };
        let mut others = self.0.iter().skip(1);
        others.all(|other| interval(other).is_some_and(|other| first.high < other.low))
    }
}

/// All contests, in the order in which kernels and problems first appear. A CUDA case is on the
/// machine that has the GPU.
pub fn contests<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<Contest<'r, 'a>> {
    let p50 = |result: &KernelResult<'_>| result.latency().map_or(f64::INFINITY, |it| it.p50_ns);
    let measured = results.iter().filter(|result| result.measured().is_some());
    let of_problem = gather(measured, |it| (it.kernel, it.problem_key(), it.record().map(machine)));
    let ranked = of_problem.into_iter().map(|mut cases| {
        cases.order_by(|a, b| p50(a).total_cmp(&p50(b)));
        Contest(cases)
    });
    ranked.collect()
}
