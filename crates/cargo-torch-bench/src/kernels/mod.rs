//! `kernels`: every kernel of one's own, measured and reported.

mod configs;
mod options;
pub mod submission;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::cargo::{self, CASES_FAILED, MISTAKE};
use crate::error::{Error, Result};
use crate::setup;
use crate::workspace::{self, Workspace};
pub use options::Options;

/// The bench target of kernels alone.
const TARGET: &str = "kernels";

/// Provisions, says what is wrong with the kernels' files before anything long is built, measures, and writes the
/// report.
pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    run(workspace, options, None)
}

/// Likewise; `judged` is the config of kernels whose judge's table is wanted.
fn run(workspace: &Workspace, options: &Options, judged: Option<&Path>) -> Result<ExitCode> {
    options.check()?;
    let here = workspace::current_folder()?;
    let (root, results) = (workspace.root(), cargo::results(workspace)?);
    if !cargo::has_report(root) && !cargo::has_bench(root, TARGET)? {
        let what = format!("no package in {} has a bench target `{TARGET}`", root.display());
        return Err(
            Error::new(what).remedy("cargo bench -- ^kernels/, then criterion-report kernels")
        );
    }
    cargo::require_report(root)?;
    options.look(&here, root, &results.records)?;
    let configs = match judged {
        Some(config) => vec![config.to_owned()],
        None => configs::paths(root, &options.overrides)?,
    };
    setup::ensure(workspace)?;

    let overrides = options.overrides.json();
    let overridden = |mut command: Command| {
        command.envs(overrides.as_ref().map(|json| (plan::OVERRIDE_VARIABLE, json)));
        command.envs(judged.map(|config| (cargo::BENCH_CONFIG, config)));
        command
    };
    let filter = options.filter.as_deref();
    let mut plan = overridden(cargo::report(root));
    plan.arg("plan").args(&configs);
    plan.args(filter.iter().flat_map(|it| ["--filter".as_ref(), *it]));
    if !options.verbose {
        plan.stdout(Stdio::null());
    }
    let planned = cargo::status(plan)?;
    if !planned.success() {
        return Ok(cargo::exit_code(planned));
    }
    let bench = |words: &[&str]| {
        let mut bench = overridden(cargo::in_folder(root));
        bench.args(["bench", "--bench", TARGET]).args(words);
        bench
    };
    let mut run = cargo::at_home(bench(&["--"]), &results.criterion);
    let name = options.save_baseline.as_deref();
    run.args(name.iter().flat_map(|it| ["--save-baseline".as_ref(), *it]));
    run.args(options.budget.iter().flat_map(|it| ["--budget", it.as_str()])).args(filter);
    if judged.is_some() {
        // The table is all that is printed.
        run.stdout(Stdio::null());
    }
    let measured = cargo::status(run)?;
    let ended = measured.success() || measured.code() == Some(CASES_FAILED);
    // Cargo ends a build that fails and a program that dies with the same code: only what can be
    // built has died.
    let died = !ended && measured.code() != Some(MISTAKE) && {
        let mut build = bench(&["--no-run"]);
        build.stderr(Stdio::null());
        cargo::status(build)?.success()
    };
    if !ended && !died {
        eprintln!("cargo bench failed ({measured}), so there is no report");
        return Ok(cargo::exit_code(measured));
    }
    let mut report = cargo::at_home(cargo::report(root), &results.criterion);
    match judged {
        Some(_) => report.args(["kernels", "--latest", "--judged", "--fail-on", "failure"]),
        None => report.args(options.report(&here)),
    };
    let reported = cargo::status(report)?;
    if died {
        eprintln!(
            "error: the run died before its end ({measured}); the report is of the cases before \
             that, and says which one was never finished"
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(cargo::exit_code(if measured.success() { reported } else { measured }))
}

/// Cargo and what it starts run in the root of the clone; a path is meant from where the user is.
fn absolute(here: &Path, path: &Path) -> OsString {
    here.join(path).into_os_string()
}
