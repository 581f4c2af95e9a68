//! Whether NVML is asked about the board that CUDA works on: the one whose memory fills up.

use std::ffi::OsStr;
use std::process::ExitCode;

use criterion_torch::measurement::energy::EnergyCounter;
use criterion_torch::measurement::nvml;
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use tch::{Device, Kind, Tensor};

use super::{report, reported};
use crate::check::{Check, Finding};
use crate::child;

pub const CHECK: Check = Check {
    name: "board",
    what: "the board of each CUDA device by NVML, told by the memory that it fills",
    device: plan::Device::Cuda,
    run,
};

/// A process that sees other devices, or sees them in another order.
pub const PART: &str = "gpu-board";

const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

pub const MIB: i64 = 1 << 20;
/// A device is filled with so many bytes.
pub const FILLED: i64 = 512 * MIB;
/// Other processes may allocate so many bytes meanwhile.
const SLACK: i64 = 64 * MIB;

fn run() -> Result<Vec<Finding>, Refusal> {
    let mut found = visible()?;
    let count = cuda::build()?.map_or(0, |build| build.devices);
    for setting in settings(std::env::var(VISIBLE).ok().as_deref(), count) {
        let output = child::run(PART, &[], &[(VISIBLE, OsStr::new(&setting))])?;
        let part = format!("{VISIBLE}={setting}");
        found.extend(reported("its process", &output).into_iter().map(|it| it.prefixed(&part)));
    }
    Ok(found)
}

/// Its devices are there: where one is not, that is an error.
pub fn child() -> ExitCode {
    report(&visible().unwrap_or_else(|error| vec![Finding::error("its devices", error)]))
}

/// The settings: each device alone, and with several devices all of them in reversed order.
pub fn settings(visible: Option<&str>, count: usize) -> Vec<String> {
    let devices: Vec<String> = match visible {
        Some(list) => list.split(',').map(|it| it.trim().to_owned()).take(count).collect(),
        None => (0..count).map(|it| it.to_string()).collect(),
    };
    let reversed = devices.iter().rev().cloned().collect::<Vec<_>>().join(",");
    let several = (count > 1).then_some(reversed);
    devices.into_iter().chain(several).collect()
}

/// The devices that this process sees.
fn visible() -> Result<Vec<Finding>, Refusal> {
    let nvml = Nvml::builder().lib_path(OsStr::new(nvml::LIBRARY)).init();
    let nvml = nvml.map_err(|error| Refusal::Skipped(format!("NVML: {error}")))?;
    let count = cuda::build()?.map_or(0, |build| build.devices);
    (0..count).map(|index| filled(&nvml, index)).collect()
}

fn filled(nvml: &Nvml, index: usize) -> Result<Finding, Refusal> {
    let refusal = |error| match error {
        // Memory that is the host's, too.
        NvmlError::NotSupported => Refusal::Skipped("NVML counts no memory of it".to_owned()),
        error => Refusal::Failed(format!("NVML: {error}")),
    };
    let boards = || Board::all(nvml).map_err(refusal);
    let allocate = |bytes: i64| -> Result<Tensor, Refusal> {
        let tensor = Tensor::f_zeros([bytes], (Kind::Uint8, Device::Cuda(index)))?;
        cuda::synchronize(index)?;
        Ok(tensor)
    };
    // CUDA's own memory comes with the first tensor.
    let first = allocate(1)?;
    let (device, before) = (cuda::device(index)?, boards()?);
    let large = allocate(FILLED)?;
    let after = boards()?;
    // The harness finds it in the same way.
    let this = nvml.device_by_pci_bus_id(&*device.pci_bus).and_then(|board| board.index());
    let state = state(index);
    drop((first, large));
    cuda::empty_cache()?;
    Ok(judge(
        &format!("device {index}"),
        &device,
        this.map_err(refusal)?,
        [&before, &after],
        &state,
    ))
}

/// The probe that the harness reads, and what it reads now.
fn state(index: usize) -> Result<String, String> {
    let probe = nvml::open(index)?;
    let said = |value: Result<f64, String>| value.map_or_else(|error| error, |it| it.to_string());
    Ok(format!(
        "{}; {} of {} MHz, memory {} MHz, {} °C, slowed down by {:?}, idle {:?}",
        probe.describe(),
        said(probe.clock_mhz()),
        said(probe.max_clock_mhz()),
        said(probe.memory_clock_mhz()),
        said(probe.temperature_c()),
        probe.slow_downs(),
        probe.is_idle()
    ))
}

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
