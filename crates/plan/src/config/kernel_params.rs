//! Configs of `benchmark_mode: kernels`: where the kernels are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::bench_params::{self, KernelParams, Override};
use super::node::{Fields, Node};
use super::own_keys::{self, Own};
use super::{package_of, top};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::kernel::{Kernel, OVERRIDE_VARIABLE, code, discovery};
use crate::library::{Brings, Library, Package};

/// A config of kernels and the kernels that it finds; each kernel is described in its own folder.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSuite {
    /// Folders that are searched for kernels.
    pub roots: Vec<PathBuf>,
    /// The kernels that the search found, and how each is measured.
    pub(crate) kernels: Vec<KernelParams>,
    /// The files that describe them, and their `bench.yaml`s.
    pub files: Vec<PathBuf>,
}

impl KernelSuite {
    /// Whether the search found no kernel.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// Rust source with the modules of all kernels and the function that prepares a case of any.
    ///
    /// # Errors
    /// When two kernels have one name, as cases name their files.
    pub fn source(suites: &[Self]) -> Result<String, Diagnostics> {
        code::source(suites.iter().flat_map(|suite| &suite.kernels).map(|params| &params.kernel))
    }
}

pub(super) const KEY: &str = "kernel_paths";

const OVERRIDE: &str = "override";

/// The folder that is searched where none is named; the only one that need not exist.
const ROOT: &str = "benches/kernels";

/// Reads the whole document, which is that of `file`; if it lies in no package, it is of the `built` one, whose
/// libraries are searched, too. `by_variable` is the value of [`OVERRIDE_VARIABLE`].
pub(super) fn read(
    node: &Node<'_>,
    file: &Path,
    built: Package<'_>,
    by_variable: Option<&str>,
) -> Option<KernelSuite> {
    let fields = top(node, &[KEY, OVERRIDE], KEY, &[])?;
    let mut own = Own::default();
    own_keys::apply(&fields, &mut own);
    let over = match by_variable {
        None => fields.read(OVERRIDE, Override::read).unwrap_or_default(),
        Some(json) => read_variable(node, &fields, json)?,
    };
    let package = package_of(node, file, built.folder)?;
    let roots = read_roots(&fields, &package, built.libraries)?;
    let existing: Vec<PathBuf> = roots.iter().filter(|root| root.exists()).cloned().collect();
    let (found, errors) = discovery::find(&existing, built.libraries);
    node.report_of_others(errors);
    let mut suite = KernelSuite { roots, kernels: Vec::new(), files: Vec::new() };
    let mut read: Vec<(Option<PathBuf>, Kernel)> = Vec::new();
    for found in found {
        suite.files.extend(found.files.iter().map(|(_, file)| file.clone()));
        suite.files.extend(found.bench.clone());
        match Kernel::read(&found, &package, built.libraries) {
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
    if let Some((message, remedy)) = nothing_left(&suite.kernels) {
        if by_variable.is_some() {
            let error = Diagnostic::whole_file(Path::new(OVERRIDE_VARIABLE), message, &remedy);
            node.report_of_others([error]);
        } else if let Some(node) = fields.get(OVERRIDE) {
            node.report(message, remedy);
        }
    }
    Some(suite)
}

fn read_variable(node: &Node<'_>, fields: &Fields<'_>, json: &str) -> Option<Override> {
    if let Some(own) = fields.get(OVERRIDE) {
        let message = format!("{OVERRIDE_VARIABLE}, or an option, would replace it");
        let remedy = "run without the variable and without --iters, --warmup, --precision, --backends and \
                      --seed; or move this config out of the default suite, and name it with BENCH_CONFIG";
        return own.error(message, remedy);
    }
    match Node::read_document(Path::new(OVERRIDE_VARIABLE), json, Override::read) {
        Ok(over) => Some(over),
        Err(Diagnostics(errors)) => {
            node.report_of_others(errors);
            None
        }
    }
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
        "{}; kernels with different fields cannot share a bench.yaml: give each kernel its own \
         folder",
        error.remedy
    );
    Diagnostic { message, remedy, ..error }
}

/// The message and the remedy where an override leaves nothing of any kernel.
fn nothing_left(kernels: &[KernelParams]) -> Option<(String, String)> {
    if kernels.is_empty() || !kernels.iter().all(KernelParams::is_empty) {
        return None;
    }
    // Each word once, in an order that is the same however the kernels are called.
    let words = |words: &mut dyn Iterator<Item = &'static str>| {
        words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    let precisions =
        words(&mut kernels.iter().flat_map(|it| &it.precisions.listed).map(|it| it.precision()));
    let backends =
        words(&mut kernels.iter().flat_map(|it| &it.backends.listed).map(|it| it.as_str()));
    let message = "it selects nothing that a kernel lists".to_owned();
    let remedy =
        format!("name some of what the kernels list: precisions {precisions}; backends {backends}");
    Some((message, remedy))
}

/// The folders that the config names, which have to exist, or the usual one and those of libraries.
fn read_roots(fields: &Fields<'_>, package: &Path, libraries: &[Library]) -> Option<Vec<PathBuf>> {
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
    let of_libraries = libraries.iter().filter(|library| library.brings == Brings::Kernels);
    let all = || {
        let of_libraries = of_libraries.map(|library| library.folder.clone());
        std::iter::once(package.join(ROOT)).chain(of_libraries).collect()
    };
    Some(named.unwrap_or_else(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Suite};

    /// The config of a package whose kernel runs in two precisions.
    fn read_with(config: &str, json: &str) -> Result<Config, String> {
        let package = tempfile::tempdir().expect("a temporary folder");
        let kernel = package.path().join("benches/kernels/mine");
        std::fs::create_dir_all(&kernel).expect("made");
        let source = "pub struct ProblemSize;\npub fn run_benchmark(size: &ProblemSize) -> \
                      Result<f32, Refusal> { Ok(0.0) }\n";
        for (file, text) in [
            ("Cargo.toml", ""),
            ("benches/kernels/mine/kernel.rs", source),
            ("benches/kernels/mine/bench.yaml", "precisions: [fp32, bf16]\nseed: 1\n"),
        ] {
            std::fs::write(package.path().join(file), text).expect("written");
        }
        let file = package.path().join("kernels.yml");
        let text = format!("benchmark_mode: kernels\n{config}");
        let config = Config::parse_in(
            &file,
            &text,
            Package { folder: package.path(), libraries: &[] },
            Some(json),
        );
        config.map_err(|errors| errors.to_string().replace(&file.display().to_string(), "FILE"))
    }

    #[test]
    fn the_variable_holds_over_every_bench_yaml() {
        let json = r#"{"iterations":{"timed":10,"warmup":2},"precisions":["bf16"],"seed":7}"#;
        let config = read_with("", json).expect("it is right");
        let Suite::Kernels(suite) = &config.suite else { panic!("it is of kernels") };
        let [params] = &suite.kernels[..] else { panic!("one kernel") };
        assert_eq!((params.settings.seed, params.settings.sampling.samples), (7, Some(10)));
        assert_eq!(params.settings.latency.warm_up, Some(2));
        let same = read_with(
            "override: {iterations: {timed: 10, warmup: 2}, precisions: [bf16], seed: 7}\n",
            "",
        );
        let Suite::Kernels(by_key) = same.expect("it is right").suite else {
            panic!("it is of kernels")
        };
        let of = |params: &KernelParams| (params.settings.clone(), params.precisions.clone());
        assert_eq!(of(&by_key.kernels[0]), of(params));
        assert_ne!(
            config.hash,
            read_with("", "").expect("it is right").hash,
            "another measurement"
        );
    }

    #[test]
    fn mistakes_in_the_variable_are_told_as_those_in_a_config() {
        for (config, json, said) in [
            (
                "",
                r#"{"precisions":["fp31"]}"#,
                "CRITERION_TORCH_OVERRIDE:1:16: precisions[0]: unknown precision `fp31`",
            ),
            (
                "",
                r#"{"iterations":{"timed":3}}"#,
                "CRITERION_TORCH_OVERRIDE:1:24: iterations.timed: ",
            ),
            ("", r#"{"backend":["cpu"]}"#, "CRITERION_TORCH_OVERRIDE:1:2: backend: unknown key"),
            ("", "{", "CRITERION_TORCH_OVERRIDE:"),
            (
                "",
                r#"{"precisions":["fp64"]}"#,
                "CRITERION_TORCH_OVERRIDE: it selects nothing that a kernel lists; name some of",
            ),
            (
                "override: {seed: 1}\n",
                r#"{"seed":2}"#,
                "FILE:2:11: override: CRITERION_TORCH_OVERRIDE, or an option, would replace it; run without",
            ),
        ] {
            let error = read_with(config, json).expect_err(json);
            assert!(error.contains(said), "{error}");
        }
    }
}
