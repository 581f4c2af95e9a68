//! `kernels`: the tree, the comparison, the gates and the trends, on results that are made here; and
//! that the defects of QuASIM's benchmarking tools are not in them.

mod cases;
pub mod fixture;
mod gates;
mod history;
mod judged;
mod others;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{self, err, stdout};
use fixture::{Fixture, Make, Measured, result};
use plan::{Device, Dtype, Outcome};
use serde_json::Value;

use Device::{Cpu, Cuda};
use Dtype::{BFloat16, Float8E4M3Fn, Float16, Float32, Float64};

/// One of everything: two implementations, three precisions, both backends, and every outcome that a
/// machine without CUDA gives.
fn everything() -> Fixture {
    let skipped = Outcome::Skipped { reason: "this machine has no CUDA device".to_owned() };
    let error = "relative_error 0.0312 is above the tolerance 0.01".to_owned();
    let unsupported = Outcome::Unsupported { reason: "it has no float8 form".to_owned() };
    Fixture::of_kernels(&[
        Make("pressure_poisson", "kernel", Float64, Cpu, 4_000_000),
        Make("pressure_poisson", "red_black_sor", Float64, Cpu, 2_000_000),
        Make("pressure_poisson", "kernel", Float32, Cpu, 2_000_000),
        Make("pressure_poisson", "red_black_sor", Float32, Cpu, 1_000_000),
        Make("pressure_poisson", "kernel", Float32, Cuda, 100_000),
        Make("gemv", "kernel", Float32, Cpu, 300_000),
        Make("gemv", "kernel", Float16, Cpu, 900_000),
        Make("gemv", "kernel", BFloat16, Cpu, 150_000),
        Make("gemv", "kernel", Float8E4M3Fn, Cpu, 1_000),
        Make("reduction", "kernel", Float32, Cpu, 50_000),
    ])
    .end("/cuda/", &skipped)
    .edit("/cuda/", |it| {
        let torch = &mut it.record.environment_mut().torch;
        (torch.cuda, torch.cuda_device, torch.cuda_driver) = (None, None, None);
    })
    .end("bf16", &Outcome::Failed { error })
    .end("f8", &unsupported)
    .edit("reduction", |it| {
        let facts = it.record.kernel.as_mut().expect("measured");
        (facts.flops, facts.bytes, facts.has_reference) = (None, None, false);
        facts.determinism_std = Some(plan::JsonFloat(2.5e-7));
        // Every tenth call takes twice as long.
        let calls = (0..40).map(|i| if i % 10 == 0 { 100_000 } else { 50_000 }).collect();
        fixture::latency(&mut it.record, calls);
        let memory = it.record.measures.memory.as_mut().expect("measured");
        memory.inputs_bytes = 3 << 30;
    })
    .unreached(&["kernels/default/stencil/cpu/kernel/f32-512"])
}

/// A folder that goes when the test does.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(fixture: &Fixture) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        fixture.write_in(folder.0.path(), "new");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program in the folder, with these arguments behind `kernels`.
    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(["kernels", "--criterion-dir", "criterion"])
            .args(args)
            .current_dir(self.0.path())
            .output()
            .expect("the program starts")
    }

    /// Runs the command, which has to succeed.
    fn written(&self, args: &[&str]) -> &Self {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        self
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("readable")
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }
}

/// Paths of all files below, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    let name = |path: &PathBuf| path.strip_prefix(folder).map(|it| it.display().to_string());
    let mut names: Vec<String> = found.iter().map(|path| name(path).expect("inside")).collect();
    names.sort_unstable();
    names
}
