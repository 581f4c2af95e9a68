//! The profile of one case, in a process that times nothing.

use std::cell::RefCell;
use std::path::Path;

use plan::{CacheMode, Case, Device, GpuCounters, Profile};
use tch::Tensor;

use super::place;
use super::{DEVICE, HARDWARE, MEMORY, OPERATIONS, Wanted};
use crate::device;
use crate::harness::case_run::settle_allocator;
use crate::harness::flush::Flush;
use crate::harness::passes::FLUSHED;
use crate::harness::{panics, ranges, running};
use crate::measurement::profiler::Subject;
use crate::measurement::{cupti, hardware, memory_profile};
use crate::native::{constants, cuda};
use crate::threads;
use crate::workload::{Prepare, Refusal, Workload};

/// Prepares the case and profiles it. A part that fails is recorded with its reason; the other parts are still taken.
pub fn profile(case: &Case, wanted: Wanted, root: &Path, prepare: Prepare) -> Profile {
    let mut profile = Profile::default();
    let running = running::begin(case.settings.case_timeout_s, None);
    let parts = || parts(case, wanted, root, prepare, &mut profile);
    let failed = match panics::catch(parts) {
        Ok(Ok(())) => None,
        Ok(Err(refusal)) => Some(refusal.to_string()),
        Err(caught) => caught.outcome().reason().map(str::to_owned),
    };
    drop(running);
    wanted.explain(&mut profile, failed.as_deref().unwrap_or("it was not taken"));
    profile
}

fn parts(
    case: &Case,
    wanted: Wanted,
    root: &Path,
    prepare: Prepare,
    profile: &mut Profile,
) -> Result<(), Refusal> {
    let folder = root.join(place::folder(case));
    if wanted.writes() {
        // The record will name only the files of this profile.
        place::clear(&folder).map_err(|error| Refusal::Failed(error.to_string()))?;
    }
    settle_allocator(case.settings.allocator);
    threads::settle(case.settings.threads);
    constants::map();
    let place = device::resolve(case.device)?;
    let workload = prepare(case)?;
    let mut flush = match case.settings.cache {
        CacheMode::Hot => None,
        CacheMode::Cold => Some(Flush::new(place)?),
    };
    let is_cold = flush.is_some();
    // The output of a cold step is dropped outside of the profiled time, as in the timed samples.
    let output: RefCell<Option<Tensor>> = RefCell::default();
    let mut before = || {
        running::check()?;
        drop(output.take());
        if let Some(flush) = &mut flush {
            flush.run()?;
            // On a GPU the flush is only queued; it must have ended before the step begins.
            device::synchronize(case.device)?;
        }
        Ok(())
    };
    let _range = ranges::for_case(case, "profile");
    let mut step = || {
        let _range = ranges::step();
        let made = std::hint::black_box(workload.step()?);
        if is_cold {
            output.replace(Some(made));
        }
        device::synchronize(case.device)
    };
    let mut subject = Subject { before: &mut before, step: &mut step };
    let steps = subject.warm_up()?;
    let stem = place::stem(case);
    // The profiler comes last, because it stays attached and would disturb the other parts.
    if wanted.hardware {
        match case.device {
            Device::Cuda => profile.gpu = or_absent(profile, HARDWARE, on_gpu(&mut subject)),
            device => {
                let counted = match device {
                    Device::Rocm | Device::Mps | Device::Xpu => Err(NOT_NVIDIA.to_owned()),
                    _ if is_cold => Err(FLUSHED.to_owned()),
                    Device::Cpu | Device::Cuda => hardware::count(steps, &mut *subject.step),
                };
                profile.hardware = or_absent(profile, HARDWARE, counted);
            }
        }
    }
    if wanted.memory {
        let recorded = match workload.uncounted() {
            Some(reason) => Err(reason),
            None => memory_profile::record(
                case.device,
                &constant(workload.as_ref()),
                &mut *subject.step,
                &case.full_id(),
                &folder,
                &stem,
                root,
            )
            .map_err(|refusal| refusal.to_string()),
        };
        if let Some((memory, files)) = or_absent(profile, MEMORY, recorded) {
            profile.memory = Some(memory);
            profile.files.extend(files);
        }
    }
    if wanted.operations {
        let path = folder.join(format!("{stem}_profile.json"));
        let profiled = subject.profile(place, steps, &path, root);
        let profiled = profiled.map_err(|refusal| refusal.to_string());
        if let Some((steps, trace)) = or_absent(profile, OPERATIONS, profiled) {
            profile.steps = steps.steps;
            (profile.step_ns, profile.outside_ns) = (steps.step_ns, steps.outside_ns);
            profile.operations = steps.operations;
            profile.files.push(trace);
            if let Some(reason) = without_device(case.device, steps.has_device) {
                profile.absent.insert(DEVICE.to_owned(), reason.to_owned());
            }
        }
    }
    Ok(())
}

/// Why a case on a GPU of another vendor has no hardware counters.
const NOT_NVIDIA: &str = "hardware counters: only those of NVIDIA's GPUs are read; the vendor's profiler has them: \
                          rocprof-compute, Instruments or unitrace in front of the benchmark's command, with a \
                          filter for one case";

/// Why the operations of a step have no time of their device; none where they have it, and on a CPU.
const fn without_device(device: Device, is_recorded: bool) -> Option<&'static str> {
    if is_recorded {
        return None;
    }
    match device {
        Device::Cpu => None,
        Device::Cuda => Some(
            "the profiler recorded no kernel, copy or fill of the GPU: libcupti.so is not found or not permitted to \
             trace; add the folder of libtorch's own to LD_LIBRARY_PATH, run as root or with the capability \
             CAP_SYS_ADMIN, or load the kernel's module nvidia with NVreg_RestrictProfilingToAdminUsers=0; with \
             KINETO_LOG_LEVEL=4 in the environment Kineto says which on standard error",
        ),
        Device::Rocm | Device::Mps | Device::Xpu => Some(
            "the profiler records the host's part alone on this GPU; the vendor's profiler has the kernels: rocprofv3, \
             Instruments or unitrace in front of the benchmark's command, with a filter for one case",
        ),
    }
}

/// The GPU's counters over one step. The cache flush of a cold step has ended before.
fn on_gpu(subject: &mut Subject<'_>) -> Result<GpuCounters, String> {
    let mut before = || {
        (subject.before)()?;
        Ok(cuda::synchronize(0)?)
    };
    cupti::count(&mut Subject { before: &mut before, step: &mut *subject.step })
}

/// Memory that is allocated before the step.
fn constant(workload: &dyn Workload) -> [(&'static str, u64); 3] {
    [
        ("weights", workload.weights_bytes()),
        ("inputs", workload.inputs_bytes()),
        ("outputs", workload.outputs_bytes()),
    ]
}

/// The part; on an error, `None`, with the reason added to `absent`.
fn or_absent<T>(profile: &mut Profile, name: &str, part: Result<T, String>) -> Option<T> {
    let reason = match part {
        Ok(part) => return Some(part),
        Err(reason) => reason,
    };
    profile.absent.insert(name.to_owned(), reason);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_activity_of_its_gpu_says_why_and_what_to_do() {
        for device in [Device::Cuda, Device::Rocm, Device::Mps, Device::Xpu] {
            assert_eq!(without_device(device, true), None, "{device:?}");
            let reason = without_device(device, false).expect("a reason");
            let remedies = if device == Device::Cuda {
                ["LD_LIBRARY_PATH", "NVreg_RestrictProfilingToAdminUsers=0"]
            } else {
                ["rocprofv3", "unitrace"]
            };
            assert!(remedies.iter().all(|it| reason.contains(it)), "{device:?}: {reason}");
        }
        assert_eq!(without_device(Device::Cpu, false), None);
    }
}
