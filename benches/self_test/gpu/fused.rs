//! The kernels that a GPU runs for fusion patterns, by name: whether what is called fused is fused.
//!
//! A profiler may slow down every later launch of its process, so each pattern is profiled in a child that times nothing.
//! On the host one pattern is profiled first, to see that profiling works: operators take the place of kernels there.

use std::process::ExitCode;

use criterion_torch::catalogue::pattern::promise::{promise, short};
use criterion_torch::device;
use criterion_torch::kernel::{Computation, KernelContext};
use criterion_torch::native::numerics;
use criterion_torch::native::profile::{ActivityType, outermost, profile};
use criterion_torch::refusal::Refusal;
use plan::{Device, Dtype, FusionVariant, FusionWork, Pattern, SizeSet};
use serde::{Deserialize, Serialize};

use crate::check::{Check, Finding};
use crate::child;

pub const CHECK: Check = Check {
    name: "fused",
    what: "the kernels that fusion patterns run on a GPU, by name, against what each variant promises",
    device: Device::Cuda,
    run,
};

/// A pattern in a process of its own; its arguments are the device and the pattern.
pub const PATTERN: &str = "fused-pattern";

const SEED: i64 = 0;
const WARM_UP: usize = 3;

/// A child's result for a variant, one line of JSON on its standard output.
#[derive(Serialize, Deserialize)]
struct Profiled {
    variant: FusionVariant,
    dtype: Dtype,
    outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
enum Outcome {
    Ran(Ran),
    Refused(String),
    Failed(String),
}

#[derive(Serialize, Deserialize)]
struct Ran {
    /// The operations that the step consists of, as it says itself.
    operations: Vec<String>,
    /// The kernels of a GPU, or the operators on the host that no other operator called.
    names: Vec<String>,
    /// Copies and fills on the GPU.
    others: Vec<String>,
}

pub fn child() -> ExitCode {
    match profile_pattern() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn profile_pattern() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, pattern] = arguments.as_slice() else {
        return Err(format!("{PATTERN} takes a device and a pattern, not {arguments:?}"));
    };
    let device: Device = device.parse().map_err(|error| format!("{error}"))?;
    let pattern: Pattern = pattern.parse().map_err(|error| format!("{error}"))?;
    let place = device::resolve(device).map_err(|refusal| refusal.to_string())?;
    // The harness pins it, too: TF32 takes other kernels.
    numerics::pin().map_err(|error| error.to_string())?;
    let _no_gradients = tch::no_grad_guard();
    let dtypes = if device == Device::Cpu { &[Dtype::Float32] } else { Dtype::ALL };
    for &dtype in dtypes {
        for &variant in pattern.variants().iter().filter(|variant| variant.is_usual(device)) {
            let work = work(device, pattern, variant);
            let context =
                KernelContext { work, dtype, device, torch_device: place, threads: 1, seed: SEED };
            let outcome = match profile_variant(&context) {
                Ok(ran) => Outcome::Ran(ran),
                Err(Refusal::Unsupported(reason) | Refusal::Skipped(reason)) => {
                    Outcome::Refused(reason)
                }
                Err(error) => Outcome::Failed(error.to_string()),
            };
            let line = serde_json::to_string(&Profiled { variant, dtype, outcome });
            println!("{}", line.map_err(|error| error.to_string())?);
        }
    }
    Ok(())
}

/// The work at upstream's smallest size on the host, and at the next one on a GPU.
fn work(device: Device, pattern: Pattern, variant: FusionVariant) -> FusionWork {
    let sizes = plan::pattern::sizes(pattern.family(), SizeSet::Quick);
    let size = sizes[usize::from(device != Device::Cpu)];
    FusionWork { pattern, variant, compile: None, size }
}

fn profile_variant(context: &KernelContext<FusionWork>) -> Result<Ran, Refusal> {
    context.check()?;
    let step = context.build(context.inputs()?)?;
    for _ in 0..WARM_UP {
        drop(step.run()?);
    }
    let events = profile(context.torch_device, || step.run())?;
    let of = |kinds: &[ActivityType]| {
        let events = events.iter().filter(|event| kinds.contains(&event.activity));
        events.map(|event| event.name.clone()).collect()
    };
    let names = match context.device {
        Device::Cpu => outermost(&events).iter().map(|event| event.name.clone()).collect(),
        _ => of(&[ActivityType::Kernel]),
    };
    let others = of(&[ActivityType::GpuMemcpy, ActivityType::GpuMemset]);
    Ok(Ran { operations: step.kernels, names, others })
}

fn run() -> Result<Vec<Finding>, Refusal> {
    // It says nothing about a GPU, so it is told only when it fails.
    let mut all = findings(Device::Cpu, Pattern::LinearBias);
    all.retain(Finding::is_failure);
    let patterns = Pattern::ALL.iter();
    all.extend(patterns.flat_map(|&pattern| findings(Device::Cuda, pattern)));
    Ok(all)
}

/// A finding per variant and dtype.
fn findings(device: Device, pattern: Pattern) -> Vec<Finding> {
    let name = format!("{pattern} on {device}");
    match profiled(device, pattern) {
        Ok(variants) => {
            variants.iter().map(|variant| finding(device, pattern, variant, &variants)).collect()
        }
        Err(error) => vec![Finding::error(name, error)],
    }
}

fn profiled(device: Device, pattern: Pattern) -> Result<Vec<Profiled>, Refusal> {
    let arguments = [device.as_str(), pattern.as_str()];
    let ended = child::start(PATTERN, &std::env::temp_dir(), &arguments)?;
    let read = |line| {
        let failed = |error| Refusal::Failed(format!("{PATTERN} said `{line}`: {error}"));
        serde_json::from_str(line).map_err(failed)
    };
    ended.stdout.lines().map(read).collect()
}

fn finding(device: Device, pattern: Pattern, of: &Profiled, all: &[Profiled]) -> Finding {
    let &Profiled { variant, dtype, .. } = of;
    let name = format!("{pattern}, {variant}, {} on {device}", dtype.short());
    let ran = match &of.outcome {
        Outcome::Ran(ran) => ran,
        Outcome::Refused(reason) => return Finding::skipped(name, reason),
        Outcome::Failed(error) => return Finding::error(name, error),
    };
    let unfused = all.iter().find_map(|it| match &it.outcome {
        Outcome::Ran(ran) if it.variant == FusionVariant::Unfused && it.dtype == dtype => {
            Some(ran.names.as_slice())
        }
        _ => None,
    });
    let unfused = unfused.unwrap_or_default();
    let promise = promise(&work(device, pattern, variant), &ran.operations);
    let holds = promise.holds(&ran.names, unfused);
    let what = if device == Device::Cpu { "operator" } else { "kernel" };
    if !holds {
        // The finding has room for their heads alone.
        ran.names.iter().for_each(|full| eprintln!("  {name}: {what} {full}"));
    }
    Finding::new(
        name,
        measured(what, ran),
        format!("{what}s: {}", promise.describe(unfused)),
        holds,
    )
}

fn measured(what: &str, ran: &Ran) -> String {
    let Ran { names, others, .. } = ran;
    if names.is_empty() {
        return format!(
            "no {what} was recorded; is libcupti beside libtorch, and is another profiler attached?"
        );
    }
    let plural = if names.len() == 1 { "" } else { "s" };
    let shown: Vec<_> = names.iter().map(|name| short(name)).collect();
    let also = match others.as_slice() {
        [] => String::new(),
        others => format!("; also {}", others.join(" + ")),
    };
    format!("{} {what}{plural}: {}{also}", names.len(), shown.join(" + "))
}
