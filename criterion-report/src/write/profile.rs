//! A profile in words, for the screen and the page.

use plan::{MemoryProfile, OperationProfile, Profile, ProfileFile, ProfileFileKind};

use crate::model::{Entry, Field};
use crate::units;

/// A line of the table of a profiled step: an operation, several others, or what is outside of all.
pub struct Line {
    pub name: String,
    /// Shapes of the tensors, `64x1024 1024x1024`.
    pub shapes: String,
    pub calls: String,
    pub self_time: String,
    pub total_time: String,
    pub device_time: String,
    /// Its own part of the step, from 0 to 1.
    pub share: f64,
    pub mflop: String,
    pub bytes: String,
}

/// The steps that a profile is of, and the time that the profiler adds to them.
pub fn head(profile: &Profile, entry: &Entry<'_>) -> String {
    if !has_operations(profile) {
        let why = profile.absent.get("operations").map_or("not asked for", String::as_str);
        return format!("no operations: {why}");
    }
    let steps = units::count(profile.steps as usize, "step");
    let own = units::time(profile.step_ns);
    match entry.row.time.as_ref() {
        Ok(time) => format!(
            "{steps} of {own} under the profiler, {} the measured time",
            units::ratio(profile.step_ns / time.median_ns, None)
        ),
        Err(_) => format!("{steps} of {own} under the profiler"),
    }
}

/// Whether its steps were recorded; a profile may be of memory and counters alone.
fn has_operations(profile: &Profile) -> bool {
    profile.step_ns > 0.0
}

/// Operations with a smaller share of a step have no line of their own.
const SMALLEST_SHARE: f64 = 0.005;

/// The first operations of a profile, at most so many, the others as one, and the rest of the step.
pub fn lines(profile: &Profile, most: usize) -> Vec<Line> {
    if !has_operations(profile) {
        return Vec::new();
    }
    let all = &profile.operations;
    let is_small = |it: &OperationProfile| {
        it.device_ns.is_none_or(|ns| ns == 0.0) && share(it.self_ns, profile) < SMALLEST_SHARE
    };
    let notable = all.iter().position(is_small).unwrap_or(all.len()).min(most);
    // One other alone takes no more room than its sum.
    let shown = if all.len() == notable + 1 { all.len() } else { notable };
    let (first, others) = all.split_at(shown);
    let mut lines: Vec<Line> = first.iter().map(|it| operation(it, profile)).collect();
    lines.extend((!others.is_empty()).then(|| sum(others, profile)));
    lines.push(Line {
        self_time: units::time(profile.outside_ns),
        share: share(profile.outside_ns, profile),
        ..named("outside operations".to_owned())
    });
    lines
}

fn named(name: String) -> Line {
    let [shapes, calls, self_time, total_time, device_time, mflop, bytes] =
        [const { String::new() }; 7];
    Line { name, shapes, calls, self_time, total_time, device_time, share: 0.0, mflop, bytes }
}

fn share(ns: f64, profile: &Profile) -> f64 {
    ns / profile.step_ns
}

fn operation(of: &OperationProfile, profile: &Profile) -> Line {
    Line {
        shapes: shapes(&of.shapes),
        calls: calls(of.calls),
        self_time: units::time(of.self_ns),
        total_time: units::time(of.total_ns),
        device_time: of.device_ns.map(units::time).unwrap_or_default(),
        share: share(of.self_ns, profile),
        mflop: of.flops.map(mflop).unwrap_or_default(),
        bytes: of.input_bytes.map(units::bytes).unwrap_or_default(),
        ..named(of.name.clone())
    }
}

/// Several operations; their total times contain each other, so that there is no sum of these.
fn sum(of: &[OperationProfile], profile: &Profile) -> Line {
    let self_ns = of.iter().map(|it| it.self_ns).sum();
    let device_ns: Option<f64> = of.iter().map(|it| it.device_ns).sum();
    Line {
        calls: calls(of.iter().map(|it| it.calls).sum()),
        self_time: units::time(self_ns),
        device_time: device_ns.map(units::time).unwrap_or_default(),
        share: share(self_ns, profile),
        ..named(format!("{} others", of.len()))
    }
}

/// The tensors' shapes; numbers and other arguments have none.
fn shapes(of: &[Vec<i64>]) -> String {
    let shape = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
    of.iter().filter(|it| !it.is_empty()).map(shape).collect::<Vec<_>>().join(" ")
}

/// A mean per step, whole where it is.
fn calls(of: f64) -> String {
    if of.fract() == 0.0 { format!("{of:.0}") } else { format!("{of:.1}") }
}

fn mflop(of: u64) -> String {
    units::grouped(&units::significant(of as f64 / 1e6, 3))
}

/// The step's peak of memory with the operations that hold it, or why it is not known.
pub fn memory(profile: &Profile) -> Option<String> {
    let Some(MemoryProfile { peak_bytes, at_peak, events, .. }) = &profile.memory else {
        return profile.absent.get("memory").cloned();
    };
    let mut text = format!("{} at the peak", units::bytes(*peak_bytes));
    if !at_peak.is_empty() {
        let (first, others) = at_peak.split_at(at_peak.len().min(3));
        let mut parts: Vec<String> =
            first.iter().map(|(name, bytes)| format!("{name} {}", units::bytes(*bytes))).collect();
        let rest: u64 = others.iter().map(|(_, bytes)| bytes).sum();
        if !others.is_empty() {
            parts.push(format!("{} others {}", others.len(), units::bytes(rest)));
        }
        text.push_str(&format!(" ({})", parts.join(", ")));
    }
    let events = units::grouped(&events.to_string());
    Some(format!("{text}; {events} allocations and releases"))
}

const COUNTERS: [&Field; 5] = [
    Field::known("cycles"),
    Field::known("instructions"),
    Field::known("instructions-per-cycle"),
    Field::known("cache-misses"),
    Field::known("tlb-misses"),
];

/// The processor's own counters, or why there are none.
pub fn counters(profile: &Profile, entry: &Entry<'_>) -> Option<String> {
    let Some(of) = profile.hardware else { return profile.absent.get("hardware").cloned() };
    let [cycles, instructions, per_cycle, cache, tlb] = COUNTERS
        .map(|field| field.value(entry).map(|value| field.text(value, false)).unwrap_or_default());
    let references = units::grouped(&units::significant(of.cache_references, 4));
    Some(format!(
        "{cycles}, {instructions} ({per_cycle}), {cache} of {references} references to the last-level \
         cache, {tlb} of the data TLB"
    ))
}

/// The name of a file in a link.
pub const fn noun(of: &ProfileFile) -> &'static str {
    match of.kind {
        ProfileFileKind::Trace => "trace",
        ProfileFileKind::MemorySnapshot => "memory snapshot",
        ProfileFileKind::MemoryTimeline => "memory timeline",
    }
}

/// The folder of the files, and their names with their sizes; none without files.
pub fn files(profile: &Profile) -> Option<String> {
    let (folder, _) = apart(&profile.files.first()?.path);
    let file = |it: &ProfileFile| {
        let (own, name) = apart(&it.path);
        let path = if own == folder { name } else { &it.path };
        format!("{path} ({})", units::bytes(it.bytes))
    };
    let files: Vec<String> = profile.files.iter().map(file).collect();
    Some(format!("{folder}: {}", files.join(", ")))
}

/// The folder of a path, and the file in it.
fn apart(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}
