use plan::{Dtype, LinearShape, Recipe, Variant};
use tch::Device;

use super::*;
use crate::recipes::{self, LayerContext, LinearLayer};

const NUMERICS: [Int8Numerics; 3] = [Int8Numerics::V1, Int8Numerics::V2, Int8Numerics::V018];
const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// Values between −1 and 1 that follow no period of a row.
fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
}

fn recipes_of_int8() -> Vec<Recipe> {
    let of = |numerics| [Recipe::Int8wo { numerics }, Recipe::Int8dq { numerics }];
    NUMERICS.into_iter().flat_map(of).chain([Recipe::Int8dqPrefillWoDecode]).collect()
}

fn eager(recipe: Recipe, weight: &Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    recipes::layer(Variant::eager(recipe), weight.shallow_clone())
}

fn packed(numerics: Int8Numerics) -> Variant {
    Variant { packed: true, ..Variant::eager(Recipe::Int8wo { numerics }) }
}

/// `|a − b|` against `|b|`, as vectors.
fn relative(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_kind(Kind::Double), b.to_kind(Kind::Double));
    ((a - &b).norm() / b.norm()).double_value(&[])
}

#[test]
fn round_trips_err_by_half_a_step_and_the_roundings_of_the_scale() {
    for numerics in NUMERICS {
        for kind in KINDS {
            // Values next to amax are clamped where the scale was rounded down; in the two older
            // numerics the reciprocal and the product are rounded too.
            let steps = match (kind, numerics) {
                (Kind::Float, _) => 0.5001,
                (Kind::Half, Int8Numerics::V018) => 0.55,
                (Kind::Half, _) => 0.65,
                (_, Int8Numerics::V018) => 0.8,
                (_, _) => 1.5,
            };
            for columns in [1, 2, 17, 256, 1000] {
                let x = wave(8, columns, kind);
                let found = weight(&x, numerics, None).unwrap();
                let scale = found.scale.to_kind(Kind::Double);
                let restored = found.values.to_kind(Kind::Double) * &scale;
                let error = ((x.to_kind(Kind::Double) - restored) / scale).abs();
                let worst = error.max().double_value(&[]);
                assert!(worst <= steps, "{numerics:?} {kind:?} {columns}: {worst} steps");
            }
        }
    }
}

#[test]
fn scales_are_held_in_the_dtype_of_each_numerics() {
    for kind in KINDS {
        let x = wave(3, 32, kind);
        for numerics in NUMERICS {
            let weight = weight(&x, numerics, Some(zero_point_kind(numerics))).unwrap();
            let activation = activation(&x, numerics).unwrap();
            let (stored, dynamic) = match (numerics, kind) {
                (Int8Numerics::V018, _) => (Kind::Float, Kind::Float),
                (Int8Numerics::V1, Kind::Half) => (kind, Kind::Float),
                _ => (kind, kind),
            };
            assert_eq!((weight.scale.kind(), activation.scale.kind()), (stored, dynamic));
            assert_eq!(weight.zero_point.tensor().unwrap().kind(), zero_point_kind(numerics));
        }
    }
}

/// Rows that are hard to scale, and how many of them: all zero, constant, an outlier, subnormal.
fn hard_rows(kind: Kind) -> Tensor {
    let rows = wave(8, 48, Kind::Float);
    let subnormal = match kind {
        Kind::Half => 1e-7,
        _ => 1e-39,
    };
    for (row, value) in [(0, 0.0), (1, 0.75), (2, -0.75), (3, subnormal)] {
        drop(rows.get(row).fill_(value));
    }
    drop(rows.get(4).get(7).fill_(1e4));
    rows.to_kind(kind)
}

#[test]
fn rows_that_are_hard_to_scale() {
    for numerics in NUMERICS {
        for kind in [Kind::Float, Kind::BFloat16] {
            let found = weight(&hard_rows(kind), numerics, None).unwrap();
            let row = |row| found.values.get(row).to_kind(Kind::Int64);
            let extremes = |r| {
                let row = row(r);
                (row.min().int64_value(&[]), row.max().int64_value(&[]))
            };
            assert_eq!(extremes(0), (0, 0));
            assert_eq!(extremes(1), (127, 127));
            assert!(extremes(2).1 <= -127);
            assert_eq!(extremes(3), (0, 0));
            assert_eq!(
                (extremes(4).1, row(4).abs().sum(None::<Kind>).int64_value(&[])),
                (127, 127)
            );
        }
    }
}

#[test]
fn layers_of_hard_rows_are_finite_or_refused() {
    for recipe in recipes_of_int8() {
        for kind in KINDS {
            let layer = eager(recipe, &hard_rows(kind));
            // Only float32 scales hold the reciprocal of float16's smallest.
            let v018 = recipe.to_string().ends_with("v018");
            if kind == Kind::Half && !v018 {
                let Err(Refusal::Unsupported(reason)) = layer else { panic!("{recipe}") };
                assert!(reason.starts_with("row 0 of the weight: its scale is 1.19"), "{reason}");
                assert!(reason.ends_with("whose reciprocal overflows Half"), "{reason}");
                continue;
            }
            let layer = layer.unwrap();
            for tokens in [1, 5] {
                let y = layer.forward(&wave(tokens, 48, kind), None).unwrap();
                let finite = y.isfinite().all().int64_value(&[]);
                assert_eq!((finite, y.kind()), (1, kind), "{recipe} {kind:?}");
                assert_eq!(y.get(0).get(0).double_value(&[]), 0.0, "{recipe} {kind:?}");
            }
        }
    }
}

#[test]
fn layers_compute_what_their_numbers_stand_for() {
    if !recipes::integer_products_are_exact().unwrap() {
        crate::skip::hardware("int8 products saturate on this CPU (no VNNI)");
        return;
    }
    for recipe in recipes_of_int8() {
        for kind in KINDS {
            let (weight, x) = (wave(21, 100, kind), wave(6, 100, kind).reshape([2, 3, 100]));
            let numbers = |found: Option<Quantized>| {
                let found = found.unwrap();
                (found.values.to_kind(Kind::Double)) * found.scale.to_kind(Kind::Double)
            };
            let w = numbers(recipes::quantize(recipe, &weight).unwrap());
            let v = match recipes::quantize_activation(recipe, &x).unwrap() {
                None => x.to_kind(Kind::Double),
                found => numbers(found),
            };
            let layer = eager(recipe, &weight).unwrap();
            let y = layer.forward(&x, None).unwrap();
            assert_eq!((y.size(), y.kind()), (vec![2, 3, 21], kind), "{recipe}");
            let error = relative(&y, &v.matmul(&w.tr()));
            let rounding = match kind {
                Kind::Float => 1e-6,
                Kind::Half => 1e-3,
                _ => 8e-3,
            };
            assert!(error < rounding, "{recipe} {kind:?}: {error}");

            let out = y.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&y), "{recipe} {kind:?}");
        }
    }
}

#[test]
fn the_packed_op_computes_the_eager_layers_product() {
    for numerics in NUMERICS {
        for kind in KINDS {
            for (n, k) in [(1, 16), (5, 32), (33, 48), (64, 1024)] {
                let weight = wave(n, k, kind);
                let layer = recipes::layer(packed(numerics), weight.shallow_clone()).unwrap();
                let eager = eager(Recipe::Int8wo { numerics }, &weight).unwrap();
                assert_eq!(layer.kernels(), ["aten::_weight_int8pack_mm"]);
                // A stride between rows crashes the op itself.
                let strided = wave(6, k + 7, kind).narrow(1, 0, k);
                for x in [wave(6, k, kind).reshape([2, 3, k]), strided] {
                    let (y, expected) =
                        (layer.forward(&x, None).unwrap(), eager.forward(&x, None).unwrap());
                    assert_eq!((y.size(), y.kind()), (expected.size(), kind));
                    // The eager layer rounds the product before it scales it.
                    let rounding = match kind {
                        Kind::Float => 1e-6,
                        Kind::Half => 1e-3,
                        _ => 8e-3,
                    };
                    let error = relative(&y, &expected);
                    assert!(error < rounding, "{numerics:?} {kind:?} {n}x{k}: {error}");
                }
            }
        }
    }
}

#[test]
fn what_would_crash_the_packed_op_is_refused() {
    let check = |device, rows, k, n| {
        let linear = LinearShape { name: "fc", rows, k, n };
        let variant = packed(Int8Numerics::V1);
        recipes::check(&LayerContext { variant, device, dtype: Dtype::BFloat16, linear })
    };
    let refused = |constraint: &str| {
        let what = format!("recipe `int8wo`, layer `fc`: {constraint}");
        Err(Refusal::Unsupported(what))
    };
    use plan::Device::{Cpu, Cuda};
    for k in [1, 8, 24, 100] {
        let constraint = format!("k = {k}, but `_weight_int8pack_mm` needs a multiple of 16");
        assert_eq!(check(Cpu, 4, k, 32), refused(&constraint));
        assert_eq!(check(Cuda, 4, k, 32), Ok(()));
    }
    assert_eq!(check(Cpu, 3, 48, 5), Ok(()));
    assert_eq!(
        check(Cuda, 1_048_561, 16, 16),
        refused("1048561 rows, but `_weight_int8pack_mm` on cuda takes at most 1048560")
    );
    assert_eq!(
        check(Cuda, 1, 1 << 16, (1 << 15) + 1),
        refused("n · k = 2147549184, but `_weight_int8pack_mm` on cuda takes at most 2³¹")
    );
}

#[test]
fn a_single_token_is_not_quantized() {
    let recipe = Recipe::Int8dqPrefillWoDecode;
    let exact = recipes::integer_products_are_exact().unwrap();
    for kind in KINDS {
        let weight = wave(21, 40, kind);
        let layer = eager(recipe, &weight).unwrap();
        let prefill = eager(Recipe::INT8DQ, &weight).unwrap();
        assert_eq!(layer.kernels(), [""; 0], "nothing ran");
        let Quantized { values, scale, .. } = recipes::quantize(recipe, &weight).unwrap().unwrap();
        let dequantized = values.to_kind(kind) * scale;
        for size in [vec![1, 1, 40], vec![3, 1, 40]] {
            let x = wave(size.iter().product::<i64>() / 40, 40, kind).reshape(&size);
            assert!(recipes::quantize_activation(recipe, &x).unwrap().is_none());
            let y = layer.forward(&x, None).unwrap();
            assert!(y.equal(&x.linear(&dequantized, None::<&Tensor>)), "{size:?}");
            assert_eq!(layer.kernels(), ["aten::_to_copy", "aten::mul", "aten::mm"]);
            let out = y.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&y), "{size:?}");
        }
        // A single row of two dimensions is none: upstream asks dimension 1.
        for size in [vec![1, 40], vec![2, 40], vec![1, 2, 40]] {
            let x = wave(size.iter().product::<i64>() / 40, 40, kind).reshape(&size);
            assert!(recipes::quantize_activation(recipe, &x).unwrap().is_some());
            let y = layer.forward(&x, None).unwrap();
            assert!(!exact || y.equal(&prefill.forward(&x, None).unwrap()), "{size:?}");
            assert_eq!(layer.kernels(), prefill.kernels());
        }
    }
}
