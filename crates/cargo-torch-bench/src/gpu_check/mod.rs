//! `cargo xtask gpu-check`: everything about a GPU that this project rests on, proved on the one at hand.

mod bench;
mod finding;
mod judge;
mod page;
mod step;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ask;
use crate::cargo;
use crate::doctor;
use crate::error::{Error, Result};
use crate::git;
use crate::progress;
use crate::setup;
use crate::workspace::Workspace;
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
    let here = env::current_dir()
        .map_err(|error| Error::new(format!("cannot read the current folder: {error}")))?;
    let root = workspace.root();
    setup::before(workspace)?;
    let folder = cargo::target(root)?.join("gpu-check");
    let output = request.output.as_ref().map_or_else(|| folder.clone(), |it| here.join(it));
    fs::create_dir_all(&output).map_err(|error| Error::io("create", &output, &error))?;
    let start = Instant::now();
    let bench = Bench::build(root, folder);
    let built = Instant::now();
    let steps = steps(workspace, bench.as_ref(), request.quick);
    let mut facts = facts(root, &steps);
    facts.push(("took", format!("{} after building", progress::human(built.elapsed()))));
    facts.push(("built in", progress::human(built - start)));
    let page = Page { quick: request.quick, facts, steps, private: private(root) };
    println!("{}", page.outcome());
    for (name, text) in [("gpu-check.md", page.markdown()), ("gpu-check.json", page.json())] {
        let path = output.join(name);
        write(&path, &text)?;
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
        let human = progress::human(Duration::from_secs(left.into()));
        eprint!("[{}/{}] {}, about {human} left: ", number + 1, taken.len(), step.name);
        left -= step.seconds(quick);
        let start = Instant::now();
        let limit = Duration::from_secs((10 * step.seconds(quick)).max(120).into());
        let Taken { findings, log, environment } = take(workspace, bench, step.name, *work, limit);
        let (name, proves, took) = (step.name, step.proves, start.elapsed());
        let step = Done { name, proves, findings, log, environment, took };
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
    let mut environments = steps.iter().filter_map(|step| step.environment.as_ref());
    let gpu = |it: &&Value| it.get("torch").and_then(|torch| torch.get("cuda_device")).is_some();
    let environment = environments.clone().find(gpu).or_else(|| environments.next());
    let read = |path: [&str; 2]| {
        let value = environment?.get(path[0])?.get(path[1])?;
        value
            .as_str()
            .map(str::to_owned)
            .or_else(|| value.as_f64().map(|number| number.to_string()))
    };
    for (name, path) in [
        ("GPU", ["torch", "cuda_device"]),
        ("CUDA devices", ["torch", "cuda_devices"]),
        ("driver", ["torch", "cuda_driver"]),
        ("CUDA of libtorch", ["torch", "cuda"]),
        ("libtorch", ["torch", "libtorch"]),
        ("processor", ["host", "cpu_model"]),
        ("CPUs", ["host", "cpus"]),
        ("system", ["host", "os"]),
    ] {
        add(name, read(path));
    }
    add("rustc", environment.and_then(|it| it.get("rustc")?.as_str()).map(str::to_owned));
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
    let host = ask::first_line(Command::new("hostname")).unwrap_or_default();
    let host = if host.is_empty() { host_of_kernel() } else { host };
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

fn host_of_kernel() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Writes beside the file and renames, so that there is never half a page.
fn write(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("partial");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| Error::io("write", path, &error))
}
