//! `compare-branches`: two revisions, built and measured in lock-step, then compared.

mod options;
mod revision;
mod worktree;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

use crate::cargo;
use crate::error::{Error, Result};
use crate::files;
use crate::human;
use crate::lockstep::{Checkout, Order, Outcome, Program, has_plugin, linker, measure_all};
use crate::results::{Results, kept_as};
use crate::setup;
use crate::source::{Link, Source};
use crate::workspace::Workspace;
pub use options::Options;
use plan::lockstep::{self, Lockstep, LockstepSide};
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
    let filter = options.filter()?;
    cargo::require_report(root)?;
    // Before anything is downloaded or built.
    let revisions = [Revision::resolve(root, a)?, Revision::resolve(root, b)?];
    let target = cargo::target(root)?;
    let results = Results::of_environment(&target)?;
    // Until the comparison is printed.
    let claim = results.lock()?;
    let worktrees = Worktrees::claim(&target)?;
    if has_plugin(root) {
        setup::ensure(workspace)?;
    }
    let names = revision::names(&revisions);
    let needed: Vec<&str> = revisions.iter().filter_map(Revision::short).collect();
    let mut programs = Vec::new();
    for (side, (revision, name)) in revisions.iter().zip(&names).enumerate() {
        let checkout = checkout(workspace, revision, name, side, &worktrees, &needed)?;
        let what = revision.short().unwrap_or("as it lies here");
        eprintln!("{name}: {what}, in {}", checkout.run_in.display());
        programs.push(checkout.build(&options.selection)?);
    }
    check_report(root, &results)?;
    let [a, b] = [programs.remove(0), programs.remove(0)];
    let mut pairs = of_both(a, b, &names)?;
    if !options.same {
        pairs = different(pairs)?;
        if pairs.is_empty() {
            eprintln!(
                "nothing is measured: the revisions differ in no program (--same measures it)"
            );
            return Ok(ExitCode::SUCCESS);
        }
    }
    let (budget, threshold) = (options.budget, options.latency_threshold);
    let order = Order { filter, budget, threshold, claim: &claim };
    let outcome = measure_all(pairs, &order);
    if outcome.cases.is_empty() {
        return match outcome.failures.is_empty() {
            true => Err(Error::usage("no case is selected, so there is nothing to measure")
                .remedy("list the cases: cargo bench -- --list")),
            // They were printed when they came about.
            false => Ok(ExitCode::FAILURE),
        };
    }
    let (cases, took) = (outcome.cases.len(), human::duration(outcome.took));
    eprintln!("{cases} case{} measured in {took}", if cases == 1 { "" } else { "s" });
    for (side, name) in names.iter().enumerate() {
        results.remove_runs(name)?;
        keep_records(&worktrees.home(side), &results, name)?;
    }
    // The report reads records beside criterion's files, of which lock-step leaves none.
    files::make_folder(&results.criterion)?;
    let file = save(&results, &names, &revisions, &order, &outcome)?;
    let [a, b] = &names;
    eprintln!(
        "kept in {}; to compare again: cargo criterion-report compare {a} {b}{}",
        file.display(),
        results.option(root)
    );
    let compared = report(root, &results, &options.report(&names), Stdio::inherit())?;
    // A program that could not be measured is no success, whatever the rest says.
    Ok(match (compared.success(), outcome.failures.is_empty()) {
        (true, false) => ExitCode::FAILURE,
        _ => ExitCode::from(cargo::code(compared)),
    })
}

/// The programs that both sides have.
fn of_both(a: Vec<Program>, b: Vec<Program>, names: &[String; 2]) -> Result<Vec<[Program; 2]>> {
    let mut b = b;
    let mut pairs = Vec::new();
    for program in a {
        let is_it = |it: &Program| (&it.package, &it.target) == (&program.package, &program.target);
        match b.iter().position(is_it) {
            Some(place) => pairs.push([program, b.remove(place)]),
            None => missing(&names[1], &program),
        }
    }
    b.iter().for_each(|program| missing(&names[0], program));
    if pairs.is_empty() {
        return Err(Error::new("both sides have no bench target with criterion in common")
            .remedy("`cargo bench --no-run` lists what there is"));
    }
    Ok(pairs)
}

fn missing(name: &str, Program { package, target, .. }: &Program) {
    eprintln!("{name}: {package} has no bench target {target}");
}

/// Keeps the records of a side's processes, where they have our plug-in, as its one run.
fn keep_records(home: &Path, results: &Results, name: &str) -> Result<()> {
    let kept = results.records.join(kept_as(name, 1));
    for file in files::inside(&plan::results::records(home).join("new"))? {
        if file.extension().is_some_and(|it| it == "jsonl") {
            files::make_folder(&kept)?;
            files::write(&kept.join(files::name(&file)), files::read(&file)?)?;
        }
    }
    Ok(())
}

/// Leaves out programs that are the same on both sides, byte for byte, and names them.
fn different(pairs: Vec<[Program; 2]>) -> Result<Vec<[Program; 2]>> {
    let mut different = Vec::new();
    for pair in pairs {
        let bytes = |program: &Program| {
            fs::read(&program.path).map_err(|error| Error::io("read", &program.path, &error))
        };
        match bytes(&pair[0])? == bytes(&pair[1])? {
            true => eprintln!("{}: the same program on both sides", pair[0].target),
            false => different.push(pair),
        }
    }
    Ok(different)
}

/// Writes what was measured, for `criterion-report`.
fn save(
    results: &Results,
    names: &[String; 2],
    revisions: &[Revision; 2],
    order: &Order<'_>,
    outcome: &Outcome,
) -> Result<std::path::PathBuf> {
    let side = |index: usize| LockstepSide {
        name: names[index].clone(),
        commit: revisions[index].commit.clone(),
    };
    let document = Lockstep {
        schema: lockstep::SCHEMA.to_owned(),
        version: lockstep::VERSION,
        sides: [side(0), side(1)],
        threshold: order.threshold,
        seconds: outcome.took.as_secs_f64(),
        cases: outcome.cases.clone(),
    };
    let [a, b] = names.each_ref().map(String::as_str);
    let file = lockstep::file(&results.records, [a, b]);
    files::make_folder(file.parent().expect("it lies in a folder"))?;
    let text = serde_json::to_string(&document).map_err(|error| Error::new(error.to_string()))?;
    files::write(&file, text)?;
    Ok(file)
}

/// The folders that a revision is built in.
fn checkout(
    workspace: &Workspace,
    revision: &Revision,
    name: &str,
    side: usize,
    worktrees: &Worktrees,
    needed: &[&str],
) -> Result<Checkout> {
    let root = workspace.root();
    let (commit, run_in) = match (&revision.commit, revision.short()) {
        (Some(commit), Some(short)) => {
            (commit.clone(), worktrees.provide(root, commit, short, needed)?)
        }
        _ => (revision::snapshot(root, &cargo::target(root)?)?, root.to_path_buf()),
    };
    let folder = worktrees.build_in(root, &commit)?;
    let mut environment = vec![("CARGO_TARGET_DIR", folder.join("target"))];
    if has_plugin(workspace.root()) {
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
    }
    let (name, programs) = (name.to_owned(), worktrees.programs(side)?);
    let linker =
        cfg!(target_os = "linux").then(|| linker::copy(&programs.with_file_name("linker")));
    let linker = linker.transpose()?;
    Ok(Checkout { name, folder, run_in, programs, linker, environment })
}

/// The report is needed last; that it cannot be built is better known before hours of measuring.
fn check_report(root: &Path, results: &Results) -> Result<()> {
    if cargo::has_report(root) {
        eprintln!("building criterion-report");
    }
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
