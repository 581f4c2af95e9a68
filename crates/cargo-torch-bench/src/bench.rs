//! `bench`: setup, then the plain cargo command, once or in several runs.

use std::ffi::OsString;
use std::process::{ExitCode, Stdio};

use crate::bench_arguments::{BenchArguments, leaves_results};
use crate::cargo;
use crate::error::Result;
use crate::results::{self, HOME};
use crate::runs;
use crate::setup;
use crate::side::Side;
use crate::workspace::Workspace;

pub fn command(
    workspace: &Workspace,
    repeat: Option<u64>,
    arguments: &[OsString],
) -> Result<ExitCode> {
    match repeat {
        None => once(workspace, arguments),
        Some(runs) => repeated(workspace, runs, arguments),
    }
}

/// Measures, then prints the report. The environment goes on unchanged: LIBTORCH is the user's own or,
/// from .cargo/config.toml, the very value that cargo would set again.
fn once(workspace: &Workspace, arguments: &[OsString]) -> Result<ExitCode> {
    setup::before(workspace)?;
    let home = cargo::results(workspace)?.criterion;
    let mut bench = cargo::at_home(cargo::in_folder(workspace.root()), &home);
    bench.arg("bench").args(arguments);
    let status = cargo::status(bench)?;
    if !leaves_results(arguments) {
        return Ok(cargo::exit_code(status));
    }
    if !status.success() && status.code() != Some(cargo::CASES_FAILED) {
        // Nothing ran, or not to its end; a report of last week's numbers would be worse than none.
        eprintln!(
            "cargo bench failed ({status}), so no report; what was measured before that: \
             cargo criterion-report show"
        );
        return Ok(cargo::exit_code(status));
    }
    let mut report = cargo::at_home(cargo::report(workspace.root()), &home);
    report.arg("show");
    let reported = cargo::status(report)?;
    Ok(cargo::exit_code(if status.success() { reported } else { status }))
}

/// The baseline that criterion saves if none is named.
const DEFAULT_NAME: &str = "base";
const OPTION: &str = "--repeat";

/// The arguments of each run, and the name under which all are kept, with their numbers.
fn named(arguments: &[OsString]) -> Result<(BenchArguments, String)> {
    let split = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let (cargo, criterion) = arguments.split_at(split);
    let criterion = criterion.get(1..).unwrap_or_default();
    let (arguments, name) = BenchArguments::parse(cargo, criterion, OPTION)?;
    Ok((arguments, name.unwrap_or_else(|| DEFAULT_NAME.to_owned())))
}

/// Provisions, builds, measures, and says what can be done with it.
fn repeated(workspace: &Workspace, runs: u64, arguments: &[OsString]) -> Result<ExitCode> {
    let (arguments, name) = named(arguments)?;
    let root = workspace.root();
    let results = cargo::results(workspace)?;
    let claim = results.claim()?;
    setup::before(workspace)?;
    let environment = vec![(HOME, results.criterion.clone())];
    let folder = root.to_path_buf();
    let side = Side { name: name.clone(), folder, worktree: false, environment };
    let failed = runs::measure(&[side], runs, &arguments, &results, &claim, Stdio::inherit)?;
    let (first, last) = (results::kept_as(&name, 1), results::kept_as(&name, runs));
    let option = results.option(root);
    eprintln!(
        "kept as {first} to {last}\n  \
         how far they are apart among themselves: cargo criterion-report aa {name}{option}\n  \
         beside runs of another name:         \
         cargo criterion-report compare OTHER {name}{option}"
    );
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn runs_are_kept_under_a_name() {
        for (line, name, run) in [
            ("", "base", "bench -- --save-baseline base@1"),
            ("--bench x", "base", "bench --bench x -- --save-baseline base@1"),
            (
                "--bench x -- -s pr int8wo --repeat",
                "pr",
                "bench --bench x -- --save-baseline pr@1 int8wo --repeat",
            ),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let (arguments, found) = named(&words).expect(line);
            let words = arguments.run(&results::kept_as(&found, 1)).join(OsStr::new(" "));
            assert_eq!((found.as_str(), words), (name, run.into()), "{line}");
        }
    }
}
