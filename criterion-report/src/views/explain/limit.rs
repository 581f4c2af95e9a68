//! The least time that a step can take on this machine, from the calibration.

use serde::Serialize;

use super::machine::Ceiling;
use crate::render::object::document;
use crate::render::units;
use crate::views::calibration::ABOVE;

/// The resource that a limit belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Bytes over bandwidth.
    Memory,
    /// Floating-point operations over the peak.
    Compute,
}

document! {
    /// The limit of a whole step.
    #[derive(Debug, Clone, PartialEq)]
    pub struct StepLimit = of(
        ceiling: &Ceiling,
        bytes: Option<u64>,
        flops: Option<u64>,
        limit: (Bound, f64),
        time_ns: f64
    ) [(bound, ns) = limit;] {
        /// The larger of both times, in nanoseconds.
        pub ns: f64 = ns,
        /// Which of the two it is.
        pub bound: Bound = bound,
        /// The limit over the case's time: 1 at the limit, and above it by as little as measurements vary.
        pub share: f64 = ns / time_ns,
        /// The time of its bytes; null without a bandwidth.
        pub bytes_ns: Option<f64> = ceiling.bytes_ns(bytes),
        /// The time of its floating-point operations; null without a peak in its dtype.
        pub flops_ns: Option<f64> = ceiling.flops_ns(flops),
        /// The level whose bandwidth it is: `L2`, `memory`.
        pub level: Option<String> = ceiling.level.clone(),
        /// Whether it is certain that the working set lies there.
        pub level_is_certain: bool = ceiling.level_is_certain,
        /// GB/s of that level.
        pub bandwidth_gbps: Option<f64> = ceiling.bandwidth_gbps,
        /// GFLOP/s of the best product in the case's dtype.
        pub peak_gflops: Option<f64> = ceiling.peak_gflops,
    }
}

impl Ceiling {
    pub fn bytes_ns(&self, bytes: Option<u64>) -> Option<f64> {
        Some(bytes? as f64 / self.bandwidth_gbps?)
    }

    pub fn flops_ns(&self, flops: Option<u64>) -> Option<f64> {
        Some(flops? as f64 / self.peak_gflops?)
    }

    /// The larger of both times; `None` if neither is known, or if there is no work.
    pub fn limit(&self, bytes: Option<u64>, flops: Option<u64>) -> Option<(Bound, f64)> {
        let memory = self.bytes_ns(bytes).map(|ns| (Bound::Memory, ns));
        let compute = self.flops_ns(flops).map(|ns| (Bound::Compute, ns));
        let limits = memory.into_iter().chain(compute).filter(|(_, ns)| *ns > 0.0);
        limits.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Without the figures that a step of `time_ns` refutes by being faster, and with a caution on each.
    pub fn above(mut self, bytes: Option<u64>, flops: Option<u64>, time_ns: f64) -> Self {
        let is_refuted = |ns: f64| ns > ABOVE * time_ns;
        let caution = |what: String, limit: f64, unit: &str, ns: f64| {
            let [own, limit] = [limit * ns / time_ns, limit].map(|it| units::significant(it, 3));
            format!(
                "it reaches {own} {unit} of {what}, which is measured to have {limit}: it does not have this limit"
            )
        };
        if let Some((ns, limit)) = self.flops_ns(flops).zip(self.peak_gflops)
            && is_refuted(ns)
        {
            self.cautions.push(caution("products in its dtype".to_owned(), limit, "GFLOP/s", ns));
            self.peak_gflops = None;
        }
        if let Some((ns, limit)) = self.bytes_ns(bytes).zip(self.bandwidth_gbps)
            && is_refuted(ns)
        {
            let level = self.level.clone().unwrap_or_else(|| "memory".to_owned());
            self.cautions.push(caution(level, limit, "GB/s", ns));
            (self.bandwidth_gbps, self.level) = (None, None);
        }
        self
    }

    /// The limit of a step that takes `time_ns`.
    pub fn of_step(
        &self,
        bytes: Option<u64>,
        flops: Option<u64>,
        time_ns: f64,
    ) -> Option<StepLimit> {
        let limit = self.limit(bytes, flops)?;
        Some(StepLimit::of(self, bytes, flops, limit, time_ns))
    }
}
