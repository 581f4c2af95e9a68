//! `submit` with a real bundle: a SLURM of this machine runs all shards of a sweep, of which one is taken away while it
//! runs and one fails; and a shell runs the steps of GitHub's matrix.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_yaml::Value;

use crate::document::skip;
use crate::outside::{outside, repository, succeeded};
use crate::sweep::{FAULTY, Sweep};

/// A SLURM with one node, which is stopped when dropped.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Whether there can be one here. If not, the test says that it is skipped.
    fn is_possible() -> bool {
        let has = |program: &&str| {
            let mut which = Command::new("sh");
            which.args(["-c", &format!("PATH=$PATH:/usr/sbin command -v {program}")]);
            which.output().is_ok_and(|output| output.status.success())
        };
        let lacks = ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().find(|it| !has(it));
        if let Some(program) = lacks {
            skip::tool(format!("{program} is missing; on Debian: apt-get install slurm-wlm munge"));
            return false;
        }
        // SAFETY: it asks for a number.
        let is_root = unsafe { libc::geteuid() } == 0;
        if !is_root {
            skip::hardware("a SLURM is started by root");
        }
        is_root
    }

    fn start() -> Self {
        let cluster = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        succeeded(&cluster.script("start").output().expect("bash runs"));
        cluster
    }

    fn script(&self, action: &str) -> Command {
        let script = repository().join("crates/cargo-torch-bench/tests/slurm/cluster.sh");
        let mut command = Command::new(script);
        command.arg(action).arg(self.folder.path());
        command
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// Runs a program of SLURM's, and returns what it prints.
    fn ask(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let mut client = Command::new(words.next().expect("a program"));
        client.env("SLURM_CONF", self.configuration());
        succeeded(&client.args(words).output().expect("it can be started"))
    }

    /// Polls the queue until a line of it says so; the limit only keeps a broken test from hanging.
    fn wait(&self, what: &str, mut is_so: impl FnMut(&str) -> Option<String>) -> String {
        let started = Instant::now();
        loop {
            let queue = self.ask("squeue --noheader --array --format=%F_%K=%T");
            if let Some(found) = is_so(&queue) {
                return found;
            }
            assert!(
                started.elapsed() < Duration::from_secs(900),
                "{what} never happened:\n{queue}"
            );
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let stopped = self.script("stop").status();
        assert!(stopped.is_ok_and(|it| it.success()) || std::thread::panicking());
    }
}

/// The value of a field among those that SLURM prints of a job.
fn field<'j>(job: &'j str, name: &str) -> &'j str {
    let value = job.split_whitespace().find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {job}"))
}

#[test]
#[ignore = "nightly: a sweep in eight shards, and a second time as a whole"]
fn nightly_slurm_runs_a_sweep_and_repeats_what_was_taken_away() {
    if !Cluster::is_possible() {
        return;
    }
    let outside = outside();
    let sweep = Sweep::build(&outside);
    let whole = sweep.run(&["--output", "whole", "--", "--quick"]);
    assert_eq!(
        whole.status.code(),
        Some(i32::from(plan::exit::CASES_FAILED)),
        "{}",
        String::from_utf8_lossy(&whole.stderr)
    );

    let cluster = Cluster::start();
    let output = sweep.made.path().join("the sweep");
    let options =
        ["submit", "--to", "slurm", "--shards", "8", "--at-once", "2", "--cpus", "1", "--run"];
    let mut submit = outside.tool("to bundle", &options);
    submit.env("SLURM_CONF", cluster.configuration());
    submit.arg("--bundle").arg(&sweep.root).arg("--output").arg(&output).args(["--", "--quick"]);
    println!("{}", succeeded(&submit.output().expect("it can be started")));

    let running =
        |queue: &str| queue.lines().find_map(|it| it.strip_suffix("=RUNNING").map(str::to_owned));
    let taken = cluster.wait("a shard that runs", running);
    cluster.ask(&format!("scontrol requeue {taken}"));
    cluster.wait("the end of all jobs", |queue| queue.trim().is_empty().then(String::new));

    let logs = |name: &str| fs::read_to_string(output.join("logs").join(name)).unwrap_or_default();
    let (_, index) = taken.split_once('_').expect("an element of an array");
    let (mut restarted, mut failed) = (Vec::new(), 0);
    let jobs = cluster.ask("scontrol --oneliner show job");
    for job in jobs.lines() {
        println!("{job}");
        if !job.contains("ArrayTaskId=") {
            assert_eq!(field(job, "ExitCode"), "0:0", "{}", logs("merge.log"));
            continue;
        }
        match field(job, "ExitCode") {
            "0:0" => {}
            "1:0" => failed += 1,
            other => panic!("{other}: {job}"),
        }
        if field(job, "Restarts") != "0" {
            restarted.push(field(job, "ArrayTaskId"));
        }
    }
    assert_eq!((restarted, failed), (vec![index], 1), "{}", logs(&format!("{index}.log")));

    let merged = sweep.outcomes(&output.join("merged/criterion"));
    assert_eq!(merged, sweep.outcomes(&sweep.made.path().join("whole/criterion")));
    assert!(sweep.planned().iter().eq(merged.keys()), "{merged:?}");
    let failed: Vec<&String> = merged.iter().filter(|it| it.1 == "failed").map(|it| it.0).collect();
    assert!(matches!(&failed[..], [id] if id.contains(FAULTY)), "{failed:?}");
}

/// The commands of a job's steps, each with its variables.
fn commands(workflow: &Value, job: &str) -> Vec<(String, Vec<(String, String)>)> {
    let steps = workflow["jobs"][job]["steps"].as_sequence().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let variables = |step: &Value| {
        let all = step["env"].as_mapping().into_iter().flatten();
        all.map(|(name, value)| (text(name), text(value))).collect()
    };
    let commands = steps.iter().filter(|step| step["run"].is_string());
    commands.map(|step| (text(&step["run"]), variables(step))).collect()
}

/// Runs the commands of a job in a folder, as GitHub does: each by a shell of its own, until one fails.
fn job(workflow: &Value, name: &str, folder: &Path, shard: &str) {
    for (command, variables) in commands(workflow, name) {
        let mut shell = Command::new("bash");
        shell
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &command])
            .current_dir(folder);
        shell.env("GITHUB_STEP_SUMMARY", folder.join("summary.md"));
        let filled = |value: &str| value.replace("${{ matrix.shard }}", shard);
        shell.envs(variables.iter().map(|(name, value)| (name, filled(value))));
        succeeded(&shell.output().expect("bash runs"));
    }
}

#[test]
#[ignore = "nightly: builds the library from its packaged crates, and packs libtorch"]
fn nightly_the_steps_of_githubs_matrix_end_in_a_complete_merge() {
    let outside = outside();
    let sweep = Sweep::build(&outside);
    let made = sweep.made.path();
    let mut submit = outside.tool("to bundle", &["submit", "--to", "github", "--shards", "2"]);
    submit.arg("--bundle").arg(&sweep.root).arg("--output").arg(made.join("files"));
    submit.args(["--", "--quick", "^inference/|/saxpy/"]);
    println!("{}", succeeded(&submit.output().expect("it can be started")));
    let workflow = fs::read_to_string(made.join("files/sweep.yml")).expect("it was written");
    let workflow: Value = serde_yaml::from_str(&workflow).expect("YAML");

    // A job has a folder of its own, in which are the artifacts that it has asked for.
    let host = |name: &str| -> PathBuf {
        let folder = made.join(name);
        fs::create_dir(&folder).expect("writable");
        fs::hard_link(made.join("sweep.tar.zst"), folder.join("sweep.tar.zst")).expect("linked");
        folder
    };
    let merge = host("merge");
    fs::create_dir(merge.join("results")).expect("writable");
    let shards = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"].as_sequence();
    for shard in shards.expect("a list").iter().map(|it| it.as_u64().expect("a number")) {
        let shard = shard.to_string();
        let folder = host(&format!("shard {shard}"));
        job(&workflow, "shard", &folder, &shard);
        let uploaded = merge.join(format!("results/results-{shard}"));
        fs::rename(folder.join("results"), uploaded).expect("it has results");
    }
    job(&workflow, "merge", &merge, "");
    let outcomes = sweep.outcomes(&merge.join("merged/criterion"));
    assert_eq!(outcomes.len(), 5, "{outcomes:?}");
    assert!(outcomes.values().all(|outcome| outcome == "measured"), "{outcomes:?}");
    let summary = fs::read_to_string(merge.join("summary.md")).expect("it was written");
    assert!(summary.contains("int8wo"), "{summary}");
}
