//! Properties of training; its numbers are in the golden tests.

use plan::{Dtype, Float8Recipe, LinearShape, ScalingGranularity, ScalingType, Variant};
use tch::{Device, Kind};

use super::*;

const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];
/// Sizes m, k and n that every recipe takes.
const SHAPE: (i64, i64, i64) = (64, 96, 32);
const NVFP4: Recipe = Recipe::BlockScaled { format: BlockFormat::Nvfp4, weight_only: false };

/// Values between −1 and 1 that follow no period of a row; not random, because torch's generator
/// is shared with the tests that seed it.
fn wave(rows: i64, columns: i64, phase: f64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311 + phase).sin().reshape([rows, columns]).to_kind(kind)
}

/// Input with a batch dimension, weight and the output's gradient.
fn tensors(kind: Kind) -> (Tensor, Tensor, Tensor) {
    let (m, k, n) = SHAPE;
    let input = wave(m, k, 0.3, kind).reshape([2, m / 2, k]);
    (input, wave(n, k, 0.5, kind), wave(m, n, 0.7, kind).reshape([2, m / 2, n]))
}

/// Every recipe that trains on a CPU, and whether its products are emulated there.
fn recipes() -> Vec<(Recipe, bool)> {
    let float8 = |recipe| Recipe::Float8 { recipe };
    vec![
        (Recipe::Baseline, false),
        (float8(Float8Recipe::Tensorwise), false),
        (float8(Float8Recipe::Tensorwise), true),
        (float8(Float8Recipe::Rowwise), true),
        (float8(Float8Recipe::RowwiseWithGwHp), true),
        (Recipe::Float8dqTensor, false),
        (Recipe::Float8dqRow, true),
        (Recipe::Mxfp8EmulatedRceil, true),
        (NVFP4, true),
    ]
}

/// The dtypes that a recipe trains in.
fn kinds(recipe: Recipe) -> impl Iterator<Item = Kind> {
    let takes_half = !matches!(recipe, Recipe::Mxfp8EmulatedRceil | Recipe::BlockScaled { .. });
    KINDS.into_iter().filter(move |kind| takes_half || *kind != Kind::Half)
}

fn layer(recipe: Recipe, emulated: bool, weight: &Tensor) -> TrainedLinear {
    let settings = TrainingSettings::default();
    trained_with(recipe, &settings, emulated, weight.shallow_clone()).unwrap()
}

#[test]
fn autograd_gives_the_bits_of_the_explicit_step() {
    let _off = tch::no_grad_guard();
    for (recipe, emulated) in recipes() {
        for kind in kinds(recipe) {
            let what = format!("{recipe} {kind:?}");
            let (x, weight, grad_output) = tensors(kind);
            let explicit = layer(recipe, emulated, &weight);
            let output = explicit.forward(&x).unwrap();
            let gradients = explicit.backward(&x, &grad_output).unwrap();
            assert_eq!((output.size(), output.kind()), (grad_output.size(), kind), "{what}");

            let x = x.detach().set_requires_grad(true);
            let weight = weight.detach().set_requires_grad(true);
            let recorded = layer(recipe, emulated, &weight).forward_autograd(&x).unwrap();
            assert!(recorded.detach().equal(&output), "{what}");
            let found =
                autograd::gradients(&recorded, &grad_output, &[&x, &weight], false).unwrap();
            assert!(found[0].equal(&gradients.input), "{what}");
            assert!(found[1].equal(&gradients.weight), "{what}");
        }
    }
}

#[test]
fn casts_and_products_make_the_step() {
    for (recipe, emulated) in recipes() {
        for kind in kinds(recipe) {
            let what = format!("{recipe} {kind:?}");
            let (x, weight, grad_output) = tensors(kind);
            let layer = layer(recipe, emulated, &weight);
            let casts = layer.casts(&x, &grad_output).unwrap();
            let products = layer.products(&casts).unwrap();
            let (m, k, n) = SHAPE;
            assert!(products.output.equal(&layer.forward(&x).unwrap().reshape([m, n])), "{what}");
            let gradients = layer.backward(&x, &grad_output).unwrap();
            let grad_input = gradients.input.reshape([m, k]);
            assert!(products.gradients.input.equal(&grad_input), "{what}");
            assert!(products.gradients.weight.equal(&gradients.weight), "{what}");
        }
    }
}

/// Output, grad_input and grad_weight against float64, in dB.
fn sqnr_db(layer: &TrainedLinear, x: &Tensor, grad_output: &Tensor) -> [f64; 3] {
    let output = layer.forward(x).unwrap();
    let gradients = layer.backward(x, grad_output).unwrap();
    let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
    let (x, weight, grad_output) = (wide(x), wide(layer.weight()), wide(grad_output));
    let exact = [
        x.matmul(&weight.tr()),
        grad_output.matmul(&weight),
        flat(&grad_output).unwrap().tr().matmul(&flat(&x).unwrap()),
    ];
    let found = [output, gradients.input, gradients.weight];
    std::array::from_fn(|at| {
        let noise = (wide(&found[at]) - &exact[at]).norm();
        20.0 * (exact[at].norm() / noise).log10().double_value(&[])
    })
}

/// Between 0 and 1, the same for a seed; torch's generator is shared with the tests that seed it.
fn uniform(size: [i64; 2], seed: f64) -> Tensor {
    let ramp = Tensor::arange(size[0] * size[1], (Kind::Double, Device::Cpu));
    let chaos = (ramp * 12.9898 + seed * 78.233).sin() * 43_758.545_3;
    (&chaos - chaos.floor()).reshape(size)
}

fn normal(size: [i64; 2], seed: f64) -> Tensor {
    let radius = (uniform(size, seed).clamp_min(1e-12).log() * -2.0).sqrt();
    radius * (uniform(size, seed + 0.5) * std::f64::consts::TAU).cos()
}

/// Prints the lowest ratios. `SEEDS=60` gives those that the gates were chosen from.
#[test]
fn random_layers_pass_the_gates() {
    let seeds: i64 = match std::env::var("SEEDS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 3,
    };
    for (recipe, emulated) in recipes() {
        for kind in kinds(recipe) {
            let dtype = match kind {
                Kind::Float => Dtype::Float32,
                Kind::BFloat16 => Dtype::BFloat16,
                _ => Dtype::Float16,
            };
            let settings = TrainingSettings::default();
            let gates = scheme(recipe, &settings, emulated).unwrap();
            let gates = Product::ALL.map(|product| gates.min_sqnr_db(product, dtype));
            let mut lowest = [f64::INFINITY; 3];
            for (m, k, n) in [(32, 32, 32), (32, 512, 64), (512, 64, 64), (64, 128, 512)] {
                for seed in 0..seeds {
                    let seed = seed as f64;
                    // As the models start: uniform within 1/√k.
                    let weight = (uniform([n, k], seed) * 2.0 - 1.0) / (k as f64).sqrt();
                    let layer = layer(recipe, emulated, &weight.to_kind(kind));
                    let x = normal([m, k], seed + 0.1).to_kind(kind);
                    let grad_output = normal([m, n], seed + 0.2).to_kind(kind);
                    let found = sqnr_db(&layer, &x, &grad_output);
                    lowest = std::array::from_fn(|at| lowest[at].min(found[at]));
                }
            }
            println!("{recipe} emulated {emulated} {dtype}: {lowest:.1?}, gates {gates:?}");
            for (lowest, gate) in lowest.into_iter().zip(gates) {
                assert!(lowest > gate, "{recipe} {dtype}: {lowest:.1} dB, gate {gate}");
            }
        }
    }
}

#[test]
fn zeros_are_finite() {
    for (recipe, emulated) in recipes() {
        for kind in kinds(recipe) {
            let (x, weight, grad_output) = tensors(kind);
            let (x, weight) = (x.zeros_like(), weight.zeros_like());
            let layer = layer(recipe, emulated, &weight);
            let zero = |found: &Tensor| found.count_nonzero(None::<i64>).int64_value(&[]) == 0;
            let gradients = layer.backward(&x, &grad_output).unwrap();
            assert!(zero(&layer.forward(&x).unwrap()), "{recipe} {kind:?}");
            assert!(zero(&gradients.input) && zero(&gradients.weight), "{recipe} {kind:?}");
        }
    }
}

#[test]
fn dequantized_products_are_those_of_scaled_mm() {
    let recipe = Recipe::Float8 { recipe: Float8Recipe::Tensorwise };
    let (x, weight, grad_output) = tensors(Kind::Float);
    let [products, emulated] = [false, true].map(|emulated| {
        let layer = layer(recipe, emulated, &weight);
        let gradients = layer.backward(&x, &grad_output).unwrap();
        [layer.forward(&x).unwrap(), gradients.input, gradients.weight]
    });
    for (product, emulated) in products.iter().zip(&emulated) {
        assert!(product.allclose(emulated, 1e-5, 1e-5, false));
    }
}

fn settings(granularity: ScalingGranularity, types: [ScalingType; 3]) -> TrainingSettings {
    TrainingSettings {
        scaling_granularity: granularity,
        scaling_type_input: types[0],
        scaling_type_weight: types[1],
        scaling_type_grad_output: types[2],
        ..TrainingSettings::default()
    }
}

#[test]
fn the_settings_choose_granularity_and_casts() {
    use ScalingType::{Disabled, Dynamic};
    let (x, weight, grad_output) = tensors(Kind::Float);
    let step = |recipe, settings: &TrainingSettings| {
        let layer = trained_with(recipe, settings, true, weight.shallow_clone())?;
        let gradients = layer.backward(&x, &grad_output)?;
        Ok::<_, Refusal>([layer.forward(&x)?, gradients.input, gradients.weight])
    };
    let of = |recipe, granularity, types| step(recipe, &settings(granularity, types));
    let dynamic = [Dynamic; 3];
    let (tensor, row) = (Recipe::Float8dqTensor, Recipe::Float8dqRow);
    let by_tensor = of(tensor, ScalingGranularity::Tensorwise, dynamic).unwrap();
    let by_row = of(row, ScalingGranularity::Tensorwise, dynamic).unwrap();
    let named = step(
        Recipe::Float8 { recipe: Float8Recipe::Tensorwise },
        &settings(ScalingGranularity::Rowwise, dynamic),
    );
    assert_eq!(named.unwrap(), by_tensor, "torchao's recipes ignore the keys");
    assert_ne!(by_tensor, by_row);
    for granularity in [ScalingGranularity::Rowwise, ScalingGranularity::Axiswise] {
        assert_eq!(of(tensor, granularity, dynamic).unwrap(), by_row);
    }
    let disabled = of(tensor, ScalingGranularity::Tensorwise, [Disabled; 3]).unwrap();
    assert_eq!(disabled, step(Recipe::Baseline, &TrainingSettings::default()).unwrap());

    for (recipe, granularity, types) in [
        (tensor, ScalingGranularity::Columnwise, dynamic),
        (tensor, ScalingGranularity::Tensorwise, [Dynamic, Disabled, Dynamic]),
        (tensor, ScalingGranularity::Tensorwise, [Dynamic, Dynamic, Disabled]),
        (tensor, ScalingGranularity::Rowwise, [Disabled; 3]),
        (row, ScalingGranularity::Tensorwise, [Disabled; 3]),
    ] {
        let refusal = of(recipe, granularity, types).unwrap_err();
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{refusal}");
    }
    let refusal = step(Recipe::INT8WO, &TrainingSettings::default()).unwrap_err();
    assert_eq!(refusal.to_string(), "unsupported: `int8wo` is no recipe of training");
}

#[test]
fn scaled_products_take_multiples_of_16() {
    let check = |recipe: Float8Recipe, emulated: bool, (rows, k, n): (u64, u64, u64)| {
        let recipe = Recipe::Float8 { recipe };
        let context = LayerContext {
            variant: Variant { emulated, ..Variant::eager(recipe) },
            device: plan::Device::Cpu,
            dtype: Dtype::BFloat16,
            linear: LinearShape { name: "linear1", rows, k, n },
        };
        scheme(recipe, &TrainingSettings::default(), emulated).unwrap().check(&context)
    };
    let (tensorwise, gw_hp) = (Float8Recipe::Tensorwise, Float8Recipe::RowwiseWithGwHp);
    assert_eq!(check(tensorwise, false, (16, 32, 48)), Ok(()));
    let error = |name: &str| {
        format!("{name}, but `_scaled_mm` takes multiples of 16 (torchao's pad_inner_dim is false)")
    };
    assert_eq!(check(tensorwise, false, (16, 33, 48)), Err(error("k is 33")));
    assert_eq!(check(tensorwise, false, (16, 32, 50)), Err(error("n is 50")));
    assert_eq!(check(tensorwise, false, (1, 32, 48)), Err(error("the number of rows is 1")));
    assert_eq!(check(gw_hp, false, (1, 32, 48)), Ok(()), "its grad_weight is no `_scaled_mm`");
    assert_eq!(check(tensorwise, true, (1, 33, 50)), Ok(()));
}

#[test]
fn blocks_need_their_hardware_or_emulation() {
    let check = |recipe, device, dtype, (rows, k, n): (u64, u64, u64), emulated| {
        let variant = Variant { emulated, ..Variant::eager(recipe) };
        let linear = LinearShape { name: "linear1", rows, k, n };
        let context = LayerContext { variant, device, dtype, linear };
        scheme(recipe, &TrainingSettings::default(), emulated).unwrap().check(&context)
    };
    let (cpu, bf16, shape) = (plan::Device::Cpu, Dtype::BFloat16, (32, 64, 96));
    let mxfp8 = Recipe::BlockScaled { format: BlockFormat::Mxfp8, weight_only: false };
    let emulated = Recipe::Mxfp8EmulatedRceil;
    assert_eq!(check(emulated, cpu, bf16, shape, true), Ok(()));
    assert_eq!(check(emulated, cpu, Dtype::Float32, shape, true), Ok(()));
    assert_eq!(check(NVFP4, cpu, bf16, (16, 48, 16), true), Ok(()));
    for (name, shape) in [
        ("the number of rows is 16", (16, 64, 96)),
        ("k is 48", (32, 48, 96)),
        ("n is 16", (32, 64, 16)),
    ] {
        let error = check(emulated, cpu, bf16, shape, true).unwrap_err();
        assert!(error.starts_with(&format!("{name}, but mxfp8 takes multiples of 32")), "{error}");
    }
    let error = check(emulated, cpu, Dtype::Float16, shape, true).unwrap_err();
    assert_eq!(error, "dtype torch.float16, but mxfp8 is of bfloat16 or float32");
    for emulated in [false, true] {
        let error = check(mxfp8, cpu, bf16, shape, emulated).unwrap_err();
        let remedy = "cpu has no product of blocks; train with `mxfp8-emulated-rceil` there";
        assert_eq!(error, remedy);
    }
    assert_eq!(check(NVFP4, cpu, bf16, shape, false).unwrap_err(), "cpu has no product of blocks");
}
