//! `bench.yaml`: how the kernels of its folder are measured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::backends::{self, BackendList, Backends};
use super::entry::{DeviceDtype, Entry, EntryOf, Subject};
use super::kernel_tolerances::Tolerances;
use super::node::{Fields, Node};
use super::own_keys::{self, CommonSettings, OWN_KEYS};
use super::problem_size::{self, ProblemSize};
use super::skip_conditions::{Facts, Skip};
use super::yaml;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;
use crate::id;
use crate::kernel::field::size_text;
use crate::kernel::{Kernel, KernelFile, KernelWork, SkipCondition};
use crate::settings::{Profiling, Settings};
use crate::words::{CompileMode, Device, Dtype, without_repetition};
use crate::work::Work;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelParams {
    pub(crate) kernel: Kernel,
    problem_sizes: Vec<ProblemSize>,
    pub(super) precisions: Precisions,
    pub(super) backends: Backends,
    tolerances: Tolerances,
    skips: Vec<Skip>,
    metadata: BTreeMap<String, Value>,
    pub(crate) settings: Settings,
}

/// The precisions that a kernel lists, and those that it has cases in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Precisions {
    pub(super) listed: Vec<Dtype>,
    /// The precisions that the config selects, or else all listed ones; those that are not listed are skipped.
    selected: Vec<Dtype>,
}

impl Precisions {
    /// If the `bench.yaml` lists no precisions, those of `over` count as listed, or else float32.
    fn new(said: Option<Vec<Dtype>>, over: Option<&[Dtype]>) -> Self {
        let listed = said.or(over.map(<[_]>::to_vec)).unwrap_or_else(|| vec![Dtype::Float32]);
        let selected = backends::selected(&listed, over);
        Self { listed, selected }
    }

    /// Why nothing is measured in the precision; `None` if something is.
    fn refusal(&self, dtype: Dtype) -> Option<String> {
        let words = || self.listed.iter().map(|it| it.precision());
        (!self.listed.contains(&dtype))
            .then(|| backends::unlisted("precisions", dtype.precision(), words()))
    }
}

/// The selected words that no kernel lists, each with the words that the kernels list.
pub(super) fn unlisted(kernels: &[KernelParams]) -> Vec<String> {
    let mut found = Vec::new();
    let mut all = |key, selected: Vec<&'static str>, listed: Vec<&'static str>| {
        let known = without_repetition(listed);
        for word in selected {
            let text = backends::unlisted(key, word, known.iter().copied());
            if !known.contains(&word) && !found.contains(&text) {
                found.push(text);
            }
        }
    };
    let precisions = |of: fn(&Precisions) -> &Vec<Dtype>| {
        let words = kernels.iter().flat_map(|it| of(&it.precisions));
        words.map(|it| it.precision()).collect::<Vec<_>>()
    };
    all("precisions", precisions(|it| &it.selected), precisions(|it| &it.listed));
    let backends = |of: fn(&Backends) -> &Vec<Device>| {
        kernels.iter().flat_map(|it| of(&it.backends)).map(|it| it.as_str()).collect::<Vec<_>>()
    };
    all("backends", backends(|it| &it.devices), backends(|it| &it.listed));
    found
}

/// The function that a `bench.yaml` names; it decides how the kernel's files are read. Mistakes in it are reported
/// later, when the whole file is read.
pub(super) fn function_name(bench: Option<&Path>) -> Option<String> {
    let text = yaml::text(bench?).ok()?;
    let document: serde_yaml::Value = serde_yaml::from_str(&text).ok()?;
    Some(document.get(FUNCTION)?.as_str()?.to_owned())
}

impl KernelParams {
    /// The entry that expands to its cases.
    pub(crate) fn entry(&self) -> EntryOf<&Self> {
        let named = |size: &ProblemSize| (size_text(self.kernel.fields(), size), size.clone());
        Entry {
            name: None,
            kernels: vec![self],
            sizes: self.problem_sizes.iter().map(named).collect(),
            ways: None,
            compile: Vec::new(),
            dtypes: self.precisions.selected.clone(),
            devices: self.backends.devices.clone(),
            profiling: Profiling::default(),
            settings: self.settings.clone(),
        }
    }

    /// Why a selected case is not measured; `None` if it is.
    fn unselected(
        &self,
        file: &KernelFile,
        DeviceDtype { device, dtype }: DeviceDtype,
    ) -> Option<SkipCondition> {
        let of_backends = || self.backends.refusal(device, file);
        let reason = self.precisions.refusal(dtype).or_else(of_backends)?;
        Some(SkipCondition { check: None, reason })
    }
}

impl fmt::Display for KernelParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kernel.name)
    }
}

impl<'k> Subject for &'k KernelParams {
    type Size = ProblemSize;
    type Way = &'k KernelFile;

    fn size_text(self, group: &str, size: &ProblemSize) -> String {
        id::size(group, &size_text(self.kernel.fields(), size))
    }

    fn ways(self, _listed: Option<&[Self::Way]>, _device: Device) -> Vec<Self::Way> {
        self.kernel.files.iter().collect()
    }

    fn work(
        self,
        size: &ProblemSize,
        file: &KernelFile,
        _compile: Option<CompileMode>,
        place: DeviceDtype,
    ) -> Work {
        let DeviceDtype { device, dtype } = place;
        let skips = self.skips.iter().filter(|skip| skip.concerns(device, dtype));
        let skips = skips.map(|skip| skip.condition.clone());
        Work::Kernel(KernelWork {
            kernel: self.kernel.name.clone(),
            implementation: file.implementation.clone(),
            file: file.file.clone(),
            problem_size: size.clone(),
            tolerances: self.tolerances.for_dtype(dtype),
            uses_torch: file.uses_torch,
            skip_conditions: self.unselected(file, place).into_iter().chain(skips).collect(),
            metadata: self.metadata.clone(),
        })
    }

    fn config_hash(self, config: &str) -> String {
        hash::hex(format!("{config}{}", self.kernel.hash))
    }

    /// Criterion would cut it.
    fn refusal(self, group: &str, _config: &Path) -> Option<Diagnostic> {
        (group.len() > id::MAX_PART).then(|| {
            let message =
                format!("`{group}` is longer than a group can be, {} bytes", id::MAX_PART);
            let remedy = "give the kernel a shorter name";
            Diagnostic::whole_file(&self.kernel.baseline().path, message, remedy)
        })
    }
}

/// A config's word over every `bench.yaml`. Precisions and backends are a selection of those listed there.
#[derive(Debug, Default)]
pub(super) struct Override {
    precisions: Option<Vec<Dtype>>,
    backends: Option<BackendList>,
    iterations: Option<Iterations>,
    seed: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Iterations {
    warmup: Option<u64>,
    timed: Option<u64>,
}

/// The keys of a `bench.yaml`, besides our own.
const KEYS: &[&str] = &[
    problem_size::KEY,
    FUNCTION,
    "precisions",
    "backends",
    "tolerances",
    "skip_conditions",
    "iterations",
    "metadata",
    own_keys::JUDGE,
];

/// The one of our own keys that does nothing for a kernel.
const COMPILES: &str = "compile_timeout_s";

/// The key that names the timed function.
const FUNCTION: &str = "function_name";

/// Reads what `bench` says of the kernel, on top of what the config says for all.
pub(super) fn read(
    kernel: &Kernel,
    bench: Option<&Path>,
    own: &CommonSettings,
    over: &Override,
) -> Result<KernelParams, Diagnostics> {
    let Some(bench) = bench else { return unsaid(kernel, own, over) };
    let text = yaml::text(bench).map_err(|error| {
        let remedy = yaml::remedy(&error, "make it a YAML file that can be read");
        Diagnostic::whole_file(bench, format!("cannot be read: {error}"), remedy)
    })?;
    Node::read_document(bench, &text, |node| read_document(node, kernel, own, over))
}

fn unsaid(
    kernel: &Kernel,
    own: &CommonSettings,
    over: &Override,
) -> Result<KernelParams, Diagnostics> {
    let missing = problem_size::missing(kernel, &ProblemSize::new());
    if !missing.is_empty() {
        let message = problem_size::no_value(kernel, &missing);
        let remedy = "implement `Default` with the size to measure, or give it in `problem_size` of a \
                      bench.yaml beside the file";
        return Err(kernel.size_error(message, remedy).into());
    }
    let mut settings = own.settings.clone();
    over.apply(&mut settings);
    Ok(KernelParams {
        kernel: kernel.clone(),
        problem_sizes: vec![ProblemSize::new()],
        precisions: over.precisions(None),
        backends: over.backends(None),
        tolerances: Tolerances::default(),
        skips: Vec::new(),
        metadata: BTreeMap::new(),
        settings,
    })
}

fn read_document(
    node: &Node<'_>,
    kernel: &Kernel,
    outer: &CommonSettings,
    over: &Override,
) -> Option<KernelParams> {
    if node.is_null() {
        return node.error("the file is empty".to_owned(), "write a key, or delete the file");
    }
    let in_config = |key: &'static str| (key, "it belongs in the config of kernels".to_owned());
    let compiles = "kernels are not compiled by torch: delete it".to_owned();
    let others: Vec<_> = ["benchmark_mode", "kernel_paths", "override"]
        .map(in_config)
        .into_iter()
        .chain([(COMPILES, compiles)])
        .collect();
    let own_keys = OWN_KEYS.iter().copied().filter(|key| *key != COMPILES);
    let allowed: Vec<&str> = KEYS.iter().copied().chain(own_keys).collect();
    let fields = node.mapping_beside(&allowed, &others)?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    // All are read before any error ends this, so that each error is reported.
    let iterations = fields.read("iterations", Iterations::read);
    refuse_said_twice(&fields, iterations);
    if let Some(iterations) = iterations {
        iterations.apply(&mut own.settings);
    }
    over.apply(&mut own.settings);
    let problem_sizes = problem_size::read(&fields, kernel);
    let _ = fields.read(FUNCTION, |node| check_function(node, kernel));
    let precisions = read_precisions(&fields);
    let backends = backends::read(&fields);
    let tolerances = fields.read("tolerances", |node| Tolerances::read(node, kernel));
    let facts = Facts::new(kernel, problem_sizes.as_deref());
    let skips = fields.items("skip_conditions", |node| Skip::read(node, &facts));
    let metadata = fields.read("metadata", Node::object);
    Some(KernelParams {
        kernel: kernel.clone(),
        problem_sizes: problem_sizes?,
        precisions: over.precisions(precisions?),
        backends: over.backends(backends?),
        tolerances: tolerances.unwrap_or_default(),
        skips: skips?.unwrap_or_default(),
        metadata: metadata.unwrap_or_default().into_iter().collect(),
        settings: own.settings,
    })
}

impl Override {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.mapping(&["precisions", "backends", "iterations", "seed"])?;
        let precisions = read_precisions(&fields);
        let backends = backends::read(&fields);
        Some(Self {
            precisions: precisions?,
            backends: backends?,
            iterations: fields.read("iterations", Iterations::read),
            seed: fields.read("seed", own_keys::read_seed),
        })
    }

    fn apply(&self, settings: &mut Settings) {
        if let Some(iterations) = self.iterations {
            iterations.apply(settings);
        }
        settings.seed = self.seed.unwrap_or(settings.seed);
    }

    fn precisions(&self, said: Option<Vec<Dtype>>) -> Precisions {
        Precisions::new(said, self.precisions.as_deref())
    }

    fn backends(&self, said: Option<BackendList>) -> Backends {
        Backends::new(said, self.backends.as_ref())
    }
}

impl Iterations {
    fn read(node: &Node<'_>) -> Option<Self> {
        let fields = node.mapping(&["warmup", "timed"])?;
        Some(Self {
            warmup: fields.read("warmup", |node| node.integer(own_keys::WARM_UPS)),
            timed: fields.read("timed", |node| node.integer(own_keys::SAMPLES)),
        })
    }

    /// Sets the number of samples, the fewest single calls, and the calls before them.
    fn apply(self, settings: &mut Settings) {
        settings.latency.warm_up = self.warmup.or(settings.latency.warm_up);
        if self.timed.is_some() {
            // This wins over the config's number of calls.
            (settings.latency.calls, settings.latency.fewest) = (None, self.timed);
        }
        settings.sampling.samples = self.timed.or(settings.sampling.samples);
    }
}

/// `iterations` is another word for some of our own keys.
fn refuse_said_twice(fields: &Fields<'_>, iterations: Option<Iterations>) {
    let Some(iterations) = iterations else { return };
    let pairs = [
        ("warmup", iterations.warmup, "latency", "warm_up"),
        ("timed", iterations.timed, "latency", "calls"),
        ("timed", iterations.timed, "sampling", "samples"),
    ];
    for (key, said, other, inner) in pairs {
        if let Some(node) = fields.get(other).and_then(|node| node.get(inner))
            && said.is_some()
        {
            let message = format!("`iterations.{key}` sets the same value");
            node.report(message, format!("delete one of the two: `{key}` sets `{other}.{inner}`"));
        }
    }
}

fn read_precisions(fields: &Fields<'_>) -> Option<Option<Vec<Dtype>>> {
    fields.words_by("precisions", Dtype::precision_named)
}

/// Reads the name of the timed function, and checks that a file of the folder has it.
fn check_function(node: &Node<'_>, kernel: &Kernel) -> Option<()> {
    let name = node.string()?;
    let is_timed = |file: &KernelFile| file.form.timed_function() == Some(&name);
    if kernel.files.iter().any(is_timed) {
        return Some(());
    }
    let files: Vec<&str> = kernel.files.iter().map(|file| file.file.as_str()).collect();
    let message = format!("`{name}` is no function of {} that could be timed", files.join(", "));
    node.error(message, "name a `pub fn` of a file that does not implement `Kernel`")
}
