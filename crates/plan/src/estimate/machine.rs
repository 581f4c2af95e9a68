//! The machine's speed: as calibration has measured it, or by default.

use std::collections::HashMap;

use super::Basis;
use super::stages::Step;
use super::step::{self, Cost};
use crate::case::Case;
use crate::catalogue::probe::ProbeKind;
use crate::words::{Device, Dtype};
use crate::work::Work;

/// Default noise of a step.
const NOISE: f64 = 0.02;
/// An array of this many bytes fits in no cache.
const BEYOND_CACHES: u64 = 128 << 20;

/// The speed of a machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Floating-point operations per second of one thread, by device and dtype.
    products: HashMap<(Device, Dtype), f64>,
    /// Bytes per second.
    bandwidth: HashMap<Device, f64>,
    /// Seconds of a call.
    call: HashMap<Device, f64>,
}

impl Machine {
    /// Learns from a case if it is a calibration probe.
    pub fn learn(&mut self, case: &Case, step: Step) {
        let Work::Probe(work) = &case.work else { return };
        let most = |kept: &mut f64, rate: f64| *kept = kept.max(rate);
        match work.probe.kind() {
            ProbeKind::Product => {
                let threads = f64::from(case.settings.threads.resolve(1));
                let rate = work.flops(case.dtype) as f64 / step.seconds / threads;
                most(self.products.entry((case.device, case.dtype)).or_default(), rate);
            }
            ProbeKind::Stream if work.size >= BEYOND_CACHES => {
                let rate = work.bytes(case.dtype) as f64 / step.seconds;
                most(self.bandwidth.entry(case.device).or_default(), rate);
            }
            ProbeKind::Call => {
                self.call.insert(case.device, step.seconds);
            }
            ProbeKind::Stream | ProbeKind::Launch => {}
        }
    }

    /// The basis of an estimate for this case: calibration or defaults.
    pub fn basis(&self, case: &Case) -> Basis {
        let known = self.products.contains_key(&(case.device, case.dtype))
            || self.bandwidth.contains_key(&case.device);
        if known && case.work.kernel().is_none() { Basis::Calibration } else { Basis::Defaults }
    }

    /// The expected step of a case.
    pub fn step(&self, case: &Case) -> Step {
        let (product, bandwidth, call) = match case.device {
            Device::Cpu => (70e9, 20e9, 1e-6),
            _ => (50e12, 1e12, 5e-6),
        };
        let threads = f64::from(case.settings.threads.resolve(1));
        let of_dtype = self.products.get(&(case.device, case.dtype));
        let product = of_dtype.copied().unwrap_or(product) * threads / step::slowness(case);
        let bandwidth = self.bandwidth.get(&case.device).copied().unwrap_or(bandwidth);
        let call = self.call.get(&case.device).copied().unwrap_or(call);
        let seconds = match step::cost(case) {
            Some(Cost { flops, bytes, calls }) => {
                calls * call + flops as f64 / product + bytes as f64 / bandwidth
            }
            None => step::UNKNOWN_S,
        };
        Step { seconds, noise: Some(NOISE) }
    }
}
