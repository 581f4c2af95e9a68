//! The memory of one step over time: its peak, a snapshot for torch's visualizer, and a picture.

mod drawing;
mod pickle;
mod replay;
mod scale;
mod series;
mod snapshot;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plan::{Device, MemoryProfile, ProfileFile, ProfileFileKind};

use self::replay::Replay;
use super::profile_file;
use crate::native::{memory, memory_history};
use crate::refusal::Refusal;

/// Runs the step once while every allocation and release of the device's memory is recorded, writes
/// `<stem>_memory_profile.pickle` and `<stem>_memory_profile.svg` into the folder, and reports both, with paths relative
/// to `root`. Warm the step up first. Memory of Rust's own allocator is not in it.
///
/// `constant` is the memory allocated before the step, by name, such as the weights and the inputs.
///
/// On a CUDA device the step runs twice: the snapshot is torch's own, with C++ stacks, and recording those would
/// stretch the times in the picture.
///
/// # Errors
/// Errors of the step; when libtorch's profiler is running; when a file cannot be written.
pub fn record(
    device: Device,
    constant: &[(&str, u64)],
    step: &mut dyn FnMut() -> Result<(), Refusal>,
    title: &str,
    folder: &Path,
    stem: &str,
    root: &Path,
) -> Result<(MemoryProfile, Vec<ProfileFile>), Refusal> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (ended, _, mut events) = memory::timeline(&mut *step)?;
    ended?;
    events.retain(|event| (event.device == tch::Device::Cpu) == (device == Device::Cpu));
    let replay = Replay::from_events(&events);
    let (pickle, stats) = if device == Device::Cpu {
        let held: u64 = constant.iter().map(|(_, bytes)| bytes).sum();
        let peak = ("allocated_bytes.all.peak", held + replay.peak_bytes);
        (pickle::dump(&snapshot::snapshot(constant, &events, began)), stats(&[peak]))
    } else {
        history(step)?
    };
    let picture = drawing::draw(title, constant, &events);
    let write = |extension: &str, bytes: &[u8], kind| {
        let path = folder.join(format!("{stem}_memory_profile.{extension}"));
        profile_file::write(&path, bytes, kind, root)
    };
    let files = vec![
        write("pickle", &pickle, ProfileFileKind::MemorySnapshot)?,
        write("svg", picture.as_bytes(), ProfileFileKind::MemoryTimeline)?,
    ];
    let profile = MemoryProfile {
        peak_bytes: replay.peak_bytes,
        at_peak: replay.at_peak,
        events: events.len() as u64,
        stats,
    };
    Ok((profile, files))
}

/// Takes torch's own snapshot of a step on the first CUDA device, with the statistics that upstream reports.
fn history(
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<(Vec<u8>, BTreeMap<String, u64>), Refusal> {
    let (ended, history) = memory_history::record(0, step)?;
    ended?;
    let peaks = history.peaks;
    let stats = stats(&[
        ("allocated_bytes.all.peak", peaks.allocated_bytes),
        ("active_bytes.all.peak", peaks.active_bytes),
        ("reserved_bytes.all.peak", peaks.reserved_bytes),
    ]);
    Ok((history.pickle, stats))
}

fn stats(named: &[(&str, u64)]) -> BTreeMap<String, u64> {
    named.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect()
}

#[cfg(test)]
mod tests;
