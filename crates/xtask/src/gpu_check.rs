//! `gpu-check`: everything about a GPU that this project rests on, proved on the one at hand.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use cargo_torch_bench::error::{Error, Result};
use cargo_torch_bench::gpu_check::{Bench, CONFIGS, Subject, TARGETS};
use cargo_torch_bench::workspace::{self, Workspace};
use cargo_torch_bench::{cargo, doctor, files, human, setup};
use plan::git;

#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Request {
    /// The folder of gpu-check.md and gpu-check.json [default: target/gpu-check]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Take about 4 minutes on an H100 instead of 15, both after building
    #[arg(long)]
    pub quick: bool,
}

/// Builds the programs in a clone, then takes every step.
pub fn command(workspace: &Workspace, request: &Request) -> Result<ExitCode> {
    let here = workspace::current_folder()?;
    let root = workspace.root();
    setup::ensure(workspace)?;
    let folder = cargo::target(root)?.join("gpu-check");
    let output = request.output.as_ref().map_or_else(|| folder.clone(), |it| here.join(it));
    // Before minutes of measuring.
    files::make_folder(&output)?;
    let start = Instant::now();
    let bench = build(root, folder);
    let built_in = start.elapsed();
    let subject = Subject {
        root,
        commit: commit(root),
        bench,
        examine: &|say| doctor::examine(workspace, say),
    };
    let facts = [("built in", human::duration(built_in))];
    let has_failed = subject.check(&output, request.quick, facts)?;
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Builds them and the report; what cargo says goes to the terminal.
fn build(root: &Path, folder: PathBuf) -> Result<Bench> {
    let configs = env::join_paths(CONFIGS)
        .map_err(|error| Error::new(format!("the configs cannot be listed: {error}")))?;
    let mut report = cargo::in_folder(root);
    report.args(["build", "--quiet", "--release", "--bin", cargo::REPORT]);
    let mut benches = cargo::in_folder(root);
    benches
        .args(["bench", "--no-run"])
        // By name: plain `cargo bench` leaves self_test out.
        .args(TARGETS.iter().flat_map(|target| ["--bench", target]))
        .env(cargo::BENCH_CONFIG, configs);
    let built = cargo::announced(report)?;
    let output = cargo::announced(benches)?;
    let report = cargo::built_report(&built.stdout);
    let Some(report) = report.filter(|_| output.status.success()) else {
        return Err(Error::new("the benchmarks do not build, see what cargo says above"));
    };
    let programs = cargo::programs(&output.stdout, "bench").into_iter().collect();
    Ok(Bench { root: root.to_owned(), folder, programs, report, variables: Vec::new() })
}

fn commit(root: &Path) -> Option<String> {
    let commit = git::ask(root, &["rev-parse", "HEAD"]).ok()??;
    let changed = git::ask(root, &["status", "--porcelain"]).ok()??;
    Some(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}
