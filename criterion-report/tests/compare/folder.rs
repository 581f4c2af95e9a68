//! Folders of results, and the program run on them.

use std::path::PathBuf;
use std::process::{Command, Output};

use plan::Device::Cpu;
use plan::Dtype::{Float16, Float32};
use plan::Outcome;
use serde_json::Value;

use crate::kernels::fixture::{Fixture, Make, Measured};

/// A folder with `criterion` and `criterion-torch` that goes when the test does.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Saves what `run` makes, once for each number, as `name@1` and so on; 0 is the name alone.
    pub fn save(&self, name: &str, runs: u64, run: impl Fn(u64) -> Fixture) -> &Self {
        match runs {
            0 => drop(run(0).write_in(self.0.path(), name)),
            _ => (1..=runs).for_each(|number| {
                run(number).write_in(self.0.path(), &format!("{name}@{number}"));
            }),
        }
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(args)
            .args(["--criterion-dir", "criterion"])
            .current_dir(self.0.path())
            .output()
            .expect("the program starts")
    }

    /// Standard output of what has to end with this code.
    pub fn stdout(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Standard error of it.
    pub fn stderr(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", err(&output));
        err(&output)
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let text = self.stdout(0, &[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Without the breaks of lines.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Times of a run: each differs by a few thousandths from the next.
pub fn in_run(run: u64, ns: u64) -> u64 {
    ns + ns / 1000 * (run * 7 % 5)
}

pub fn clean(fixture: Fixture) -> Fixture {
    fixture.edit("kernels/", |it| {
        it.record.environment_mut().git_revision = Some("1f0c2ab34d56".to_owned());
    })
}

pub const KERNELS: [&str; 9] =
    ["gemv", "reduction", "scan", "sort", "stencil", "fft", "spmv", "softmax", "histogram"];

/// Results of `main`: each kernel takes 1 ms.
pub fn main_branch(run: u64) -> Fixture {
    let ns = in_run(run, 1_000_000);
    let made: Vec<Make<'_>> =
        KERNELS.iter().map(|kernel| Make(kernel, "kernel", Float32, Cpu, ns)).collect();
    clean(Fixture::of_kernels(&made)).edit("gemv", |it| wobble(it, run, 1_000_000))
}

/// Five percent to either side, by turns.
pub fn wobble(it: &mut Measured, run: u64, ns: u64) {
    let ns = ns / 100 * (95 + 5 * (run % 3));
    it.ns = Some(ns);
    it.record.last_sample = Some(plan::LastSample { iters: 1, ns });
}

/// And what a branch did: one of each verdict.
pub fn branch(run: u64) -> Fixture {
    let failed = Outcome::Failed { error: "the output has a NaN".to_owned() };
    let skipped = Outcome::Skipped { reason: "memory_gb < 1: it needs a GiB".to_owned() };
    let mut fixture = main_branch(run)
        .edit("gemv", |it| wobble(it, run, 1_080_000))
        .takes("reduction", in_run(run, 1_250_000))
        .takes("scan", in_run(run, 700_000))
        .without("sort")
        .end("fft", &failed)
        .end("spmv", &skipped)
        .edit("softmax", |it| {
            let memory = it.record.measures.memory.as_mut().expect("measured");
            memory.step.peak_bytes *= 3;
        })
        .edit("histogram", |it| {
            it.record.accuracy.as_mut().expect("measured").relative_error = plan::JsonFloat(0.02);
        });
    let new = Fixture::of_kernels(&[Make("fused", "kernel", Float16, Cpu, 5_000)]);
    fixture.cases.extend(clean(new).cases);
    fixture
}

pub fn one_of_each() -> Folder {
    let folder = Folder::new();
    folder.save("main", 6, main_branch).save("pr", 6, branch);
    folder
}
