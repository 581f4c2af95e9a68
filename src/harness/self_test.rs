//! The device's clock, tried on a kernel whose length is known: a sleep of N cycles takes N / f at
//! a clock of f. If events were recorded on the wrong stream, or read before they were passed, this
//! shows it. `cargo bench --bench self_test -- device` runs it, as one check of the harness among
//! others; those reach the rest of the harness's private parts for a device from here, too.

use std::time::Duration;

use statistics::median;

use super::cuda_device::{self, CudaDevice};
use super::fault::Fault;
use super::flush::Flush;
use super::launch::{Device, DeviceSample, Hiding, Launches, Order, queueing, sample};
use crate::device;
use crate::measurement::nvml;
use crate::native::cuda;
use crate::native::gate::Gate;
use crate::refusal::Refusal;

/// Length of the sleep at the device's highest clock.
const SLEEP_NS: f64 = 10e6;
/// Sleeps before anything is read, half a second: an idle device has lowered its clocks.
const WARM_UP: u64 = 50;
/// Readings of the clock that differ by more than this share leave no length to expect.
const STEADY: f64 = 0.02;

/// A sleep of known length, measured in three ways, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfTest {
    /// Cycles over the clock that was read.
    pub expected_ns: f64,
    /// Between events, nothing hidden.
    pub measured_ns: f64,
    /// Between events, with launches hidden.
    pub hidden_ns: f64,
    /// By the host's clock, from the call until the device was done.
    pub host_ns: f64,
    /// Clock of the multiprocessors, in MHz.
    pub clock_mhz: f64,
}

impl SelfTest {
    /// Largest relative difference between what was expected and what was measured, by any clock.
    pub fn error(&self) -> f64 {
        let measured = [self.measured_ns, self.hidden_ns, self.host_ns];
        measured.iter().map(|ns| (ns / self.expected_ns - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// Tries the clock of CUDA device `index`, in about a second.
///
/// # Errors
/// Skipped without such a device, and without NVML, which alone knows the clock. Failed when the
/// device fails, or changes its clock meanwhile.
pub fn self_test(index: usize) -> Result<SelfTest, Refusal> {
    device::resolve(plan::Device::Cuda)?;
    let peak_khz = cuda_device::peak_khz(index)?;
    let probe = nvml::open(index).map_err(Refusal::Skipped)?;
    let clock_mhz = || probe.clock_mhz().map_err(Refusal::Skipped);
    let cycles = cycles(peak_khz);
    let mut step = || Ok(cuda::sleep(index, cycles)?);
    let mut gate = Gate::new(index)?;
    let mut device = CudaDevice::new(index, &mut step, None, Ok(&mut gate));
    run(&mut device, &clock_mhz, peak_khz)
}

/// Cycles of one sleep.
fn cycles(peak_khz: u64) -> u64 {
    (SLEEP_NS * peak_khz as f64 / 1e6) as u64
}

/// `device` has a sleep of `cycles(peak_khz)` for its step.
fn run(
    device: &mut impl Device,
    clock_mhz: &dyn Fn() -> Result<f64, Refusal>,
    peak_khz: u64,
) -> Result<SelfTest, Refusal> {
    for _ in 0..WARM_UP {
        drop(device.step()?);
    }
    device.sync()?;
    let queue = queueing(device)?;
    let open = Order::open(false, queue);
    let before = clock_mhz()?;
    let seen = sample(device, &open, 1)?;
    let hiding = Hiding::for_device(device, queue, peak_khz).map_err(Refusal::Skipped)?;
    let hidden = sample(device, &open.hidden(hiding), 1)?;
    let after = clock_mhz()?;
    if hidden.launches != Launches::Hidden {
        return Err(Refusal::Failed("the launch of one sleep was not hidden".to_owned()));
    }
    if before <= 0.0 || (after - before).abs() > STEADY * before {
        return Err(Refusal::Failed(format!(
            "the device's clock went from {before} MHz to {after} MHz during the test; \
             lock it (`nvidia-smi --lock-gpu-clocks`) or try again"
        )));
    }
    let mhz = f64::midpoint(before, after);
    let ns = |time: Duration| time.as_nanos() as f64;
    Ok(SelfTest {
        expected_ns: cycles(peak_khz) as f64 * 1e3 / mhz,
        measured_ns: ns(seen.device),
        hidden_ns: ns(hidden.device),
        host_ns: ns(seen.host),
        clock_mhz: mhz,
    })
}

/// A step as the harness times it on a device, in nanoseconds. Times are medians over samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTimes {
    /// The host's time for queueing it, in open samples.
    pub queue_ns: f64,
    /// Between events, nothing hidden.
    pub open_ns: f64,
    /// Between events, with launches hidden.
    pub hidden_ns: f64,
    /// Steps in each sample.
    pub steps: u64,
    /// Samples of either kind.
    pub samples: u64,
    /// Samples whose launches were to be hidden, and may not have been.
    pub late: u64,
}

/// Samples of either kind.
const SAMPLES: u64 = 15;
/// Device time that a sample takes at most, where several steps fit into it.
const SAMPLE_NS: f64 = 5e6;

/// Milliseconds of work after which an idle device has raised its clocks.
const AWAKE_MS: u64 = 200;

/// Times a step on CUDA device `index`. A sample has at most `most` steps; each of them finds the L2
/// emptied if `cold`.
///
/// # Errors
/// Skipped where no clock is known to hide launches by; else those of the step and of the device.
pub fn step_times<T>(
    index: usize,
    cold: bool,
    most: u64,
    step: &mut dyn FnMut() -> Result<T, Refusal>,
) -> Result<StepTimes, Refusal> {
    let peak_khz = cuda_device::peak_khz(index)?;
    let mut flush = if cold { Some(Flush::new(tch::Device::Cuda(index))?) } else { None };
    let mut flush = flush.as_mut().map(|flush| || flush.run());
    let flush = flush.as_mut().map(|flush| flush as &mut dyn FnMut() -> Result<(), Refusal>);
    let mut gate = Gate::new(index)?;
    times(&mut CudaDevice::new(index, step, flush, Ok(&mut gate)), cold, most, peak_khz)
}

fn times(
    device: &mut impl Device,
    cold: bool,
    most: u64,
    peak_khz: u64,
) -> Result<StepTimes, Refusal> {
    // An idle device has lowered its clocks, and the first calls load kernels.
    device.sleep(AWAKE_MS * peak_khz)?;
    for _ in 0..WARM_UP {
        drop(device.step()?);
    }
    let queue = queueing(device)?;
    let open = Order::open(cold, queue);
    let hidden =
        open.hidden(Hiding::for_device(device, queue, peak_khz).map_err(Refusal::Skipped)?);
    let one = sample(device, &hidden, 1)?.device.as_nanos().max(1) as f64;
    let steps = ((SAMPLE_NS / one) as u64).clamp(1, open.steps_at_most().min(most));
    let mut taken =
        |order| (0..SAMPLES).map(|_| sample(device, order, steps)).collect::<Result<Vec<_>, _>>();
    let (seen, hidden) = (taken(&open)?, taken(&hidden)?);
    let per_step = |samples: &[DeviceSample], time: fn(&DeviceSample) -> Duration| {
        let ns = |it: &DeviceSample| time(it).as_nanos() as f64 / it.steps as f64;
        median(&samples.iter().map(ns).collect::<Vec<_>>())
    };
    Ok(StepTimes {
        queue_ns: per_step(&seen, |it| it.queue),
        open_ns: per_step(&seen, |it| it.device),
        hidden_ns: per_step(&hidden, |it| it.device),
        steps,
        samples: SAMPLES,
        late: hidden.iter().filter(|it| it.launches != Launches::Hidden).count() as u64,
    })
}

/// The reason for which the harness skips the cases after one that ended with `error`; none if the error goes.
pub fn lasting_fault(error: &str) -> Option<String> {
    let fault = Fault::default();
    fault.look(plan::Device::Cuda, "self_test", error);
    fault.reason(plan::Device::Cuda)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::harness::launch::tests::{Handle, Machine};

    const PEAK_KHZ: u64 = 2_000_000;
    const LAUNCH_NS: u64 = 5000;

    /// A device at `mhz` whose only work is sleep. `missed` is the share of a sleep that its events
    /// do not see, as those of another stream would not.
    struct Fake {
        mhz: Cell<f64>,
        now: Cell<u64>,
        free_at: Cell<u64>,
        missed: f64,
    }

    impl Fake {
        fn at(mhz: f64) -> Self {
            Self { mhz: Cell::new(mhz), now: Cell::new(0), free_at: Cell::new(0), missed: 0.0 }
        }

        fn test(&self, clock_mhz: &dyn Fn() -> Result<f64, Refusal>) -> Result<SelfTest, Refusal> {
            run(&mut &*self, clock_mhz, PEAK_KHZ)
        }
    }

    impl Device for &Fake {
        type Moment = u64;
        type Output = ();

        fn flush(&mut self) -> Result<(), Refusal> {
            panic!("nothing is cold here")
        }
        fn can_hold(&self) -> Result<(), String> {
            Err("no gate".to_owned())
        }
        fn hold(&mut self, _limit: Duration) -> Result<(), Refusal> {
            panic!("it cannot be held")
        }
        fn release(&mut self) -> Result<(), Refusal> {
            panic!("it cannot be held")
        }
        fn was_released(&self) -> bool {
            false
        }
        fn rest(&mut self, _: Duration) {
            panic!("nothing rests");
        }
        fn clock_mhz(&self) -> Option<f64> {
            None
        }
        fn sleep(&mut self, cycles: u64) -> Result<(), Refusal> {
            self.now.set(self.now.get() + LAUNCH_NS);
            let ns = cycles as f64 * 1e3 / self.mhz.get();
            self.free_at.set(self.free_at.get().max(self.now.get()) + ns as u64);
            Ok(())
        }
        fn mark(&mut self) -> Result<u64, Refusal> {
            Ok(self.free_at.get().max(self.now.get()))
        }
        fn step(&mut self) -> Result<(), Refusal> {
            self.sleep(cycles(PEAK_KHZ))
        }
        fn sync(&mut self) -> Result<(), Refusal> {
            self.now.set(self.now.get().max(self.free_at.get()));
            Ok(())
        }
        fn host(&mut self) -> Duration {
            Duration::from_nanos(self.now.get())
        }
        fn between(&self, start: &u64, stop: &u64) -> Result<Duration, Refusal> {
            Ok(Duration::from_nanos(stop - start).mul_f64(1.0 - self.missed))
        }
    }

    #[test]
    fn a_sound_clock_agrees_with_the_cycles_at_any_frequency() {
        for mhz in [2000.0, 1500.0] {
            let fake = Fake::at(mhz);
            let found = fake.test(&|| Ok(mhz)).expect("it works");
            // 20 million cycles.
            assert_eq!(found.expected_ns, 20e9 / mhz);
            assert_eq!(found.hidden_ns, found.expected_ns.floor());
            assert!(found.error() < 0.001, "{found:?}");
        }
    }

    #[test]
    fn a_wrong_clock_shows() {
        let fake = Fake { missed: 0.9, ..Fake::at(2000.0) };
        let found = fake.test(&|| Ok(2000.0)).expect("it works");
        assert!((found.error() - 0.9).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn without_a_steady_clock_nothing_is_expected() {
        let fake = Fake::at(2000.0);
        let readings = Cell::new(1000.0);
        let falling = || {
            readings.set(readings.get() - 30.0);
            Ok(readings.get())
        };
        let refused = fake.test(&falling).expect_err("970, then 940 MHz");
        assert!(
            matches!(&refused, Refusal::Failed(text) if text.contains("970 MHz to 940 MHz")),
            "{refused}"
        );
        let unread = || Err(Refusal::Skipped("no NVML".to_owned()));
        assert_eq!(fake.test(&unread), unread().map(|mhz: f64| unreachable!("{mhz}")));
    }

    #[test]
    fn a_step_cheaper_than_its_launch_is_hidden_and_seen() {
        // The host needs 10 µs for a step, the device 3.
        let machine = Machine::new(1, 10_000, 3000);
        let mut device = Handle(&machine);
        let found = times(&mut device, false, u64::MAX, PEAK_KHZ).expect("it works");
        assert_eq!((found.queue_ns, found.hidden_ns, found.late), (10_000.0, 3000.0, 0));
        assert!((found.open_ns - 10_000.0).abs() < 1000.0, "{found:?}");
        // A round is as long as the queue, 1000 launches of the cheapest kind.
        assert_eq!((found.steps, found.samples), (100, SAMPLES));
        let one = times(&mut device, true, 7, PEAK_KHZ).expect("it works");
        assert_eq!((one.steps, one.hidden_ns), (1, 3000.0), "a cold sample is one step");
        let seven = times(&mut device, false, 7, PEAK_KHZ).expect("it works");
        assert_eq!(seven.steps, 7);
        let unknown = times(&mut device, false, 7, 0).expect_err("no clock");
        assert!(matches!(unknown, Refusal::Skipped(_)), "{unknown}");
    }

    #[test]
    fn a_long_step_is_sampled_alone() {
        let machine = Machine::new(1, 10_000, 20_000_000);
        let mut device = Handle(&machine);
        let found = times(&mut device, false, u64::MAX, PEAK_KHZ).expect("it works");
        assert_eq!((found.steps, found.hidden_ns), (1, 20e6));
    }

    #[test]
    fn a_device_that_works_has_no_lasting_fault() {
        assert_eq!(lasting_fault("some error"), None);
    }

    #[test]
    fn without_a_device_it_is_skipped_and_says_why() {
        match self_test(0) {
            Ok(found) => println!("{found:?}"),
            Err(Refusal::Skipped(reason)) => {
                assert!(reason.contains("CUDA") || reason.contains("NVML"), "{reason}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}
