//! How a case's steps are timed: the clock of its device, what hides the host's launches from it,
//! and the flush of a cold case.

use std::time::Duration;

use plan::{CacheMode, Case, Clocks, Device, Regime, Threads};
use tch::Tensor;

use super::clock::{FlushFn, HostClock, Stopwatch, Timing, WaitingClock, time};
use super::cuda_device::{self, CudaDevice};
use super::flush::{EmptyL2, Flush};
use super::launch::{Order, sample};
use super::pace::Pace;
use super::running;
use super::throttle::{self, Throttling};
use crate::device;
use crate::native::gate::Gate;
use crate::refusal::Refusal;
use crate::threads;
use crate::workload::Workload;

/// The CUDA device that cases run on.
const CUDA: usize = 0;

/// The clock of a device and what empties its cache. The cases of a group share one: they have
/// device and cache mode in common.
#[derive(Debug)]
pub struct Timer {
    device: Device,
    flush: Option<Flush>,
    /// It holds a CUDA device until work is queued; or why nothing does.
    gate: Result<Gate, String>,
    /// It empties a GPU's L2 before a hot case has its turn; absent until then. Or why nothing does.
    l2: Option<Result<EmptyL2, String>>,
    regime: Regime,
}

/// Seconds of a batch that heats a device up.
const HEATING_S: f64 = 0.05;

pub struct Subject {
    pub workload: Box<dyn Workload>,
    threads: Threads,
    /// On a device that works beside the host, once the case is warm.
    pace: Option<Pace>,
}

impl Timer {
    /// The timer of `case` and its siblings.
    pub fn for_case(case: &Case) -> Result<Self, Refusal> {
        let flush = match case.settings.cache {
            CacheMode::Hot => None,
            CacheMode::Cold => Some(Flush::new(device::resolve(case.device)?)?),
        };
        let gate = match case.device {
            Device::Cuda => Gate::new(CUDA).map_err(|error| error.to_string()),
            device => Err(format!("{device} has no queue that the host could hold")),
        };
        let regime = case.settings.sampling.regime();
        Ok(Self { device: case.device, flush, gate, l2: None, regime })
    }

    /// Times `iters` steps.
    ///
    /// # Errors
    /// The errors of a step, and `Timeout` instead of a batch for which the case has no time left.
    pub fn time(&mut self, subject: &mut Subject, iters: u64) -> Result<Timing, Refusal> {
        running::check()?;
        subject.settle();
        let Subject { workload, pace, .. } = subject;
        if self.device == Device::Cuda {
            let order = Order::open(!self.is_hot(), Duration::ZERO);
            return self.on_cuda(&**workload, |device| match pace {
                Some(pace) => pace.time(device, iters),
                // How the case is queued is found once it is warm.
                None => Ok(Timing::waited_for(sample(device, &order, iters)?.device)),
            });
        }
        let step = || workload.step();
        let mut flush = self.flush.as_mut().map(|flush| || flush.run());
        let flush = flush.as_mut().map(|flush| flush as &mut FlushFn<'_>);
        let taken = match self.device {
            Device::Cpu => time(&mut HostClock, step, flush, iters)?,
            device => time(&mut WaitingClock(|| device::synchronize(device)), step, flush, iters)?,
        };
        Ok(Timing::waited_for(taken))
    }

    /// Hands the CUDA device to `take`, with the steps of `workload` to run.
    fn on_cuda<T>(
        &mut self,
        workload: &dyn Workload,
        take: impl FnOnce(&mut CudaDevice<'_, Tensor>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut step = || workload.step();
        let mut flush = self.flush.as_mut().map(|flush| || flush.run());
        let flush = flush.as_mut().map(|flush| flush as &mut FlushFn<'_>);
        let gate = self.gate.as_mut().map_err(|reason| reason.as_str());
        take(&mut CudaDevice::new(CUDA, &mut step, flush, gate))
    }

    /// A hot case has its turn on a GPU: what others have left in the L2 is taken out of it, as far as the GPU can.
    pub fn empty_l2(&mut self) -> Result<(), Refusal> {
        if self.device != Device::Cuda || !self.is_hot() {
            return Ok(());
        }
        let l2 = self.l2.get_or_insert_with(|| EmptyL2::new(CUDA).map_err(|it| it.to_string()));
        l2.as_mut().map_or(Ok(()), EmptyL2::run)
    }

    /// A note on two cases that find each other's data in the cache.
    pub fn note(&self) -> Option<String> {
        let why = self.l2.as_ref()?.as_ref().err()?;
        Some(format!(
            "the sides of a pair find each other's data in the L2, which cannot be emptied: {why}"
        ))
    }

    /// Times one step as its caller sees it: from the call until the result is there, by the host's
    /// clock.
    pub fn call(&mut self, subject: &mut Subject) -> Result<Duration, Refusal> {
        running::check()?;
        subject.settle();
        let workload = &subject.workload;
        let device = self.device;
        let mut flush = self.flush.as_mut().map(|flush| || flush.run());
        let mut flush = || {
            flush.as_mut().map_or(Ok(()), |flush| flush())?;
            device::synchronize(device)
        };
        let step = || {
            let output = workload.step()?;
            device::synchronize(device)?;
            Ok(output)
        };
        time(&mut HostClock, step, Some(&mut flush), 1)
    }

    /// On a device that works beside the host: finds how fast the host queues a step, so that
    /// samples can hide it. The case has to be warm.
    pub fn pace(&mut self, subject: &mut Subject) -> Result<(), Refusal> {
        if self.device == Device::Cuda {
            self.empty_l2()?;
            let peak_khz = cuda_device::peak_khz(CUDA)?;
            let (cold, regime) = (!self.is_hot(), self.regime);
            let pace = self
                .on_cuda(&*subject.workload, |device| Pace::find(device, cold, peak_khz, regime))?;
            subject.pace = Some(pace);
        }
        Ok(())
    }

    /// Has a CUDA device work on the subjects in turn until its clock, in steps of the last one, has settled; where the
    /// sustained regime is asked for.
    pub fn heat_up(&mut self, subjects: &mut [&mut Subject]) -> Result<(), Refusal> {
        if (self.device, self.regime) != (Device::Cuda, Regime::Sustained) {
            return Ok(());
        }
        let (watch, mut iters) = (Stopwatch::start(), 1);
        let mut batch = || {
            let (start, mut clock_mhz) = (watch.seconds(), Vec::new());
            for subject in &mut *subjects {
                self.time(subject, iters)?;
                clock_mhz = subject.take_clock_mhz();
            }
            if watch.seconds() - start < HEATING_S {
                iters *= 2;
            }
            Ok(clock_mhz)
        };
        throttle::heat_up(&mut batch, &|| watch.seconds())
    }

    /// A step by both clocks; `None` on a device that the host waits for anyway.
    pub fn clocks(&mut self, subject: &mut Subject) -> Result<Option<Clocks>, Refusal> {
        let Subject { workload, pace: Some(pace), .. } = subject else { return Ok(None) };
        self.on_cuda(&**workload, |device| pace.clocks(device)).map(Some)
    }

    /// Whether a step finds the cache as the step before it left it.
    pub fn is_hot(&self) -> bool {
        self.flush.is_none()
    }
}

impl Subject {
    /// `workload` on so many threads; nothing else is known of it yet.
    pub fn new(workload: Box<dyn Workload>, threads: Threads) -> Self {
        Self { workload, threads, pace: None }
    }

    /// Puts its threads in force: a sibling that ran in between may have others.
    pub fn settle(&self) {
        threads::settle(self.threads);
    }

    /// The clock of a GPU's multiprocessors in each sample since this was asked last, in MHz, where it tells.
    pub fn take_clock_mhz(&mut self) -> Vec<f64> {
        self.pace.as_mut().map(Pace::take_clock_mhz).unwrap_or_default()
    }

    /// The clock of its samples, on a device that works beside the host.
    pub fn throttling(&self) -> Option<&Throttling> {
        self.pace.as_ref().map(|pace| &pace.throttling)
    }

    /// Notes for readers on how the times were taken.
    pub fn notes(&self) -> Vec<String> {
        self.pace.as_ref().map(Pace::notes).unwrap_or_default()
    }
}
