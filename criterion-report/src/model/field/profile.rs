//! The fields of a profile for torchao's columns, and helpers for all fields of a profile.

use plan::{Profile, ProfileFileKind};

use super::*;

fields! {
    /// The values of the last columns of torchao's layouts.
    FILES:
    "trace", NONE, "path of the Chrome trace, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::Trace))
        why (|e| no_file(e, "operations"));
    "memory-snapshot", NONE, "path of the memory snapshot, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::MemorySnapshot))
        why (|e| no_file(e, "memory"));
    "memory-timeline", NONE, "path of the drawn memory timeline, from `target/criterion-torch`",
        (|e| file(e, ProfileFileKind::MemoryTimeline))
        why (|e| no_file(e, "memory"));
    "memory-stats", BYTES, "torch's peaks of memory in a step, by their names; in CSV bytes / 10⁶",
        (|e| Value::named(&profile(e)?.memory.as_ref()?.stats))
        why (|e| absent(e, "memory"));
}

pub(super) fn profile<'a>(entry: &Entry<'a>) -> Option<&'a Profile> {
    entry.row.record.profile.as_ref()
}

/// The time of a profiled step; `None` for a profile without operations.
pub(super) fn step_ns(entry: &Entry<'_>) -> Option<f64> {
    Some(profile(entry)?.step_ns).filter(|ns| *ns > 0.0)
}

fn file<'a>(entry: &Entry<'a>, kind: ProfileFileKind) -> Option<Value<'a>> {
    Some((&profile(entry)?.file(kind)?.path).into())
}

/// Why a file is absent: its part of the profile is, or it was replaced since.
fn no_file(entry: &Entry<'_>, part: &str) -> Option<String> {
    absent(entry, part).or_else(|| absent(entry, "files"))
}

pub(super) fn no_counters(entry: &Entry<'_>) -> Option<String> {
    let is_of_gpu = profile(entry).is_some_and(|it| it.gpu.is_some());
    let other =
        || Some("hardware: the case runs on a GPU, whose own counters are there".to_owned());
    absent(entry, "hardware").or_else(|| is_of_gpu.then(other)?)
}

pub(super) fn no_gpu_counters(entry: &Entry<'_>) -> Option<String> {
    let is_of_cpu = profile(entry).is_some_and(|it| it.hardware.is_some());
    let other =
        || Some("hardware: the case runs on a CPU, whose own counters are there".to_owned());
    absent(entry, "hardware").or_else(|| is_of_cpu.then(other)?)
}

/// Why a part of a profile is absent.
pub(super) fn absent(entry: &Entry<'_>, part: &str) -> Option<String> {
    let Some(profile) = profile(entry) else {
        return Some("no profile was taken: `cargo bench -- --profile` takes one".to_owned());
    };
    profile.absent.get(part).map(|why| format!("{part}: {why}"))
}
