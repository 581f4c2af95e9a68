//! The memory in use on each board, and on which of them it rose.

use criterion_torch::native::cuda;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use crate::check::Finding;

pub const MIB: i64 = 1 << 20;
/// A device is filled with so many bytes.
pub const FILLED: i64 = 512 * MIB;
/// Other processes may allocate so many bytes meanwhile.
const SLACK: i64 = 64 * MIB;

/// A board, and the bytes in use.
pub struct Board {
    pub name: String,
    pub bus: String,
    pub used: i64,
    /// Whether MIG is on.
    pub is_sliced: bool,
}

impl Board {
    /// Every board that NVML lists.
    ///
    /// # Errors
    /// NVML's.
    pub fn all(nvml: &Nvml) -> Result<Vec<Self>, NvmlError> {
        let board = |index| {
            let device = nvml.device_by_index(index)?;
            let used = device.memory_info()?.used as i64;
            // An older GPU has no MIG.
            let is_sliced = device.mig_mode().is_ok_and(|mode| mode.current == 1);
            Ok(Self { name: device.name()?, bus: device.pci_info()?.bus_id, used, is_sliced })
        };
        (0..nvml.device_count()?).map(board).collect()
    }
}

/// Whether the memory was taken from the board that NVML lists at `this` index, and that the harness
/// reads.
pub fn judge(
    name: &str,
    device: &cuda::Device,
    this: u32,
    [before, after]: [&[Board]; 2],
    state: &Result<String, String>,
) -> Finding {
    let this = this as usize;
    if before.get(this).is_some_and(|board| board.is_sliced) {
        return Finding::skipped(name, "MIG is on: NVML's used memory is that of all slices");
    }
    let rises: Vec<i64> = before.iter().zip(after).map(|(old, new)| new.used - old.used).collect();
    let as_expected = |(board, rise): (usize, &i64)| {
        let expected = if board == this { FILLED } else { 0 };
        (rise - expected).abs() <= SLACK
    };
    let is_named = |board: &Board| {
        let read = format!("{} at {}", board.name, device.pci_bus);
        board.name == device.name && state.as_ref().is_ok_and(|state| state.contains(&read))
    };
    let holds = before.len() == after.len()
        && rises.iter().enumerate().all(as_expected)
        && after.get(this).is_some_and(is_named);
    let lines = after
        .iter()
        .zip(&rises)
        .map(|(board, rise)| format!("{} at {} {:+} MiB", board.name, board.bus, rise / MIB));
    Finding::new(
        name,
        format!(
            "{} at {} by CUDA; {} by NVML; the harness reads {}",
            device.name,
            device.pci_bus,
            lines.collect::<Vec<_>>().join(", "),
            state.as_deref().unwrap_or_else(|error| error)
        ),
        "512 ± 64 MiB more on the board of the same name and place, and on no other",
        holds,
    )
}
