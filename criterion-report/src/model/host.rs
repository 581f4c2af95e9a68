//! The machine of a result: results of two machines are not compared.

use plan::{Device, Record};

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

/// The same without a GPU, whatever the case ran on.
pub fn machine(record: &Record) -> String {
    let host = &record.environment.host;
    let gib = (host.memory_bytes + (1 << 29)) >> 30;
    format!("{}, {} CPUs, {gib} GiB", host.cpu_model, host.cpus)
}
