//! How cargo and the report are run.

use std::collections::BTreeMap;
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};

use plan::results::{TARGET, variable};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::results::{HOME, Results};
use crate::workspace::Workspace;

/// How a benchmark ends that ran to its end with failed cases in its records. A build that fails
/// ends with 101, a wrong command line with 2.
pub const CASES_FAILED: i32 = 1;
/// How one ends that refuses its command line or a config.
pub const MISTAKE: i32 = 2;

/// Names configs to the build scripts, instead of those of the default suite.
pub const BENCH_CONFIG: &str = "BENCH_CONFIG";

/// Removes what was built of a package, so that its build script runs again: that of torch-sys looks at
/// libtorch, but cargo asks it again only when the path to libtorch changes.
pub fn clean(workspace: &Workspace, package: &str) -> Result<()> {
    for profile in ["dev", "release"] {
        let mut cargo = in_folder(workspace.root());
        cargo.args(["clean", "--quiet", "--package", package, "--profile", profile]);
        let status = status(cargo)?;
        if !status.success() {
            return Err(Error::new(format!(
                "cargo clean --package {package} --profile {profile} failed ({status}), so .libtorch \
                 stays as it is"
            ))
            .remedy("remove what was built with `cargo clean`, and .libtorch, and run this again"));
        }
    }
    Ok(())
}

/// The program and the package that turn results into tables.
pub const REPORT: &str = "criterion-report";

/// Whether the clone at `root` has the report's own sources.
pub fn has_report(root: &Path) -> bool {
    root.join(REPORT).join("Cargo.toml").is_file()
}

/// Refuses a command that measures the repository itself where the packages are others.
pub fn require_clone(root: &Path, command: &str) -> Result<()> {
    if has_report(root) {
        return Ok(());
    }
    let what = format!(
        "`cargo xtask {command}` measures criterion-torch itself, which is not in {}",
        root.display()
    );
    Err(Error::new(what).remedy("run it in a clone of criterion-torch's repository"))
}

/// Refuses to measure what nothing could report: the report's own sources are elsewhere, and it is not installed.
pub fn require_report(root: &Path) -> Result<()> {
    if has_report(root) {
        return Ok(());
    }
    let mut version = report(root);
    version.arg("--version").stdout(Stdio::null());
    match version.status() {
        Err(error) => Err(not_run(&version, &error).remedy("cargo install criterion-report")),
        Ok(_) => Ok(()),
    }
}

/// Whether a package of the workspace has a bench target of that name.
pub fn has_bench(root: &Path, name: &str) -> Result<bool> {
    let packages = metadata(root)?.packages;
    let is_it = |target: &Target| target.name == name && target.is("bench");
    Ok(packages.iter().any(|package| package.targets.iter().any(is_it)))
}

/// `criterion-report`, to which its own arguments are added: that of the clone at `root`, or the installed one where
/// the packages are others.
pub fn report(root: &Path) -> Command {
    if !has_report(root) {
        let mut installed = Command::new(REPORT);
        installed.current_dir(root);
        return installed;
    }
    let mut cargo = in_folder(root);
    // `--bin`, not `--package`: with the features that everything else here is built with.
    cargo.args(["run", "--quiet", "--release", "--bin", REPORT, "--"]);
    cargo
}

/// Runs a cargo that builds and announces it; its other words go to the terminal.
pub fn announced(mut cargo: Command) -> Result<Output> {
    cargo.arg(MESSAGES).stdin(Stdio::null()).stderr(Stdio::inherit());
    cargo.output().map_err(|error| not_run(&cargo, &error))
}

/// A benchmark or the report, told where the results are: by itself the report knows no configuration
/// of cargo's.
pub fn at_home(mut cargo: Command, home: &Path) -> Command {
    cargo.env(HOME, home);
    cargo
}

/// The results of the clone, where its benchmarks run.
pub fn results(workspace: &Workspace) -> Result<Results> {
    Results::of_environment(&target(workspace.root())?)
}

/// The folder in which cargo builds the clone at `root`. Variables and cargo's configuration decide.
pub fn target(root: &Path) -> Result<PathBuf> {
    metadata(root).map(|metadata| metadata.target_directory)
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
    #[serde(default)]
    workspace_root: PathBuf,
    #[serde(default)]
    packages: Vec<Member>,
    /// The packages, by id, that cargo takes if none is named; cargo 1.71 is the first to say so.
    #[serde(default)]
    workspace_default_members: Option<Vec<String>>,
}

/// The packages of a workspace; of each, whether cargo takes it if none is named.
pub fn members(root: &Path) -> Result<Vec<(Member, bool)>> {
    let Metadata { packages, workspace_default_members: defaults, .. } = metadata(root)?;
    let is_default =
        |it: &Member| defaults.as_ref().is_none_or(|defaults| defaults.contains(&it.id));
    let with_default = |it| {
        let is_default = is_default(&it);
        (it, is_default)
    };
    Ok(packages.into_iter().map(with_default).collect())
}

/// A package of the workspace.
#[derive(Debug, Default, Deserialize)]
pub struct Member {
    #[serde(default)]
    id: String,
    pub name: String,
    pub manifest_path: PathBuf,
    pub targets: Vec<Target>,
    dependencies: Vec<Dependency>,
    /// The features and dependencies that each feature enables.
    #[serde(default)]
    pub features: BTreeMap<String, Vec<String>>,
}

impl Member {
    /// Whether its manifest has a dependency of that name.
    pub fn depends_on(&self, name: &str) -> bool {
        self.dependencies.iter().any(|it| it.rename.as_ref().unwrap_or(&it.name) == name)
    }
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Target {
    kind: Vec<String>,
    pub name: String,
    src_path: PathBuf,
    #[serde(rename = "required-features")]
    pub required_features: Vec<String>,
}

impl Target {
    pub fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|it| it == kind)
    }
}

/// Asks cargo about the packages of a workspace, without a look at dependencies.
fn metadata(folder: &Path) -> Result<Metadata> {
    let mut cargo = in_folder(folder);
    cargo.args(["metadata", "--no-deps", "--format-version=1"]).stdin(Stdio::null());
    let output = cargo.output().map_err(|error| not_run(&cargo, &error))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = if output.status.success() { error.to_string() } else { said.trim().to_owned() };
        Error::new(format!(
            "cargo metadata in {} does not say where cargo builds ({}): {why}",
            folder.display(),
            output.status
        ))
    })
}

/// A package, as cargo reads its manifest.
#[derive(Debug, Default)]
pub struct Package {
    pub manifest: PathBuf,
    pub workspace: Workspace,
    pub has_library: bool,
    /// The names of its programs.
    pub programs: Vec<String>,
    pub build_script: Option<PathBuf>,
    dependencies: Vec<String>,
}

impl Package {
    /// Reads the package of the nearest manifest at or above a folder.
    pub fn find_from(here: &Path) -> Result<Self> {
        let mut manifests = here.ancestors().map(|folder| folder.join("Cargo.toml"));
        let manifest = manifests.find(|manifest| manifest.is_file()).ok_or_else(|| {
            Error::new(format!("no Cargo.toml at or above {}", here.display()))
                .remedy("make a package: cargo new my-benches")
        })?;
        let folder = manifest.parent().expect("a file lies in a folder");
        let Metadata { packages, workspace_root, .. } = metadata(folder)?;
        let members: Vec<_> = packages.iter().map(|it| it.name.clone()).collect();
        let package = packages.into_iter().find(|package| package.manifest_path == manifest);
        let package = package.ok_or_else(|| {
            Error::new(format!("{} has no [package]", manifest.display()))
                .remedy(format!("run this in the folder of a member: {}", members.join(", ")))
        })?;
        let of = |kind: &'static str| package.targets.iter().filter(move |it| it.is(kind));
        let is_library = |target: &&Target| !OTHERS.contains(&&*target.kind.join(","));
        Ok(Self {
            workspace: Workspace::new(workspace_root),
            has_library: package.targets.iter().any(|it| is_library(&it)),
            programs: of("bin").map(|it| it.name.clone()).collect(),
            build_script: of("custom-build").next().map(|it| it.src_path.clone()),
            dependencies: package.dependencies.iter().map(|it| it.name.clone()).collect(),
            manifest,
        })
    }

    pub fn folder(&self) -> &Path {
        self.manifest.parent().expect("a file lies in a folder")
    }

    pub fn depends_on(&self, name: &str) -> bool {
        self.dependencies.iter().any(|it| it == name)
    }

    #[cfg(test)]
    pub fn with_targets(has_library: bool, programs: Vec<String>) -> Self {
        Self { has_library, programs, ..Self::default() }
    }
}

/// The kinds of targets that are no library.
const OTHERS: [&str; 5] = ["bin", "example", "test", "bench", "custom-build"];

/// Makes cargo announce what it has built, each in JSON on a line of its own.
pub const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// A message of cargo's, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    pub reason: String,
    pub package_id: String,
    pub manifest_path: PathBuf,
    pub target: Target,
    pub executable: Option<PathBuf>,
    pub out_dir: PathBuf,
    pub env: Vec<(String, String)>,
}

/// Reads cargo's messages. Other programs write to the same stream, and what they write is no message.
pub fn messages(printed: &[u8]) -> Vec<Message> {
    let text = String::from_utf8_lossy(printed);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The programs of a kind, `bench` or `bin`, that cargo's messages announce, with their names.
pub fn programs(printed: &[u8], kind: &str) -> Vec<(String, PathBuf)> {
    let of_kind = messages(printed).into_iter().filter(|it| it.target.is(kind));
    of_kind.filter_map(|it| Some((it.target.name, it.executable?))).collect()
}

/// The report's program, if cargo's messages announce it.
pub fn built_report(printed: &[u8]) -> Option<PathBuf> {
    let report = |(name, program)| (name == REPORT).then_some(program);
    programs(printed, "bin").into_iter().find_map(report)
}

/// How many cases a `cargo bench … -- --list` lists.
pub fn listed_cases(cargo: &mut Command) -> Result<usize> {
    let output = cargo.output().map_err(|error| not_run(cargo, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let what = format!("the cases cannot be listed ({}): {}", output.status, said.trim());
        return Err(Error::failed(what, code(output.status)));
    }
    Ok(count_listed(&output.stdout))
}

/// The cases among what `--list` prints.
pub fn count_listed(printed: &[u8]) -> usize {
    let printed = String::from_utf8_lossy(printed);
    printed.lines().filter(|line| line.ends_with(": benchmark")).count()
}

/// The cargo that runs this, in a folder.
pub fn in_folder(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    // They begin where the user is.
    for name in TARGET {
        let place = variable(name).and_then(|place| path::absolute(place).ok());
        cargo.envs(place.map(|place| (name, place)));
    }
    cargo
}

pub fn status(mut cargo: Command) -> Result<ExitStatus> {
    cargo.status().map_err(|error| not_run(&cargo, &error))
}

pub fn not_run(command: &Command, error: &std::io::Error) -> Error {
    Error::new(format!("cannot run {}: {error}", command.get_program().display()))
}

pub fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(code(status))
}

/// A command that died of a signal ends as shells report it.
pub fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None::<i32>;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut down from cargo 1.95's.
    const SAID: &str = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"x"},"profile":{"opt_level":"3","test":false},"filenames":["/x/libx.rlib"],"executable":null,"fresh":true}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"x"},"profile":{"opt_level":"3","test":false},"executable":"/x/x","fresh":true}
{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"b"},"profile":{"opt_level":"3","test":true},"executable":"/x/deps/b-1f","fresh":false}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn what_cargo_has_built_is_found_among_its_messages() {
        for (kind, name, program) in [("bench", "b", "/x/deps/b-1f"), ("bin", "x", "/x/x")] {
            let found = programs(SAID.as_bytes(), kind);
            assert_eq!(found, [(name.to_owned(), PathBuf::from(program))]);
        }
    }
}
