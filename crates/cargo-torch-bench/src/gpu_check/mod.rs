//! `cargo xtask gpu-check`: everything about a GPU that this project rests on, proved on the one at hand.

mod bench;
mod finding;
mod judge;
mod page;
mod step;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use plan::Environment;

use crate::cargo;
use crate::doctor;
use crate::error::{Error, Result};
use crate::files;
use crate::git;
use crate::human;
use crate::setup;
use crate::workspace::{self, Workspace};
use ::libtorch::processor::hostname;
use bench::{Bench, Taken};
use finding::Finding;
use page::{Done, Page};
use step::{STEPS, Step, Work};

#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Request {
    /// The folder of gpu-check.md and gpu-check.json [default: target/gpu-check]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Take about 2 minutes on a GPU instead of 10, both after building
    #[arg(long)]
    pub quick: bool,
}

/// Takes every step, whatever becomes of those before, and writes what was found.
pub fn command(workspace: &Workspace, request: &Request) -> Result<ExitCode> {
    let here = workspace::current_folder()?;
    let root = workspace.root();
    cargo::require_clone(root, "gpu-check")?;
    setup::before(workspace)?;
    let folder = cargo::target(root)?.join("gpu-check");
    let output = request.output.as_ref().map_or_else(|| folder.clone(), |it| here.join(it));
    // Before minutes of measuring.
    files::make_folder(&output)?;
    let start = Instant::now();
    let bench = Bench::build(root, folder);
    let built = Instant::now();
    let steps = steps(workspace, bench.as_ref(), request.quick);
    let mut facts = facts(root, &steps);
    facts.push(("took", format!("{} after building", human::duration(built.elapsed()))));
    facts.push(("built in", human::duration(built - start)));
    let page = Page { quick: request.quick, facts, steps, private: private(root) };
    println!("{}", page.outcome());
    for (name, text) in [("gpu-check.md", page.markdown()), ("gpu-check.json", page.json())] {
        let path = output.join(name);
        files::write(&path, text)?;
        println!("wrote {}", path.display());
    }
    Ok(if page.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn steps(
    workspace: &Workspace,
    bench: std::result::Result<&Bench<'_>, &Error>,
    quick: bool,
) -> Vec<Done> {
    let taken: Vec<(&Step, Work)> =
        STEPS.iter().filter_map(|step| Some((step, step.work(quick)?))).collect();
    let mut left: u32 = taken.iter().map(|(step, _)| step.seconds(quick)).sum();
    let mut done = Vec::new();
    for (number, (step, work)) in taken.iter().enumerate() {
        let human = human::duration(Duration::from_secs(left.into()));
        eprint!("[{}/{}] {}, about {human} left: ", number + 1, taken.len(), step.name);
        left -= step.seconds(quick);
        let start = Instant::now();
        let limit = Duration::from_secs((10 * step.seconds(quick)).max(120).into());
        let taken = take(workspace, bench, step.name, *work, limit);
        let (name, proves, took) = (step.name, step.proves, start.elapsed());
        let step = Done { name, proves, taken, took };
        eprintln!("{}: {}", step.verdict().as_str(), step.summary());
        done.push(step);
    }
    done
}

fn take(
    workspace: &Workspace,
    bench: std::result::Result<&Bench<'_>, &Error>,
    step: &str,
    work: Work,
    limit: Duration,
) -> Taken {
    let bench = match (work, bench) {
        (Work::Doctor, _) => return examined(workspace),
        (_, Err(error)) => return Finding::failed(step, error.what()).into(),
        (_, Ok(bench)) => bench,
    };
    match work {
        Work::Doctor => examined(workspace),
        Work::Check(name) => bench.check(name, limit),
        Work::Cases { target, filter } => bench.cases(step, target, filter, limit),
        Work::Sanitizer { tool } => bench.sanitizer(tool, limit),
        Work::Vendor => bench.vendor(step, limit),
        Work::Culprit => bench.culprit(step, limit),
    }
}

/// Asks the doctor.
fn examined(workspace: &Workspace) -> Taken {
    let mut taken = Taken::default();
    doctor::examine(workspace, |check| {
        taken.log += &check.to_string();
        taken.findings.push(Finding::of_check(&check));
    });
    taken
}

/// Names and versions of the clone and of the first measurement on a GPU.
fn facts(root: &Path, steps: &[Done]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("commit", commit(root));
    let mut environments = steps.iter().filter_map(|step| step.taken.environment.as_ref());
    let gpu = environments.clone().find(|it| it.torch.cuda_device.is_some());
    if let Some(Environment { host, torch, rustc, .. }) = gpu.or_else(|| environments.next()) {
        add("GPU", torch.cuda_device.clone());
        add("CUDA devices", torch.cuda_devices.map(|count| count.to_string()));
        add("driver", torch.cuda_driver.clone());
        add("CUDA of libtorch", torch.cuda.clone());
        add("libtorch", Some(torch.libtorch.clone()));
        add("processor", Some(host.cpu_model.clone()));
        add("CPUs", Some(host.cpus.to_string()));
        add("system", Some(host.os.clone()));
        add("rustc", Some(rustc.clone()));
    }
    facts
}

fn commit(root: &Path) -> Option<String> {
    let commit = git::ask(root, &["rev-parse", "HEAD"]).ok()??;
    let changed = git::ask(root, &["status", "--porcelain"]).ok()??;
    Some(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

fn private(root: &Path) -> Vec<(String, &'static str)> {
    let variable = |name| env::var(name).unwrap_or_default();
    let home = PathBuf::from(variable("HOME"));
    let host = hostname(Path::new("/")).unwrap_or_default();
    let names = [(host, "HOST"), (variable("USER"), "USER")];
    let own = [
        ("LIBTORCH", "LIBTORCH"),
        ("CRITERION_TORCH_CACHE", "CACHE"),
        ("CARGO_TARGET_DIR", "TARGET"),
    ];
    let own = own.map(|(name, instead)| (PathBuf::from(variable(name)), instead));
    let mut folders = vec![(root.to_owned(), "."), (home, "~"), (env::temp_dir(), "TMP")];
    folders.extend(own.into_iter().filter(|(folder, _)| folder.is_absolute()));
    page::private(&folders, &names)
}
