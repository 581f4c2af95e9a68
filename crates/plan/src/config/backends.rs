//! `backends` of a `bench.yaml`: on which devices a kernel runs, and whether by torch's operations.

use super::node::Fields;
use crate::kernel::KernelFile;
use crate::words::{Device, UnknownWord};

/// The devices on which a kernel can run.
const DEVICES: &[Device] = &[Device::Cpu, Device::Cuda, Device::Rocm];

/// The word for implementations with tch, on any device.
const TORCH: &str = "pytorch";

/// A word of QuASIM that is refused here.
const JAX: &str = "jax";

/// The words of a list, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BackendList {
    devices: Vec<Device>,
    torch: bool,
}

/// The devices on which a kernel has cases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Backends {
    /// The devices on which it can run.
    pub(super) listed: Vec<Device>,
    /// The devices that have cases; cases on devices that are not listed are skipped.
    pub(super) devices: Vec<Device>,
    /// The devices among them where only implementations with tch are asked for.
    torch_only: Vec<Device>,
}

impl Backends {
    /// If the `bench.yaml` lists no devices, those of `over` count as listed, or else the CPU.
    pub(super) fn new(said: Option<BackendList>, over: Option<&BackendList>) -> Self {
        let words = said.or(over.cloned()).unwrap_or_default();
        let is_torchs = words.torch && words.devices.is_empty();
        let listed = if words.devices.is_empty() { vec![Device::Cpu] } else { words.devices };
        let Some(over) = over else {
            let torch_only = if is_torchs { listed.clone() } else { Vec::new() };
            return Self { devices: listed.clone(), listed, torch_only };
        };
        // `pytorch` without a device means every device that the kernel lists.
        let named = |device: &Device| over.devices.contains(device);
        let mut all = over.devices.clone();
        if over.torch {
            all.extend(listed.iter().copied().filter(|device| !named(device)));
        }
        let devices = selected(&listed, Some(&all));
        let torch_only = devices.iter().copied().filter(|device| is_torchs || !named(device));
        Self { torch_only: torch_only.collect(), devices, listed }
    }

    /// Why `file` is not measured on the device; `None` if it is.
    pub(super) fn refusal(&self, device: Device, file: &KernelFile) -> Option<String> {
        if !self.listed.contains(&device) {
            let words = self.listed.iter().map(|it| it.as_str());
            return Some(unlisted("backends", device.as_str(), words));
        }
        (self.torch_only.contains(&device) && !file.uses_torch).then(|| {
            format!(
                "`{TORCH}` selects implementations with tch, and what is timed of {} calls none of \
                 its operations",
                file.file
            )
        })
    }
}

/// The listed values that `over` names, followed by those that it names without being listed; without `over`, all
/// listed values.
pub(super) fn selected<T: Copy + PartialEq>(listed: &[T], over: Option<&[T]>) -> Vec<T> {
    let Some(over) = over else { return listed.to_vec() };
    let named = listed.iter().filter(|it| over.contains(it));
    named.chain(over.iter().filter(|it| !listed.contains(it))).copied().collect()
}

/// The reason that a list does not contain a word.
pub(super) fn unlisted<'w>(key: &str, word: &str, listed: impl Iterator<Item = &'w str>) -> String {
    let listed: Vec<&str> = listed.collect();
    format!("`{word}` is not among the {key} listed: {}", listed.join(", "))
}

/// The words under `backends`.
pub(super) fn read(fields: &Fields<'_>) -> Option<Option<BackendList>> {
    let words = fields.words_by("backends", |text| match text {
        TORCH => Ok(None),
        _ => word(text, &[TORCH]).map(Some),
    })?;
    Some(words.map(|words| BackendList {
        torch: words.contains(&None),
        devices: words.into_iter().flatten().collect(),
    }))
}

/// A device by its word.
pub(super) fn device(text: &str) -> Result<Device, UnknownWord> {
    word(text, &[])
}

/// Reads a device; `others` are further words that an error suggests beside the devices.
fn word(text: &str, others: &[&str]) -> Result<Device, UnknownWord> {
    let named = DEVICES.iter().copied().find(|device| device.as_str() == text);
    let words = DEVICES.iter().map(|it| it.as_str()).chain(others.iter().copied());
    named.ok_or_else(|| match text {
        JAX => UnknownWord {
            what: "backend",
            found: JAX.to_owned(),
            remedy:
                "JAX runs in Python, and a kernel here is Rust: write it with torch's operations \
                     (`pytorch`), in plain Rust (`cpu`) or in CUDA C++ (`cuda`)"
                    .to_owned(),
        },
        _ => UnknownWord::new("backend", text, words),
    })
}
