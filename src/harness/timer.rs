//! How a case's steps are timed: the clock of its device, what hides the host's launches from it,
//! and the flush of a cold case.

use std::time::Duration;

use plan::{CacheMode, Case, Clocks, Device};

use super::clock::{FlushFn, HostClock, time};
use super::cuda_device::CudaDevice;
use super::device_clock::{BothClocks, EventClock};
use super::flush::Flush;
use super::launch::{self, LaunchHiding, Order};
use crate::device;
use crate::native::cuda;
use crate::refusal::Refusal;
use crate::workload::Workload;

/// The CUDA device that cases run on.
const CUDA: usize = 0;

/// The clock of a device and what empties its cache. The cases of a group share one: they have
/// device and cache mode in common.
#[derive(Debug)]
pub struct Timer {
    device: Device,
    flush: Option<Flush>,
}

/// What is timed, with what is known about how it is queued.
pub struct Subject {
    /// The work.
    pub workload: Box<dyn Workload>,
    /// On a device that works beside the host.
    pace: Option<Pace>,
}

/// How a case is queued on a device, and what both clocks have said of it.
struct Pace {
    open: Order,
    hidden: Order,
    clocks: BothClocks,
}

impl Timer {
    /// The timer of `case` and its siblings.
    ///
    /// # Errors
    /// When the device has no clock, or no room for the buffer that flushes its cache.
    pub fn of(case: &Case) -> Result<Self, Refusal> {
        match case.device {
            Device::Cpu | Device::Cuda => {}
            Device::Xpu | Device::Mps => {
                let reason = format!("no clock for the device `{}`", case.device);
                return Err(Refusal::Unsupported(reason));
            }
        }
        let flush = match case.settings.cache {
            CacheMode::Hot => None,
            CacheMode::Cold => Some(Flush::new(device::resolve(case.device)?)?),
        };
        Ok(Self { device: case.device, flush })
    }

    /// Times `iters` steps.
    ///
    /// # Errors
    /// Those of a step.
    pub fn time(&mut self, subject: &mut Subject, iters: u64) -> Result<Duration, Refusal> {
        let Subject { workload, pace } = subject;
        let mut step = || Ok(workload.step()?);
        let mut flush = self.flush.as_mut().map(|flush| || flush.run());
        let flush = flush.as_mut().map(|flush| flush as &mut FlushFn<'_>);
        match (self.device, pace) {
            (Device::Cuda, Some(pace)) => {
                let mut device = CudaDevice::new(CUDA, &mut step, flush);
                let sample = launch::sample(&mut device, &mut HostClock, &pace.hidden, iters)?;
                pace.clocks.add(&sample);
                Ok(sample.device)
            }
            // How the case is queued is found once it is warm.
            (Device::Cuda, None) => time(&mut EventClock::new(CUDA), step, flush, iters),
            _ => time(&mut HostClock, step, flush, iters),
        }
    }

    /// On a device that works beside the host: finds how fast the host queues a step, so that
    /// samples can hide it. The case has to be warm.
    ///
    /// # Errors
    /// Those of a step.
    pub fn pace(&mut self, subject: &mut Subject) -> Result<(), Refusal> {
        if self.device != Device::Cuda {
            return Ok(());
        }
        let workload = &subject.workload;
        let mut step = || Ok(workload.step()?);
        let mut device = CudaDevice::new(CUDA, &mut step, None);
        let queue = launch::queueing(&mut device, &mut HostClock)?;
        let open = Order::open(self.flush.is_some(), queue);
        let peak_khz = cuda::device(CUDA)?.clock_khz;
        let hiding = LaunchHiding::new(queue, peak_khz).map_err(Refusal::Failed)?;
        let hidden = open.hidden(hiding);
        subject.pace = Some(Pace { open, hidden, clocks: BothClocks::default() });
        Ok(())
    }

    /// A step by both clocks, on a device that works beside the host; within, why there is none,
    /// and what a reader of the case's time should know.
    ///
    /// # Errors
    /// Those of a step.
    pub fn clocks(&mut self, subject: &mut Subject) -> Result<BothSides, Refusal> {
        const SAMPLES: u64 = 10;
        let Subject { workload, pace } = subject;
        let Some(pace) = pace else {
            let reason = "the host's clock is the only one".to_owned();
            return Ok(BothSides { clocks: Err(reason), note: None });
        };
        let mut step = || Ok(workload.step()?);
        let mut flush = self.flush.as_mut().map(|flush| || flush.run());
        let flush = flush.as_mut().map(|flush| flush as &mut FlushFn<'_>);
        let mut device = CudaDevice::new(CUDA, &mut step, flush);
        for _ in 0..SAMPLES {
            let steps = pace.open.steps_at_most();
            let sample = launch::sample(&mut device, &mut HostClock, &pace.open, steps)?;
            pace.clocks.add(&sample);
        }
        Ok(BothSides { clocks: pace.clocks.clocks(), note: pace.clocks.note() })
    }

    /// Whether a step finds the cache as the step before it left it.
    pub fn is_hot(&self) -> bool {
        self.flush.is_none()
    }
}

/// What both clocks say.
pub struct BothSides {
    /// A step by each, or why not.
    pub clocks: Result<Clocks, String>,
    /// What a reader of the case's time should know.
    pub note: Option<String>,
}

impl Subject {
    /// `workload`, of which nothing is known yet.
    pub fn new(workload: Box<dyn Workload>) -> Self {
        Self { workload, pace: None }
    }
}
