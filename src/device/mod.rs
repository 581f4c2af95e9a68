//! Devices: which of them this machine and this libtorch have.

mod memory;

pub use memory::available_bytes;

use crate::refusal::Refusal;

/// The tch device of a plan's device, or why it is not here and what would mend that.
///
/// Allocates nothing on any device.
pub fn resolve(device: plan::Device) -> Result<tch::Device, Refusal> {
    let absent = |reason: &str| Err(Refusal::Skipped(format!("{device}: {reason}")));
    match device {
        plan::Device::Cpu => Ok(tch::Device::Cpu),
        plan::Device::Cuda if !tch::utils::has_cuda() => absent(
            "libtorch was linked without CUDA; link a libtorch that has it \
             (`cargo xtask doctor` says which one was found and what is missing)",
        ),
        plan::Device::Cuda if tch::Cuda::device_count() < 1 => absent(
            "no device found; check that `nvidia-smi` lists one, that the driver is new enough \
             for this libtorch and that CUDA_VISIBLE_DEVICES does not hide it",
        ),
        plan::Device::Cuda => Ok(tch::Device::Cuda(0)),
        plan::Device::Xpu => {
            absent("Intel GPUs are not available in this version; use cpu or cuda")
        }
        plan::Device::Mps => {
            absent("Apple GPUs are not available in this version; use cpu or cuda")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_always_there() {
        assert_eq!(resolve(plan::Device::Cpu), Ok(tch::Device::Cpu));
    }

    #[test]
    fn an_absent_device_is_skipped_by_name_and_never_moved() {
        for device in [plan::Device::Cuda, plan::Device::Xpu, plan::Device::Mps] {
            match resolve(device) {
                Ok(found) => {
                    assert_eq!((device, found), (plan::Device::Cuda, tch::Device::Cuda(0)))
                }
                Err(Refusal::Skipped(reason)) => {
                    assert!(reason.starts_with(device.as_str()), "{reason}");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}
