//! The cost of the harness: a step that does nothing, and the smallest ATen operation.

use std::process::{Command, ExitCode};

use criterion_torch::harness::Criterion;
use criterion_torch::harness::clock::{HostClock, time};
use criterion_torch::refusal::Refusal;
use libtorch::PYTHON;
use tch::{Device, Kind, Tensor};

use crate::check::{Check, Finding};
use crate::child;

pub const CHECK: Check = Check {
    name: "overhead",
    what: "an empty step against criterion's own loop, relu of 8 floats against Python's Timer",
    device: plan::Device::Cpu,
    run,
};

/// The argument that starts this part in a process of its own.
pub const PART: &str = "overhead";

/// Our time of the smallest operation, as a share of Python's. Most of either is ATen's own: a loop in
/// C++ takes half of what Python's Timer reads.
const OF_PYTHONS: f64 = 0.6;
/// Most nanoseconds that our loop may take above criterion's.
const ALLOWED_NS: f64 = 1.0;

/// Under criterion: its own loop, ours, and ours around relu.
pub fn child() -> ExitCode {
    let mut criterion = Criterion::default().without_plots().configure_from_args();
    criterion.bench_function("criterion", |bencher| bencher.iter(|| ()));
    criterion.bench_function("ours", |bencher| {
        bencher.iter_custom(|iters| {
            time(&mut HostClock, || Ok(()), None, iters).expect("nothing fails")
        });
    });
    // A case's steps are behind a pointer: the harness does not know them when it is compiled.
    let mut empty: Box<dyn FnMut() -> Result<(), Refusal>> = Box::new(|| Ok(()));
    let empty = std::hint::black_box(&mut empty);
    criterion.bench_function("pointer", |bencher| {
        bencher.iter_custom(|iters| {
            time(&mut HostClock, &mut *empty, None, iters).expect("nothing fails")
        });
    });
    tch::set_num_threads(1);
    let _no_gradients = tch::no_grad_guard();
    let eight = Tensor::ones([8], (Kind::Float, Device::Cpu));
    criterion.bench_function("relu", |bencher| {
        bencher.iter_custom(|iters| {
            time(&mut HostClock, || Ok(eight.f_relu()?), None, iters).expect("relu works")
        });
    });
    criterion.final_summary();
    ExitCode::SUCCESS
}

fn run() -> Result<Vec<Finding>, Refusal> {
    let home = child::home()?;
    let flags = ["--bench", "--warm-up-time", "0.5", "--measurement-time", "2"];
    child::start(PART, home.path(), &flags)?;
    let median = |name: &str| child::median(&home.path().join("criterion").join(name));
    let ([theirs, ..], [ours, ..]) = (median("criterion")?, median("ours")?);
    let empty = Finding::new(
        "an empty step",
        format!("{ours:.3} ns, criterion's own loop {theirs:.3} ns"),
        format!("at most {ALLOWED_NS} ns more than criterion's"),
        ours <= theirs + ALLOWED_NS,
    );
    let [behind, ..] = median("pointer")?;
    let pointer = Finding::new(
        "an empty step behind a pointer, as a case's is",
        format!("{behind:.3} ns"),
        format!("at most {ALLOWED_NS} ns for the call, and as much for the loop"),
        behind <= theirs + 2.0 * ALLOWED_NS,
    );
    let [relu, ..] = median("relu")?;
    Ok(vec![empty, pointer, against_python(relu)])
}

fn against_python(relu_ns: f64) -> Finding {
    const NAME: &str = "relu of 8 floats";
    const CODE: &str = "
import torch, torch.utils.benchmark as b
torch.set_num_threads(1)
torch.set_grad_enabled(False)
x = torch.ones(8)
t = b.Timer('torch.relu(x)', globals={'torch': torch, 'x': x})
print(min(t.blocked_autorange(min_run_time=1).median for _ in range(3)) * 1e9)
";
    let Some(python) = std::env::var_os(PYTHON) else {
        let reason = format!("{relu_ns:.0} ns; {PYTHON}=python3 compares it with Python's Timer");
        return Finding::skipped(NAME, reason);
    };
    let output = match Command::new(&python).args(["-c", CODE]).output() {
        Ok(output) => output,
        Err(error) => return Finding::error(NAME, format!("{}: {error}", python.display())),
    };
    match String::from_utf8_lossy(&output.stdout).trim().parse::<f64>() {
        Ok(theirs) => Finding::new(
            NAME,
            format!("{relu_ns:.0} ns, Python's Timer {theirs:.0} ns"),
            format!("at most {:.0} % of Python's", 100.0 * OF_PYTHONS),
            relu_ns <= theirs * OF_PYTHONS,
        ),
        Err(_) => Finding::error(NAME, String::from_utf8_lossy(&output.stderr).trim()),
    }
}
