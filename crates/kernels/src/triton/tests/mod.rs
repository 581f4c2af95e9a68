//! With the real Triton: every kernel compiled for three generations of GPUs. On a GPU, where there
//! is one: every operator.

mod interpreted;
pub(super) mod interpreter;
mod samples;

use std::sync::atomic::{AtomicUsize, Ordering};

use plan::{Implementation, Operator};
use regex::Regex;
use tch::{Device, Kind, Tensor};

use super::OperatorKernels;
use super::compile::{self, Specification};
use super::gemlite::tests::specifications;
use super::operator::LaunchPlan;
use crate::cuda::{Capability, frames};
use crate::operands::{Operands, TensorOptions};
use interpreter::triton;
use native::refusal::Refusal;
use samples::{KINDS, check, exact, noise};

const CPU: Device = Device::Cpu;

fn form(operator: Operator, columns: i64, kind: Kind) -> LaunchPlan {
    LaunchPlan::new(operator, columns, TensorOptions { kind, device: CPU }).unwrap()
}

fn operators() -> impl Iterator<Item = Operator> {
    Operator::ALL
        .iter()
        .copied()
        .filter(|it| it.implementations().contains(&Implementation::Triton))
}

/// Every kernel for a dtype, for rows of this length.
fn all(columns: i64, kind: Kind) -> Vec<Specification> {
    let mut all: Vec<Specification> = Vec::new();
    for operator in operators() {
        for (specification, _) in form(operator, columns, kind).specifications() {
            // Both losses have the same second kernel.
            if !all.contains(&specification) {
                all.push(specification);
            }
        }
    }
    all
}

/// An entry function is called by no other.
#[test]
fn every_entry_function_of_the_files_is_among_them() {
    let mut kernels: Vec<_> = all(768, Kind::Float).iter().map(|it| (it.file, it.kernel)).collect();
    kernels.extend([("gemlite.py", "group_sums"), ("gemlite.py", "gemlite_gemm")]);
    let sources = compile::FILES.map(|(_, text)| text).concat();
    let mut entries = Vec::new();
    for (file, text) in compile::FILES {
        for definition in text.split("@triton.jit\ndef ").skip(1) {
            let name = definition.split('(').next().unwrap();
            let named = Regex::new(&format!(r"\b{name}\(")).unwrap();
            if named.find_iter(&sources).count() == 1 {
                entries.push((file, name));
            }
        }
    }
    for kernel in &kernels {
        assert!(entries.contains(kernel), "{kernel:?} is called by another");
    }
    assert_eq!(entries.len(), kernels.len(), "{entries:?} for {kernels:?}");
}

/// Calls `each` for every item, on as many threads as there are processors.
fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    each(item);
                }
            });
        }
    });
}

#[test]
#[ignore = "long: a minute of compilations for three generations of GPUs"]
fn every_kernel_compiles() {
    let Some(python) = triton() else { return };
    let mut cases = Vec::new();
    for major in [8, 9, 10] {
        let capability = Capability { major, minor: 0 };
        for kind in KINDS {
            cases.extend(all(768, kind).into_iter().map(|it| (it, capability)));
        }
        let kind = if major == 9 { Kind::Half } else { Kind::BFloat16 };
        cases.extend(specifications(kind, capability).into_iter().map(|it| (it, capability)));
    }
    // The other form: nothing promised, and rows longer than a program holds.
    let hopper = Capability { major: 9, minor: 0 };
    for specification in all(40_001, Kind::BFloat16) {
        cases.push((Specification { aligned: Vec::new(), ..specification }, hopper));
    }
    in_parallel(&cases, |(specification, capability)| {
        let answer = compile::compile(python, specification, *capability)
            .unwrap_or_else(|it| panic!("{it}"));
        let compiled = compile::understood(String::new(), &answer, specification)
            .unwrap_or_else(|it| panic!("{it}"));
        assert_eq!(compiled.metadata.name, specification.kernel);
        let section = format!(".text.{}\0", specification.kernel);
        let holds = compiled.cubin.windows(section.len()).any(|it| it == section.as_bytes());
        assert!(holds, "no {section:?}");
        let spilled: Vec<_> = frames(&compiled.cubin).into_iter().filter(|it| it.1 > 0).collect();
        assert!(spilled.is_empty(), "{capability}: {specification:?}: {spilled:?}");
    });
    println!("{} compiled", cases.len());
}

#[test]
fn a_mistake_is_quoted_and_the_next_kernel_compiles() {
    let Some(python) = triton() else { return };
    let hopper = Capability { major: 9, minor: 0 };
    let right = all(768, Kind::Half).remove(0);
    let mut wrong = right.clone();
    wrong.constants.retain(|(name, _)| *name != "BLOCK");
    let refusal = compile::compile(python, &wrong, hopper).expect_err("no BLOCK");
    let Refusal::Failed(text) = refusal else { panic!("{refusal}") };
    let start = "Triton 3.6.0, compiling layer_norm of norm.py for sm_90: ";
    assert!(text.starts_with(start) && text.contains("Error"), "{text}");
    compile::compile(python, &right, hopper).unwrap_or_else(|it| panic!("{it}"));
}

/// The public operators on a GPU, where there is one.
#[test]
fn kernels_are_right_on_the_device() {
    if !tch::Cuda::is_available() {
        crate::skip::hardware("no CUDA device");
        return;
    }
    let device = Device::Cuda(0);
    for kind in KINDS {
        // With 16-byte moves, without, several rows in a program, and a row that is too long for one.
        for columns in [64, 65, 768, 4097, 40_000] {
            match run_on(device, kind, columns) {
                Ok(()) => {}
                Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

fn run_on(device: Device, kind: Kind, columns: i64) -> Result<(), Refusal> {
    let draw = |size: &[i64], seed| (noise(size, seed) * 3.0).to_kind(kind).to_device(device);
    let size = [3, 11, columns];
    let (x, other) = (draw(&size, 1), draw(&size, 2));
    let [weight, bias] = [3, 4].map(|seed| draw(&[columns], seed));
    let compare = |y: &Tensor, exact: Tensor, name: &str| {
        check(y, &exact, &(exact.abs().max() + 1.0), 4e-6, &format!("{name} of {columns}"));
    };
    let target = (Tensor::arange(33, (Kind::Int64, CPU)) * 31).remainder(columns);
    let classes = target.to_device(device);
    for operator in operators() {
        let has = |operators: &[Operator]| operators.contains(&operator);
        let operands = Operands {
            x: &x,
            other: match operator {
                Operator::CrossEntropy => Some(&classes),
                Operator::AddLayerNorm | Operator::MseLoss => Some(&other),
                _ => None,
            },
            weight: has(&[Operator::LayerNorm, Operator::RmsNorm, Operator::AddLayerNorm])
                .then_some(&weight),
            bias: has(&[Operator::LayerNorm, Operator::BiasGelu, Operator::AddLayerNorm])
                .then_some(&bias),
        };
        let mut y = match operator.is_loss() {
            true => Tensor::zeros([], (kind, device)),
            false => x.full_like(f64::NAN),
        };
        OperatorKernels::load(operator, columns, kind, device)?.run(&operands, &mut y)?;
        compare(&y, exact(operator, &operands), operator.as_str());
    }
    Ok(())
}
