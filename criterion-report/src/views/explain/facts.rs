//! The facts about a case before it is compared with others.

use plan::{Counters, Device, Profile};

use super::limit::{Bound, StepLimit};
use super::machine::{Ceiling, Machines};
use crate::model::Row;
use crate::views::calibration::compulsory_bytes;

/// A case with a time, and its figures.
pub struct CaseFacts<'a> {
    pub row: &'a Row,
    pub time_ns: f64,
    pub profile: Option<&'a Profile>,
    pub working_set: Option<u64>,
    pub bytes: Option<u64>,
    pub flops: Option<u64>,
    pub ceiling: Result<Ceiling, String>,
    pub counters: Option<Counters>,
    pub utilization: Option<f64>,
}

/// The profile of the last run that has one.
pub(super) fn profile(row: &Row) -> Option<&Profile> {
    row.in_runs().filter_map(|run| run.record.profile.as_ref()).last()
}

impl<'a> CaseFacts<'a> {
    /// The facts of a row; `None` if it has no time.
    pub fn from_row(row: &'a Row, machines: &Machines) -> Option<Self> {
        let time_ns = row.time.as_ref().ok()?.median_ns;
        let record = &row.record;
        let bytes = compulsory_bytes(row).filter(|&bytes| bytes > 0);
        let live = record.measures.memory.map(|it| it.peak_bytes()).filter(|&bytes| bytes > 0);
        let working_set = live.or(bytes);
        // The host's threads and page faults do not matter for the time of another device.
        let counters = record.measures.counters.filter(|_| record.case.device == Device::Cpu);
        let threads = f64::from(record.environment.torch.threads.max(1));
        let utilization = counters
            .filter(|it| it.wall_ns > 0.0)
            .map(|it| (it.user_ns + it.system_ns) / (it.wall_ns * threads));
        let flops = row.flops().filter(|&flops| flops > 0);
        Some(Self {
            row,
            time_ns,
            profile: profile(row),
            working_set,
            bytes,
            flops,
            ceiling: machines.over(row, working_set).map(|it| it.above(bytes, flops, time_ns)),
            counters,
            utilization,
        })
    }

    pub fn threads(&self) -> u32 {
        self.row.record.environment.torch.threads
    }

    pub fn ceiling(&self) -> Option<&Ceiling> {
        self.ceiling.as_ref().ok()
    }

    /// The limit of the whole step.
    pub fn limit(&self) -> Option<(Bound, f64)> {
        let limit = self.ceiling()?.limit(self.bytes, self.flops);
        limit.filter(|_| !self.row.is_emulated())
    }

    /// The limit of the whole step over its time.
    pub fn step_limit(&self) -> Option<StepLimit> {
        let limit = self.ceiling()?.of_step(self.bytes, self.flops, self.time_ns);
        limit.filter(|_| !self.row.is_emulated())
    }

    /// As a share of the wall time, because threads handle their page faults in parallel.
    pub fn page_fault_share(&self) -> Option<f64> {
        let counters = self.counters.filter(|it| it.wall_ns > 0.0)?;
        let busy = (counters.user_ns + counters.system_ns) / counters.wall_ns;
        counters.fault_share.map(|share| share * busy.clamp(0.0, 1.0))
    }

    pub fn no_limit(&self) -> String {
        match &self.ceiling {
            _ if self.row.is_emulated() => "emulated: its time is not the recipe's".to_owned(),
            Err(why) => why.clone(),
            Ok(it) if !it.cautions.is_empty() => it.cautions.join("; "),
            Ok(_) => "neither its bytes nor its floating-point operations are known".to_owned(),
        }
    }
}
