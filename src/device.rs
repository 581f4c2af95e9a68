//! Devices: which of them this machine and this libtorch have.

use crate::native;
use crate::refusal::Refusal;
use ::libtorch::command;

/// Bytes of host memory that the process may still take without swapping; `None` where the system does
/// not say (not Linux).
pub fn available_bytes() -> Option<u64> {
    Some(::libtorch::memory::Memory::read()?.available)
}

/// The tch device of a plan's device, or why it is not here and what to do about it.
///
/// Allocates nothing on any device.
pub fn resolve(device: plan::Device) -> Result<tch::Device, Refusal> {
    match device {
        plan::Device::Cpu => Ok(tch::Device::Cpu),
        plan::Device::Cuda => cuda(),
        plan::Device::Rocm => {
            let devices = || usize::try_from(tch::Cuda::device_count()).unwrap_or(0);
            rocm(native::runtime::has_hip()?, devices)
        }
        plan::Device::Xpu => {
            absent(device, "Intel GPUs are not available in this version; use cpu or cuda")
        }
        plan::Device::Mps => {
            absent(device, "Apple GPUs are not available in this version; use cpu or cuda")
        }
    }
}

/// The first CUDA device. Linked and usable are two things: libtorch's own `hasCUDA` is false for
/// a machine without a driver even where CUDA is linked.
fn cuda() -> Result<tch::Device, Refusal> {
    let device = plan::Device::Cuda;
    match native::cuda::build()? {
        None => absent(
            device,
            &format!(
                "libtorch was linked without CUDA; link a libtorch that has it (`{}` says which one \
                 was found and what is missing)",
                command::ours("doctor")
            ),
        ),
        Some(build) if build.devices == 0 => absent(
            device,
            "CUDA is linked, but no device was found; check that `nvidia-smi` lists one, that the \
             driver is new enough for this libtorch and that CUDA_VISIBLE_DEVICES does not hide it",
        ),
        Some(_) => Ok(tch::Device::Cuda(0)),
    }
}

/// The first AMD GPU, which a libtorch with HIP calls `cuda`.
fn rocm(has_hip: bool, devices: impl Fn() -> usize) -> Result<tch::Device, Refusal> {
    let device = plan::Device::Rocm;
    if !has_hip {
        return absent(
            device,
            "libtorch was built without HIP; set LIBTORCH to one that is built for ROCm",
        );
    }
    if devices() == 0 {
        return absent(
            device,
            "libtorch has HIP, but no device was found; check that `rocminfo` lists one and that \
             HIP_VISIBLE_DEVICES does not hide it",
        );
    }
    Ok(tch::Device::Cuda(0))
}

fn absent(device: plan::Device, reason: &str) -> Result<tch::Device, Refusal> {
    Err(Refusal::Skipped(format!("{device}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_always_there() {
        assert_eq!(resolve(plan::Device::Cpu), Ok(tch::Device::Cpu));
    }

    #[test]
    fn rocm_is_what_a_libtorch_with_hip_has() {
        let reason = |refused: Result<tch::Device, Refusal>| match refused {
            Err(Refusal::Skipped(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert!(reason(rocm(false, || 1)).starts_with("rocm: libtorch was built without HIP"));
        assert!(reason(rocm(true, || 0)).starts_with("rocm: libtorch has HIP, but no device"));
        assert_eq!(rocm(true, || 2), Ok(tch::Device::Cuda(0)));
    }

    #[test]
    fn an_absent_device_is_skipped_by_name_and_never_moved() {
        for device in [plan::Device::Cuda, plan::Device::Rocm, plan::Device::Xpu, plan::Device::Mps]
        {
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
