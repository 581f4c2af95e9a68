//! A CUDA device as `launch::sample` uses it.

use std::time::Duration;

use super::clock::Stopwatch;
use super::launch::{self, Device};
use crate::measurement::nvml;
use crate::native::cuda;
use crate::native::event::Event;
use crate::native::gate::{Gate, Stamp};
use crate::refusal::Refusal;

/// A CUDA device and the case that runs on it. Everything is queued on torch's current stream.
pub struct CudaDevice<'a, T> {
    index: usize,
    step: &'a mut dyn FnMut() -> Result<T, Refusal>,
    flush: Option<&'a mut dyn FnMut() -> Result<(), Refusal>>,
    gate: Result<&'a mut Gate, &'a str>,
    /// The start of the host's clock.
    watch: Stopwatch,
}

impl<'a, T> CudaDevice<'a, T> {
    /// Device `index`, the step, what empties the cache for a cold case, and what holds the device, or why nothing does.
    pub fn new(
        index: usize,
        step: &'a mut dyn FnMut() -> Result<T, Refusal>,
        flush: Option<&'a mut dyn FnMut() -> Result<(), Refusal>>,
        gate: Result<&'a mut Gate, &'a str>,
    ) -> Self {
        Self { index, step, flush, gate, watch: Stopwatch::start() }
    }

    fn gate(&mut self) -> Result<&mut Gate, Refusal> {
        match &mut self.gate {
            Ok(gate) => Ok(gate),
            Err(reason) => Err(Refusal::Failed((*reason).to_owned())),
        }
    }
}

/// The highest clock of CUDA device `index`, in kHz; without NVML the rated one.
pub fn peak_khz(index: usize) -> Result<u64, Refusal> {
    let most_mhz = nvml::open(index).and_then(|probe| probe.max_clock_mhz());
    Ok(launch::peak_khz(cuda::device(index)?.clock_khz, most_mhz))
}

impl<T> Device for CudaDevice<'_, T> {
    type Moment = Event;
    type Output = T;

    fn flush(&mut self) -> Result<(), Refusal> {
        match &mut self.flush {
            Some(flush) => flush(),
            None => Err(Refusal::Failed(
                "a cold sample has no buffer to flush the cache with".to_owned(),
            )),
        }
    }

    fn can_hold(&self) -> Result<(), String> {
        self.gate.as_ref().map(|_| ()).map_err(|reason| (*reason).to_owned())
    }

    fn hold(&mut self, limit: Duration) -> Result<(), Refusal> {
        let gate = self.gate()?;
        gate.hold(limit)?;
        Ok(gate.stamp(Stamp::Start)?)
    }

    fn release(&mut self) -> Result<(), Refusal> {
        let gate = self.gate()?;
        let stamped = gate.stamp(Stamp::Stop);
        gate.open();
        Ok(stamped?)
    }

    fn was_released(&self) -> bool {
        self.gate.as_ref().is_ok_and(|gate| gate.was_opened())
    }

    fn clock_mhz(&self) -> Option<f64> {
        self.gate.as_ref().ok()?.clock_mhz()
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn sleep(&mut self, cycles: u64) -> Result<(), Refusal> {
        Ok(cuda::sleep(self.index, cycles)?)
    }

    fn mark(&mut self) -> Result<Event, Refusal> {
        let mut event = Event::new(self.index)?;
        event.record()?;
        Ok(event)
    }

    fn step(&mut self) -> Result<T, Refusal> {
        (self.step)()
    }

    fn sync(&mut self) -> Result<(), Refusal> {
        Ok(cuda::synchronize(self.index)?)
    }

    fn host(&mut self) -> Duration {
        self.watch.elapsed()
    }

    fn between(&self, start: &Event, stop: &Event) -> Result<Duration, Refusal> {
        let ns = start.elapsed_ns(stop)?;
        Duration::try_from_secs_f64(ns / 1e9)
            .map_err(|error| Refusal::Failed(format!("events {ns} ns apart: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;
    use crate::harness::launch::{Hiding, LaunchHiding, Launches, Order, queueing, sample};

    #[test]
    fn without_a_device_the_first_call_says_why() {
        if tch::Cuda::is_available() {
            crate::skip::hardware("there is a CUDA device");
            return;
        }
        let mut step = || -> Result<(), Refusal> { panic!("no step without a device") };
        let mut device = CudaDevice::new(0, &mut step, None, Err("no gate of CUDA"));
        for refused in [
            device.sync(),
            device.sleep(1),
            device.hold(Duration::ZERO),
            device.release(),
            device.mark().map(drop),
            queueing(&mut device).map(drop),
        ] {
            let refusal = refused.expect_err("no device");
            assert!(
                matches!(&refusal, Refusal::Failed(text) if text.contains("CUDA")),
                "{refusal}"
            );
        }
        assert!(device.flush().is_err_and(|error| error.to_string().contains("cold")));
    }

    #[test]
    fn samples_of_a_real_device_hold_time() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let x = Tensor::rand([512, 512], (Kind::Float, tch::Device::Cuda(0)));
        let mut step = || Ok(x.f_matmul(&x)?);
        let mut gate = Gate::new(0).expect("the driver compiles it");
        let mut device = CudaDevice::new(0, &mut step, None, Ok(&mut gate));
        let queue = queueing(&mut device).expect("a matrix product");
        let peak = peak_khz(0).expect("it is there");
        let open = Order::open(false, queue);
        let sleep = Hiding::Sleep(LaunchHiding::new(queue, peak).expect("a known clock"));
        for order in [open, open.hidden(Hiding::Gate), open.hidden(sleep)] {
            let taken = sample(&mut device, &order, 100).expect("100 products");
            println!("{taken:?}");
            assert_eq!(taken.steps, 100);
            assert!(taken.device > Duration::ZERO && taken.queue > Duration::ZERO);
            assert_eq!(taken.launches == Launches::Open, order == open);
        }
    }
}
