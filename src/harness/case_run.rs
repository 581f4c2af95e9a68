//! One case: prepared, checked, its memory counted, then timed; what is known of it at the end.

use std::time::Duration;

use plan::{Accuracy, Allocator, CacheMode, Case, Device, LastSample, Memory, StepMemory};

use super::clock::time;
use super::device_clock::CaseClock;
use super::flush::Flush;
use crate::device;
use crate::native::allocator::{self, Retention};
use crate::native::memory;
use crate::workload::{Prepare, Refusal, Workload};

/// A case that is ready to be timed.
pub struct CaseRun {
    workload: Box<dyn Workload>,
    clock: CaseClock,
    flush: Option<Flush>,
    /// What was found before the clock started.
    pub findings: Findings,
    /// The last sample that was taken.
    pub last_sample: Option<LastSample>,
}

/// What is known of a case besides its time.
#[derive(Debug, Default)]
pub struct Findings {
    /// Output against reference.
    pub accuracy: Option<Accuracy>,
    /// Memory, its parts apart.
    pub memory: Option<Memory>,
    /// What did the work.
    pub kernels: Vec<String>,
}

impl CaseRun {
    /// Builds the case, checks its output, and counts the memory of one step, in that order: a
    /// case that computes garbage is never timed, and no probe touches a timed sample.
    ///
    /// # Errors
    /// Whatever keeps the case from being measured.
    pub fn prepare(case: &Case, prepare: Prepare) -> Result<Self, Refusal> {
        tch::set_num_threads(i32::try_from(case.settings.threads).unwrap_or(i32::MAX));
        let workload = prepare(case)?;
        let accuracy = Some(workload.check()?);
        let kernels = workload.kernels();
        let memory = Some(count_memory(case.device, workload.as_ref())?);
        let flush = match case.settings.cache {
            CacheMode::Hot => None,
            CacheMode::Cold => Some(Flush::new(device::resolve(case.device)?)?),
        };
        Ok(Self {
            workload,
            clock: CaseClock::of(case.device)?,
            flush,
            findings: Findings { accuracy, memory, kernels },
            last_sample: None,
        })
    }

    /// Times `iters` steps and remembers the pair.
    ///
    /// # Errors
    /// Those of a step.
    pub fn sample(&mut self, iters: u64) -> Result<Duration, Refusal> {
        let (workload, flush) = (self.workload.as_ref(), self.flush.as_mut());
        let taken = match &mut self.clock {
            CaseClock::Host(clock) => time(clock, workload, flush, iters),
            CaseClock::Events(clock) => time(clock, workload, flush, iters),
        }?;
        let ns = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        self.last_sample = Some(LastSample { iters, ns });
        Ok(taken)
    }
}

/// The memory of one step, on its device.
fn count_memory(device: Device, workload: &dyn Workload) -> Result<Memory, Refusal> {
    let (output, report) = memory::track(|| workload.step())?;
    drop(output?);
    let counted = match device {
        Device::Cuda => report.cuda,
        _ => report.cpu,
    };
    Ok(Memory {
        weights_bytes: workload.weights_bytes(),
        inputs_bytes: workload.inputs_bytes(),
        outputs_bytes: workload.outputs_bytes(),
        step: StepMemory {
            peak_bytes: counted.peak_bytes,
            total_bytes: counted.total_bytes,
            allocations: counted.allocations,
        },
    })
}

/// Puts the allocator into the state that the case asks for, as far as that goes: retention
/// cannot be undone within a process. What is in force is in the case's record.
pub fn settle_allocator(wanted: Allocator) {
    if wanted == Allocator::Retained
        && allocator::retention() == Retention::System
        && let Err(error) = allocator::retain()
    {
        eprintln!("note: freed memory is not retained: {error}");
    }
}
