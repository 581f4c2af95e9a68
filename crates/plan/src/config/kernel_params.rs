//! Configs of `benchmark_mode: kernels`: where the kernels are.

use std::path::{Path, PathBuf};

use super::bench_params::{self, KernelParams, Override};
use super::node::{Fields, Node};
use super::own_keys::{self, CommonSettings};
use super::{package_of, top};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::kernel::discovery::{self, Root};
use crate::kernel::{Kernel, OVERRIDE_VARIABLE, code};
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
    /// Rust files under the usual folders that are not kernels, because they do not name `ProblemSize`.
    pub passed_over: Vec<PathBuf>,
}

impl KernelSuite {
    /// Whether the search found no kernel.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// The selected words that no kernel lists, each with the words that the kernels list. Their cases are skipped.
    pub fn unlisted(&self) -> Vec<String> {
        bench_params::unlisted(&self.kernels)
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

/// The folder that is searched when a config names none; it holds kernels only.
const ROOT: &str = "benches/kernels";

/// The folders that QuASIM's tools search; they are also searched when a config names none.
const ROOTS_OF_QUASIM: &[&str] = &[
    "kernels",
    "src/kernels",
    "quasim/kernels",
    "integrations/kernels",
    "autonomous_systems_platform/services/backend/quasim/kernels",
];

/// The folders, relative to the package, that are searched for kernels when a config names none. Those that do not
/// exist are ignored.
pub fn usual_kernel_roots() -> impl Iterator<Item = &'static str> {
    std::iter::once(ROOT).chain(ROOTS_OF_QUASIM.iter().copied())
}

/// Reads the whole document, which is that of `file`; if it lies in no package, it is of the `built` one, whose
/// libraries are searched, too. `by_variable` is the value of [`OVERRIDE_VARIABLE`].
pub(super) fn read(
    node: &Node<'_>,
    file: &Path,
    built: Package<'_>,
    by_variable: Option<&str>,
) -> Option<KernelSuite> {
    let fields = top(node, &[KEY, OVERRIDE, own_keys::JUDGE], KEY, &[])?;
    let mut own = CommonSettings::default();
    own_keys::apply(&fields, &mut own);
    let over = match by_variable {
        None => fields.read(OVERRIDE, Override::read).unwrap_or_default(),
        Some(json) => read_variable(node, &fields, json)?,
    };
    let package = package_of(node, file, built.folder)?;
    let roots = read_roots(&fields, &package, built.libraries)?;
    let existing: Vec<Root> = roots.iter().filter(|root| root.folder.exists()).cloned().collect();
    let search = discovery::find(&existing, built.libraries);
    node.report_of_others(search.errors);
    let mut suite = KernelSuite {
        roots: roots.into_iter().map(|root| root.folder).collect(),
        kernels: Vec::new(),
        files: Vec::new(),
        passed_over: search.passed_over,
    };
    let mut read: Vec<(Option<PathBuf>, Kernel)> = Vec::new();
    for found in search.kernels {
        suite.files.extend(found.files.iter().map(|(_, file)| file.clone()));
        suite.files.extend(found.bench.clone());
        let function = bench_params::function_name(found.bench.as_deref());
        match Kernel::read(&found, function.as_deref(), &package, built.libraries) {
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

/// The folders that the config names, which have to exist, or the usual one and those of libraries.
fn read_roots(fields: &Fields<'_>, package: &Path, libraries: &[Library]) -> Option<Vec<Root>> {
    let root = |node: &Node<'_>| {
        let folder = package.join(node.string()?);
        match folder.is_dir() {
            true => Some(Root { folder, holds_others: false }),
            false => {
                let message = format!("there is no folder {}", folder.display());
                node.error(message, "make it, or name one that exists, relative to the package")
            }
        }
    };
    let named = fields.items(KEY, root)?;
    let of_libraries = libraries.iter().filter(|library| library.brings == Brings::Kernels);
    let all = || {
        let usual = usual_kernel_roots()
            .map(|root| Root { folder: package.join(root), holds_others: root != ROOT });
        let of_libraries = of_libraries
            .map(|library| Root { folder: library.folder.clone(), holds_others: false });
        usual.chain(of_libraries).collect()
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
