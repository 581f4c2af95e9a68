//! A profile as text, for the terminal and the HTML page.

use std::path::{Path, PathBuf};

use plan::{GpuCounters, MemoryProfile, OperationProfile, Profile, ProfileFile, ProfileFileKind};

use crate::model::{Entry, Field};
use crate::read::profile_files::is_inside;
use crate::render::units;

/// A profile file in the folder of the records; `None` if it does not exist there.
pub fn file(records: &Path, path: &str) -> Option<PathBuf> {
    Some(records.join(path)).filter(|file| is_inside(path) && file.is_file())
}

/// An SVG as a data URL. As an image it cannot run scripts.
pub fn picture(svg: &str) -> String {
    format!("data:image/svg+xml,{}", encoded(svg))
}

/// A page that shows nothing but an SVG, under its own name.
pub fn page(svg: &str, file: &Path) -> String {
    let name = encoded(&file.file_stem().unwrap_or_default().to_string_lossy());
    let picture = picture(svg);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{name}</title>\n\
         <img alt=\"Memory over time\" src=\"{picture}\">\n</html>\n"
    )
}

/// Percent-encodes characters that would end the path of a URL.
pub fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
                out.push(byte.into());
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A line in the table of a profiled step: an operation, the sum of several, or the time outside of all operations.
#[derive(Default)]
pub struct Line {
    pub name: String,
    /// Shapes of the tensors, `64x1024, 1024x1024`.
    pub shapes: String,
    pub calls: String,
    pub self_time: String,
    pub total_time: String,
    pub device_time: String,
    /// Its own part of the step, from 0 to 1: of its kernels where a GPU's were recorded, else on the host. None of the
    /// host's time beside kernels.
    pub share: Option<f64>,
    pub mflop: String,
    pub bytes: String,
}

/// The number of profiled steps, and how much slower they are than the measured time.
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

/// Whether operations were recorded; a profile may have only memory and counters.
fn has_operations(profile: &Profile) -> bool {
    profile.step_ns > 0.0
}

/// Operations with a smaller share of a step have no line of their own.
const SMALLEST_SHARE: f64 = 0.005;

/// At most `most` operations of a profile, the sum of the others, and the time outside of operations.
pub fn lines(profile: &Profile, most: usize) -> Vec<Line> {
    if !has_operations(profile) {
        return Vec::new();
    }
    let all = &profile.operations;
    let is_small = |it: &OperationProfile| {
        it.device_ns.is_none_or(|ns| ns == 0.0) && share(it.self_ns, profile) < SMALLEST_SHARE
    };
    let device_ns: Option<f64> = all.iter().map(|it| it.device_ns).sum();
    let device_ns = device_ns.filter(|_| !all.is_empty());
    let notable = all.iter().position(is_small).unwrap_or(all.len()).min(most);
    // A single remaining operation takes no more room than a sum line, so it is shown.
    let shown = if all.len() == notable + 1 { all.len() } else { notable };
    let (first, others) = all.split_at(shown);
    let mut lines: Vec<Line> = first.iter().map(|it| operation(it, profile)).collect();
    lines.extend((!others.is_empty()).then(|| sum(others, profile)));
    lines.push(Line {
        self_time: units::time(profile.outside_ns),
        share: device_ns.is_none().then(|| share(profile.outside_ns, profile)),
        ..named("outside operations".to_owned())
    });
    lines.extend(device_ns.map(|ns| idle(ns, profile)));
    lines
}

/// The time in which no kernel of the step ran. Kernels of several streams may run at once, so there may be none of it
/// although the device was idle.
fn idle(device_ns: f64, profile: &Profile) -> Line {
    let ns = (profile.step_ns - device_ns).max(0.0);
    Line {
        device_time: units::time(ns),
        share: Some(share(ns, profile)),
        ..named("GPU without kernels".to_owned())
    }
}

fn named(name: String) -> Line {
    Line { name, ..Line::default() }
}

fn share(ns: f64, profile: &Profile) -> f64 {
    ns / profile.step_ns
}

/// The time by which an operation has its share.
fn own_ns(of: &OperationProfile) -> f64 {
    of.device_ns.unwrap_or(of.self_ns)
}

fn operation(of: &OperationProfile, profile: &Profile) -> Line {
    Line {
        shapes: of_shapes(&of.shapes),
        calls: calls(of.calls),
        self_time: units::time(of.self_ns),
        total_time: units::time(of.total_ns),
        device_time: of.device_ns.map(units::time).unwrap_or_default(),
        share: Some(share(own_ns(of), profile)),
        mflop: of.flops.map(mflop).unwrap_or_default(),
        bytes: of.input_bytes.map(units::bytes).unwrap_or_default(),
        ..named(of.name.clone())
    }
}

/// The sum of several operations. Their total times include each other, so total times are not summed.
fn sum(of: &[OperationProfile], profile: &Profile) -> Line {
    let self_ns = of.iter().map(|it| it.self_ns).sum();
    let device_ns: Option<f64> = of.iter().map(|it| it.device_ns).sum();
    Line {
        calls: calls(of.iter().map(|it| it.calls).sum()),
        self_time: units::time(self_ns),
        device_time: device_ns.map(units::time).unwrap_or_default(),
        share: Some(share(of.iter().map(own_ns).sum(), profile)),
        ..named(format!("{} others", of.len()))
    }
}

/// A mean number of calls per step, without decimals if it is whole.
pub fn calls(of: f64) -> String {
    match of {
        whole if whole.fract() == 0.0 => format!("{whole:.0}"),
        part if part < 1.0 => units::significant(part, 2),
        mean => format!("{mean:.1}"),
    }
}

fn mflop(of: u64) -> String {
    units::grouped(&units::significant(of as f64 / 1e6, 3))
}

/// The step's peak of memory with the operations that hold it.
pub fn memory(profile: &Profile) -> Option<String> {
    let MemoryProfile { peak_bytes, at_peak, events, .. } = profile.memory.as_ref()?;
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

const GPU_COUNTERS: [&Field; 7] = [
    Field::known("gpu-cycles"),
    Field::known("sm-throughput"),
    Field::known("tensor-active"),
    Field::known("occupancy"),
    Field::known("dram-bytes"),
    Field::known("dram-throughput"),
    Field::known("l2-hit-rate"),
];

/// The hardware counters of the processor or GPU.
pub fn counters(profile: &Profile, entry: &Entry<'_>) -> Option<String> {
    profile.gpu.as_ref().map(gpu_counters).or_else(|| processor_counters(profile, entry))
}

/// The counters of a GPU in a sentence.
pub fn gpu_counters(of: &GpuCounters) -> String {
    let values = [
        of.cycles,
        of.sm_throughput,
        of.tensor_active,
        of.occupancy,
        of.dram_bytes,
        of.dram_throughput,
        of.l2_hit_rate,
    ];
    let [cycles, sm, tensor, occupancy, bytes, dram, l2] =
        std::array::from_fn(|at| GPU_COUNTERS[at].text(values[at].into(), false));
    format!(
        "{cycles}, SMs at {sm} of their peak, tensor cores active in {tensor}, occupancy {occupancy}, \
         memory {bytes} at {dram} of its peak, L2 hits {l2}"
    )
}

fn processor_counters(profile: &Profile, entry: &Entry<'_>) -> Option<String> {
    let of = profile.hardware?;
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

/// The files: their common path prefix, then the rest of each with its size, such as `profiles/…/linear_64_*:
/// profile.json (31 KiB)`. `None` without files.
pub fn files(profile: &Profile) -> Option<String> {
    let paths: Vec<&str> = profile.files.iter().map(|it| &*it.path).collect();
    let [first, others @ ..] = &paths[..] else { return None };
    let shared = others.iter().fold(*first, |shared, path| {
        let same = shared.chars().zip(path.chars()).take_while(|(a, b)| a == b);
        &shared[..same.map(|(letter, _)| letter.len_utf8()).sum()]
    });
    // The prefix ends after a whole word of the file name; for a single file it is the folder.
    let end = |sign: char| shared.rfind(sign);
    let folder = end('/').map_or(0, |place| place + 1);
    let word = end('_').map_or(0, |place| place + 1);
    let begin = if others.is_empty() { folder } else { folder.max(word) };
    let file = |it: &ProfileFile| format!("{} ({})", &it.path[begin..], units::bytes(it.bytes));
    let files = profile.files.iter().map(file).collect::<Vec<_>>().join(", ");
    Some(if begin == 0 { files } else { format!("{}*: {files}", &first[..begin]) })
}

/// `16x1024, 1024x1024`: those of tensors.
pub fn of_shapes(shapes: &[Vec<i64>]) -> String {
    let tensors = shapes.iter().filter(|shape| !shape.is_empty());
    let sizes = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
    tensors.map(sizes).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_are_said_once() {
        let text = |paths: &[&str]| {
            let file = |path: &&str| ProfileFile {
                kind: ProfileFileKind::Trace,
                path: (*path).to_owned(),
                bytes: 2048,
                checksum: None,
            };
            let written = paths.iter().map(file).collect();
            files(&Profile { files: written, ..Profile::default() })
        };
        assert_eq!(text(&[]), None);
        assert_eq!(text(&["p/a/x_m.json"]).as_deref(), Some("p/a/*: x_m.json (2.00 KiB)"));
        assert_eq!(
            text(&["p/a/x_memory.svg", "p/a/x_memory.pickle"]).as_deref(),
            Some("p/a/x_*: memory.svg (2.00 KiB), memory.pickle (2.00 KiB)")
        );
        assert_eq!(
            text(&["p/a/µ.svg", "p/a/ü.svg"]).as_deref(),
            Some("p/a/*: µ.svg (2.00 KiB), ü.svg (2.00 KiB)")
        );
        assert_eq!(text(&["a", "b"]).as_deref(), Some("a (2.00 KiB), b (2.00 KiB)"));
    }
}
