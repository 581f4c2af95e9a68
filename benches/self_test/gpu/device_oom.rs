//! More memory than the device has: an error that says so, and a device that goes on.

use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, Tensor};

use super::{DEVICE, findings, works_on};
use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "device-oom",
    what: "an allocation of twice the device's memory, and what works after it",
    run,
};

fn run() -> Vec<Finding> {
    findings(CHECK.name, || {
        // libtorch asks the driver for a multiple of 2 MiB, and names that.
        let bytes = (2 * cuda::device(DEVICE)?.total_bytes).next_multiple_of(2 << 20);
        let allocate = |bytes: u64| -> Result<(), Refusal> {
            drop(Tensor::f_empty([bytes as i64], (Kind::Uint8, Device::Cuda(DEVICE)))?);
            Ok(cuda::synchronize(DEVICE)?)
        };
        let refused = judge(bytes, allocate(bytes).err());
        let small = match allocate(1 << 20) {
            Ok(()) => Finding::new("1 MiB afterwards", "allocated", "allocated", true),
            Err(error) => Finding::error("1 MiB afterwards", error),
        };
        cuda::empty_cache()?;
        Ok(vec![refused, small, works_on().of("afterwards")])
    })
}

/// Whether an allocation of so many bytes was refused as it should be.
pub fn judge(bytes: u64, refusal: Option<Refusal>) -> Finding {
    let asked = format!("Tried to allocate {:.2} GiB", bytes as f64 / (1_u64 << 30) as f64);
    let capacity = "total capacity of";
    let is_named = |text: &str| text.contains(&asked) && text.contains(capacity);
    Finding::new(
        "twice the device's memory",
        refusal.as_ref().map_or_else(|| "allocated".to_owned(), Refusal::to_string),
        format!("out of memory, with `{asked}` and `{capacity}`"),
        matches!(&refusal, Some(Refusal::Oom(text)) if is_named(text)),
    )
}
