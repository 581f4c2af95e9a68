//! `bench`, `kernels` and `test`: setup, then the plain cargo command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::results::{HOME, Results};
use crate::setup;
use crate::skips::Skips;
use crate::workspace::Workspace;
use ::libtorch::{COMPILER_PYTHON, PYTHON};

/// `cargo xtask bench`: measures, then prints the report.
pub fn bench(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    setup::before(workspace)?;
    let home = results(workspace)?.criterion;
    let with_home = |words, arguments| status(at_home(command(workspace, words, arguments), &home));
    let status = with_home(&["bench"], arguments)?;
    if !measures(arguments) {
        return Ok(exit_code(status));
    }
    if !status.success() && status.code() != Some(CASES_FAILED) {
        // Nothing ran, or not to its end; a report of last week's numbers would be worse than none.
        eprintln!(
            "cargo bench failed ({status}), so no report; what was measured before that: \
             cargo criterion-report show"
        );
        return Ok(exit_code(status));
    }
    let reported = with_home(PROGRAM, &["show".into()])?;
    Ok(exit_code(if status.success() { reported } else { status }))
}

/// A run of the kernels.
#[derive(Debug)]
pub struct Kernels {
    /// Relative to the root of the clone.
    pub configs: Vec<PathBuf>,
    /// They are not those that the bench target takes by itself.
    pub overridden: bool,
    /// Print what was found.
    pub shows_plan: bool,
    pub filter: Option<OsString>,
    pub save_baseline: Option<OsString>,
    /// Criterion's folder, which the results go to.
    pub home: PathBuf,
    /// The arguments of the report.
    pub report: Vec<OsString>,
}

/// `cargo xtask kernels`: says what is wrong with the kernels' files before anything long is built,
/// then measures, then reports.
pub fn kernels(workspace: &Workspace, run: &Kernels) -> Result<ExitCode> {
    let mut plan = command(workspace, PROGRAM, &["plan".into()]);
    plan.args(&run.configs)
        .args(run.filter.iter().flat_map(|it| ["--filter".as_ref(), it.as_os_str()]));
    if !run.shows_plan {
        plan.stdout(Stdio::null());
    }
    let planned = status(plan)?;
    if !planned.success() {
        return Ok(exit_code(planned));
    }
    let bench = command(workspace, &["bench", "--bench", "kernels", "--"], &[]);
    let mut bench = at_home(bench, &run.home);
    bench
        .args(run.save_baseline.iter().flat_map(|it| ["--save-baseline".as_ref(), it.as_os_str()]));
    bench.args(&run.filter);
    if run.overridden {
        bench.env(
            "BENCH_CONFIG",
            std::env::join_paths(&run.configs).map_err(|error| {
                Error::new(format!("a config cannot be named in a list: {error}"))
            })?,
        );
    }
    let measured = status(bench)?;
    let ended = measured.success() || measured.code() == Some(CASES_FAILED);
    // Cargo ends a build that fails and a program that dies with the same code: only what can be
    // built has died.
    let died = !ended && measured.code() != Some(MISTAKE) && builds(workspace)?;
    if !ended && !died {
        eprintln!("cargo bench failed ({measured}), so no report");
        return Ok(exit_code(measured));
    }
    let reported = status(at_home(command(workspace, PROGRAM, &run.report), &run.home))?;
    if died {
        eprintln!(
            "error: the run died before its end ({measured}); the report is of the cases before \
             that, and says which one was never finished"
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(exit_code(if measured.success() { reported } else { measured }))
}

/// Whether there is a program of the kernels to run.
fn builds(workspace: &Workspace) -> Result<bool> {
    let mut build = command(workspace, &["bench", "--bench", "kernels", "--no-run"], &[]);
    build.stderr(Stdio::null());
    Ok(status(build)?.success())
}

/// How a benchmark ends that ran to its end with failed cases in its records. A build that fails
/// ends with 101, a wrong command line with 2.
pub const CASES_FAILED: i32 = 1;
/// How one ends that refuses its command line or a config.
const MISTAKE: i32 = 2;

/// The tests that are ignored otherwise are all in the library, and too slow without optimization.
const EXHAUSTIVE: &[&str] = &[
    "test",
    "--release",
    "--package",
    "criterion-torch",
    "--package",
    "criterion-torch-kernels",
    "--lib",
];

/// `cargo xtask test`: every test of the workspace, or those that are ignored otherwise.
pub fn test(workspace: &Workspace, exhaustive: bool, arguments: &[OsString]) -> Result<ExitCode> {
    setup::before(workspace)?;
    let skips = Skips::below(&target(workspace.root())?)?;
    let words = if exhaustive { EXHAUSTIVE } else { &["test", "--workspace"] };
    let mut cargo = command(workspace, words, arguments);
    if exhaustive {
        let separated = arguments.iter().any(|word| word == "--");
        cargo.args((!separated).then_some("--")).arg("--ignored");
    }
    let status = status(skips.told(cargo))?;
    eprint!("{}", skips.summary()?);
    Ok(exit_code(status))
}

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

/// `compare-torchao`, on a libtorch that is there: the `self_test` bench, which holds the loop.
pub fn compare(workspace: &Workspace, python: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let mut cargo = command(workspace, COMPARE, arguments);
    cargo.env(PYTHON, python);
    // It has the torch that compiles, too: both sides' code comes from the same one.
    if std::env::var_os(COMPILER_PYTHON).is_none() {
        cargo.env(COMPILER_PYTHON, python);
    }
    // Neither side's threads may spin while the other side is timed.
    if std::env::var_os(WAIT_POLICY).is_none() {
        cargo.env(WAIT_POLICY, "passive");
    }
    Ok(exit_code(status(cargo)?))
}

const COMPARE: &[&str] = &["bench", "--bench", "self_test", "--", "torchao"];
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

/// `criterion-report`, to which its own arguments are added.
pub const PROGRAM: &[&str] =
    &["run", "--quiet", "--release", "--package", "criterion-report", "--"];

/// With any of these, no new results are left.
const MEASURES_NOTHING: [&str; 8] = [
    "--list",
    "--test",
    "--no-run",
    "--help",
    "-h",
    "--profile-time",
    "--discard-baseline",
    "--load-baseline",
];

fn measures(arguments: &[OsString]) -> bool {
    let flag = |argument: &OsString| {
        argument.to_string_lossy().split('=').next().unwrap_or_default().to_owned()
    };
    !arguments.iter().any(|argument| MEASURES_NOTHING.contains(&flag(argument).as_str()))
}

/// The environment goes on unchanged: LIBTORCH is the user's own or, from .cargo/config.toml, the
/// very value that cargo would set again.
fn command(workspace: &Workspace, words: &[&str], arguments: &[OsString]) -> Command {
    let mut cargo = in_folder(workspace.root());
    cargo.args(words).args(arguments);
    cargo
}

/// A benchmark or the report, told where the results are: by itself the report knows no configuration
/// of cargo's.
pub fn at_home(mut cargo: Command, home: &Path) -> Command {
    cargo.env(HOME, home);
    cargo
}

/// The results of the clone, where its benchmarks run.
pub fn results(workspace: &Workspace) -> Result<Results> {
    let root = workspace.root();
    Results::of_environment(root, &target(root)?)
}

/// The folder in which cargo builds the clone at `root`. Variables and cargo's configuration decide.
pub fn target(root: &Path) -> Result<PathBuf> {
    let mut cargo = in_folder(root);
    cargo.args(["metadata", "--no-deps", "--format-version=1"]).stdin(Stdio::null());
    let output = cargo.output().map_err(|error| not_run(&cargo, &error))?;
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let metadata = serde_json::from_slice(&output.stdout);
    metadata.map(|Metadata { target_directory }| target_directory).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = if output.status.success() { error.to_string() } else { said.trim().to_owned() };
        Error::new(format!(
            "cargo metadata in {} does not say where cargo builds ({}): {why}",
            root.display(),
            output.status
        ))
    })
}

/// The cargo that runs this, in a folder.
pub fn in_folder(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}

pub fn status(mut cargo: Command) -> Result<ExitStatus> {
    cargo.status().map_err(|error| not_run(&cargo, &error))
}

pub fn not_run(command: &Command, error: &std::io::Error) -> Error {
    Error::new(format!("cannot run {}: {error}", command.get_program().display()))
}

fn exit_code(status: ExitStatus) -> ExitCode {
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

    #[test]
    fn a_report_follows_measurements_alone() {
        for (line, report) in [
            ("", true),
            ("--bench inference -- int8wo", true),
            ("-- --save-baseline main", true),
            ("-- --list", false),
            ("-- --test", false),
            ("--no-run", false),
            ("-- --help", false),
            ("-- --profile-time 5", false),
        ] {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(measures(&arguments), report, "{line}");
        }
    }
}
