//! Refusals of gemlitewo, and the numbers of its layers.

use plan::{Recipe, Sparsity, Variant};
use tch::Device as TorchDevice;

use super::super::{self as recipes, Scheme as _};
use super::*;
use kernels::cpu::Capability;

fn recipe(text: &str) -> Recipe {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, TorchDevice::Cpu));
    (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
}

fn refused(text: &str, k: u64, change: fn(&mut LayerContext)) -> String {
    let linear = LinearShape { name: "fc", rows: 8, k, n: 5 };
    let variant = Variant::eager(recipe(text));
    let mut context = LayerContext { variant, device: Device::Cpu, dtype: Dtype::BFloat16, linear };
    change(&mut context);
    match recipes::check(&context) {
        Ok(()) => "nothing".to_owned(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn what_it_cannot_do_is_refused_by_value() {
    let nothing: fn(&mut LayerContext) = |_| ();
    for (text, k, change, expected) in [
        ("gemlitewo-4-64", 128, nothing, "nothing"),
        ("gemlitewo-4-1024", 1024, nothing, "nothing"),
        ("gemlitewo-8-64", 96, nothing, "nothing"),
        ("gemlitewo-4-64", 96, nothing, "k = 96, but the group of 64 must divide it"),
        ("gemlitewo-8-64", 100, nothing, "k = 100, but with 8 bits 32 must divide it"),
        ("gemlitewo-4-16", 128, nothing, "group 16, but upstream has [32, 64,"),
        ("gemlitewo-4-64", 128, |context| context.device = Device::Cuda, "nothing"),
        (
            "gemlitewo-4-64",
            128,
            |context| (context.device, context.dtype) = (Device::Cuda, Dtype::Float32),
            "float32",
        ),
        ("gemlitewo-4-64", 128, |context| context.device = Device::Mps, "mps"),
        (
            "gemlitewo-4-64",
            128,
            |context| context.variant.sparsity = Some(Sparsity::SemiSparse),
            "semi-sparse, which does not combine with this recipe",
        ),
    ] {
        let found = refused(text, k, change);
        assert!(found.contains(expected), "{text}, k = {k}: {found}");
    }
}

#[test]
fn layers_compute_what_the_numbers_say() {
    for text in ["gemlitewo-4-32", "gemlitewo-4-128", "gemlitewo-4-64-fp16solver", "gemlitewo-8-64"]
    {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let (recipe, weight) = (recipe(text), wave(9, 384, kind));
            let numbers = recipes::quantize(recipe, &weight).unwrap().unwrap();
            assert_eq!(numbers.scale.kind(), kind);
            let layer = recipes::layer(Variant::eager(recipe), weight).unwrap();
            let x = wave(6, 384, kind).reshape([2, 3, 384]);
            let found = layer.forward(&x, None).unwrap();
            assert_eq!((found.size(), found.kind()), (vec![2, 3, 9], kind), "{text}");
            let wide = numbers.dequantize().unwrap().to_kind(Kind::Double);
            let expected = x.to_kind(Kind::Double).matmul(&wide.tr());
            let noise = (&expected - found.to_kind(Kind::Double)).norm() / expected.norm();
            let rounding = match kind {
                Kind::BFloat16 => 2f64.powi(-8),
                Kind::Half => 2f64.powi(-11),
                _ => 2f64.powi(-20),
            };
            assert!(noise.double_value(&[]) < rounding, "{text}, {kind:?}: {noise:?}");
            let out = found.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&found), "{text}, {kind:?}");
        }
    }
}

#[test]
fn with_8_bits_the_group_in_the_name_has_no_effect() {
    let weight = wave(4, 256, Kind::BFloat16);
    let of = |text| recipes::quantize(recipe(text), &weight).unwrap().unwrap();
    let (one, other) = (of("gemlitewo-8-32"), of("gemlitewo-8-256"));
    assert!(one.values.equal(&other.values) && one.scale.equal(&other.scale));
    assert_eq!(one.scale.size(), [4, 1]);
}

#[test]
fn the_record_says_which_instructions_ran() {
    let best = |kind, bits: u8| match (Capability::best(), kind, bits) {
        (Capability::Default | Capability::Neon, ..) => "default",
        (Capability::Avx2, ..) => "avx2",
        // Products of bfloat16 are of use to 4-bit weights and bfloat16 activations alone.
        (Capability::Avx512Bf16, Kind::BFloat16, 4) => "avx512_bf16",
        (Capability::Avx512 | Capability::Avx512Bf16, ..) => "avx512",
    };
    for (text, bits) in [("gemlitewo-4-64", 4), ("gemlitewo-8-64", 8)] {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let layer = recipes::layer(Variant::eager(recipe(text)), wave(4, 128, kind)).unwrap();
            let expected = format!("criterion_torch::weight_int{bits}_mm_{}", best(kind, bits));
            assert_eq!(layer.kernels(), [expected], "{text} {kind:?}");
        }
    }
}

/// Largest |w − ŵ|, in float64, in steps of its group's scale.
fn worst_steps(text: &str, weight: &Tensor) -> f64 {
    let found = recipes::quantize(recipe(text), weight).unwrap().unwrap();
    let (rows, groups) = found.scale.size2().unwrap();
    let double = |tensor: &Tensor| tensor.to_kind(Kind::Double).reshape([rows, groups, -1]);
    let error = double(&found.dequantize().unwrap()) - double(weight);
    (error / double(&found.scale)).abs().max().double_value(&[])
}

/// The ends of a group lie on the ends of the range; the solver then moves the zero point to favour
/// the rest, so that an end is clamped by up to a quarter of a step more. In bfloat16 the scale and
/// the zero point are rounded to 8 bits, which at 15 and at 127 steps is another part of one.
#[test]
fn a_round_trip_errs_by_less_than_a_step() {
    for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
        for weight in [wave(8, 384, kind), wave(8, 384, kind) * 100.0, wave(8, 384, kind) - 0.9] {
            for text in ["gemlitewo-4-32", "gemlitewo-4-128", "gemlitewo-4-64-fp16solver"] {
                let worst = worst_steps(text, &weight);
                assert!(worst <= 0.75, "{text} {kind:?}: {worst} steps");
            }
            let (worst, steps) = (
                worst_steps("gemlitewo-8-64", &weight),
                match kind {
                    Kind::Float => 0.5001,
                    Kind::Half => 0.65,
                    _ => 1.5,
                },
            );
            assert!(worst <= steps, "8 bits {kind:?}: {worst} steps");
        }
    }
}

/// Its zero point, 5 · 2e4, is more than float16 holds.
#[test]
fn a_solver_that_overflows_is_refused() {
    let weight = Tensor::full([4, 128], 5.0, (Kind::BFloat16, TorchDevice::Cpu));
    let scheme = Scheme { bits: 4, group: 64, fp16_solver: true };
    let refusal = scheme.eager(weight.shallow_clone()).err().map(|it| it.to_string());
    let expected = "unsupported: the zero point of 8 of 8 groups is NaN or infinite";
    assert_eq!(refusal.as_deref(), Some(expected));
    assert!(Scheme { fp16_solver: false, ..scheme }.eager(weight).is_ok());
}
