//! Configs of `benchmark_mode: calibration`: which limits of the machine, at which sizes.

use super::entry::{DeviceDtype, Entry, Listed, Reading, Subject};
use super::node::{Fields, Node};
use crate::catalogue::SizeSet;
use crate::catalogue::probe::{Probe, ProbeWork};
use crate::settings::{Settings, Threads};
use crate::words::{CompileMode, Device, with_unit_of_bytes};
use crate::work::Work;

/// One entry of `calibration_params`: probes of one kind. The first number of threads is what the others
/// are compared with.
pub type CalibrationParams = Entry<Probe, u64, Threads>;

const STREAM: &str = "stream";

impl Subject for Probe {
    type Size = u64;
    type Way = Threads;

    fn size_text(self, _group: &str, size: &u64) -> String {
        self.size_name(*size)
    }

    fn ways(self, listed: Option<&[Threads]>, _device: Device) -> Vec<Threads> {
        listed.unwrap_or_default().to_vec()
    }

    fn work(
        self,
        size: &u64,
        threads: Threads,
        _compile: Option<CompileMode>,
        place: DeviceDtype,
    ) -> Work {
        Work::Probe(ProbeWork::new(self, *size, threads, place.device))
    }

    fn settings(threads: Threads, settings: &Settings) -> Settings {
        Settings { threads, ..settings.clone() }
    }
}

impl Listed for Probe {
    const KEY: &'static str = "calibration_params";
    const WORDS_KEY: &'static str = "probes";
    const WHAT: &'static str = "probe";
    const KEYS: &'static [&'static str] = &["name", "probes", "sizes", "dtypes", "devices"];
    const IS_COMPILED: bool = false;
    const LISTS_THREADS: bool = true;

    fn missing() -> String {
        "write `[matmul]`, `[stream]`, `[launch]` or `[call]`".to_owned()
    }

    fn groups() -> Vec<(&'static str, Vec<Self>)> {
        vec![(STREAM, Self::ALL.iter().copied().filter(Self::is_stream).collect())]
    }

    /// Sizes mean the same for probes of one kind only.
    fn judged(fields: &Fields<'_>, kernels: Vec<Self>) -> Option<Vec<Self>> {
        let is_launch = |probe: &Self| *probe == Self::Launch;
        let kinds = [Self::is_product, Self::is_stream, is_launch, Self::is_call];
        if !kinds.iter().any(|kind| kernels.iter().all(kind)) {
            let message = "these probes are of several kinds".to_owned();
            let remedy = "write one entry for `matmul`, one for `stream`, one for `launch`, \
                          one for `call` and `compiled_call`";
            return fields.get(Self::WORDS_KEY)?.error(message, remedy);
        }
        let probe = kernels[0];
        if let (false, Some(node)) = (probe.is_product(), fields.get("dtypes")) {
            let message = format!("`{probe}` is measured in float32 only");
            node.report(message, "delete the key, or give `matmul` an entry of its own");
        }
        Some(kernels)
    }

    fn sizes(entry: &Reading<'_, Self>) -> Option<Vec<(String, u64)>> {
        let sizes = read_sizes(entry.fields, entry.kernels.map(|probes| probes[0]))?;
        entry.fields.has_room(sizes.len()).then_some(sizes)
    }

    fn listed_ways(entry: &Reading<'_, Self>) -> Option<Option<Vec<Threads>>> {
        Some(entry.own.threads.clone())
    }
}

/// `full`, `quick`, or a list. Of unknown probes, or of several kinds, only what is wrong for every
/// kind is an error.
fn read_sizes(fields: &Fields<'_>, probe: Option<Probe>) -> Option<Vec<(String, u64)>> {
    let named = |name: String, sizes: Vec<u64>| {
        Some(sizes.into_iter().map(|size| (name.clone(), size)).collect())
    };
    let set = |set: SizeSet| named(set.to_string(), ProbeWork::sizes(probe?, set));
    let Some(node) = fields.get("sizes") else { return set(SizeSet::Full) };
    if let Some(probe) = probe.filter(|probe| !probe.is_product() && !probe.is_stream()) {
        return node.error(format!("`{probe}` has one size only"), "delete the key");
    }
    if node.as_text().is_some() {
        return set(node.word()?);
    }
    let size = |node: &Node<'_>| match probe {
        Some(probe) if probe.is_product() => read_rows(node),
        Some(_) => read_bytes(node),
        None if node.as_integer().is_some() => read_rows(node),
        None => read_bytes(node),
    };
    named("custom".to_owned(), fields.items("sizes", size)??)
}

/// Rows and columns of a square matrix.
fn read_rows(node: &Node<'_>) -> Option<u64> {
    const MOST: u64 = 1 << 20;
    match node.as_integer() {
        Some(rows @ 1..=MOST) => Some(rows),
        _ => node.wrong_type(
            "a number of rows",
            &format!("a whole number from 1 to {MOST}: of rows, and of columns"),
        ),
    }
}

/// Bytes of one array: `16KiB`, `4MiB`, `1GiB`; whole cache lines.
fn read_bytes(node: &Node<'_>) -> Option<u64> {
    let text = node.string()?;
    let bytes = with_unit_of_bytes(&text)
        .and_then(|(count, unit)| count.trim_end().parse::<u64>().ok()?.checked_mul(unit));
    match bytes {
        Some(bytes) if (1 << 10..=1 << 40).contains(&bytes) => Some(bytes),
        _ => node.error(
            format!("`{text}` is not an array size"),
            "write a whole number from 1 KiB to 1 TiB with its unit, e.g. `16KiB` or `4MiB`",
        ),
    }
}
