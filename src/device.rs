//! Devices: which of them this machine and this libtorch have.

use crate::native::{self, accelerator::Accelerator};
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
        plan::Device::Xpu => xpu(native::accelerator::xpu()?),
        plan::Device::Mps => mps(native::accelerator::mps()?),
    }
}

/// Waits until a device has nothing left to do. On the host there is nothing to wait for.
///
/// # Errors
/// When libtorch cannot use the device, or when work queued earlier failed.
pub fn synchronize(device: plan::Device) -> Result<(), Refusal> {
    match device {
        plan::Device::Cpu => Ok(()),
        plan::Device::Cuda => Ok(native::cuda::synchronize(CUDA)?),
        plan::Device::Rocm => synchronize_rocm(),
        plan::Device::Mps => Ok(native::accelerator::synchronize_mps()?),
        plan::Device::Xpu => resolve(device).map(drop),
    }
}

/// Steps on an AMD GPU are timed by the host's clock between two of these waits: the shim does not support HIP events.
fn synchronize_rocm() -> Result<(), Refusal> {
    resolve(plan::Device::Rocm)?;
    // torch-sys reports a C++ exception by a panic, which the harness turns into an outcome.
    tch::Cuda::synchronize(0);
    Ok(())
}

/// Returns the memory that libtorch caches on a device, if the device is present.
///
/// # Errors
/// Errors of the device.
pub fn empty_cache(device: plan::Device) -> Result<(), native::Error> {
    match device {
        plan::Device::Cuda if tch::Cuda::is_available() => native::cuda::empty_cache(),
        plan::Device::Mps if tch::utils::has_mps() => native::accelerator::empty_mps_cache(),
        _ => Ok(()),
    }
}

/// Why libtorch cannot count the memory of a step; `None` where it can.
pub fn uncounted(device: plan::Device) -> Option<String> {
    (device == plan::Device::Mps).then(|| {
        "libtorch's allocator for Metal reports no single allocation and no peak".to_owned()
    })
}

/// The CUDA device that cases run on.
const CUDA: usize = 0;

fn mps(found: Accelerator) -> Result<tch::Device, Refusal> {
    match found {
        Accelerator { built: false, .. } => absent(
            plan::Device::Mps,
            "this libtorch was built without Metal (at::hasMPS is false); only that of macOS on Apple \
             silicon has it",
        ),
        Accelerator { devices: 0, .. } => absent(
            plan::Device::Mps,
            "this libtorch has Metal, but finds no usable GPU; it needs macOS 14 or newer",
        ),
        Accelerator { .. } => Ok(tch::Device::Mps),
    }
}

/// Always an error: tch has no XPU device, so no tensor can be placed on one.
fn xpu(found: Accelerator) -> Result<tch::Device, Refusal> {
    match found {
        Accelerator { built: false, .. } => absent(
            plan::Device::Xpu,
            "this libtorch was built without Intel GPUs (at::hasXPU is false); use cpu or cuda",
        ),
        Accelerator { devices: 0, .. } => absent(
            plan::Device::Xpu,
            "this libtorch has Intel GPUs, but finds no usable one; check that `sycl-ls` lists one",
        ),
        Accelerator { devices, .. } => Err(Refusal::Unsupported(format!(
            "xpu: libtorch finds {devices} Intel GPUs, but tch 0.24 has no device for them, so no \
             tensor can be made there; use cpu or cuda"
        ))),
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
                command::with_arguments("doctor")
            ),
        ),
        Some(build) if build.devices == 0 => absent(
            device,
            "CUDA is linked, but no device was found; check that `nvidia-smi` lists one, that the \
             driver is new enough for this libtorch and that CUDA_VISIBLE_DEVICES does not hide it",
        ),
        Some(_) => Ok(tch::Device::Cuda(CUDA)),
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
                    let there = if device == plan::Device::Mps {
                        tch::Device::Mps
                    } else {
                        tch::Device::Cuda(0)
                    };
                    assert_eq!(found, there);
                    assert_eq!(synchronize(device), Ok(()));
                }
                Err(Refusal::Skipped(reason) | Refusal::Unsupported(reason)) => {
                    assert!(reason.starts_with(device.as_str()), "{reason}");
                    assert!(synchronize(device).is_err(), "{device}");
                    assert_eq!(empty_cache(device), Ok(()));
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_libtorch_says_of_other_gpus_decides() {
        let found = |built, devices| Accelerator { built, devices };
        assert_eq!(mps(found(true, 1)), Ok(tch::Device::Mps));
        for (answer, words) in [
            (mps(found(false, 0)), "mps: this libtorch was built without Metal"),
            (mps(found(true, 0)), "mps: this libtorch has Metal, but finds no usable GPU"),
            (xpu(found(false, 0)), "xpu: this libtorch was built without Intel GPUs"),
            (xpu(found(true, 0)), "xpu: this libtorch has Intel GPUs, but finds no usable one"),
        ] {
            let Err(Refusal::Skipped(reason)) = answer else { panic!("{answer:?}") };
            assert!(reason.starts_with(words), "{reason}");
        }
        // A device that is there and cannot be used is not absent.
        let Err(Refusal::Unsupported(reason)) = xpu(found(true, 2)) else { panic!("refused") };
        assert!(reason.starts_with("xpu: libtorch finds 2 Intel GPUs, but tch 0.24"), "{reason}");
    }
}
