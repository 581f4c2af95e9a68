//! Configs of `benchmark_mode: kernels`: where the kernels are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::bench_params::{self, KernelParams, Override};
use super::node::{Fields, Node};
use super::own_keys::{self, Own};
use super::top;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::kernel::{Kernel, discovery};

/// What a config of kernels says, and what it finds; what each kernel is, its own folder says.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSuite {
    /// Folders that are searched for kernels.
    pub roots: Vec<PathBuf>,
    /// What the search found, and how each kernel is measured.
    pub(crate) kernels: Vec<KernelParams>,
    pub(crate) files: Vec<PathBuf>,
}

impl KernelSuite {
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().map(|params| &params.kernel)
    }
}

pub(super) const KEY: &str = "kernel_paths";

/// What holds over every `bench.yaml`.
const OVERRIDE: &str = "override";

/// The folder that is searched where none is named; the only one that need not exist.
const ROOT: &str = "benches/kernels";

/// Reads the whole document, which is that of `file`; if it lies in no package, it is of `package`.
pub(super) fn read(node: &Node<'_>, file: &Path, package: &Path) -> Option<KernelSuite> {
    let fields = top(node, &[KEY, OVERRIDE], KEY, &[])?;
    let mut own = Own::default();
    own_keys::apply(&fields, &mut own);
    let over = fields.read(OVERRIDE, Override::read).unwrap_or_default();
    let package = package_of(node, file, package)?;
    let roots = read_roots(&fields, &package)?;
    let existing: Vec<PathBuf> = roots.iter().filter(|root| root.exists()).cloned().collect();
    let (found, errors) = discovery::find(&existing);
    node.report_of_others(errors);
    let mut suite = KernelSuite { roots, kernels: Vec::new(), files: Vec::new() };
    let mut read: Vec<(Option<PathBuf>, Kernel)> = Vec::new();
    for found in found {
        suite.files.extend(found.files.iter().map(|(_, file)| file.clone()));
        suite.files.extend(found.bench.clone());
        match Kernel::read(&found, &package) {
            Ok(kernel) => read.push((found.bench, kernel)),
            Err(errors) => node.report_of_others(errors.0),
        }
    }
    for (bench, kernel) in &read {
        match bench_params::read(kernel, bench.as_deref(), &own, &over) {
            Ok(params) => suite.kernels.push(params),
            Err(Diagnostics(errors)) => {
                let beside = |(other, it): &(Option<PathBuf>, Kernel)| {
                    bench.is_some() && other == bench && !it.has_fields_of(kernel)
                };
                let is_shared = read.iter().any(beside);
                let of = |error| if is_shared { of_shared(error, kernel) } else { error };
                node.report_of_others(errors.into_iter().map(of));
            }
        }
    }
    refuse_empty(&fields, &suite.kernels);
    Some(suite)
}

/// `error` of a `bench.yaml` that holds for kernels with other fields, too.
fn of_shared(error: Diagnostic, kernel: &Kernel) -> Diagnostic {
    let file = &kernel.baseline().file;
    let is_named = error.message.contains(file.as_str());
    if !is_named && !["problem_size", "skip_conditions"].iter().any(|it| error.key.starts_with(it))
    {
        return error;
    }
    let message = if is_named { error.message } else { format!("{} (of {file})", error.message) };
    let remedy = format!(
        "{}; kernels with different fields share no bench.yaml: put each into a folder of its own",
        error.remedy
    );
    Diagnostic { message, remedy, ..error }
}

/// An `override` that leaves nothing of any kernel.
fn refuse_empty(fields: &Fields<'_>, kernels: &[KernelParams]) {
    let Some(node) = fields.get(OVERRIDE).filter(|_| !kernels.is_empty()) else { return };
    if !kernels.iter().all(KernelParams::is_empty) {
        return;
    }
    // Each word once, in an order that is the same however the kernels are called.
    let words = |words: &mut dyn Iterator<Item = &'static str>| {
        words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    let precisions =
        words(&mut kernels.iter().flat_map(|it| &it.precisions.listed).map(|it| it.precision()));
    let backends =
        words(&mut kernels.iter().flat_map(|it| &it.backends.listed).map(|it| it.as_str()));
    let message = "it leaves nothing of any kernel".to_owned();
    let remedy =
        format!("name some of what the kernels list: precisions {precisions}; backends {backends}");
    node.report(message, remedy);
}

/// The nearest folder above `file` with a `Cargo.toml`; `otherwise`, if there is none.
fn package_of(node: &Node<'_>, file: &Path, otherwise: &Path) -> Option<PathBuf> {
    let whole =
        std::path::absolute(file).and_then(|file| Ok((file, std::path::absolute(otherwise)?)));
    let (file, otherwise) = match whole {
        Ok(whole) => whole,
        Err(error) => {
            let message = format!("its folder is not known: {error}");
            return node.error(message, "name the config by its whole path");
        }
    };
    let mut folders = file.ancestors().skip(1);
    let package = folders.find(|folder| folder.join("Cargo.toml").is_file());
    Some(package.map_or(otherwise, Path::to_owned))
}

/// The folders that the config names, which have to exist, or the usual one.
fn read_roots(fields: &Fields<'_>, package: &Path) -> Option<Vec<PathBuf>> {
    let root = |node: &Node<'_>| {
        let root = package.join(node.string()?);
        match root.is_dir() {
            true => Some(root),
            false => {
                let message = format!("there is no folder {}", root.display());
                node.error(message, "make it, or name one that exists, relative to the package")
            }
        }
    };
    let named = fields.items(KEY, root)?;
    Some(named.unwrap_or_else(|| vec![package.join(ROOT)]))
}
