//! For build scripts: from configs to the sources of the bench targets.
//!
//! A bench target's default suite is the files of `configs/<target>`. The variable
//! `BENCH_CONFIG`, a list of paths like `PATH`, names other configs instead; each goes to the
//! target that its `benchmark_mode` names.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::case::Plan;
use crate::config::{Config, KernelSuite, Suite, shape_set};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expand::{expand, read};
use crate::kernel::{OVERRIDE_VARIABLE, code};
use crate::words::Mode;

/// Writes `$OUT_DIR/<target>.json` (the plan) and `$OUT_DIR/<target>.rs` (its functions) for
/// every target, and tells cargo what to watch. Errors become one readable cargo error each.
///
/// For a build script: reads `CARGO_MANIFEST_DIR`, `OUT_DIR`, `BENCH_CONFIG` and [`OVERRIDE_VARIABLE`].
pub fn main(targets: &[Mode]) {
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    println!("cargo::rerun-if-env-changed=BENCH_CONFIG");
    if targets.contains(&Mode::Kernels) {
        println!("cargo::rerun-if-env-changed={OVERRIDE_VARIABLE}");
    }
    let bench_config = std::env::var_os("BENCH_CONFIG");
    let (package, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    if let Err(errors) = generate(&package, targets, bench_config.as_deref(), &out) {
        for error in errors.0 {
            println!("cargo::error={error}");
        }
    }
    // Only a package that depends on the library has something to link.
    if let Some(linked) = Linked::by("criterion_torch") {
        linked.link();
    }
}

/// The libtorch that a package of the build links, by the metadata `LIBTORCH_LIB` and `CUDA` of its build
/// script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    lib: String,
    has_cuda: bool,
}

impl Linked {
    /// Reads what the package with this `links` key printed; `None` unless it is a direct
    /// dependency.
    pub fn by(links: &str) -> Option<Self> {
        Self::read(links, |name| std::env::var(name).ok())
    }

    fn read(links: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let said = |key| variable(&format!("DEP_{}_{key}", links.to_uppercase()));
        let has_cuda = said("CUDA").as_deref() == Some("linked");
        Some(Self { lib: said("LIBTORCH_LIB")?, has_cuda })
    }

    /// The flags that no dependency can give to a program: where libtorch is found at run time, and CUDA,
    /// which no symbol asks for and the linker would drop.
    pub fn link(&self) {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", self.lib);
        if self.has_cuda {
            println!("cargo::rustc-link-arg=-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed");
        }
    }

    /// Tells dependents the same.
    pub fn hand_on(&self) {
        let cuda = if self.has_cuda { "linked" } else { "absent" };
        println!("cargo::metadata=LIBTORCH_LIB={}", self.lib);
        println!("cargo::metadata=CUDA={cuda}");
    }
}

/// [`main`], where the package, the value of `BENCH_CONFIG` and the folder to write into are given.
///
/// # Errors
/// Every error of every config and of every file that it names.
pub fn generate(
    package: &Path,
    targets: &[Mode],
    bench_config: Option<&OsStr>,
    out: &Path,
) -> Result<(), Diagnostics> {
    // Shape lists may lie beside any config, so the whole folder is watched.
    watch(&package.join("configs"));
    suites(package, targets, bench_config)?.iter().try_for_each(|suite| write(out, suite))
}

struct TargetSuite {
    target: Mode,
    plan: Plan,
    /// The suites of its configs, if it runs kernels.
    kernels: Vec<KernelSuite>,
}

impl TargetSuite {
    fn new(target: Mode, plan: Plan, configs: Vec<Config>) -> Self {
        let kernels = configs.into_iter().filter_map(|config| match config.suite {
            Suite::Kernels(suite) => Some(suite),
            _ => None,
        });
        let kernels = if target == Mode::Kernels { kernels.collect() } else { Vec::new() };
        Self { target, plan, kernels }
    }
}

fn suites(
    package: &Path,
    targets: &[Mode],
    bench_config: Option<&OsStr>,
) -> Result<Vec<TargetSuite>, Diagnostics> {
    let Some(list) = bench_config.filter(|list| !list.is_empty()) else {
        let suite_of = |&target| {
            let configs = default_configs(package, target)?;
            Ok(TargetSuite::new(target, expand(&configs)?, configs))
        };
        return targets.iter().map(suite_of).collect();
    };
    let named = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty());
    // Joining keeps an absolute path as it is.
    let files: Vec<PathBuf> = named.map(|path| package.join(path)).collect();
    if files.is_empty() {
        let message = format!("BENCH_CONFIG is `{}`, which names no file", list.display());
        return Err(Diagnostic::whole_file(
            Path::new(""),
            message,
            "name at least one config, or unset it",
        )
        .into());
    }
    for file in &files {
        watch(file);
        let folder = file.parent().unwrap_or(Path::new(""));
        shape_set::folders(folder).iter().for_each(|folder| watch(folder));
    }
    let configs = read(&files, package)?;
    if let Some(config) = configs.iter().find(|config| !targets.contains(&config.mode)) {
        return Err(Diagnostic::whole_file(
            &config.file,
            format!("benchmark_mode `{}` has no bench target in this version", config.mode),
            "name a config of another mode, or expand this one with `criterion-report plan`",
        )
        .into());
    }
    let plan = expand(&configs)?;
    let of = |target| {
        plan.groups.iter().filter(move |group| group.baseline().mode == target).cloned().collect()
    };
    let suite = |&target| TargetSuite::new(target, Plan { groups: of(target) }, configs.clone());
    Ok(targets.iter().map(suite).collect())
}

/// Has cargo look at what is at `path`. A missing path would make it build every time, and so would
/// the package's folder: cargo looks at everything inside a folder, and `target` changes.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The files of `configs/<target>`. Kernels need none: their files say what there is to measure.
fn default_configs(package: &Path, target: Mode) -> Result<Vec<Config>, Diagnostics> {
    let folder = package.join("configs").join(target.as_str());
    if target == Mode::Kernels && !folder.exists() {
        let text = format!("benchmark_mode: {target}\n");
        return Ok(vec![Config::parse(&folder.join("default.yml"), &text)?]);
    }
    read(&yaml_files(&folder)?, package)
}

/// Every `.yml` and `.yaml` directly inside `folder`, in the order of their names.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    const REMEDY: &str = "put a config there, or name one with BENCH_CONFIG";
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| {
            Diagnostic::whole_file(folder, format!("cannot be read: {error}"), REMEDY)
        })?;
    files.retain(|file| file.extension().is_some_and(|it| it == "yml" || it == "yaml"));
    files.sort();
    if files.is_empty() {
        return Err(Diagnostic::whole_file(folder, "holds no config".to_owned(), REMEDY).into());
    }
    Ok(files)
}

fn write(folder: &Path, suite: &TargetSuite) -> Result<(), Diagnostics> {
    let target = suite.target;
    let json = serde_json::to_string(&suite.plan).expect("a plan has no map with non-string keys");
    let mut rust = source(&suite.plan);
    if target == Mode::Kernels {
        suite.kernels.iter().for_each(watch_kernels);
        for warning in suite.kernels.iter().filter_map(no_kernel) {
            println!("cargo::warning={warning}");
        }
        let kernels = suite.kernels.iter().flat_map(KernelSuite::kernels);
        rust += &code::source(kernels)?;
    }
    for (extension, text) in [("json", json), ("rs", rust)] {
        let file = folder.join(format!("{target}.{extension}"));
        std::fs::write(&file, text).map_err(|error| {
            Diagnostic::whole_file(
                &file,
                format!("cannot be written: {error}"),
                "free some space, or `cargo clean`",
            )
        })?;
    }
    Ok(())
}

/// Has cargo look at the folders of kernels, also for one that is added. The usual one need not
/// exist; its parent shows when it does.
fn watch_kernels(suite: &KernelSuite) {
    for root in &suite.roots {
        watch(if root.exists() { root } else { root.parent().unwrap_or(root) });
    }
    suite.files.iter().for_each(|file| watch(file));
}

/// Says that a search found nothing. It is no error, as a package may have no kernels yet.
fn no_kernel(suite: &KernelSuite) -> Option<String> {
    let roots: Vec<_> = suite.roots.iter().map(|root| root.display().to_string()).collect();
    suite.kernels().next().is_none().then(|| {
        format!("no kernel in {}; put one there, as mine/kernel.rs, or mine.rs", roots.join(", "))
    })
}

/// Rust source with one function per group and the list of them. The functions only say which
/// group they are; what a group does is in the library.
fn source(plan: &Plan) -> String {
    let mut text = String::from("// Generated from the configs by the build script.\n\n");
    let mut names = Vec::with_capacity(plan.groups.len());
    for (index, group) in plan.groups.iter().enumerate() {
        let baseline = group.baseline();
        let name = format!("group_{index}");
        let id = format!("{}/*/{}", baseline.id.group, baseline.id.parameter);
        writeln!(
            text,
            "/// {id}\nfn {name}(criterion: &mut Criterion, session: &mut Session) {{\n    session.group(criterion, {index});\n}}\n"
        )
        .expect("writing to a string does not fail");
        names.push(name);
    }
    let list = names.iter().fold(String::new(), |list, name| list + "    " + name + ",\n");
    write!(text, "const GROUPS: &[GroupFn] = &[\n{list}];\n")
        .expect("writing to a string does not fail");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_finds_nothing_is_told() {
        let package = tempfile::tempdir().expect("a temporary folder");
        let file = package.path().join("kernels.yml");
        let text = "benchmark_mode: kernels\nkernel_paths: [.]\n";
        let warning = || {
            let config = Config::parse(&file, text).expect("it is fine");
            let Suite::Kernels(suite) = config.suite else { panic!("it is of kernels") };
            no_kernel(&suite)
        };
        std::fs::write(package.path().join("Cargo.toml"), "").expect("written");
        let said = warning().expect("there is none");
        assert!(said.contains(package.path().to_str().expect("plain")), "{said}");
        let kernel = "pub struct ProblemSize;\npub fn run_benchmark(size: &ProblemSize) -> \
                      Result<f32, Refusal> { Ok(0.0) }\n";
        std::fs::write(package.path().join("mine.rs"), kernel).expect("written");
        assert_eq!(warning(), None);
    }

    #[test]
    fn what_a_dependency_links_is_in_its_metadata() {
        let of = |cuda: Option<&str>| {
            Linked::read("criterion_torch", |name| match name {
                "DEP_CRITERION_TORCH_LIBTORCH_LIB" => Some("/opt/libtorch/lib".to_owned()),
                "DEP_CRITERION_TORCH_CUDA" => cuda.map(str::to_owned),
                _ => None,
            })
        };
        let linked = |has_cuda| Some(Linked { lib: "/opt/libtorch/lib".to_owned(), has_cuda });
        assert_eq!(of(Some("linked")), linked(true));
        assert_eq!((of(Some("absent")), of(None)), (linked(false), linked(false)));
        assert_eq!(Linked::read("criterion_torch", |_| None), None);
    }
}
