//! The facts that a skip condition may ask for, on this machine and of this case.

use plan::{Case, Device, Fact, FactValue, KernelWork};
use serde_json::Value;

use crate::native::{cuda, runtime};
use crate::{device, measurement, threads};

/// The value of a fact; `None` where the machine has none, or does not say.
pub fn value(name: &str, case: &Case, work: &KernelWork) -> Option<FactValue> {
    let Ok(fact) = name.parse::<Fact>() else {
        let field = name.strip_prefix("problem.")?;
        return fields(work).find(|(name, _)| name == field).map(|(_, value)| value);
    };
    match fact {
        Fact::CudaAvailable => Some(FactValue::Flag(cuda_devices() > 0)),
        Fact::CudaDeviceCount => number(cuda_devices() as f64),
        Fact::CudaVersion => number(cuda::build().ok()??.toolkit.parse().ok()?),
        Fact::DeviceName => match case.device {
            Device::Cuda => text(gpu()?.name),
            _ => cpu_name(),
        },
        Fact::DeviceMemoryGb => match case.device {
            Device::Cuda => gibibytes(gpu()?.total_bytes),
            _ => host_memory_gb(),
        },
        Fact::DeviceComputeCapability if case.device == Device::Cuda => {
            let (major, minor) = gpu()?.capability;
            number(f64::from(10 * major + minor) / 10.0)
        }
        Fact::DeviceComputeCapability => None,
        Fact::MemoryGb => host_memory_gb(),
        Fact::MemoryAvailableGb => gibibytes(device::available_bytes()?),
        Fact::CpuName => cpu_name(),
        Fact::CpuCores => number(measurement::cores()? as f64),
        Fact::CpuThreads => number(f64::from(measurement::host().cpus)),
        Fact::CpuArch => text(std::env::consts::ARCH.to_owned()),
        Fact::Os => text(std::env::consts::OS.to_owned()),
        Fact::TorchVersion => text(runtime::facts().ok()?.torch_version),
        Fact::Backend => text(case.device.to_string()),
        Fact::Precision => text(case.dtype.precision().to_owned()),
        Fact::Threads => number(f64::from(threads::count(case.settings.threads))),
    }
}

/// The scalar fields of the problem size that the `bench.yaml` gives.
pub fn fields(work: &KernelWork) -> impl Iterator<Item = (String, FactValue)> {
    work.problem_size.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Bool(flag) => FactValue::Flag(*flag),
            Value::Number(number) => FactValue::Number(number.as_f64()?),
            Value::String(text) => FactValue::Text(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name.clone(), value))
    })
}

/// None where CUDA is not linked or cannot say.
fn cuda_devices() -> usize {
    cuda::build().ok().flatten().map_or(0, |build| build.devices)
}

fn gpu() -> Option<cuda::Device> {
    cuda::device(0).ok()
}

fn cpu_name() -> Option<FactValue> {
    text(measurement::host().cpu_model)
        .filter(|name| *name != FactValue::Text("unknown".to_owned()))
}

fn host_memory_gb() -> Option<FactValue> {
    gibibytes(measurement::host().memory_bytes)
}

/// Nothing is a machine that does not say.
fn gibibytes(bytes: u64) -> Option<FactValue> {
    (bytes > 0).then(|| FactValue::Number(bytes as f64 / f64::from(1 << 30)))
}

fn number(number: f64) -> Option<FactValue> {
    Some(FactValue::Number(number))
}

fn text(text: String) -> Option<FactValue> {
    Some(FactValue::Text(text))
}
