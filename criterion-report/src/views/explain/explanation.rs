//! The explanation of one case.

use plan::GpuCounters;
use serde::Serialize;

use super::difference::Difference;
use super::limit::StepLimit;
use super::machine::CalibrationUsed;
use super::operation::OperationTime;
use super::part::Part;
use super::stated::Case;
use super::statement::Statement;
use crate::model::Time;
use crate::render::object::document;

document! {
    /// Why a case takes its time.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Explanation = of(
        case: &Case<'_>,
        time: &Time,
        statements: Vec<Statement>,
        profile: Option<ProfileUsed>,
        profile_command: Option<String>,
        difference: Result<Difference, Option<String>>,
        cautions: Vec<String>
    ) [
        facts = &case.facts;
        limit = facts.step_limit();
        no_limit = limit.is_none().then(|| facts.no_limit());
        (difference, no_difference) = match difference {
            Ok(difference) => (Some(difference), None),
            Err(why) => (None, why),
        };
    ] {
        /// Criterion's id.
        pub full_id: String = facts.row.full_id().to_owned(),
        /// Criterion's median of a step, in nanoseconds.
        pub time_ns: f64 = time.median_ns,
        /// Lower bound of it; null in quick mode.
        pub time_low_ns: Option<f64> = time.interval.map(|it| it.low),
        /// Upper bound of it; null in quick mode.
        pub time_high_ns: Option<f64> = time.interval.map(|it| it.high),
        /// The most important statement first, then those that are notable. Empty exactly for an emulated case.
        pub statements: Vec<Statement> = statements,
        /// Whether its products run dequantized on this device: then its time does not show the recipe's speed.
        pub emulated: bool = facts.row.is_emulated(),
        /// Intra-op threads.
        pub threads: u32 = facts.threads(),
        /// Bytes of weights, inputs, outputs and intermediate tensors that are live at once.
        pub working_set_bytes: Option<u64> = facts.working_set,
        /// Bytes that a step has to move: weights as they are stored, inputs, outputs.
        pub bytes: Option<u64> = facts.bytes,
        /// Floating-point operations of a step.
        pub flops: Option<u64> = facts.flops,
        /// The least time that these take on this machine.
        pub limit: Option<StepLimit> = limit,
        /// Why `limit` is null, and how to get one.
        pub no_limit: Option<String> = no_limit,
        /// The calibration behind the limits.
        pub calibration: Option<CalibrationUsed> = facts.ceiling().map(|it| it.used.clone()),
        /// The parts of the time, which add up to it; the largest first.
        pub parts: Vec<Part> = case.split.parts(),
        /// The operations of the profile and the time outside of them, which add up to the time; the longest first.
        pub operations: Vec<OperationTime> = case.split.operations(),
        /// Page faults of a step; null where they were not counted.
        pub page_faults: Option<f64> = facts.counters.map(|it| it.minor_faults),
        /// CPU time over wall time and threads: 1 if all threads work all the time. Null on other devices.
        pub utilization: Option<f64> = facts.utilization,
        /// The GPU's counters over a step of the profile; null on a CPU, and if nothing was counted.
        pub gpu: Option<GpuCounters> = facts.profile.and_then(|it| it.gpu),
        /// The profile behind `operations`.
        pub profile: Option<ProfileUsed> = profile,
        /// The command that profiles the case, if it has no profile.
        pub profile_command: Option<String> = profile_command,
        /// The difference from the baseline of its group; null for that baseline.
        pub difference: Option<Difference> = difference,
        /// Why a candidate has no difference.
        pub no_difference: Option<String> = no_difference,
        /// Cautions for reading the figures.
        pub cautions: Vec<String> = cautions,
    }
}

/// The profile that the operations come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileUsed {
    /// Number of steps whose mean it is.
    pub steps: u64,
    /// Nanoseconds of a profiled step.
    pub step_ns: f64,
    /// The profiled step over the case's time.
    pub stretch: f64,
}

impl Explanation {
    /// The statement that explains the most.
    pub fn primary(&self) -> Option<&Statement> {
        self.statements.first()
    }
}
