//! Properties of weights in groups: of their numbers, of the layers that hold them, and of the
//! gates. Their numbers are compared with torchao's in the golden tests.

use std::ops::Range;

use plan::{Device, Dtype, LinearShape, Recipe, Variant};
use tch::{Kind, Tensor};

use super::super::{LayerContext, LinearLayer, Quantized, check, layer, min_sqnr_db, quantize};
use crate::refusal::Refusal;

const KINDS: [(Kind, Dtype); 3] = [
    (Kind::Float, Dtype::Float32),
    (Kind::BFloat16, Dtype::BFloat16),
    (Kind::Half, Dtype::Float16),
];

fn recipe(word: &str) -> Recipe {
    word.parse().unwrap()
}

fn uintx(bits: Range<u8>, group: i64) -> impl Iterator<Item = Recipe> {
    bits.flat_map(move |bits| ["", "-hqq"].map(|hqq| recipe(&format!("uintx-{bits}-{group}{hqq}"))))
}

fn int4wo(group: i64) -> [Recipe; 3] {
    ["", "-hqq", "-hqq-fp16solver"].map(|numerics| recipe(&format!("int4wo-{group}{numerics}")))
}

/// Numbers in (0, 1), of a generator of their own: torch's is shared with the tests that seed it.
fn uniform(seed: u64, size: [i64; 2]) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let values: Vec<f64> = (0..size[0] * size[1]).map(|_| next()).collect();
    Tensor::from_slice(&values).reshape(size).clamp_min(1e-12)
}

/// Standard normal numbers, by Box and Muller.
fn normal(seed: u64, size: [i64; 2]) -> Tensor {
    let radius = (uniform(2 * seed, size).log() * -2.0).sqrt();
    radius * (uniform(2 * seed + 1, size) * std::f64::consts::TAU).cos()
}

/// Uniform as `torch.nn.Linear` starts, and normal.
fn weights(seed: u64, n: i64, k: i64, kind: Kind) -> [Tensor; 2] {
    let start = (uniform(seed, [n, k]) * 2.0 - 1.0) / (k as f64).sqrt();
    [start.to_kind(kind), normal(seed, [n, k]).to_kind(kind)]
}

fn numbers(recipe: Recipe, weight: &Tensor) -> Quantized {
    quantize(recipe, weight).unwrap().unwrap()
}

fn eager(recipe: Recipe, weight: &Tensor) -> Box<dyn LinearLayer> {
    layer(Variant::eager(recipe), weight.copy()).unwrap()
}

fn packed(recipe: Recipe, weight: &Tensor) -> Box<dyn LinearLayer> {
    layer(Variant { packed: true, ..Variant::eager(recipe) }, weight.copy()).unwrap()
}

fn largest(tensor: &Tensor) -> f64 {
    tensor.abs().max().double_value(&[])
}

/// Signal to noise in dB.
fn sqnr_db(weight: &Tensor, x: &Tensor, y: &Tensor) -> f64 {
    let reference = x.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double).tr());
    let noise = (&reference - y.to_kind(Kind::Double)).norm().double_value(&[]);
    20.0 * (reference.norm().double_value(&[]) / noise).log10()
}

/// The largest error of the round trip beyond the roundings of the dtype, in steps of the group.
fn worst_steps(weight: &Tensor, found: &Quantized, epsilon: f64) -> f64 {
    let (n, groups) = found.scale.size2().unwrap();
    let double = |tensor: &Tensor| tensor.to_kind(Kind::Double).reshape([n, groups, -1]);
    let (weight, scale) = (double(weight), double(&found.scale));
    let error = (double(&found.dequantize().unwrap()) - &weight).abs();
    // The scale, the zero point and each step up to the integer are rounded.
    let range = (found.values.to_kind(Kind::Double)).max().double_value(&[]) + 1.0;
    let roundings = (weight.abs().amax([-1], true) + &scale * range) * (4.0 * epsilon);
    largest(&((error - roundings).clamp_min(0.0) / scale))
}

#[test]
fn a_round_trip_errs_by_half_a_step() {
    for (kind, epsilon) in [
        (Kind::Float, 2f64.powi(-23)),
        (Kind::Half, 2f64.powi(-10)),
        (Kind::BFloat16, 2f64.powi(-7)),
    ] {
        for (n, k, group) in [(3, 48, 48), (5, 96, 32), (7, 72, 24), (4, 256, 256)] {
            for weight in weights(n as u64, n, k, kind) {
                let affine = (1..=8).map(|bits| recipe(&format!("uintx-{bits}-{group}")));
                let int4 = [32, 256].contains(&group).then(|| recipe(&format!("int4wo-{group}")));
                for recipe in affine.chain(int4) {
                    let found = numbers(recipe, &weight);
                    assert_eq!(found.values.size(), [n, k]);
                    assert_eq!(found.scale.size(), [n, k / group]);
                    assert_eq!(found.scale.kind(), kind);
                    let worst = worst_steps(&weight, &found, epsilon);
                    assert!(worst <= 0.5, "{recipe}, {kind:?}, {n}x{k}: {worst} steps");
                }
            }
        }
    }
}

#[test]
fn a_constant_group_is_restored() {
    for (kind, epsilon) in [(Kind::Float, 1e-6), (Kind::BFloat16, 0.02), (Kind::Half, 3e-3)] {
        for value in [0.75, -0.3, 2.0] {
            let weight = Tensor::full([2, 64], value, (kind, tch::Device::Cpu));
            let recipes = (1..=8).map(|bits| recipe(&format!("uintx-{bits}-32")));
            for recipe in recipes.chain(int4wo(32)) {
                // Float16 has zeros up to 40000 in steps of 32, which the scale makes 0.0016.
                let solver = if recipe.to_string().ends_with("fp16solver") { 1e-3 } else { 0.0 };
                let error = largest(&(numbers(recipe, &weight).dequantize().unwrap() - value));
                let limit = (epsilon + solver) * value.abs();
                assert!(error <= limit, "{recipe}, {kind:?}: {error}");
            }
        }
    }
}

#[test]
fn zeros_stay_zero() {
    for (kind, _) in KINDS {
        let [mut weight, _] = weights(1, 16, 64, kind);
        // A row, and a group of another.
        drop(weight.narrow(0, 2, 1).zero_());
        drop(weight.narrow(0, 3, 1).narrow(1, 32, 32).zero_());
        weight = weight.contiguous();
        for recipe in uintx(1..9, 32).chain(int4wo(32)) {
            let restored = numbers(recipe, &weight).dequantize().unwrap();
            let row = largest(&restored.get(2));
            let group = largest(&restored.get(3).narrow(0, 32, 32));
            // Minimum and maximum without zero leave it to rounding: 8 · scale − 8 · scale.
            assert!(row <= 1e-10 && group <= 1e-10, "{recipe}, {kind:?}: {row}, {group}");
            let y =
                eager(recipe, &weight).forward(&uniform(3, [4, 64]).to_kind(kind), None).unwrap();
            assert!(largest(&y.narrow(1, 2, 1)) <= 1e-7, "{recipe}, {kind:?}");
        }
    }
}

#[test]
fn extremes_of_a_group_land_on_the_ends_of_the_range() {
    let integers = |tensor: &Tensor| -> Vec<i64> {
        Vec::try_from(tensor.to_kind(Kind::Int64).reshape([-1])).unwrap()
    };
    for (name, values, zero_point, expected) in [
        ("constant", [0.75, 0.75, 0.75, 0.75], 0, [15, 15, 15, 15]),
        ("negative", [-0.5, -1.0, -0.25, -0.75], 15, [8, 0, 11, 4]),
        // 1 / (2 / 15) falls short of the tie at 7.5.
        ("alternating", [1.0, -1.0, 1.0, -1.0], 7, [14, 0, 14, 0]),
        ("outlier", [1e4, 1.0, -1.0, 39.0], 0, [15, 0, 0, 0]),
        ("subnormal", [1e-39, -1e-39, 0.0, 1e-39], 0, [0, 0, 0, 0]),
    ] {
        let weight = Tensor::from_slice(&values).to_kind(Kind::Float).reshape([1, 4]);
        let found = numbers(recipe("uintx-4-4"), &weight);
        assert_eq!(integers(found.zero_point.tensor().unwrap()), [zero_point], "{name}");
        assert_eq!(integers(&found.values), expected, "{name}");
    }
}

#[test]
fn a_range_that_the_dtype_does_not_hold_is_refused() {
    let build = |word: &str, value: f64, kind: Kind| {
        let weight = Tensor::full([16, 32], value, (kind, tch::Device::Cpu));
        layer(Variant::eager(recipe(word)), weight).err().map(|refusal| refusal.to_string())
    };
    // The zero of HQQ's convention, −value · 2e4, is beyond float16.
    let refused = "unsupported: the zero point of 16 of 16 groups is NaN or infinite";
    let found = build("int4wo-32-hqq-fp16solver", 10.0, Kind::BFloat16);
    assert_eq!(found.as_deref(), Some(refused));
    assert_eq!(build("int4wo-32-hqq", 10.0, Kind::BFloat16), None);

    let mut weight = uniform(1, [16, 32]).to_kind(Kind::Half) * 4e4;
    drop(weight.get(0).get(0).fill_(-4e4));
    for word in ["int4wo-32", "uintx-4-32"] {
        let refusal = layer(Variant::eager(recipe(word)), weight.copy()).err().unwrap();
        assert!(matches!(&refusal, Refusal::Unsupported(text) if text.contains("1 of 16 groups")));
    }
    weight = weight.to_kind(Kind::Float);
    eager(recipe("int4wo-32"), &weight);
}

#[test]
fn what_the_kernels_lack_is_refused_by_value() {
    let refusal = |word: &str, packed: bool, (device, dtype): (Device, Dtype), k: u64, n: u64| {
        let variant = Variant { packed, ..Variant::eager(recipe(word)) };
        let linear = LinearShape { name: "fc", rows: 4, k, n };
        match check(&LayerContext { variant, device, dtype, linear }) {
            Ok(()) => String::new(),
            Err(Refusal::Unsupported(text)) => text.rsplit("`fc`: ").next().unwrap().to_owned(),
            Err(other) => panic!("{other}"),
        }
    };
    let (cpu, cuda) = ((Device::Cpu, Dtype::BFloat16), (Device::Cuda, Dtype::BFloat16));
    let rows = "n = 40, but `_convert_weight_to_int4pack_for_cpu` needs a multiple of 16";
    let group = "k = 96, but the group of 64 must divide it";
    let dtype = "high_precision_dtype torch.float16, but `_weight_int4pack_mm` on cuda takes bfloat16 alone";
    let tiles =
        "high_precision_dtype torch.float32, but the tile-packed format takes bfloat16 alone";
    for (word, packed, context, k, n, expected) in [
        ("int4wo-32", false, cpu, 96, 48, ""),
        ("int4wo-32", false, cpu, 96, 40, rows),
        ("int4wo-32", false, cuda, 96, 40, ""),
        ("int4wo-64-hqq", false, cpu, 96, 48, group),
        ("int4wo-64-hqq", false, cuda, 96, 48, group),
        ("int4wo-64", false, (Device::Cuda, Dtype::Float16), 128, 48, dtype),
        ("int4wo-64", false, (Device::Cpu, Dtype::Float16), 128, 48, ""),
        ("int4wo-64-tilepacked", false, (Device::Cpu, Dtype::Float32), 128, 48, tiles),
        ("uintx-4-64", false, cpu, 96, 40, group),
        ("uintx-4-64", false, (Device::Cpu, Dtype::Float16), 128, 7, ""),
        ("uintx-4-64", true, cpu, 128, 40, rows),
        ("uintx-4-64", true, cpu, 96, 48, group),
        ("uintx-3-25", false, cpu, 100, 7, "k = 100, but packing needs a multiple of 8"),
        ("uintx-3-25-hqq", false, cpu, 100, 7, ""),
        ("uintx-8-25", false, cpu, 100, 7, ""),
    ] {
        assert_eq!(refusal(word, packed, context, k, n), expected, "{word}, {k}x{n}");
    }
}

#[test]
fn layers_take_any_leading_dimensions_and_strides() {
    for (kind, _) in KINDS {
        let [weight, _] = weights(2, 16, 64, kind);
        let x = normal(3, [12, 64]).to_kind(kind);
        for recipe in uintx(3..5, 64).chain(int4wo(64)) {
            let layer = eager(recipe, &weight);
            let expected = layer.forward(&x, None).unwrap();
            assert_eq!((expected.size(), expected.kind()), (vec![12, 16], kind), "{recipe}");
            let cube = layer.forward(&x.reshape([2, 1, 6, 64]), None).unwrap();
            assert_eq!(cube.size(), [2, 1, 6, 16], "{recipe}");
            let turned = layer.forward(&x.tr().contiguous().tr(), None).unwrap();
            for found in [cube.reshape([12, 16]), turned] {
                let off = largest(&(found - &expected)) / largest(&expected);
                assert!(off < 0.01, "{recipe}, {kind:?}: {off}");
            }
        }
    }
}

#[test]
fn everything_that_is_stored_is_counted() {
    let bytes = |layer: Box<dyn LinearLayer>| -> usize {
        let size = |tensor: &Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        layer.tensors().into_iter().map(size).sum()
    };
    let [weight, _] = weights(1, 32, 256, Kind::BFloat16);
    let (elements, groups) = (32 * 256, 32 * 4);
    for bits in 1..=8 {
        let (integer, hqq) =
            (recipe(&format!("uintx-{bits}-64")), recipe(&format!("uintx-{bits}-64-hqq")));
        // A scale of 2 bytes, a zero point of 4.
        assert_eq!(bytes(eager(integer, &weight)), elements * bits / 8 + groups * 6);
        // Not packed.
        assert_eq!(bytes(eager(hqq, &weight)), elements + groups * 4);
    }
    for recipe in int4wo(64) {
        assert_eq!(bytes(eager(recipe, &weight)), elements / 2 + groups * 4, "{recipe}");
    }
    assert_eq!(bytes(packed(recipe("uintx-4-64"), &weight)), elements / 2 + groups * 4);
}

#[test]
fn the_packed_layer_is_as_accurate_as_the_eager_one() {
    for (kind, _) in KINDS {
        for group in [32, 64, 128, 256] {
            let x = normal(7, [16, 512]).to_kind(kind);
            for weight in weights(group, 48, 512, kind) {
                for word in [format!("uintx-4-{group}"), format!("uintx-4-{group}-hqq")] {
                    let db = |layer: Box<dyn LinearLayer>| {
                        sqnr_db(&weight, &x, &layer.forward(&x, None).unwrap())
                    };
                    let recipe = recipe(&word);
                    let (eager, packed) = (db(eager(recipe, &weight)), db(packed(recipe, &weight)));
                    assert!((eager - packed).abs() < 0.3, "{word}, {kind:?}: {eager}, {packed}");
                }
            }
        }
    }
}

#[test]
fn packed_hqq_is_int4wo() {
    let [weight, _] = weights(5, 32, 128, Kind::BFloat16);
    let x = normal(6, [4, 128]).to_kind(Kind::BFloat16);
    let found = packed(recipe("uintx-4-64-hqq"), &weight).forward(&x, None).unwrap();
    assert!(found.equal(&eager(recipe("int4wo-64-hqq"), &weight).forward(&x, None).unwrap()));
}

/// Every recipe here, with a group that divides `k`.
fn gated(group: i64) -> Vec<(Recipe, bool)> {
    let tilepacked = recipe(&format!("int4wo-{group}-tilepacked"));
    let few = uintx(1..9, group).chain(int4wo(group)).chain([tilepacked]).map(|it| (it, false));
    let packed = ["", "-hqq"].map(|hqq| (recipe(&format!("uintx-4-{group}{hqq}")), true));
    few.chain(packed).collect()
}

#[test]
fn random_weights_pass_the_gates() {
    for (m, k, n, group, seeds) in [(3, 32, 16, 32, 2), (3, 256, 16, 256, 1), (16, 512, 64, 128, 1)]
    {
        for (recipe, is_packed) in gated(group) {
            for (seed, (kind, dtype)) in (0..seeds).flat_map(|seed| KINDS.map(|it| (seed, it))) {
                let x = normal(seed + 100, [m, k]).to_kind(kind);
                for weight in weights(seed, n, k, kind) {
                    let build = if is_packed { packed } else { eager };
                    let found =
                        sqnr_db(&weight, &x, &build(recipe, &weight).forward(&x, None).unwrap());
                    // The gates are for a thousand outputs and more; fewer are a matter of chance.
                    let chance = if m * n < 1024 { 10.0 } else { 0.0 };
                    let gate = min_sqnr_db(recipe, dtype).unwrap() - chance;
                    assert!(found >= gate, "{recipe}, {kind:?}, {m}x{k}x{n}: {found} < {gate}");
                }
            }
        }
    }
}

#[test]
fn garbage_fails_the_gates() {
    for (kind, dtype) in KINDS {
        let x = normal(9, [16, 512]).to_kind(kind);
        for weight in weights(8, 64, 512, kind) {
            for (recipe, _) in gated(128) {
                let gate = min_sqnr_db(recipe, dtype).unwrap();
                let y = eager(recipe, &weight).forward(&x, None).unwrap();
                // One bit is no better than silence, and its neighbour's output no worse than its
                // own: there the gate stops only what is far larger than the signal.
                let louder =
                    if matches!(recipe, Recipe::Uintx { bits: 1, .. }) { 10.0 } else { 1.0 };
                for garbage in [y.roll(1, -1) * louder, y.roll(1, 0) * louder, &y * f64::NAN] {
                    let found = sqnr_db(&weight, &x, &garbage);
                    let passes = found >= gate;
                    assert!(!passes, "{recipe}, {kind:?}: {found} passes {gate}");
                }
            }
        }
    }
}
