//! The commands `calibrate`, `operators` and `recommend`: they write configs, measure them, and report.

pub mod calibrate;
pub mod operators;
pub mod recommend;
mod safetensors;
mod weights;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Output};

use plan::Device;
use plan::recommendation::{StoredWeight, WEIGHTS};
use plan::results::variable;

use crate::cargo::{self, BENCH_CONFIG};
use crate::error::{Error, Result};
use crate::files;
use crate::progress_line;
use crate::results::Results;
use crate::setup;
use crate::workspace::{self, Workspace};

/// The bench target of packages that measure everything in one, as `new` adds it.
const ONE_TARGET: &str = "torch";
/// The folder of the configs. Not in CARGO_TARGET_DIR, because relative paths in a config start at the nearest
/// Cargo.toml above it.
const FOLDER: &str = "target/torch-bench";

/// A config that a command writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    /// The mode that it measures, which is also the name of that mode's bench target.
    pub mode: &'static str,
    pub text: String,
}

/// The configs of one command line.
struct Suite {
    command: &'static str,
    /// File stem of the configs; it is part of the ids of their cases.
    stem: &'static str,
    configs: Vec<Config>,
    verbose: bool,
    /// Arguments of the benchmarks, after `--`.
    arguments: Vec<OsString>,
    /// Weights that accuracy is checked with, besides random ones.
    weights: Vec<StoredWeight>,
}

/// A suite that was measured to the end, with or without failed cases.
struct Measured<'w> {
    root: &'w Path,
    results: Results,
    status: ExitStatus,
}

impl Suite {
    /// Runs setup, writes the configs, builds and measures.
    fn measure<'w>(&self, workspace: &'w Workspace) -> Result<Measured<'w>> {
        let root = workspace.root();
        self.require_no_others()?;
        let targets = self.targets(root)?;
        cargo::require_report(root)?;
        setup::ensure(workspace)?;
        let results = cargo::results(workspace)?;
        let configs = self.write(root)?;
        let weights = self.write_weights(root)?;
        let bench = |words: &[OsString]| {
            let mut bench: Command = cargo::at_home(cargo::in_folder(root), &results.criterion);
            bench.env(BENCH_CONFIG, &configs).arg("bench").args(words);
            bench.envs(weights.iter().map(|file| (WEIGHTS, file)));
            bench
        };
        let targets: Vec<OsString> =
            targets.iter().flat_map(|name| ["--bench", name]).map(OsString::from).collect();
        let built = cargo::status(bench(&[&targets[..], &["--no-run".into()]].concat()))?;
        if !built.success() {
            let what = format!("cargo bench --no-run failed ({built}), so nothing is measured");
            return Err(Error::failed(what, cargo::code(built)));
        }
        let log = results.records.join("bench.log");
        let log = (!self.verbose).then_some(log.as_path());
        let status = progress_line::measure(bench, &[&targets[..], &self.arguments].concat(), log)?;
        if !status.success() && status.code() != Some(cargo::CASES_FAILED) {
            let what = format!("cargo bench failed ({status}), so nothing is written");
            return Err(Error::failed(what, cargo::code(status))
                .remedy("the results until then: cargo criterion-report show"));
        }
        Ok(Measured { root, results, status })
    }

    /// Writes the configs, and shows what they expand to and the time that it takes.
    fn planned(&self, workspace: &Workspace) -> Result<ExitCode> {
        let root = workspace.root();
        cargo::require_report(root)?;
        let configs = self.write(root)?;
        let mut report = cargo::report(root);
        report.arg("plan").args(env::split_paths(&configs));
        Ok(cargo::exit_code(cargo::status(report)?))
    }

    /// The words of `criterion-report` for a command about the cases of this run.
    fn report(&self, command: &str, words: Vec<OsString>) -> Vec<OsString> {
        let modes: Vec<&str> = self.configs.iter().map(|it| it.mode).collect();
        let filter = format!("^({})/{}/", modes.join("|"), self.stem);
        let mut all = [command, "--latest", "--filter", &filter].map(OsString::from).to_vec();
        all.extend(words);
        all
    }

    fn require_no_others(&self) -> Result<()> {
        let Some(others) = variable(BENCH_CONFIG) else { return Ok(()) };
        let what = format!(
            "{BENCH_CONFIG} is \"{}\", and `cargo xtask {}` writes configs of its own",
            others.display(),
            self.command
        );
        Err(Error::usage(what)
            .remedy(format!("unset {BENCH_CONFIG}"))
            .remedy("or measure your configs with `cargo xtask bench`"))
    }

    /// The bench targets that measure the configs: one per mode, or else the one for all modes.
    fn targets(&self, root: &Path) -> Result<Vec<&'static str>> {
        let mut own = Vec::new();
        for config in &self.configs {
            if cargo::has_report(root) || cargo::has_bench(root, config.mode)? {
                own.push(config.mode);
            }
        }
        if own.len() == self.configs.len() {
            return Ok(own);
        }
        if cargo::has_bench(root, ONE_TARGET)? {
            return Ok(vec![ONE_TARGET]);
        }
        let modes: Vec<String> = self.configs.iter().map(|it| format!("`{}`", it.mode)).collect();
        let what = format!(
            "no package in {} has a bench target `{ONE_TARGET}`, nor {}",
            root.display(),
            modes.join(" and ")
        );
        Err(Error::new(what).remedy("add one: cargo xtask new"))
    }

    /// Writes the list of weights, if there are any.
    fn write_weights(&self, root: &Path) -> Result<Option<PathBuf>> {
        if self.weights.is_empty() {
            return Ok(None);
        }
        let file = root.join(FOLDER).join("weights.json");
        let list = serde_json::to_string(&self.weights);
        files::write(&file, list.map_err(|error| Error::new(error.to_string()))?)?;
        Ok(Some(file))
    }

    /// Writes the configs; their paths, as `BENCH_CONFIG` takes them.
    fn write(&self, root: &Path) -> Result<OsString> {
        let folder = root.join(FOLDER);
        let mut paths: Vec<PathBuf> = Vec::new();
        for Config { mode, text } in &self.configs {
            let path = folder.join(mode).join(self.stem).with_extension("yml");
            files::write(&path, text)?;
            paths.push(path);
        }
        env::join_paths(paths).map_err(|error| Error::new(format!("{}: {error}", folder.display())))
    }
}

impl Measured<'_> {
    /// Runs commands of `criterion-report`.
    fn reported(&self, commands: &[Vec<OsString>]) -> Result<Vec<ExitStatus>> {
        let run = |words: &Vec<OsString>| {
            let mut report = cargo::at_home(cargo::report(self.root), &self.results.criterion);
            report.args(words);
            cargo::status(report)
        };
        commands.iter().map(run).collect()
    }

    /// The standard output of a command of `criterion-report`.
    fn output(&self, words: &[&str]) -> Result<Vec<u8>> {
        let mut report = cargo::at_home(cargo::report(self.root), &self.results.criterion);
        report.args(words);
        let Output { status, stdout, stderr } =
            report.output().map_err(|error| cargo::not_run(&report, &error))?;
        let said = String::from_utf8_lossy(&stderr);
        let what =
            format!("criterion-report {} failed ({status}): {}", words.join(" "), said.trim());
        if status.success() { Ok(stdout) } else { Err(Error::failed(what, cargo::code(status))) }
    }

    /// The exit code of the first failure: of the cases, or of a report.
    fn end(&self, reported: &[ExitStatus]) -> ExitCode {
        let all = std::iter::once(&self.status).chain(reported);
        let failed = all.into_iter().find(|status| !status.success());
        cargo::exit_code(*failed.unwrap_or(&self.status))
    }
}

/// The absolute path of an output file. Its folder is created now, so that an error comes before everything is
/// measured.
fn output(file: &Path) -> Result<OsString> {
    let path = workspace::current_folder()?.join(file);
    if path.is_dir() {
        return Err(Error::usage(format!("--output {}: it is a folder", file.display()))
            .remedy("name a file"));
    }
    path.parent().map_or(Ok(()), files::make_folder)?;
    Ok(path.into_os_string())
}

/// A device that a config of these modes takes.
fn device(text: &str) -> std::result::Result<Device, String> {
    Device::of_other_modes(text).map_err(|unknown| match text == Device::Rocm.as_str() {
        true => unknown.remedy,
        false => format!("{unknown}: {}", unknown.remedy),
    })
}

/// `[a, b]` in YAML.
fn list<T: ToString>(words: &[T]) -> String {
    format!("[{}]", words.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}
