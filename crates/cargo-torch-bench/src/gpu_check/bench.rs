//! The programs that steps run, and what they leave.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plan::Environment;
use serde::Deserialize as _;
use serde_json::Value;

use super::finding::{Finding, Verdict};
use super::judge;
use super::step::{OURS, SELF_TEST};
use crate::ask;
use crate::cargo::{self, CASES_FAILED};
use crate::files;
use ::libtorch::child::Ended;

const SANITIZER: &str = "compute-sanitizer";
/// CUDA's own packages put it there.
const TOOLKIT: &str = "/usr/local/cuda/bin/compute-sanitizer";

/// The findings of a step, and the output of its programs.
#[derive(Debug, Default)]
pub struct Taken {
    pub findings: Vec<Finding>,
    pub log: String,
    /// The circumstances of the first record.
    pub environment: Option<Environment>,
}

impl From<Finding> for Taken {
    fn from(finding: Finding) -> Self {
        Self { findings: vec![finding], ..Self::default() }
    }
}

/// The bench targets, built with the configs of the steps.
#[derive(Debug)]
pub struct Bench {
    /// The clone or the bundle, in which they run.
    pub root: PathBuf,
    /// Results of each step are in a folder of its own.
    pub folder: PathBuf,
    pub programs: BTreeMap<String, PathBuf>,
    /// criterion-report.
    pub report: PathBuf,
    /// Variables that the bench targets need.
    pub variables: Vec<(OsString, OsString)>,
}

impl Bench {
    /// A check of `self_test`.
    pub fn check(&self, name: &str, limit: Duration) -> Taken {
        let ended = self.program(SELF_TEST).and_then(|program| {
            let mut program = cargo::at_home(program, &self.home(name));
            program.args([name, "--exact", "--format", "json"]);
            run(program, name, limit)
        });
        let ended = match ended {
            Ok(ended) => ended,
            Err(why) => return Finding::failed(name, why).into(),
        };
        let lines = String::from_utf8_lossy(&ended.stdout).into_owned();
        let mut findings: Vec<Finding> = lines.lines().filter_map(Finding::of_line).collect();
        findings.extend(died(&ended, name));
        Taken { findings, log: text(&ended), environment: None }
    }

    /// Cases of a bench target, measured in passing.
    pub fn cases(&self, step: &str, target: &str, filter: &str, limit: Duration) -> Taken {
        let (mut taken, records) = self.records(step, target, filter, limit);
        taken.findings.splice(..0, records.iter().filter_map(Finding::of_record));
        taken
    }

    /// The kernel that breaks CUDA, and the one behind it.
    pub fn culprit(&self, step: &str, limit: Duration) -> Taken {
        let (mut taken, records) = self.records(step, "kernels", "^kernels/fault/", limit);
        taken.findings.splice(..0, judge::culprit(&records));
        taken
    }

    /// Measured bandwidth and products, against the vendor's figures.
    pub fn vendor(&self, step: &str, limit: Duration) -> Taken {
        let mut taken = self.cases(step, "calibration", "^calibration/limits/", limit);
        if Verdict::from_findings(&taken.findings) != Verdict::Passed {
            return taken;
        }
        let profile = self.folder.join(step).join("profile.json");
        let mut report = cargo::at_home(Command::new(&self.report), &self.home(step));
        report.args(["calibration", "--preset", "auto", "--device", "cuda"]);
        report.arg("--output").arg(&profile);
        match run(report, "criterion-report", limit) {
            Err(why) => taken.findings.push(Finding::failed("criterion-report", why)),
            Ok(ended) => {
                taken.log += &text(&ended);
                taken.findings.extend(profiled(&profile, &ended));
            }
        }
        taken
    }

    /// Cases of our own kernels, once each, in the hands of a tool.
    pub fn sanitizer(&self, tool: &str, limit: Duration) -> Taken {
        let Some(sanitizer) = found() else {
            let reason = format!("there is no {SANITIZER}: it comes with the CUDA toolkit");
            return Finding::skipped(tool, reason).into();
        };
        let mut taken = Taken::default();
        for (target, filter) in OURS {
            let ended = self.program(target).and_then(|program| {
                let mut command = cargo::at_home(self.command(&sanitizer), &self.home(tool));
                command.args(["--tool", tool, "--target-processes", "all", "--print-limit", "20"]);
                command.arg(program.get_program()).args(["--bench", "--test", filter]);
                run(command, tool, limit)
            });
            match ended {
                Err(why) => taken.findings.push(Finding::failed(target, why)),
                Ok(ended) => {
                    let said = text(&ended);
                    taken.findings.push(judge::sanitizer(target, &said));
                    taken.log += &said;
                }
            }
        }
        taken
    }

    fn home(&self, step: &str) -> PathBuf {
        self.folder.join(step).join("criterion")
    }

    /// Runs cases with results of their own, and reads their records. An error is a finding.
    fn records(
        &self,
        step: &str,
        target: &str,
        filter: &str,
        limit: Duration,
    ) -> (Taken, Vec<Value>) {
        let place = self.folder.join(step);
        let records = place.join("criterion-torch");
        let removed = files::remove_folder(&place).map_err(|error| error.what().to_owned());
        let ended = removed.and_then(|()| {
            let mut program = cargo::at_home(self.program(target)?, &self.home(step));
            program.args(["--bench", "--noplot", filter]);
            run(program, target, limit)
        });
        let file = records.join("new").join(format!("{target}.jsonl"));
        let read = last_of_each(&fs::read_to_string(&file).unwrap_or_default());
        let mut taken = match ended {
            Ok(ended) => Taken {
                findings: died(&ended, target).into_iter().collect(),
                log: text(&ended),
                environment: read
                    .first()
                    .and_then(|record| Environment::deserialize(record.get("environment")?).ok()),
            },
            Err(why) => Finding::failed(target, why).into(),
        };
        if let (Some(finding), Some(case)) = (taken.findings.first_mut(), running(&records)) {
            finding.measured += &format!(", while {case} ran");
        }
        (taken, read)
    }

    fn program(&self, target: &str) -> std::result::Result<Command, String> {
        let program = self.programs.get(target);
        let program = program.ok_or_else(|| format!("there is no bench target {target}"))?;
        Ok(self.command(program))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.current_dir(&self.root).envs(variables);
        command
    }
}

/// Records, by their ids: a run that died may leave several of one, of which the last is valid.
fn last_of_each(lines: &str) -> Vec<Value> {
    let mut records: Vec<Value> = Vec::new();
    // The last line of a run that died may be torn.
    for record in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match records.iter_mut().find(|it| it["full_id"] == record["full_id"]) {
            Some(before) => *before = record,
            None => records.push(record),
        }
    }
    records
}

/// The findings of a profile, or why there is none.
fn profiled(profile: &Path, ended: &Ended) -> Vec<Finding> {
    match fs::read_to_string(profile) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(profile) => judge::vendor(&profile),
            Err(error) => {
                let what = format!("criterion-report wrote no JSON: {error}");
                vec![Finding::failed("profile", what)]
            }
        },
        Err(_) => {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            let line = said.lines().rev().find(|line| line.starts_with("error: "));
            let finding = match line.and_then(|line| line.strip_prefix("error: ")) {
                Some(reason) if reason.starts_with("no preset") => {
                    Finding::skipped("figures", reason)
                }
                reason => {
                    Finding::failed("profile", reason.unwrap_or("criterion-report wrote none"))
                }
            };
            vec![finding]
        }
    }
}

/// The case that was running when a run died.
fn running(records: &Path) -> Option<String> {
    let runs = files::inside(&records.join("runs")).ok()?;
    let running =
        runs.into_iter().filter(|path| path.extension().is_some_and(|it| it == "running"));
    running.filter_map(|path| fs::read_to_string(path).ok()).next()
}

fn run(command: Command, what: &str, limit: Duration) -> std::result::Result<Ended, String> {
    ask::run(command, what, limit).map_err(|why| why.to_string())
}

/// A program that neither succeeded nor ended with failed cases.
fn died(ended: &Ended, name: &str) -> Option<Finding> {
    let code = ended.status.code();
    (!matches!(code, Some(0 | CASES_FAILED)))
        .then(|| Finding::failed(name, format!("the program ended with {}", ended.status)))
}

fn text(ended: &Ended) -> String {
    let [stdout, stderr] = [&ended.stdout, &ended.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{stdout}{stderr}")
}

/// The sanitizer of the PATH, or that of an installed toolkit.
fn found() -> Option<PathBuf> {
    files::on_path(SANITIZER, &env::var_os("PATH").unwrap_or_default())
        .or_else(|| Some(PathBuf::from(TOOLKIT)).filter(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_record_of_a_case_counts() {
        let lines = "{\"full_id\":\"a\",\"n\":1}\n{\"full_id\":\"b\"}\n{\"full_id\":\"a\",\"n\":2}\n{\"torn";
        let records = last_of_each(lines);
        let number = |record: &Value| record["n"].as_f64();
        assert_eq!(records.iter().map(number).collect::<Vec<_>>(), [Some(2.0), None]);
    }
}
