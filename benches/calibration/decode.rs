//! One row against a packed weight: how near our kernels come to the speed of memory.

use criterion_torch::kernels::cpu::weight_mm::PackedWeight;
use criterion_torch::refusal::Refusal;
use tch::{Device, Kind, TchError, Tensor};

use crate::check::{Check, Finding};
use crate::same;
use crate::sides::median_ns;

pub const CHECK: Check = Check {
    name: "decode",
    what: "1x4096x4096 in bfloat16 with packed weights, against a copy of as many bytes",
    run,
};

const N: i64 = 4096;
const K: i64 = 4096;
/// Bytes that a copy reads, and that the weights of one kind take together: no cache holds them,
/// so each product reads its weight from memory, as a model of many layers does.
const BYTES: usize = 128 << 20;
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
    /// Whether it is ours, and has to keep up.
    ours: bool,
    times_ns: Vec<f64>,
    shares: Vec<f64>,
}

fn run() -> Vec<Finding> {
    measured().unwrap_or_else(|error| vec![Finding::error("decode", error)])
}

fn measured() -> Result<Vec<Finding>, Refusal> {
    same::retain();
    tch::set_num_threads(1);
    let mut products =
        vec![four_bits(64)?, four_bits(128)?, eight_bits()?, libtorchs(64)?, libtorchs(128)?];
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    let mut copy = || {
        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        Ok(())
    };
    let mut bandwidths = Vec::new();
    for _ in 0..ROUNDS {
        // Read and written.
        let bandwidth = 2.0 * BYTES as f64 / median_ns(&mut copy)?;
        bandwidths.push(bandwidth);
        for product in &mut products {
            let ns = median_ns(&mut *product.step)?;
            product.times_ns.push(ns);
            product.shares.push(ns / (product.bytes as f64 / bandwidth));
        }
    }
    eprintln!("  copy of {} MiB: {:.1} GB/s", BYTES >> 20, statistics::median(&bandwidths));
    Ok(products.iter().map(finding).collect())
}

fn finding(product: &Product) -> Finding {
    let share = statistics::median(&product.shares);
    let measured = format!(
        "{:.0} µs, {share:.2} times what {:.1} MB take in a copy",
        statistics::median(&product.times_ns) / 1e3,
        product.bytes as f64 / 1e6,
    );
    if product.ours {
        Finding::new(&product.name, measured, format!("at most {ALLOWED}"), share <= ALLOWED)
    } else {
        Finding::new(&product.name, measured, "whatever it is, for comparison", true)
    }
}

/// Products of a row of ones with each of `weights` in turn.
fn product<W: 'static>(
    name: String,
    ours: bool,
    weight: impl Fn() -> Result<W, TchError>,
    stored: fn(&W) -> Vec<&Tensor>,
    multiply: impl Fn(&Tensor, &W) -> Result<(), TchError> + 'static,
) -> Result<Product, Refusal> {
    let bytes = |weight: &W| -> usize {
        let tensors = stored(weight).into_iter();
        tensors.map(|it| it.numel() * it.kind().elt_size_in_bytes()).sum()
    };
    let mut weights = vec![weight()?];
    let each = bytes(&weights[0]);
    while weights.len() * each < BYTES {
        weights.push(weight()?);
    }
    let x = Tensor::f_ones([1, K], (Kind::BFloat16, Device::Cpu))?;
    let mut next = 0;
    let step = move || {
        next = (next + 1) % weights.len();
        Ok(multiply(&x, &weights[next])?)
    };
    let step = Box::new(step);
    Ok(Product { name, bytes: each, step, ours, times_ns: Vec::new(), shares: Vec::new() })
}

fn ours(
    name: String,
    weight: impl Fn() -> Result<PackedWeight, TchError>,
) -> Result<Product, Refusal> {
    product(name, true, weight, PackedWeight::tensors, |x, weight| {
        let mut out = Tensor::f_empty([1, N], (Kind::BFloat16, Device::Cpu))?;
        weight.mm_out(x, &mut out)
    })
}

fn four_bits(group: i64) -> Result<Product, Refusal> {
    ours(format!("gemlitewo-4-{group}"), || {
        let scale = Tensor::f_full([N, K / group], 0.01, (Kind::BFloat16, Device::Cpu))?;
        let zero = Tensor::f_full([N, K / group], 7.5, (Kind::BFloat16, Device::Cpu))?;
        PackedWeight::four_bits(&integers(0, 16, Kind::Uint8)?, scale, zero)
    })
}

fn eight_bits() -> Result<Product, Refusal> {
    ours("gemlitewo-8".to_owned(), || {
        let scale = Tensor::f_full([N, 1], 0.01, (Kind::BFloat16, Device::Cpu))?;
        PackedWeight::eight_bits(&integers(-128, 128, Kind::Int8)?, scale)
    })
}

/// libtorch's own product with 4 bits.
fn libtorchs(group: i64) -> Result<Product, Refusal> {
    let weight = || -> Result<(Tensor, Tensor), TchError> {
        let values = integers(0, 16, Kind::Int)?;
        let packed = values.f_internal_convert_weight_to_int4pack_for_cpu(1)?;
        let size = [K / group, N, 2];
        Ok((packed, Tensor::f_full(size, 0.01, (Kind::BFloat16, Device::Cpu))?))
    };
    let name = format!("aten::_weight_int4pack_mm_for_cpu, group {group}");
    product(
        name,
        false,
        weight,
        |(packed, parameters)| vec![packed, parameters],
        move |x, (packed, parameters)| {
            x.f_internal_weight_int4pack_mm_for_cpu(packed, group, parameters).map(drop)
        },
    )
}

/// `[N, K]`, every value from `from` to `to − 1`.
fn integers(from: i64, to: i64, kind: Kind) -> Result<Tensor, TchError> {
    let ramp = Tensor::f_arange(N * K, (Kind::Int64, Device::Cpu))?;
    let values = ramp.f_mul_scalar(7919)?.f_remainder(to - from)?.f_add_scalar(from)?;
    values.f_to_kind(kind)?.f_reshape([N, K])
}
