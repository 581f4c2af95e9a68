//! One sample of a device that works beside the host, with the host's launches hidden from it.
//!
//! The host hands work to a GPU step by step. If it is slower than the GPU, two events on the
//! device measure the host. So the device is first given a kernel that does
//! nothing for as long as the host needs to queue a whole round of steps, and finds all of them
//! there when it wakes up: the events then hold the device's work only.
//!
//! The order of a round:
//! 1. empty the cache, if the case is cold: queued on the device, before the events;
//! 2. give the device its sleep; where nothing is hidden, wait until it is idle;
//! 3. record the start event;
//! 4. run the steps, which queues their work, and drop each output but the last;
//! 5. record the stop event;
//! 6. wait for the device;
//! 7. drop the last output.
//!
//! The host's clock is read before 2 and around 4, after 5 and after 6. A cold round is one step, so
//! its output is dropped outside the events; a hot sample has as few rounds as the device's queue
//! allows. A step that waits for the device (it reads a result, or its allocation has to grow)
//! waits until the sleep is over, and the sample then counts as late.

use std::time::Duration;

use statistics::median;

use crate::refusal::Refusal;

/// A device that works beside the host, and what is done on it in a sample.
pub trait Device {
    type Moment;
    type Output;

    /// Queues what empties the cache.
    fn flush(&mut self) -> Result<(), Refusal>;
    /// Queues a kernel that does nothing for so many cycles of the device's clock.
    fn sleep(&mut self, cycles: u64) -> Result<(), Refusal>;
    fn mark(&mut self) -> Result<Self::Moment, Refusal>;
    /// Queues the work of one step.
    fn step(&mut self) -> Result<Self::Output, Refusal>;
    /// Waits until the device has nothing left to do.
    fn sync(&mut self) -> Result<(), Refusal>;
    /// The host's clock, since any fixed moment.
    fn host(&mut self) -> Duration;
    /// Device time between two events that have been passed.
    fn between(&self, start: &Self::Moment, stop: &Self::Moment) -> Result<Duration, Refusal>;
}

/// Launches that may lie ahead of the device. CUDA's queue holds about 1024; at that many the host
/// waits for the device, which is asleep. A few are left for the sleep and the events.
const LAUNCHES_AHEAD: f64 = 1000.0;
/// No host launches a kernel in less, so a step has at most as many launches as this fits into the
/// time that queueing it takes.
const CHEAPEST_LAUNCH_NS: f64 = 1000.0;
/// Longest sleep: a device that idles longer lowers its clocks.
const LONGEST_SLEEP_NS: f64 = 20e6;
/// Sleep per queueing time. The host is not always as fast as in the pilot.
const MARGIN: f64 = 1.5;
/// Launching the sleep and recording two events, beside the steps.
const FIXED_NS: f64 = 50e3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    pub cycles: u64,
    /// Their time at the device's highest clock: it never sleeps less.
    pub at_least: Duration,
}

/// The highest clock of a device, in kHz: CUDA's rated one, or NVML's maximum where that is higher. A
/// device that boosts beyond its rated clock would wake up before the time that its cycles stand for.
pub fn peak_khz(rated_khz: u64, most_mhz: Result<f64, String>) -> u64 {
    most_mhz.map_or(rated_khz, |mhz| rated_khz.max((mhz * 1e3).ceil() as u64))
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchHiding {
    queue_ns: f64,
    cycles_per_ns: f64,
}

impl LaunchHiding {
    /// `queue` is the host's time for queueing one step ([`queueing`]), [`peak_khz`] the device's
    /// highest clock: at any lower one the same cycles take longer, which hides no less.
    ///
    /// # Errors
    /// When the peak clock is 0: the driver does not say how long a cycle is.
    pub fn new(queue: Duration, peak_khz: u64) -> Result<Self, String> {
        if peak_khz == 0 {
            return Err("launches are not hidden: the driver does not tell the peak clock of the \
                 device, so a sleep has no known length"
                .to_owned());
        }
        Ok(Self { queue_ns: queue.as_nanos() as f64, cycles_per_ns: peak_khz as f64 / 1e6 })
    }

    pub fn before(&self, steps: u64) -> Sleep {
        let wanted_ns = MARGIN * self.queue_ns * steps as f64 + FIXED_NS;
        let cycles = (wanted_ns.min(LONGEST_SLEEP_NS) * self.cycles_per_ns).ceil();
        let at_least = Duration::from_nanos((cycles / self.cycles_per_ns) as u64);
        Sleep { cycles: cycles as u64, at_least }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    cold: bool,
    most: u64,
    hiding: Option<LaunchHiding>,
}

impl Order {
    /// Samples of a case, `cold` if every step is to start with an empty cache, in which nothing is
    /// hidden: the device takes up work as it is queued. `queue` is the host's time for queueing
    /// one step; a round has no more steps than the device's queue holds, for a host that waits
    /// for the queue would seem slow.
    pub fn open(cold: bool, queue: Duration) -> Self {
        let queue_ns = (queue.as_nanos() as f64).max(CHEAPEST_LAUNCH_NS);
        let by_queue = LAUNCHES_AHEAD / (queue_ns / CHEAPEST_LAUNCH_NS).ceil();
        let by_sleep = (LONGEST_SLEEP_NS - FIXED_NS) / (MARGIN * queue_ns);
        let most = if cold { 1 } else { by_queue.min(by_sleep).max(1.0) as u64 };
        Self { cold, most, hiding: None }
    }

    /// The same with launches hidden.
    pub fn hidden(self, hiding: LaunchHiding) -> Self {
        Self { hiding: Some(hiding), ..self }
    }

    pub fn steps_at_most(&self) -> u64 {
        self.most
    }
}

/// Whether the events of a sample hold the host's launches besides work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launches {
    /// Nothing: the device found all of a round queued.
    Hidden,
    /// Possibly the host's launches: they were to be hidden, but the sleep may have been over before
    /// a round was queued.
    Late,
    /// The host's launches, where it is the slower of the two: none were to be hidden.
    Open,
}

/// A sample, seen by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceSample {
    pub steps: u64,
    /// Between the events.
    pub device: Duration,
    /// From the first call until the device was done. Unless the launches are open, this holds what
    /// was left of the sleep, and says nothing about a step.
    pub host: Duration,
    /// From the first call until the last one had returned.
    pub queue: Duration,
    pub launches: Launches,
}

/// The host's time for queueing one step: the median over several, each queued on an idle device.
/// The case has to be warm: a first call loads kernels and tunes.
pub fn queueing(device: &mut impl Device) -> Result<Duration, Refusal> {
    const STEPS: u64 = 9;
    let single = Order { cold: false, most: 1, hiding: None };
    let mut times = Vec::new();
    for _ in 0..STEPS {
        times.push(sample(device, &single, 1)?.queue.as_nanos() as f64);
    }
    Ok(Duration::from_nanos(median(&times) as u64))
}

pub fn sample(
    device: &mut impl Device,
    order: &Order,
    steps: u64,
) -> Result<DeviceSample, Refusal> {
    let mut sum = DeviceSample {
        steps: 0,
        device: Duration::ZERO,
        host: Duration::ZERO,
        queue: Duration::ZERO,
        launches: if order.hiding.is_some() { Launches::Hidden } else { Launches::Open },
    };
    let mut rounds = steps.div_ceil(order.most);
    while rounds > 0 {
        // Equal rounds, up to one step.
        let round = round(device, order, (steps - sum.steps).div_ceil(rounds))?;
        sum.steps += round.steps;
        sum.device += round.device;
        sum.host += round.host;
        sum.queue += round.queue;
        if round.launches == Launches::Late {
            sum.launches = Launches::Late;
        }
        rounds -= 1;
    }
    Ok(sum)
}

fn round(device: &mut impl Device, order: &Order, steps: u64) -> Result<DeviceSample, Refusal> {
    // 1. The cache, on the device's queue.
    if order.cold {
        device.flush()?;
    }
    // 2. The sleep. It begins no earlier than the host's clock is read here, so everything that is
    //    queued within its length from here is queued before it ends.
    let began = device.host();
    let sleep = order.hiding.map(|hiding| hiding.before(steps));
    match sleep {
        Some(sleep) => device.sleep(sleep.cycles)?,
        None => device.sync()?,
    }
    // 3. The start event.
    let start = device.mark()?;
    // 4. The steps.
    let first = device.host();
    for _ in 1..steps {
        drop(std::hint::black_box(device.step()?));
    }
    let output = std::hint::black_box(device.step()?);
    let last = device.host();
    // 5. The stop event.
    let stop = device.mark()?;
    let queued = device.host();
    // 6. The device's end.
    device.sync()?;
    let done = device.host();
    // 7. The last output.
    drop(output);
    let queueing = queued - began;
    Ok(DeviceSample {
        steps,
        device: device.between(&start, &stop)?,
        host: done - first,
        queue: last - first,
        launches: match sleep {
            None => Launches::Open,
            Some(sleep) if queueing <= sleep.at_least => Launches::Hidden,
            Some(_) => Launches::Late,
        },
    })
}

#[cfg(test)]
#[path = "launch_tests.rs"]
pub(super) mod tests;
