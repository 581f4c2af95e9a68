//! The measured limits of the machine that a case ran on.

use plan::{CacheMode, Device, Dtype};
use serde::Serialize;

use crate::model::{Row, fingerprint};
use crate::render::units;
use crate::views::calibration::{Caches, Level, Roofline, RooflineSet};

/// The calibrations of every machine and device that a report has.
#[derive(Debug)]
pub struct Machines(Vec<RooflineSet>);

/// The calibration that limits come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalibrationUsed {
    /// Processor, CPUs and memory; for a GPU also its name.
    pub machine: String,
    /// Intra-op threads that it ran on.
    pub threads: u32,
}

/// The limits of the machine that apply to one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    pub used: CalibrationUsed,
    /// The level whose bandwidth it is.
    pub level: Option<String>,
    pub level_is_certain: bool,
    pub bandwidth_gbps: Option<f64>,
    pub peak_gflops: Option<f64>,
    /// Nanoseconds of a call of an operation.
    pub call_ns: Option<f64>,
    pub cautions: Vec<String>,
}

/// How to get a calibration.
const REMEDY: &str = "measure its limits with `cargo bench --bench calibration`";

impl Machines {
    /// The calibrations among the rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        Self(RooflineSet::by_machine(rows))
    }

    /// The limits that apply to a case with this working set, or why they are not known.
    pub(super) fn over(&self, row: &Row, working_set: Option<u64>) -> Result<Ceiling, String> {
        let (name, device) = (fingerprint(&row.record), row.record.case.device);
        let machine = self.0.iter().find(|it| it.is_of(row));
        if let Some(ceiling) = machine.and_then(|machine| machine.ceiling(row, working_set)) {
            return Ok(ceiling);
        }
        let others: Vec<String> =
            self.0.iter().map(|it| format!("{} of {}", it.device, it.machine)).collect();
        Err(match others.is_empty() {
            true => format!("no calibration is recorded: {REMEDY}"),
            false => format!(
                "no calibration of {device} of this machine is recorded ({name}), only of {}: {REMEDY}",
                others.join("; ")
            ),
        })
    }
}

impl RooflineSet {
    /// The limits on the case's threads, or else on the most threads that were calibrated; `None` if neither a product
    /// nor a bandwidth was measured.
    fn ceiling(&self, row: &Row, working_set: Option<u64>) -> Option<Ceiling> {
        let own = row.record.environment.torch.threads;
        let threads = *self.threads.get(&own).or_else(|| self.threads.last())?;
        let there = self.level(row, working_set, own);
        let best = |level| Some((level, self.memory.best(level, threads)?));
        let bandwidth = best(there).or_else(|| best(Level::Memory));
        let dtype = row.record.case.dtype;
        let peak = self.roofs.iter().find(|it| (it.dtype, it.threads) == (dtype, threads));
        let call_ns = self.calls.get(&threads).copied();
        let mut cautions = Vec::new();
        if threads != own && self.device == Device::Cpu {
            let [of, on] = [threads, own].map(|it| units::count(it as usize, "thread"));
            cautions.push(format!("the limits are of {of}, the case ran on {on}: {REMEDY}"));
        }
        cautions.extend(self.absent(bandwidth.is_some(), peak.is_some(), call_ns.is_some(), dtype));
        let refuted = peak.and_then(Roofline::refuted);
        let peak = peak.filter(|_| refuted.is_none());
        cautions.extend(refuted);
        Some(Ceiling {
            used: CalibrationUsed { machine: self.machine.clone(), threads },
            level: bandwidth.and_then(|(level, _)| level.name()),
            level_is_certain: bandwidth.is_some_and(|(level, _)| level == there),
            bandwidth_gbps: bandwidth.map(|(_, best)| best.value),
            peak_gflops: peak.map(|roof| roof.peak_gflops.value),
            call_ns,
            cautions,
        })
    }

    /// The level in which a working set lies. The working set of a cold case lies in memory. On devices other than the
    /// CPU the level is unclear, because their caches are not recorded.
    fn level(&self, row: &Row, working_set: Option<u64>, threads: u32) -> Level {
        let host = &row.record.environment.host;
        match (self.device, row.record.case.settings.cache, working_set) {
            (Device::Cpu, CacheMode::Cold, _) => Level::Memory,
            (Device::Cpu, _, Some(bytes)) => {
                Caches::new(&host.caches, host.cpus).level(bytes, threads)
            }
            _ => Level::Unclear,
        }
    }

    /// Says which figures the calibration lacks. On a device the cost of a call is part of its idle time.
    fn absent(&self, bandwidth: bool, peak: bool, call: bool, dtype: Dtype) -> Option<String> {
        let peak_name = format!("the peak in {}", dtype.plain());
        let figures = [
            ("the bandwidth", bandwidth),
            (peak_name.as_str(), peak),
            ("the cost of a call", call || self.device != Device::Cpu),
        ];
        let absent: Vec<&str> =
            figures.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name).collect();
        let absent = absent.join(" and ");
        (!absent.is_empty()).then(|| format!("the calibration lacks {absent}: {REMEDY}"))
    }
}
