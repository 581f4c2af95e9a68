//! From the configs and kernels of a package to the sources of its bench targets: a file of functions and one
//! of the plan for each mode, and for all modes together.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plan::Mode::{self, Calibration, Fusion, Inference, Kernels, Operators, Training};
use plan::{Brings, Config, Diagnostic, Diagnostics, KernelSuite, Package, Plan, Suite, UserFiles};

/// The modes that a bench target can have, in the order in which one of all modes measures them.
const MODES: [Mode; 6] = [Inference, Training, Fusion, Operators, Calibration, Kernels];

/// The files of all modes together.
const ALL: &str = "all";

/// The folder of configs, and the usual one of kernels, of a package.
const CONFIGS: &str = "configs";
const KERNELS: &str = "benches/kernels";

/// Writes `<mode>.json` (the plan) and `<mode>.rs` (its functions) into `out` for every mode, and `all.json` and
/// `all.rs` for all together. A file of a mode for which `package` has nothing is an error of the bench target
/// that asks for it. `bench_config` is the value of `BENCH_CONFIG`.
///
/// # Errors
/// Every error of every config and of every file that it names.
pub fn generate(
    package: Package<'_>,
    bench_config: Option<&OsStr>,
    out: &Path,
) -> Result<(), Diagnostics> {
    let Package { folder, .. } = package;
    // Shape lists may lie beside any config, so the whole folder is watched.
    watch(&folder.join(CONFIGS));
    let parts = parts(package, bench_config)?;
    let kernels = parts.iter().flat_map(|part| &part.kernels);
    kernels.clone().for_each(watch_kernels);
    parts.iter().flat_map(|part| &part.user_files).flat_map(UserFiles::paths).for_each(watch);
    for warning in kernels.filter_map(no_kernel) {
        println!("cargo::warning={warning}");
    }
    let benches = benches(folder);
    watch_absent(folder, &parts, &benches);
    for warning in parts.iter().filter_map(|part| unmeasured(part, &benches)) {
        println!("cargo::warning={warning}");
    }
    for part in &parts {
        let absent = part.is_absent.then(|| absent(folder, Some(part.mode)));
        let user_files = UserFiles::source(&part.user_files)?;
        let source = KernelSuite::source(&part.kernels)? + &user_files + &unseen(None);
        write(out, part.mode.as_str(), &part.plan, &source, absent)?;
    }
    let groups = parts.iter().flat_map(|part| part.plan.groups.iter().cloned()).collect();
    let kernels: Vec<_> = parts.iter().flat_map(|part| part.kernels.iter().cloned()).collect();
    let user_files = UserFiles::source(parts.iter().flat_map(|part| &part.user_files))?;
    let source = KernelSuite::source(&kernels)? + &user_files;
    let absent = parts.iter().all(|part| part.is_absent).then(|| absent(folder, None));
    let configs = folder.join(CONFIGS);
    let is_default = bench_config.is_none_or(OsStr::is_empty);
    let source = source + &unseen((is_default && !configs.exists()).then_some(&configs));
    write(out, ALL, &Plan { groups }, &source, absent)
}

/// The part of a package that has one mode.
struct ModePlan {
    mode: Mode,
    plan: Plan,
    /// The suites of its configs, if it runs kernels.
    kernels: Vec<KernelSuite>,
    /// The recipes and models that its configs can name.
    user_files: Vec<UserFiles>,
    /// Whether the package has nothing for this mode.
    is_absent: bool,
}

impl ModePlan {
    fn new(mode: Mode, plan: Plan, configs: Vec<Config>) -> Self {
        let of_mode = configs.iter().filter(|config| config.mode == mode);
        let user_files = of_mode.map(|config| config.user_files.clone()).collect();
        let kernels = configs.into_iter().filter_map(|config| match config.suite {
            Suite::Kernels(suite) => Some(suite),
            _ => None,
        });
        let kernels = if mode == Kernels { kernels.collect() } else { Vec::new() };
        Self { mode, plan, kernels, user_files, is_absent: false }
    }

    /// The default suite of a mode: the files of `configs/<mode>`. Kernels need none, as their files say what
    /// there is to measure.
    fn by_default(package: Package<'_>, mode: Mode) -> Result<Self, Diagnostics> {
        let folder = package.folder.join(CONFIGS).join(mode.as_str());
        let configs = if folder.exists() {
            plan::read(&yaml_files(&folder)?, package)?
        } else if mode == Kernels && has_kernels(package) {
            let text = format!("benchmark_mode: {mode}\n");
            vec![Config::parse_for(&folder.join("default.yml"), &text, package)?]
        } else {
            return Ok(Self { is_absent: true, ..Self::new(mode, Plan::default(), Vec::new()) });
        };
        Ok(Self::new(mode, plan::expand(&configs)?, configs))
    }
}

/// Whether there is a folder of kernels, its own or one of a crate that it depends on.
fn has_kernels(package: Package<'_>) -> bool {
    let mut libraries = package.libraries.iter();
    package.folder.join(KERNELS).exists()
        || has_kernels_elsewhere(package.folder)
        || libraries.any(|it| it.brings == Brings::Kernels)
}

/// Whether another of the usual folders has a kernel. Such a folder may hold other code, so its existence alone proves
/// nothing.
fn has_kernels_elsewhere(package: &Path) -> bool {
    let others = plan::usual_kernel_roots().filter(|root| *root != KERNELS);
    let mut existing = others.filter(|root| package.join(root).is_dir()).peekable();
    if existing.peek().is_none() {
        return false;
    }
    let text = format!("benchmark_mode: {Kernels}\n");
    let config = Config::parse(&package.join(CONFIGS).join("default.yml"), &text);
    // Errors in a config are reported when the suite is read.
    config.map_or(true, |config| match config.suite {
        Suite::Kernels(suite) => !suite.is_empty(),
        _ => false,
    })
}

/// The parts of all modes: of the default suite, or of the configs that `BENCH_CONFIG` lists, each of which goes to
/// the mode that it names.
fn parts(package: Package<'_>, bench_config: Option<&OsStr>) -> Result<Vec<ModePlan>, Diagnostics> {
    let Some(list) = bench_config.filter(|list| !list.is_empty()) else {
        return MODES.iter().map(|&mode| ModePlan::by_default(package, mode)).collect();
    };
    let named = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty());
    // Joining keeps an absolute path as it is.
    let files: Vec<PathBuf> = named.map(|path| package.folder.join(path)).collect();
    if files.is_empty() {
        let message = format!("BENCH_CONFIG is `{}`, which names no file", list.display());
        let remedy = "name at least one config, or unset it";
        return Err(Diagnostic::whole_file(Path::new(""), message, remedy).into());
    }
    for file in &files {
        watch(file);
        let folder = file.parent().unwrap_or(Path::new(""));
        plan::shape_folders(folder).iter().for_each(|folder| watch(folder));
    }
    let configs = plan::read(&files, package)?;
    let plan = plan::expand(&configs)?;
    let of = |mode| {
        plan.groups.iter().filter(move |group| group.baseline().mode == mode).cloned().collect()
    };
    let part = |&mode| ModePlan::new(mode, Plan { groups: of(mode) }, configs.clone());
    Ok(MODES.iter().map(part).collect())
}

/// Has cargo look at what is at `path`. A missing path would make it build every time, and so would
/// the package's folder: cargo looks at everything inside a folder, and `target` changes.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Has cargo look again each time while a bench target cannot be built for want of configs: it is built after they
/// are made, and not before.
fn watch_absent(package: &Path, parts: &[ModePlan], benches: &str) {
    let configs = package.join(CONFIGS);
    let asked = |part: &ModePlan| part.is_absent && is_asked_for(part.mode, benches);
    if !configs.exists() && (parts.iter().all(|part| part.is_absent) || parts.iter().any(asked)) {
        println!("cargo::rerun-if-changed={}", configs.display());
    }
}

/// The text of all files of `benches`.
fn benches(package: &Path) -> String {
    let files = std::fs::read_dir(package.join("benches")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}

/// Whether a file of `benches` has the `main!` of this mode.
fn is_asked_for(mode: Mode, benches: &str) -> bool {
    benches.contains(&format!("main!(\"{mode}\")"))
}

/// Says that no bench target measures the cases of a mode, as far as the files of `benches` show it.
fn unmeasured(part: &ModePlan, benches: &str) -> Option<String> {
    let ModePlan { mode, plan, .. } = part;
    let is_measured = benches.contains("main!()") || is_asked_for(*mode, benches);
    (!plan.groups.is_empty() && benches.contains("main!(\"") && !is_measured).then(|| {
        format!(
            "no bench target measures what there is for the mode `{mode}`: write `criterion_torch::main!();` or \
             `criterion_torch::main!(\"{mode}\");` into one"
        )
    })
}

/// Why a bench target has nothing to measure: that of one mode, or that of all.
fn absent(package: &Path, mode: Option<Mode>) -> String {
    let inside = |folder: &str| package.join(folder).display().to_string();
    match mode {
        Some(Kernels) => {
            format!("this package has no kernels: put one into {}, as mine.rs", inside(KERNELS))
        }
        Some(mode) => format!(
            "this package has nothing for the mode `{mode}`: put a config into {}, as default.yml",
            inside(&format!("{CONFIGS}/{mode}"))
        ),
        None => format!(
            "this package has nothing to measure: put a config into {}, as default.yml, or a kernel into {}, as \
             mine.rs",
            inside(&format!("{CONFIGS}/{Inference}")),
            inside(KERNELS)
        ),
    }
}

/// Every config directly inside `folder`, in the order of their names.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    const REMEDY: &str = "put a config there, or name one with BENCH_CONFIG";
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| {
            Diagnostic::whole_file(folder, format!("cannot be read: {error}"), REMEDY)
        })?;
    files.retain(|file| plan::is_config(file));
    files.sort();
    if files.is_empty() {
        return Err(Diagnostic::whole_file(folder, "holds no config".to_owned(), REMEDY).into());
    }
    Ok(files)
}

/// A folder of which cargo will not tell when it is made: only what exists is watched.
fn unseen(folder: Option<&PathBuf>) -> String {
    let folder = folder.map(|folder| folder.display().to_string());
    format!("const UNSEEN: Option<&str> = {folder:?};\n")
}

/// Writes the files of one name; `made` is what makes the cases of the plan. Where something is `absent`, the source
/// has that error.
fn write(
    folder: &Path,
    name: &str,
    plan: &Plan,
    made: &str,
    absent: Option<String>,
) -> Result<(), Diagnostics> {
    let json = serde_json::to_string(plan).expect("a plan has no map with non-string keys");
    let mut rust = source(plan) + made;
    if let Some(message) = absent {
        writeln!(rust, "\ncompile_error!({message:?});")
            .expect("writing to a string does not fail");
    }
    for (extension, text) in [("json", json), ("rs", rust)] {
        let file = folder.join(format!("{name}.{extension}"));
        std::fs::write(&file, text).map_err(|error| {
            let message = format!("cannot be written: {error}");
            Diagnostic::whole_file(&file, message, "free some space, or `cargo clean`")
        })?;
    }
    Ok(())
}

/// Tells cargo to watch the folders of kernels, including ones that are added later. The usual ones need not exist; the
/// parent of the first shows when it does. The others' parents may be the package's own folder.
fn watch_kernels(suite: &KernelSuite) {
    for root in &suite.roots {
        let is_usual = root.ends_with(KERNELS);
        watch(if root.exists() || !is_usual { root } else { root.parent().unwrap_or(root) });
    }
    suite.files.iter().for_each(|file| watch(file));
}

/// Says that a search found nothing. It is no error, as a package may have no kernels yet.
fn no_kernel(suite: &KernelSuite) -> Option<String> {
    // Apart from the first, only usual folders that exist are named.
    let named = suite.roots.iter().filter(|root| root.exists() || root.ends_with(KERNELS));
    let roots: Vec<_> = named.map(|root| root.display().to_string()).collect();
    suite.is_empty().then(|| {
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
}
