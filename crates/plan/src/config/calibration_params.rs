//! Configs of `benchmark_mode: calibration`: which limits of the machine, at which sizes.

use super::node::{Fields, Node};
use super::own_keys::{self, OWN_KEYS, Own};
use super::{at_the_top, top};
use crate::catalogue::SizeSet;
use crate::catalogue::probe::{Probe, ProbeWork};
use crate::settings::{Settings, Threads};
use crate::words::{Device, Dtype, UnknownWord};

/// One entry of `calibration_params`.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationParams {
    /// `name`, if given.
    pub name: Option<String>,
    /// Probes of one kind, without repetition.
    pub probes: Vec<Probe>,
    /// Sizes with the name of their set.
    pub sizes: Vec<(String, u64)>,
    /// Dtypes.
    pub dtypes: Vec<Dtype>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Threads; the first is what the others are compared with.
    pub threads: Vec<Threads>,
    /// How each is measured.
    pub settings: Settings,
}

/// The key of the entries.
pub(super) const KEY: &str = "calibration_params";

const ENTRY_KEYS: &[&str] = &["name", "probes", "sizes", "dtypes", "devices"];

/// All of STREAM's probes.
const STREAM: &str = "stream";

/// Reads the whole document.
pub(super) fn read(node: &Node<'_>) -> Option<Vec<CalibrationParams>> {
    let fields = top(node, &[KEY], KEY, ENTRY_KEYS)?;
    let mut own = Own::default();
    own_keys::apply_but_threads(&fields, &mut own);
    // An error in here is one of the file, however the entries are read.
    let threads = read_threads(&fields, &[own.settings.threads]).unwrap_or_default();
    fields.entries(KEY, "probe", |entry| read_entry(entry, &own, &threads))
}

fn read_entry(node: &Node<'_>, outer: &Own, threads: &[Threads]) -> Option<CalibrationParams> {
    let fields = node.mapping_beside(&[ENTRY_KEYS, OWN_KEYS].concat(), &at_the_top(&[]))?;
    let mut own = outer.clone();
    own_keys::apply_but_threads(&fields, &mut own);
    let probes = read_probes(&fields);
    let dtypes = fields.dtypes("dtypes");
    let devices = fields.words("devices");
    let threads = read_threads(&fields, threads);
    let name = fields.read("name", Node::string);
    let kind = probes.as_deref().map(|probes| probes[0]);
    let sizes = read_sizes(&fields, kind);
    if let Some(probe) = kind
        && !probe.is_product()
        && let Some(node) = fields.get("dtypes")
    {
        let message = format!("`{probe}` is measured in float32 only");
        node.report(message, "delete the key, or give `matmul` an entry of its own");
    }
    Some(CalibrationParams {
        name,
        probes: probes?,
        sizes: sizes.filter(|sizes| node.has_room(sizes.len()))?,
        dtypes: dtypes?.unwrap_or_else(|| vec![Dtype::Float32]),
        devices: devices?.unwrap_or_else(|| vec![Device::Cpu]),
        threads: threads?,
        settings: own.settings,
    })
}

/// One number or `all`, or a list of them.
fn read_threads(fields: &Fields<'_>, outer: &[Threads]) -> Option<Vec<Threads>> {
    match fields.get("threads") {
        None => Some(outer.to_vec()),
        Some(node) if node.is_list() => {
            Some(fields.items("threads", own_keys::read_threads)?.unwrap_or_default())
        }
        Some(node) => Some(vec![own_keys::read_threads(&node)?]),
    }
}

/// Probes of one kind: their sizes mean the same.
fn read_probes(fields: &Fields<'_>) -> Option<Vec<Probe>> {
    let Some(listed) = fields.items("probes", probe_or_stream)? else {
        return fields.error(
            "no `probes`".to_owned(),
            "write `[matmul]`, `[stream]`, `[launch]` or `[call]`",
        );
    };
    let mut probes: Vec<Probe> = Vec::new();
    for probe in listed.into_iter().flatten() {
        if !probes.contains(&probe) {
            probes.push(probe);
        }
    }
    let is_launch = |probe: &Probe| *probe == Probe::Launch;
    let kinds = [Probe::is_product, Probe::is_stream, is_launch, Probe::is_call];
    if !kinds.iter().any(|kind| probes.iter().all(kind)) {
        let message = "these probes are of several kinds".to_owned();
        let remedy = "write one entry for `matmul`, one for `stream`, one for `launch`, \
                      one for `call` and `compiled_call`";
        return fields.get("probes")?.error(message, remedy);
    }
    Some(probes)
}

fn probe_or_stream(node: &Node<'_>) -> Option<Vec<Probe>> {
    let text = node.string()?;
    if text == STREAM {
        return Some(Probe::ALL.iter().copied().filter(Probe::is_stream).collect());
    }
    match text.parse::<Probe>() {
        Ok(probe) => Some(vec![probe]),
        Err(_) => {
            let words = Probe::ALL.iter().map(|probe| probe.as_str()).chain([STREAM]);
            let unknown = UnknownWord::new("probe", &text, words);
            node.error(unknown.to_string(), unknown.remedy)
        }
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
    const UNITS: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let text = node.string()?;
    let bytes = UNITS.iter().find_map(|(unit, bytes)| {
        let count: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        count.checked_mul(*bytes)
    });
    match bytes {
        Some(bytes) if (1 << 10..=1 << 40).contains(&bytes) => Some(bytes),
        _ => node.error(
            format!("`{text}` is no size of an array"),
            "write a whole number from 1 KiB to 1 TiB with its unit, e.g. `16KiB` or `4MiB`",
        ),
    }
}
