//! The place of a measurement: the machine and the way, on which a choice between variants depends.

use std::fmt;

use plan::{Allocator, CacheMode, Device, Record, Threads};
use serde::{Deserialize, Serialize};

/// The machine and the way in which a case was measured. A result at one place says nothing of
/// another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Place"))]
pub struct ExecutionContext {
    /// Device.
    pub device: Device,
    /// Model of the processor or GPU; null if the machine lacks the device.
    pub processor: Option<String>,
    /// Intra-op threads, as planned.
    pub threads: Threads,
    /// Host allocator.
    pub allocator: Allocator,
    /// Whether the cache was hot or cold.
    pub cache: CacheMode,
}

impl ExecutionContext {
    pub fn from_record(record: &Record) -> Self {
        let environment = &record.environment;
        let settings = &record.case.settings;
        let device = record.case.device;
        let processor = match device {
            Device::Cpu => Some(environment.host.cpu_model.clone()),
            Device::Cuda => environment.torch.cuda_device.clone(),
            // The record does not name the device.
            Device::Rocm | Device::Xpu | Device::Mps => None,
        };
        Self {
            device,
            processor,
            threads: settings.threads,
            allocator: settings.allocator,
            cache: settings.cache,
        }
    }
}

impl fmt::Display for ExecutionContext {
    /// `cpu (AMD EPYC 7763), 1 thread`; allocator and cache where they are not the usual ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.device)?;
        if let Some(processor) = &self.processor {
            write!(f, " ({processor})")?;
        }
        let plural = if self.threads == Threads::Count(1) { "" } else { "s" };
        write!(f, ", {} thread{plural}", self.threads)?;
        if self.allocator != Allocator::Retained {
            write!(f, ", allocator {}", self.allocator)?;
        }
        if self.cache != CacheMode::Hot {
            write!(f, ", {} cache", self.cache)?;
        }
        Ok(())
    }
}

/// The machine that two times have to share: processor, CPUs that the process may use and memory in
/// GiB; for a CUDA case the GPU. The host's name is not part of it, since every job of a continuous
/// integration has one of its own, nor is the version of anything that can be updated.
pub fn fingerprint(record: &Record) -> String {
    let machine = machine(record);
    match (record.case.device, &record.environment.torch.cuda_device) {
        (Device::Cuda, Some(gpu)) => format!("{machine}, {gpu}"),
        _ => machine,
    }
}

/// The machine without a GPU, whatever the case ran on.
pub fn machine(record: &Record) -> String {
    let host = &record.environment.host;
    let gib = (host.memory_bytes + (1 << 29)) >> 30;
    format!("{}, {} CPUs, {gib} GiB", host.cpu_model, host.cpus)
}
