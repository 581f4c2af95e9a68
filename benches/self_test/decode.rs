//! One row against a packed weight: how near our kernels come to the speed of memory.

use std::path::Path;
use std::rc::Rc;

use criterion_torch::kernels::cpu::Capability;
use criterion_torch::kernels::cpu::weight_mm::PackedWeight;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, TchError, Tensor};

use crate::check::{Check, Finding};
use crate::same;
use crate::sides::median_ns;

pub const CHECK: Check = Check {
    name: "decode",
    what: "1x4096x4096 in bfloat16 with packed weights, against a copy of as many bytes",
    device: plan::Device::Cpu,
    run,
};

const N: i64 = 4096;
const K: i64 = 4096;
/// Copy and products in turn, so that a machine that slows down does not decide.
const ROUNDS: usize = 7;
/// Most of the time that a copy at the same bandwidth would take.
const ALLOWED: f64 = 1.2;

/// A product, with one weight after the other.
struct Product {
    name: String,
    /// Bytes that one weight stores.
    bytes: usize,
    step: Box<dyn FnMut() -> Result<(), Refusal>>,
    /// Whether it has to keep up: ours, with the best instructions of this machine.
    gated: bool,
    times_ns: Vec<f64>,
    shares: Vec<f64>,
}

fn run() -> Result<Vec<Finding>, Refusal> {
    same::retain();
    tch::set_num_threads(1);
    let bytes = cycled(last_level_cache(Path::new("/sys/devices/system/cpu/cpu0/cache")));
    let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    let mut copy = || {
        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        Ok(())
    };
    let (mut bandwidths, mut findings) = (Vec::new(), Vec::new());
    let groups = [32, 64, 128, 256];
    let ours = groups.map(Some).into_iter().chain([None]).map(|group| ours(group, bytes));
    // One kind of weight at a time is in memory.
    for products in ours.chain(groups.map(|group| libtorchs(group, bytes))) {
        let mut products = products?;
        for _ in 0..ROUNDS {
            // Read and written.
            let bandwidth = 2.0 * bytes as f64 / median_ns(&mut copy)?;
            bandwidths.push(bandwidth);
            for product in &mut products {
                let ns = median_ns(&mut *product.step)?;
                product.times_ns.push(ns);
                product.shares.push(ns / (product.bytes as f64 / bandwidth));
            }
        }
        findings.extend(products.iter().map(finding));
    }
    eprintln!("  copy of {} MiB: {:.1} GB/s", bytes >> 20, statistics::median(&bandwidths));
    Ok(findings)
}

/// Bytes that a copy reads, and that the weights of one kind take together: no cache holds them, so
/// each product reads its weight from memory, as a model of many layers does. 128 MiB, should a
/// virtual machine hide the cache.
fn cycled(cache: Option<usize>) -> usize {
    (4 * cache.unwrap_or_default()).max(128 << 20)
}

/// Bytes of the largest cache that Linux lists for a CPU: `index0/size` is `48K`, and so on.
fn last_level_cache(listed: &Path) -> Option<usize> {
    let sizes = std::fs::read_dir(listed).ok()?.flatten().filter_map(|entry| {
        let size = std::fs::read_to_string(entry.path().join("size")).ok()?;
        Some(size.trim().strip_suffix('K')?.parse::<usize>().ok()? << 10)
    });
    sizes.max()
}

fn finding(product: &Product) -> Finding {
    let share = statistics::median(&product.shares);
    let measured = format!(
        "{:.0} µs, {share:.2} times what {:.1} MB take in a copy",
        statistics::median(&product.times_ns) / 1e3,
        product.bytes as f64 / 1e6,
    );
    if product.gated {
        Finding::new(&product.name, measured, format!("at most {ALLOWED}"), share <= ALLOWED)
    } else {
        Finding::new(&product.name, measured, "whatever it is, for comparison", true)
    }
}

/// Weights that are made alike, `least` bytes or more, and the bytes of one of them.
fn weights<W>(
    least: usize,
    weight: impl Fn() -> Result<W, TchError>,
    stored: fn(&W) -> Vec<&Tensor>,
) -> Result<(Rc<[W]>, usize), TchError> {
    let first = weight()?;
    let bytes = stored(&first).iter().map(|it| it.numel() * it.kind().elt_size_in_bytes()).sum();
    let others = (1..least.div_ceil(bytes)).map(|_| weight());
    let weights = std::iter::once(Ok(first)).chain(others).collect::<Result<_, TchError>>()?;
    Ok((weights, bytes))
}

/// Products of a row of ones with each of the weights in turn.
fn product<W: 'static>(
    name: String,
    gated: bool,
    (weights, bytes): &(Rc<[W]>, usize),
    multiply: impl Fn(&Tensor, &W) -> Result<(), TchError> + 'static,
) -> Result<Product, Refusal> {
    let weights = Rc::clone(weights);
    let x = Tensor::f_ones([1, K], (Kind::BFloat16, Device::Cpu))?;
    let mut next = 0;
    let step = move || {
        next = (next + 1) % weights.len();
        Ok(multiply(&x, &weights[next])?)
    };
    let (step, bytes) = (Box::new(step), *bytes);
    Ok(Product { name, bytes, step, gated, times_ns: Vec::new(), shares: Vec::new() })
}

/// Ours, of 4 bits in groups or of 8 without, with every capability that this machine has.
fn ours(group: Option<i64>, least: usize) -> Result<Vec<Product>, Refusal> {
    let (name, weights) = match group {
        Some(group) => (format!("gemlitewo-4-{group}"), four_bits(group, least)?),
        None => ("gemlitewo-8".to_owned(), eight_bits(least)?),
    };
    let with = |capability: Capability| {
        let best = capability == Capability::best();
        let name = if best { name.clone() } else { format!("{name}, {capability:?}") };
        product(name, best, &weights, move |x, weight: &PackedWeight| {
            let mut out = Tensor::f_empty([1, N], (Kind::BFloat16, Device::Cpu))?;
            weight.mm_out_with(capability, x, &mut out)
        })
    };
    Capability::available().map(with).collect()
}

fn four_bits(group: i64, least: usize) -> Result<(Rc<[PackedWeight]>, usize), TchError> {
    let values = integers(0, 16, Kind::Uint8)?;
    let full = |value| Tensor::f_full([N, K / group], value, (Kind::BFloat16, Device::Cpu));
    let weight = || PackedWeight::four_bits(&values, full(0.01)?, full(7.5)?);
    weights(least, weight, PackedWeight::tensors)
}

fn eight_bits(least: usize) -> Result<(Rc<[PackedWeight]>, usize), TchError> {
    let values = integers(-128, 128, Kind::Int8)?;
    let weight = || {
        let scale = Tensor::f_full([N, 1], 0.01, (Kind::BFloat16, Device::Cpu))?;
        // A copy: weights of 8 bits are kept as they are given.
        PackedWeight::eight_bits(&values.f_alias_copy()?, scale)
    };
    weights(least, weight, PackedWeight::tensors)
}

/// libtorch's own product with 4 bits.
fn libtorchs(group: i64, least: usize) -> Result<Vec<Product>, Refusal> {
    let values = integers(0, 16, Kind::Int)?;
    let weight = || -> Result<(Tensor, Tensor), TchError> {
        let packed = values.f_internal_convert_weight_to_int4pack_for_cpu(1)?;
        let size = [K / group, N, 2];
        Ok((packed, Tensor::f_full(size, 0.01, (Kind::BFloat16, Device::Cpu))?))
    };
    let weights = weights(least, weight, |(packed, parameters)| vec![packed, parameters])?;
    let name = format!("aten::_weight_int4pack_mm_for_cpu, group {group}");
    let product = product(name, false, &weights, move |x, (packed, parameters)| {
        x.f_internal_weight_int4pack_mm_for_cpu(packed, group, parameters).map(drop)
    })?;
    Ok(vec![product])
}

/// `[N, K]`, every value from `from` to `to − 1`.
fn integers(from: i64, to: i64, kind: Kind) -> Result<Tensor, TchError> {
    let ramp = Tensor::f_arange(N * K, (Kind::Int64, Device::Cpu))?;
    let values = ramp.f_mul_scalar(7919)?.f_remainder(to - from)?.f_add_scalar(from)?;
    values.f_to_kind(kind)?.f_reshape([N, K])
}
