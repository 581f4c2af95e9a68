//! Our CUDA kernels against the device's own copy of as many bytes. `decode` is the same on the CPU.

use criterion_torch::harness::self_test::step_times;
use criterion_torch::kernels::cuda::gemlite::Gemlite;
use criterion_torch::kernels::cuda::pass_through::{PassThrough, Read};
use criterion_torch::kernels::cuda::{self as kernels, OperatorKernels};
use criterion_torch::kernels::operands::Operands;
use criterion_torch::native::cuda;
use criterion_torch::refusal::Refusal;
use plan::Operator;
use statistics::median;
use tch::{Device, Kind, TchError, Tensor};

use super::{DEVICE, micros};
use crate::check::{Check, Finding};

pub const CHECK: Check = Check {
    name: "device-copy",
    what: "our CUDA kernels in bfloat16, against a device copy of as many bytes",
    device: plan::Device::Cuda,
    run,
};

/// Copy and kernels in turn, so that a device that slows down does not decide.
const ROUNDS: usize = 3;
/// The number of values in a row, and in a row of the weight.
const DIM: i64 = 4096;
const K: i64 = 8192;
const GROUP: i64 = 128;
/// Most of the time of a copy that kernels may take: those that pass over memory once, value by
/// value, and those that need all of a row.
const PASS: f64 = 1.2;
const ROWS: f64 = 1.5;
const OPTIONS: (Kind, Device) = (Kind::BFloat16, Device::Cuda(DEVICE));

/// A kernel that reads a tensor and writes another of its size.
type Over = Box<dyn Fn(&Tensor, &mut Tensor) -> Result<(), TchError>>;
type Step = Box<dyn FnMut() -> Result<(), Refusal>>;

struct Kernel {
    name: &'static str,
    /// Bytes that it reads and writes.
    bytes: i64,
    allowed: f64,
    step: Step,
    times_ns: Vec<f64>,
    shares: Vec<f64>,
}

fn run() -> Result<Vec<Finding>, Refusal> {
    kernels::available()?;
    let bytes = moved(cuda::device(DEVICE)?.l2_bytes);
    let x = Tensor::f_rand([bytes / 2 / (2 * DIM), DIM], OPTIONS)?;
    let out = x.f_zeros_like()?;
    let mut kernels = ours(&x, &out, bytes)?;
    let mut copied = out.shallow_clone();
    let mut copy = || Ok(copied.f_copy_(&x)?);
    let mut copies_ns = Vec::new();
    for _ in 0..ROUNDS {
        let copy_ns = time(&mut copy)?;
        copies_ns.push(copy_ns);
        for kernel in &mut kernels {
            let ns = time(&mut *kernel.step)?;
            kernel.times_ns.push(ns);
            kernel.shares.push(share(ns, kernel.bytes, copy_ns, bytes));
        }
    }
    let copy = format!("{} for {:.1} MB", micros(median(&copies_ns)), bytes as f64 / 1e6);
    Ok(kernels.iter().map(|kernel| judge(kernel, &copy)).collect())
}

fn time(step: &mut dyn FnMut() -> Result<(), Refusal>) -> Result<f64, Refusal> {
    Ok(step_times(DEVICE, false, u64::MAX, step)?.hidden_ns)
}

/// Bytes that a copy reads and writes: no cache holds them.
pub fn moved(l2_bytes: u64) -> i64 {
    (256 << 20).max(4 * l2_bytes).next_multiple_of(1 << 20) as i64
}

/// The time of a kernel over that of a copy of as many bytes.
pub fn share(ns: f64, bytes: i64, copy_ns: f64, copied: i64) -> f64 {
    (ns / bytes as f64) / (copy_ns / copied as f64)
}

fn ours(x: &Tensor, out: &Tensor, bytes: i64) -> Result<Vec<Kernel>, Refusal> {
    let limit = PassThrough::load(DEVICE)?;
    let load = |operator| OperatorKernels::load(operator, OPTIONS.0, DEVICE);
    let (gelu, softmax) = (load(Operator::Gelu)?, load(Operator::Softmax)?);
    let norm = load(Operator::LayerNorm)?;
    let (weight, bias) = (Tensor::f_ones([DIM], OPTIONS)?, Tensor::f_zeros([DIM], OPTIONS)?);
    let normalize = move |x: &Tensor, out: &mut Tensor| {
        let (weight, bias) = (Some(&weight), Some(&bias));
        norm.run(&Operands { x, other: None, weight, bias }, out)
    };
    let over = |name, allowed, run: Over| {
        let (x, mut out) = (x.shallow_clone(), out.shallow_clone());
        kernel(name, bytes, allowed, Box::new(move || Ok(run(&x, &mut out)?)))
    };
    Ok(vec![
        over(
            "traffic",
            PASS,
            Box::new(move |x, out| limit.run(Read { x, other: None }, Some(out))),
        ),
        over("gelu", PASS, Box::new(move |x, out| gelu.run(&Operands::unary(x), out))),
        over(
            "softmax of 4096",
            ROWS,
            Box::new(move |x, out| softmax.run(&Operands::unary(x), out)),
        ),
        over("layer_norm of 4096", ROWS, Box::new(normalize)),
        product(bytes)?,
    ])
}

fn kernel(name: &'static str, bytes: i64, allowed: f64, step: Step) -> Kernel {
    Kernel { name, bytes, allowed, step, times_ns: Vec::new(), shares: Vec::new() }
}

/// One row times a weight of 4 bits that takes `bytes`, and its scales and zero points.
fn product(bytes: i64) -> Result<Kernel, Refusal> {
    let n = 2 * bytes / K;
    let values = Tensor::f_randint(16, [n, K], (Kind::Uint8, OPTIONS.1))?;
    let scale = Tensor::f_rand([n, K / GROUP], OPTIONS)?;
    let weight = Gemlite::new(&values, &scale, Some(&scale.f_mul_scalar(7.0)?))?;
    let mut stored = 0;
    for tensor in weight.tensors() {
        stored += (tensor.numel() * tensor.f_kind()?.elt_size_in_bytes()) as i64;
    }
    let (x, mut out) = (Tensor::f_rand([1, K], OPTIONS)?, Tensor::f_zeros([1, n], OPTIONS)?);
    let step = move || Ok(weight.multiply(&x, &mut out)?);
    Ok(kernel("packed product of one row, 4 bits", stored, ROWS, Box::new(step)))
}

fn judge(kernel: &Kernel, copy: &str) -> Finding {
    let Kernel { name, bytes, allowed, times_ns, shares, .. } = kernel;
    let (ns, share) = (median(times_ns), median(shares));
    Finding::new(
        *name,
        format!(
            "{} for {:.1} MB, {share:.2} times a copy of as many bytes; the copy takes {copy}",
            micros(ns),
            *bytes as f64 / 1e6
        ),
        format!("at most {allowed} times the copy"),
        share <= *allowed,
    )
}
