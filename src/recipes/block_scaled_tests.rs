use plan::{LinearShape, Recipe, Variant};

use super::*;
use crate::recipes::{check, layer, min_sqnr_db};

const RECIPES: [&str; 6] = ["mxfp8", "mxfp4", "nvfp4", "mxfp8wo", "mxfp4wo", "nvfp4wo"];

fn recipe(word: &str) -> Recipe {
    word.parse().unwrap()
}

fn kinds(word: &str) -> Vec<(Kind, Dtype)> {
    let mut kinds = vec![(Kind::BFloat16, Dtype::BFloat16)];
    if !["mxfp8", "mxfp4"].contains(&word) {
        kinds.push((Kind::Float, Dtype::Float32));
    }
    kinds
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

fn normal(seed: u64, size: [i64; 2]) -> Tensor {
    let radius = (uniform(2 * seed, size).log() * -2.0).sqrt();
    radius * (uniform(2 * seed + 1, size) * std::f64::consts::TAU).cos()
}

/// Uniform as `torch.nn.Linear` starts, and normal.
fn weights(seed: u64, n: i64, k: i64, kind: Kind) -> [Tensor; 2] {
    let start = (uniform(seed, [n, k]) * 2.0 - 1.0) / (k as f64).sqrt();
    [start.to_kind(kind), normal(seed, [n, k]).to_kind(kind)]
}

fn eager(recipe: Recipe, weight: &Tensor) -> Box<dyn LinearLayer> {
    layer(Variant::eager(recipe), weight.copy()).unwrap()
}

fn sqnr_db(weight: &Tensor, x: &Tensor, y: &Tensor) -> f64 {
    let reference = x.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double).tr());
    let noise = (&reference - y.to_kind(Kind::Double)).norm().double_value(&[]);
    20.0 * (reference.norm().double_value(&[]) / noise).log10()
}

fn context(recipe: Recipe, dtype: Dtype, k: u64, n: u64) -> LayerContext {
    let linear = LinearShape { name: "linear1", rows: 4, k, n };
    LayerContext { variant: Variant::eager(recipe), device: Device::Cpu, dtype, linear }
}

#[test]
fn random_weights_pass_the_gates_and_garbage_does_not() {
    for word in RECIPES {
        for (kind, dtype) in kinds(word) {
            let gate = min_sqnr_db(recipe(word), dtype).unwrap();
            for (seed, (m, k, n)) in [(64, 32, 16), (16, 512, 64)].into_iter().enumerate() {
                let x = normal(seed as u64 + 100, [m, k]).to_kind(kind);
                for weight in weights(seed as u64, n, k, kind) {
                    let y = eager(recipe(word), &weight).forward(&x, None).unwrap();
                    let found = sqnr_db(&weight, &x, &y);
                    assert!(found >= gate, "{word}, {kind:?}, {m}x{k}x{n}: {found} < {gate}");
                    for garbage in [y.roll(1, -1), y.roll(1, 0), &y * 2.0, &y * f64::NAN] {
                        let found = sqnr_db(&weight, &x, &garbage);
                        let passes = found >= gate;
                        assert!(!passes, "{word}, {kind:?}: {found} passes {gate}");
                    }
                }
            }
        }
    }
}

#[test]
fn layers_take_any_leading_dimensions_and_strides() {
    for word in RECIPES {
        for (kind, _) in kinds(word) {
            let [weight, _] = weights(5, 32, 64, kind);
            let layer = eager(recipe(word), &weight);
            let x = normal(6, [6, 64]).to_kind(kind);
            let y = layer.forward(&x, None).unwrap();
            let folded = layer.forward(&x.reshape([2, 3, 64]), None).unwrap();
            assert_eq!(folded.size(), [2, 3, 32], "{word}");
            // A row is a product of its own, which another number of rows may block otherwise.
            assert!(folded.reshape([6, 32]).allclose(&y, 1e-2, 1e-3, false), "{word}");
            let strided = x.tr().contiguous().tr();
            assert!(layer.forward(&strided, None).unwrap().allclose(&y, 1e-2, 1e-3, false));
            let out = y.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&y), "{word}");
        }
    }
}

#[test]
fn what_is_stored_is_codes_and_scales() {
    for (word, bits) in [("mxfp8", 8.25), ("mxfp4wo", 4.25), ("nvfp4", 4.5)] {
        let [weight, _] = weights(7, 32, 64, Kind::BFloat16);
        let layer = eager(recipe(word), &weight);
        let bytes = |tensor: &&Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        let stored: usize = layer.tensors().iter().map(bytes).sum();
        let of_the_tensor = if word == "nvfp4" { 4.0 } else { 0.0 };
        assert_eq!(stored as f64, 32.0 * 64.0 * bits / 8.0 + of_the_tensor, "{word}");
    }
}

#[test]
fn what_upstream_does_not_take_is_refused_by_value() {
    let refusal = |word: &str, dtype, k, n| {
        let refusal = check(&context(recipe(word), dtype, k, n)).unwrap_err();
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{refusal}");
        refusal.to_string()
    };
    let (bf16, f32, f16) = (Dtype::BFloat16, Dtype::Float32, Dtype::Float16);
    for (word, dtype, k, n, expected) in [
        ("mxfp8", bf16, 48, 16, "k = 48, but mxfp8 takes multiples of 32"),
        ("mxfp4wo", bf16, 16, 16, "k = 16, but mxfp4 takes multiples of 32"),
        ("nvfp4", bf16, 40, 16, "k = 40, but nvfp4 takes multiples of 16"),
        ("nvfp4wo", bf16, 16, 24, "n = 24, but nvfp4 takes multiples of 16"),
        ("mxfp4", f32, 32, 16, "dtype torch.float32, but mxfp4 products need bfloat16"),
        ("nvfp4", f16, 32, 16, "dtype torch.float16, but nvfp4 is of bfloat16 or float32"),
        ("mxfp8wo", f16, 32, 16, "dtype torch.float16, but mxfp8 is of bfloat16 or float32"),
    ] {
        let found = refusal(word, dtype, k, n);
        assert!(found.ends_with(expected), "{found}");
    }
    for word in RECIPES {
        check(&context(recipe(word), bf16, 32, 16)).unwrap();
    }
}

#[test]
fn weights_without_a_scale_are_refused() {
    for word in RECIPES {
        let zero = Tensor::zeros([16, 32], (Kind::BFloat16, tch::Device::Cpu));
        let found = layer(Variant::eager(recipe(word)), zero.copy());
        if word.starts_with("nvfp4") {
            let text = found.err().unwrap().to_string();
            assert!(text.contains("all zero or too small"), "{word}: {text}");
        } else {
            let y = found.unwrap().forward(&zero.ones_like(), None).unwrap();
            assert_eq!(y.abs().max().double_value(&[]), 0.0, "{word}");
        }
        drop(zero.get(3).get(5).fill_(f64::NAN));
        let found = layer(Variant::eager(recipe(word)), zero).err().unwrap();
        assert!(matches!(found, Refusal::Unsupported(_)), "{word}: {found}");
    }
}
