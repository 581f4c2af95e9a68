//! Runs jobs of the workflow as GitHub's runner does: with its files, its variables and its bash.
//! What actions do is stood in for; everything that `run` says is real.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::file::{Job, Step, Workflow};
use crate::repository::{self, git};

/// A repository's runs, in a folder.
pub struct Runner<'w> {
    workflow: &'w Workflow,
    place: PathBuf,
    /// What the expressions of the event at hand mean. One that is not here fails the test.
    pub expressions: BTreeMap<String, String>,
    /// Variables of every step.
    pub variables: BTreeMap<String, String>,
    executed: BTreeSet<String>,
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// The step that failed, if one did.
    pub failed: Option<String>,
    /// What all steps printed.
    pub log: String,
    /// Its page.
    pub summary: String,
}

/// A job while it runs.
struct Running<'j> {
    name: &'j str,
    job: &'j Job,
    /// What `actions/checkout` checks out.
    commit: &'j str,
    workspace: PathBuf,
    temp: PathBuf,
    /// By expression: `steps.base.outputs.x`.
    outputs: BTreeMap<String, String>,
    ended: Ended,
}

impl<'w> Runner<'w> {
    /// `place` is kept from test to test, as building is what takes long.
    pub fn new(workflow: &'w Workflow, place: &Path) -> Self {
        fs::create_dir_all(place).expect("make the runner's folder");
        Self {
            workflow,
            place: place.to_owned(),
            expressions: BTreeMap::new(),
            variables: BTreeMap::new(),
            executed: BTreeSet::new(),
        }
    }

    /// Of what is uploaded.
    pub fn artifacts(&self) -> PathBuf {
        self.place.join("artifacts")
    }

    /// Where the job works.
    pub fn workspace(&self, job: &str) -> PathBuf {
        self.place.join(job).join("project")
    }

    /// Steps that run something and never did.
    pub fn never_executed(&self) -> Vec<String> {
        let steps = self.workflow.run_steps().into_iter();
        steps.filter(|step| !self.executed.contains(step)).collect()
    }

    /// Runs all steps of a job whose turn it is, at that commit; its `if` has to be true.
    pub fn run(&mut self, name: &str, commit: &str) -> Ended {
        let job = &self.workflow.jobs[name];
        let temp = self.place.join(name).join("temp");
        repository::remove(&temp);
        fs::create_dir_all(&temp).expect("make the runner's temporary folder");
        let ended = Ended { failed: None, log: String::new(), summary: String::new() };
        let workspace = self.workspace(name);
        fs::create_dir_all(&workspace).expect("make the workspace");
        let outputs = BTreeMap::new();
        let mut running = Running { name, job, commit, workspace, temp, outputs, ended };
        if let Some(condition) = &job.r#if {
            assert_eq!(self.evaluate(condition, &running), "true", "{name} does not run");
        }
        for (index, step) in job.steps.iter().enumerate() {
            let runs = match &step.r#if {
                Some(condition) => self.evaluate(condition, &running) == "true",
                None => running.ended.failed.is_none(),
            };
            if runs {
                self.step(index, step, &mut running);
            }
        }
        for (output, text) in &job.outputs {
            let value = self.evaluate(text, &running);
            self.expressions.insert(format!("needs.{name}.outputs.{output}"), value);
        }
        let result = if running.ended.failed.is_some() { "failure" } else { "success" };
        self.expressions.insert(format!("needs.{name}.result"), result.to_owned());
        running.ended
    }

    fn step(&mut self, index: usize, step: &Step, running: &mut Running<'_>) {
        if let Some(script) = &step.run {
            self.executed.insert(format!("{}: {}", running.name, step.title()));
            self.script(index, step, script, running);
            return;
        }
        match step.uses.as_deref().and_then(|action| action.split_once('@')) {
            Some(("actions/checkout", _)) => {
                let origin = self.place.join("origin.git");
                let whole = step.input("fetch-depth") == "0";
                repository::check_out(&origin, &running.workspace, running.commit, whole);
            }
            Some(("actions/cache", _)) => {}
            Some(("actions/upload-artifact", _)) => {
                let name = self.evaluate(&step.input("name"), running);
                let into = self.artifacts().join(name);
                repository::remove(&into);
                let path = step.input("path");
                if running.workspace.join(&path).exists() {
                    repository::copy(&running.workspace.join(path), &into);
                } else {
                    // Its `if-no-files-found` is `warn`.
                    running.ended.log += &format!(
                        "::warning::No files were found with the provided path: {path}. No \
                         artifacts will be uploaded.\n"
                    );
                }
            }
            Some(("actions/download-artifact", _)) => {
                let pattern = step.input("pattern");
                let prefix = pattern.strip_suffix('*').expect("all of a prefix");
                for artifact in fs::read_dir(self.artifacts()).expect("something was uploaded") {
                    let artifact = artifact.expect("readable");
                    let name = artifact.file_name().into_string().expect("UTF-8");
                    let into = running.workspace.join(step.input("path")).join(&name);
                    if name.starts_with(prefix) {
                        repository::copy(&artifact.path(), &into);
                    }
                }
            }
            _ => panic!("nothing stands in for {:?}", step.uses),
        }
    }

    /// As `shell: bash` is run there.
    fn script(&mut self, index: usize, step: &Step, script: &str, running: &mut Running<'_>) {
        let file = |kind: &str| running.temp.join(format!("{kind}-{index}"));
        assert!(!script.contains("${{"), "{}: an expression becomes code", step.title());
        fs::write(file("script"), script).expect("write the script");
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(file("script"));
        self.prepare(&mut bash, step, running);
        for name in ["ENV", "OUTPUT", "STEP_SUMMARY"] {
            fs::write(file(name), "").expect("write an empty file");
            bash.env(format!("GITHUB_{name}"), file(name));
        }
        let output = bash.output().expect("bash can be run");
        let read = |name: &str| fs::read_to_string(file(name)).expect("UTF-8");
        let pairs = |name: &str| -> Vec<(String, String)> {
            let pair = |line: &str| {
                let pair = line.split_once('=');
                let (name, value) = pair.unwrap_or_else(|| panic!("no NAME=value: {line}"));
                (name.to_owned(), value.to_owned())
            };
            read(name).lines().map(pair).collect()
        };
        let (variables, outputs, summary) = (pairs("ENV"), pairs("OUTPUT"), read("STEP_SUMMARY"));
        self.variables.extend(variables);
        if let Some(id) = &step.id {
            let named = |(name, value)| (format!("steps.{id}.outputs.{name}"), value);
            running.outputs.extend(outputs.into_iter().map(named));
        }
        running.ended.summary += &summary;
        let printed = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        running.ended.log += &format!("== {}\n{}", step.title(), printed.concat());
        if !output.status.success() {
            running.ended.failed.get_or_insert(step.title().to_owned());
        }
    }

    fn prepare(&self, bash: &mut Command, step: &Step, running: &Running<'_>) {
        let foreign = ["GITHUB_", "RUNNER_", "GIT_", "CRITERION_HOME", "BENCH_CONFIG"];
        for (name, _) in std::env::vars_os() {
            if foreign.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                bash.env_remove(name);
            }
        }
        repository::isolate(bash);
        bash.current_dir(&running.workspace)
            .env("CI", "true")
            // The server of the comments is on this machine, wherever else requests go by.
            .env("no_proxy", "127.0.0.1")
            .env("GITHUB_WORKSPACE", &running.workspace)
            .env("RUNNER_TEMP", &running.temp)
            .envs(&self.variables);
        for (name, text) in running.job.env.iter().chain(&step.env) {
            bash.env(name, self.evaluate(text, running));
        }
    }

    /// The text with its expressions replaced; a condition may be one without braces.
    fn evaluate(&self, text: &str, running: &Running<'_>) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, expression)) = rest.split_once("${{") {
            let (expression, after) = expression.split_once("}}").expect("it is closed");
            result += before;
            result += &self.value(expression.trim(), running);
            rest = after;
        }
        result + rest
    }

    fn value(&self, expression: &str, running: &Running<'_>) -> String {
        let known = running.outputs.get(expression).or_else(|| self.expressions.get(expression));
        if let Some(value) = known {
            return value.clone();
        }
        // An output that a step has not set is empty.
        let step = expression.strip_prefix("steps.").and_then(|it| it.split_once(".outputs."));
        let ids = |job: &Job| job.steps.iter().any(|it| it.id.as_deref() == step.map(|(id, _)| id));
        assert!(step.is_some() && ids(running.job), "{}: unknown: {expression}", running.name);
        String::new()
    }
}

/// The commit that a branch of the repository on the server is at.
pub fn head(place: &Path, branch: &str) -> String {
    git(&place.join("origin.git"), &["rev-parse", branch])
}
