//! A record joined with criterion's estimate of the same measurement.

use std::collections::BTreeMap;
use std::fmt;

use plan::{Accuracy, Counters, Gate, LastSample, Outcome, Pass, Recipe, Record, Role, Variant};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::criterion_result::CriterionResult;
use super::time::Time;
use crate::render::units;

/// More switches per second of wall time away from threads that would go on are other programs': quiet machines have up to
/// 140, those with as many busy programs as CPUs 230 to 2000 on all threads (`docs/results/amd-epyc-2-cpus`).
const OFTEN_PER_S: f64 = 200.0;
/// The share of their CPUs' time from which threads had all of it.
const FULL: f64 = 0.95;

/// One case as it went, with its time where there is one that can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The record; it is large, and rows are put in order.
    pub record: Box<Record>,
    /// Criterion's estimate of the very measurement that the record tells of, or why not.
    pub time: Result<Time, NoTime>,
    /// Criterion's data of that measurement; present exactly if there is a time, but for reports that
    /// need [only times](crate::read::Selection::only_times). A row of several runs has all samples,
    /// and the mean of the estimates.
    pub criterion: Option<Box<CriterionResult>>,
    /// The case as each of several runs left it, in their order; empty where there is one run.
    pub runs: Vec<InRun>,
    /// Set when a later run selected the case and ended before it left a new record.
    pub outdated: Option<String>,
    /// The place of the record's run among those of the baseline, in the order in which they ran,
    /// from 1; 0 if there is no such run.
    pub run_place: usize,
    /// The number of its machine in the report, from 1; none where all rows are of one.
    pub machine: Option<usize>,
}

/// A case in one of several runs under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct InRun {
    /// Name of the run, e.g. `main@3`.
    pub name: String,
    /// Its row, or why the run, which selected the case, left none.
    pub row: Result<Row, String>,
}

/// Why a row has no time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoTime {
    /// The outcome is not `measured`. An estimate of an earlier run may lie on disk; it is not
    /// this case's time.
    NotMeasured,
    /// Criterion's folder has no usable estimate.
    NoEstimate,
    /// The record does not say what criterion saw, so no estimate can be matched with it.
    Unverifiable,
    /// The estimate on disk comes from another run than the record.
    Stale {
        /// The last sample of the record's run.
        recorded: (u64, u64),
        /// The last sample of the estimate's run.
        found: (u64, u64),
    },
    /// The samples on disk are the record's, the estimates beside them are not theirs.
    Mixed {
        /// Median of the samples.
        sampled_ns: f64,
        /// Median in the estimates.
        estimated_ns: f64,
    },
}

impl NoTime {
    /// Whether there is an estimate, but of another measurement.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Mixed { .. })
    }
}

impl fmt::Display for NoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => f.write_str("not measured"),
            Self::NoEstimate => {
                f.write_str("criterion has no estimate of it; measure it again with `cargo bench`")
            }
            Self::Unverifiable => f.write_str(
                "its record does not name criterion's last sample, so no estimate can be matched \
                 with it; measure it again with `cargo bench`",
            ),
            Self::Stale { recorded: (iters, ns), found: (found_iters, found_ns) } => write!(
                f,
                "stale: criterion's estimate is of another run (its last sample is {} in \
                 {found_ns} ns, the record's {iters} in {ns} ns); measure it again with `cargo \
                 bench`",
                units::count(*found_iters as usize, "iteration"),
            ),
            Self::Mixed { sampled_ns, estimated_ns } => write!(
                f,
                "stale: criterion's estimates.json is of another run than the sample.json beside \
                 it (its median is {estimated_ns} ns, that of the samples {sampled_ns} ns); \
                 measure it again with `cargo bench`"
            ),
        }
    }
}

impl Row {
    /// A case of which criterion has no result.
    pub fn new(record: Box<Record>) -> Self {
        let time = Err(recorded_sample(&record).err().unwrap_or(NoTime::NoEstimate));
        let (criterion, runs) = (None, Vec::new());
        Self { record, time, criterion, runs, outdated: None, run_place: 0, machine: None }
    }

    /// Joins the row with a result of its id.
    pub fn join(&mut self, result: Box<CriterionResult>) {
        self.take(own_result(&self.record, result));
    }

    /// Takes what was found of its id. A folder that an older run left can claim the id a second time:
    /// the first result of the row's own measurement counts, or else the clearest reason.
    pub(crate) fn take(&mut self, found: OwnResult) {
        let clarity = |time: Result<(), &NoTime>| match time {
            Err(NoTime::NoEstimate) => 0,
            Err(NoTime::Stale { .. }) => 1,
            Err(NoTime::Mixed { .. }) => 2,
            Ok(()) | Err(NoTime::NotMeasured | NoTime::Unverifiable) => 3,
        };
        let known = self.time.as_ref().map(|_| ());
        if clarity(found.as_ref().map(|_| ())) > clarity(known) {
            (self.time, self.criterion) = match found {
                Ok((time, criterion)) => (Ok(time), criterion),
                Err(why) => (Err(why), None),
            };
        }
    }

    /// The rows of the runs that it is of, which is itself where there is one run.
    pub fn in_runs(&self) -> impl Iterator<Item = &Self> {
        let itself = self.runs.is_empty().then_some(self);
        itself.into_iter().chain(self.runs.iter().filter_map(|run| run.row.as_ref().ok()))
    }

    /// A key that is greater for a record that was written later: clocks decide within a run, and if
    /// nothing is known of the runs.
    pub fn recency(&self) -> (usize, u64) {
        (self.run_place, self.record.timestamp)
    }

    pub fn full_id(&self) -> &str {
        &self.record.full_id
    }

    /// Whether the others of its group are compared with this one.
    pub fn is_baseline(&self) -> bool {
        self.record.case.role == Role::Baseline
    }

    /// Recipe, sparsity and so on, of a model's case.
    pub fn variant(&self) -> Option<Variant> {
        self.record.case.work.model().map(|work| work.variant)
    }

    /// The part of a training step that it measures.
    pub fn pass(&self) -> Option<Pass> {
        self.record.case.work.model()?.pass
    }

    /// Whether its device lacks the recipe's products, so that its time says nothing of the recipe's speed.
    pub fn is_emulated(&self) -> bool {
        self.variant().is_some_and(|variant| variant.emulated)
    }

    /// Whether it is the model as it was before quantization and sparsification, compiled or not.
    pub fn is_unquantized(&self) -> bool {
        self.variant().is_some_and(|it| it.recipe == Recipe::Baseline && it.sparsity.is_none())
    }

    /// Whether other programs took the CPUs so often that its times are partly theirs. Threads that wait for each other then
    /// take whole time slices for a step, at every step, so that no interval shows it.
    pub fn is_contended(&self) -> bool {
        let is_contended = |run: &Self| {
            let Some(counters) = run.record.measures.counters else { return false };
            let Counters { wall_ns, user_ns, system_ns, involuntary_switches, .. } = counters;
            let threads = f64::from(run.record.environment.torch.threads);
            // Threads that fill the CPUs all the time were only in each other's way.
            let lacked_time = user_ns + system_ns < FULL * threads * wall_ns;
            lacked_time && involuntary_switches > OFTEN_PER_S * wall_ns / 1e9
        };
        self.in_runs().any(is_contended)
    }

    /// Why a kernel that was measured is not judged; none of one that is, and of other work.
    pub fn not_judged(&self) -> Option<&str> {
        let Record { case, outcome, measures, judged, .. } = &*self.record;
        let lacks =
            case.work.kernel().is_some() && *outcome == Outcome::Measured && judged.is_none();
        let why = measures.absent.get("judged").map(String::as_str);
        lacks.then(|| why.unwrap_or("its record is of a version without a judge"))
    }

    /// Nanoseconds of a call by the judge's clock; none unless the kernel passed.
    pub fn judged_ns(&self) -> Option<f64> {
        let passed = self.record.outcome == Outcome::Measured;
        self.record.judged.as_ref()?.ns.filter(|ns| passed && *ns > 0.0)
    }

    /// Its output against a reference; none of a kernel that has no reference.
    pub fn accuracy(&self) -> Option<&Accuracy> {
        compared(&self.record)
    }

    /// Decibels of a training step's output.
    pub fn output_sqnr_db(&self) -> Option<f64> {
        self.sqnr_db(|name| name == "output")
    }

    /// Decibels of the input's gradient.
    pub fn grad_input_sqnr_db(&self) -> Option<f64> {
        self.sqnr_db(|name| name == "grad_input")
    }

    /// Decibels of the parameters' gradients, the lowest of them.
    pub fn grad_weight_sqnr_db(&self) -> Option<f64> {
        self.sqnr_db(|name| !["output", "grad_input"].contains(&name))
    }

    /// The lowest of the tensors of a training step with such names.
    fn sqnr_db(&self, is_meant: impl Fn(&str) -> bool) -> Option<f64> {
        let tensors = self.accuracy()?.tensors.iter().filter(|tensor| is_meant(&tensor.name));
        tensors.map(|tensor| tensor.sqnr_db.0).reduce(f64::min)
    }

    /// The gate that came nearest to failing, a NaN before all; none without gates.
    pub fn worst_gate(&self) -> Option<&Gate> {
        let gates = &self.record.accuracy.as_ref()?.gates;
        // In the total order a NaN without a sign is above infinity.
        gates.iter().max_by(|a, b| a.worst.0.abs().total_cmp(&b.worst.0.abs()))
    }

    /// The nanoseconds of a step for who calls it: of the device, or of the host where that takes longer to queue the work.
    pub fn called_ns(&self) -> Option<f64> {
        let queue_ns = self.record.measures.clocks.map_or(0.0, |it| it.queue_ns);
        Some(self.time.as_ref().ok()?.median_ns.max(queue_ns))
    }

    pub fn steps_per_s(&self) -> Option<f64> {
        self.time.as_ref().ok().map(|time| 1e9 / time.median_ns)
    }

    /// Floating-point operations of a step, as [`plan::cost::flops`] counts them, or as a kernel or a
    /// package's model says.
    pub fn flops(&self) -> Option<u64> {
        match (&self.record.kernel, &self.record.model) {
            (Some(kernel), _) => kernel.flops,
            (None, Some(model)) => Some(model.flops),
            (None, None) => plan::cost::flops(&self.record.case),
        }
    }

    /// Bytes that a step of an operator, a probe or a kernel moves, as [`plan::cost::moved_bytes`]
    /// counts them, or as the kernel says.
    pub fn moved_bytes(&self) -> Option<u64> {
        match &self.record.kernel {
            Some(kernel) => kernel.bytes,
            None => plan::cost::moved_bytes(&self.record.case),
        }
    }

    /// None of an emulated case, whose rate is not its recipe's.
    pub fn gflop_per_s(&self) -> Option<f64> {
        let flops = self.flops().filter(|_| !self.is_emulated())? as f64;
        self.time.as_ref().ok().map(|time| flops / time.median_ns)
    }

    pub fn gb_per_s(&self) -> Option<f64> {
        let bytes = self.moved_bytes()? as f64;
        self.time.as_ref().ok().map(|time| bytes / time.median_ns)
    }

    /// Problem size of a kernel: the whole one where it ran, else the part that its `bench.yaml`
    /// gives.
    pub fn problem_size(&self) -> Option<&BTreeMap<String, Value>> {
        let whole = self.record.kernel.as_ref().map(|facts| &facts.problem_size);
        whole.or_else(|| Some(&self.record.case.work.kernel()?.problem_size))
    }

    /// Why there is no number, in the outcome's words or in those of a missing time.
    pub fn reason(&self) -> Option<String> {
        match (&self.record.outcome, &self.time) {
            (Outcome::Measured, Err(no_time)) => Some(no_time.to_string()),
            (outcome, _) => outcome.reason().map(str::to_owned),
        }
    }
}

pub(crate) fn compared(record: &Record) -> Option<&Accuracy> {
    let has_reference = record.kernel.as_ref().is_none_or(|facts| facts.has_reference);
    record.accuracy.as_ref().filter(|_| has_reference)
}

/// The time of a result and its data, where they are kept; or why it is not the record's own.
pub type OwnResult = Result<(Time, Option<Box<CriterionResult>>), NoTime>;

/// The time of a result, if it is of the very measurement that the record tells of.
pub fn own_result(record: &Record, result: Box<CriterionResult>) -> OwnResult {
    let recorded = recorded_sample(record)?;
    let pair = |sample: LastSample| (sample.iters, sample.ns);
    let found = result.last_sample();
    if found != recorded {
        Err(NoTime::Stale { recorded: pair(recorded), found: pair(found) })
    } else if result.is_of_its_samples() {
        Ok((result.time(), Some(result)))
    } else {
        Err(NoTime::Mixed {
            sampled_ns: result.sample_median_ns(),
            estimated_ns: result.estimates.median.point_estimate,
        })
    }
}

/// The last sample of a measured case.
fn recorded_sample(record: &Record) -> Result<LastSample, NoTime> {
    if record.outcome != Outcome::Measured {
        return Err(NoTime::NotMeasured);
    }
    record.last_sample.ok_or(NoTime::Unverifiable)
}
