//! A limit of the machine: the workloads of calibration.

mod call;
mod launch;
mod matmul;
mod stream;

use plan::{Case, Device, Dtype, Probe, ProbeWork};

use super::{Refusal, Workload};
use crate::native::onednn;
use crate::{device, inputs};

pub(super) use call::Call;
use launch::Launch;
use matmul::Matmul;
use stream::{DeviceStream, HostStream};

/// Whether the probe can run on the device, in the dtype.
pub(super) fn check(work: &ProbeWork, device: Device, dtype: Dtype) -> Result<(), Refusal> {
    let probe = work.probe;
    let refuse = |what: String| Err(Refusal::Unsupported(format!("probe `{probe}`: {what}")));
    match probe {
        Probe::Matmul => Ok(()),
        Probe::MatmulOnednn if device != Device::Cpu => {
            refuse(format!("oneDNN is called by name on cpu alone, not on {device}"))
        }
        Probe::MatmulOnednn => onednn::supports(inputs::kind(dtype)).or_else(refuse),
        _ if dtype != Dtype::Float32 => {
            refuse(format!("it is measured in float32, and dtype is {dtype}"))
        }
        Probe::Launch if device == Device::Cpu => refuse(
            "the host starts no kernels, it calls functions; `devices: [cuda]` has a queue for them"
                .to_owned(),
        ),
        Probe::Launch | Probe::Call | Probe::CompiledCall => Ok(()),
        Probe::Copy | Probe::Scale | Probe::Add | Probe::Triad => {
            let element = dtype.bytes();
            if work.size >= element && work.size.is_multiple_of(element) {
                return Ok(());
            }
            refuse(format!("an array of {} bytes holds no whole number of {dtype}", work.size))
        }
    }
}

/// Builds what `check` has let through; of a compiled call, its eager twin is [`Call::prepare`].
pub(super) fn prepare(case: &Case, work: &ProbeWork) -> Result<Box<dyn Workload>, Refusal> {
    let place = device::resolve(case.device)?;
    Ok(match (work.probe, case.device) {
        (Probe::Matmul | Probe::MatmulOnednn, _) => Box::new(Matmul::prepare(case, work, place)?),
        (Probe::Launch, _) => Box::new(Launch::prepare(case, place)?),
        (Probe::Call | Probe::CompiledCall, _) => Box::new(Call::prepare(case, place)?),
        (_, Device::Cpu) => Box::new(HostStream::prepare(case, work)?),
        (_, Device::Cuda | Device::Xpu | Device::Mps) => {
            Box::new(DeviceStream::prepare(case, work, place)?)
        }
    })
}

/// Gate of STREAM's operations, of what `launch` starts and of what is called: a single rounding to float32 leaves
/// 150 dB, and their values need none.
const MIN_SQNR_DB: f64 = 120.0;

fn min_sqnr_db(case: &Case, default: f64) -> f64 {
    case.settings.tolerance.min_sqnr_db.unwrap_or(default)
}

#[cfg(test)]
mod tests;
