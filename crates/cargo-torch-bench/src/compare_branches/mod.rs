//! `compare-branches`: two revisions, built and measured side by side, then compared.

mod options;
mod revision;
mod worktree;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

use crate::cargo;
use crate::error::{Error, Result};
use crate::results::{HOME, Results};
use crate::runs;
use crate::setup;
use crate::side::Side;
use crate::source::{Link, Source};
use crate::workspace::Workspace;
pub use options::Options;
use revision::Revision;
use worktree::Worktrees;

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    match options.revisions() {
        Some(revisions) => compare(workspace, options, revisions),
        None => {
            let root = workspace.root();
            Worktrees::claim(&cargo::target(root)?)?.clean(root).map(|()| ExitCode::SUCCESS)
        }
    }
}

fn compare(workspace: &Workspace, options: &Options, [a, b]: [&str; 2]) -> Result<ExitCode> {
    let root = workspace.root();
    let arguments = options.arguments()?;
    cargo::require_report(root)?;
    // Before anything is downloaded or built.
    let revisions = [Revision::resolve(root, a)?, Revision::resolve(root, b)?];
    let target = cargo::target(root)?;
    let results = Results::of_environment(&target)?;
    // Until the comparison is printed.
    let claim = results.lock()?;
    let worktrees = Worktrees::claim(&target)?;
    setup::ensure(workspace)?;
    let names = revision::names(&revisions);
    let needed: Vec<&str> = revisions.iter().filter_map(Revision::short).collect();
    let mut sides = Vec::new();
    for (revision, name) in revisions.iter().zip(&names) {
        sides.push(side(workspace, revision, name, &worktrees, &needed, &results)?);
    }
    announce(&revisions, &sides);
    check_report(root, &results)?;
    // The comparison alone goes to stdout.
    let stdout = || Stdio::from(io::stderr());
    runs::measure(&sides, options.runs, &arguments, &results, &claim, stdout)?;
    let [a, b] = &names;
    eprintln!(
        "kept as {a}@… and {b}@…; to compare them again: cargo criterion-report compare {a} {b}{}",
        results.option(root)
    );
    let compared = report(root, &results, &options.report(&names), Stdio::inherit())?;
    Ok(ExitCode::from(cargo::code(compared)))
}

/// The folders that a revision is measured in, so that both leave their results in one place.
fn side(
    workspace: &Workspace,
    revision: &Revision,
    name: &str,
    worktrees: &Worktrees,
    needed: &[&str],
    results: &Results,
) -> Result<Side> {
    let name = name.to_owned();
    let mut environment = vec![(HOME, results.criterion.clone())];
    let (Some(commit), Some(short)) = (&revision.commit, revision.short()) else {
        let folder = workspace.root().to_path_buf();
        return Ok(Side { name, folder, worktree: false, environment });
    };
    let folder = worktrees.provide(workspace.root(), commit, short, needed)?;
    // By one path for all: a worktree is used for one commit after another. And not by that of a link:
    // torch-sys has to see that it leads elsewhere now.
    match Source::of_environment(workspace)? {
        // Also one that a file names which the revision may lack.
        Source::User(chosen) => environment.push(("LIBTORCH", chosen.libtorch)),
        Source::Link => {
            if let Link::To(libtorch) = Link::read(workspace)? {
                environment.push(("LIBTORCH", libtorch));
            }
        }
    }
    Ok(Side { name, folder, worktree: true, environment })
}

fn announce(revisions: &[Revision; 2], sides: &[Side]) {
    for (revision, side) in revisions.iter().zip(sides) {
        let what = revision.short().unwrap_or("as it lies here");
        eprintln!("{}: {what}, in {}", side.name, side.folder.display());
    }
    let [a, b] = revisions;
    if a.commit == b.commit {
        eprintln!("both are the same: an A/A comparison, in which all differences are noise");
    }
}

/// The report is needed last; that it cannot be built is better known before hours of measuring.
fn check_report(root: &Path, results: &Results) -> Result<()> {
    eprintln!("building criterion-report");
    let status = report(root, results, &["compare".into(), "--help".into()], Stdio::null())?;
    if status.success() {
        return Ok(());
    }
    let what = format!(
        "criterion-report cannot be built, or does not compare ({status}): cargo criterion-report \
         compare --help, in {}",
        root.display()
    );
    Err(Error::failed(what, cargo::code(status)))
}

/// Runs `criterion-report` of this checkout.
fn report(
    root: &Path,
    results: &Results,
    arguments: &[OsString],
    stdout: Stdio,
) -> Result<ExitStatus> {
    let mut report = cargo::at_home(cargo::report(root), &results.criterion);
    report.args(arguments).stdout(stdout);
    cargo::status(report)
}
