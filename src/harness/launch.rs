//! One sample of a device that works beside the host, with the host's launches hidden from it.
//!
//! The host hands work to a GPU step by step. If it is slower than the GPU, two events on the
//! device measure the host. So the device is first given a kernel that waits until the host has queued
//! a whole round of steps: the events then hold the device's work only. Where its driver refuses that
//! kernel, the device sleeps for as long as the host is expected to need, which is too short where the
//! host is late.
//!
//! The order of a round:
//! 1. empty the cache, if the case is cold: queued on the device, before the events;
//! 2. hold the device, or give it its sleep; where nothing is hidden, wait until it is idle;
//! 3. record the start event;
//! 4. run the steps, which queues their work, and drop each output but the last;
//! 5. record the stop event;
//! 6. release the device;
//! 7. wait for it;
//! 8. drop the last output.
//!
//! The host's clock is read before 2 and around 4, after 5 and after 7. A cold round is one step, so
//! its output is dropped outside the events; a hot sample has as few rounds as the device's queue
//! allows. A step that waits for the device (it reads a result, or its allocation has to grow)
//! waits until the limit of the wait is over, and the sample is then late.

use std::time::Duration;

use statistics::median;

use crate::refusal::Refusal;

/// A device that works beside the host, and what is done on it in a sample.
pub trait Device {
    type Moment;
    type Output;

    /// Queues what empties the cache.
    fn flush(&mut self) -> Result<(), Refusal>;
    /// Whether it can be held, or why not.
    fn can_hold(&self) -> Result<(), String>;
    /// Queues a kernel that waits for [`Self::release`], by the device's timer for `limit` at most.
    fn hold(&mut self, limit: Duration) -> Result<(), Refusal>;
    /// Lets the device go on, whatever it returns.
    fn release(&mut self) -> Result<(), Refusal>;
    /// Whether the device, which has gone on, was released before the limit.
    fn was_released(&self) -> bool;
    /// Mean clock of the multiprocessors since the device was held last, in MHz, where it can tell.
    fn clock_mhz(&self) -> Option<f64>;
    /// Leaves the device without work for so long.
    fn rest(&mut self, time: Duration);
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
/// waits for the device, which waits for the host. A few are left for that kernel and the events.
const LAUNCHES_AHEAD: f64 = 1000.0;
/// No host launches a kernel in less, so a step has at most as many launches as this fits into the
/// time that queueing it takes.
const CHEAPEST_LAUNCH_NS: f64 = 1000.0;
/// Longest sleep: a device that idles longer lowers its clocks.
const LONGEST_SLEEP_NS: f64 = 20e6;
/// How long a held device waits per queueing time, and at least: what takes the processor from a virtual machine takes it
/// for tens of milliseconds. Only a step that itself waits for the device costs so much.
const HELD: f64 = 10.0;
const HELD_AT_LEAST: Duration = Duration::from_millis(100);
const HELD_AT_MOST: Duration = Duration::from_secs(2);
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

    /// The launches of a host that is twice as slow.
    pub fn longer(self) -> Self {
        Self { queue_ns: 2.0 * self.queue_ns, ..self }
    }

    pub fn sleep_before(&self, steps: u64) -> Sleep {
        let wanted_ns = MARGIN * self.queue_ns * steps as f64 + FIXED_NS;
        let cycles = (wanted_ns.min(LONGEST_SLEEP_NS) * self.cycles_per_ns).ceil();
        let at_least = Duration::from_nanos((cycles / self.cycles_per_ns) as u64);
        Sleep { cycles: cycles as u64, at_least }
    }
}

/// The way in which the device is kept from the steps until they are queued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hiding {
    /// It waits for the host.
    Gate,
    /// It sleeps.
    Sleep(LaunchHiding),
}

impl Hiding {
    /// A gate where `device` can be held, else sleeps: `queue` is the host's time for queueing a step ([`queueing`]),
    /// [`peak_khz`] the device's highest clock.
    ///
    /// # Errors
    /// When neither is possible, as [`LaunchHiding::new`] says.
    pub fn for_device(
        device: &impl Device,
        queue: Duration,
        peak_khz: u64,
    ) -> Result<Self, String> {
        match device.can_hold() {
            Ok(()) => Ok(Self::Gate),
            Err(_) => LaunchHiding::new(queue, peak_khz).map(Self::Sleep),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    cold: bool,
    most: u64,
    queue_ns: f64,
    hiding: Option<Hiding>,
}

impl Order {
    /// Samples of a case, `cold` if every step is to start with an empty cache, in which nothing is
    /// hidden: the device takes up work as it is queued. `queue` is the host's time for queueing
    /// one step; a round has no more steps than the device's queue holds, for a host that waits
    /// for the queue would seem slow.
    pub fn open(cold: bool, queue: Duration) -> Self {
        let queue_ns = (queue.as_nanos() as f64).max(CHEAPEST_LAUNCH_NS);
        let by_queue = LAUNCHES_AHEAD / (queue_ns / CHEAPEST_LAUNCH_NS).ceil();
        let most = if cold { 1 } else { by_queue.max(1.0) as u64 };
        Self { cold, most, queue_ns, hiding: None }
    }

    /// The step with launches hidden.
    pub fn hidden(self, hiding: Hiding) -> Self {
        Self { hiding: Some(hiding), ..self }
    }

    pub fn steps_at_most(&self) -> u64 {
        self.most
    }

    /// How long the device waits for so many steps at most.
    fn hold_time(&self, steps: u64) -> Duration {
        let wanted = Duration::from_nanos((HELD * self.queue_ns * steps as f64) as u64);
        wanted.clamp(HELD_AT_LEAST, HELD_AT_MOST)
    }
}

/// Whether the events of a sample hold the host's launches besides work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launches {
    /// Nothing: the device found all of a round queued.
    Hidden,
    /// Possibly the host's launches: they were to be hidden, but the device's wait was over before a round
    /// was queued, or may have been.
    Late,
    /// The host's launches, where it is the slower of the two: none were to be hidden.
    Open,
}

/// A sample, seen by both clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSample {
    pub steps: u64,
    /// Between the events.
    pub device: Duration,
    /// From the first call until the device was done. Unless the launches are open, this holds what
    /// was left of the device's wait, and says nothing about a step.
    pub host: Duration,
    /// From the first call until the last one had returned.
    pub queue: Duration,
    pub launches: Launches,
    /// Lowest clock of the multiprocessors in a round, in MHz, where the device tells.
    pub clock_mhz: Option<f64>,
}

/// The host's time for queueing one step: the median over several, each queued on an idle device.
/// The case has to be warm: a first call loads kernels and tunes.
pub fn queueing(device: &mut impl Device) -> Result<Duration, Refusal> {
    const STEPS: u64 = 9;
    let single = Order { most: 1, ..Order::open(false, Duration::ZERO) };
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
        clock_mhz: None,
    };
    let mut rounds = steps.div_ceil(order.most);
    while rounds > 0 {
        // Equal rounds, up to one step.
        let round = round(device, order, (steps - sum.steps).div_ceil(rounds))?;
        sum.steps += round.steps;
        sum.device += round.device;
        sum.host += round.host;
        sum.queue += round.queue;
        sum.clock_mhz = sum.clock_mhz.into_iter().chain(round.clock_mhz).reduce(f64::min);
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
    // 2. The wait. A sleep begins no earlier than the host's clock is read here, so everything that is
    //    queued within its length from here is queued before it ends.
    let began = device.host();
    let mut slept = Duration::MAX;
    match order.hiding {
        None => device.sync()?,
        Some(Hiding::Gate) => device.hold(order.hold_time(steps))?,
        Some(Hiding::Sleep(sleeps)) => {
            let sleep = sleeps.sleep_before(steps);
            slept = sleep.at_least;
            device.sleep(sleep.cycles)?;
        }
    }
    let is_held = order.hiding == Some(Hiding::Gate);
    // 3 to 5.
    let queued = queue(device, steps);
    // 6. Also where a step failed: the device would wait for nothing.
    let released = if is_held { device.release() } else { Ok(()) };
    let Queued { start, stop, first, last, end, output } = queued?;
    released?;
    // 7. The device's end.
    device.sync()?;
    let done = device.host();
    // 8. The last output.
    drop(output);
    let launches = match order.hiding {
        None => Launches::Open,
        Some(Hiding::Gate) if device.was_released() => Launches::Hidden,
        Some(Hiding::Sleep(_)) if end - began <= slept => Launches::Hidden,
        Some(_) => Launches::Late,
    };
    Ok(DeviceSample {
        steps,
        device: device.between(&start, &stop)?,
        host: done - first,
        queue: last - first,
        launches,
        clock_mhz: device.clock_mhz().filter(|_| is_held),
    })
}

/// Steps between two events, and when the host was where.
struct Queued<D: Device + ?Sized> {
    start: D::Moment,
    stop: D::Moment,
    /// Before the first step, behind the last one, and behind the stop event.
    first: Duration,
    last: Duration,
    end: Duration,
    /// The last step's.
    output: D::Output,
}

fn queue<D: Device>(device: &mut D, steps: u64) -> Result<Queued<D>, Refusal> {
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
    let end = device.host();
    Ok(Queued { start, stop, first, last, end, output })
}

#[cfg(test)]
#[path = "launch_tests.rs"]
pub(super) mod tests;
