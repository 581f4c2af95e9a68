use plan::{Dtype, LinearShape, Recipe, Variant};
use tch::Device;

use super::*;
use crate::recipes::{self, LayerContext, LinearLayer};

const RECIPES: [Recipe; 3] = [Recipe::Float8wo, Recipe::Float8dqTensor, Recipe::Float8dqRow];
const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];
const BOTH: [Granularity; 2] = [Granularity::Row, Granularity::Tensor];

/// Values between −1 and 1, none of them 0, that follow no period of a row.
fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311 + 0.3).sin().reshape([rows, columns]).to_kind(kind)
}

fn eager(recipe: Recipe, weight: &Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    recipes::layer(Variant::eager(recipe), weight.shallow_clone())
}

fn takes(recipe: Recipe, dtype: Kind) -> bool {
    recipe != Recipe::Float8dqRow || dtype == Kind::BFloat16
}

/// The numbers in float64: torch multiplies no float8.
fn dequantized(found: &Quantized) -> Tensor {
    found.values.to_kind(Kind::Double) * found.scale.to_kind(Kind::Double)
}

#[test]
fn round_trips_err_by_half_a_unit_of_the_mantissa() {
    for granularity in BOTH {
        for kind in KINDS {
            for columns in [1, 2, 17, 256, 1000] {
                let mut x = wave(8, columns, kind);
                drop(x.get(5).f_mul_scalar_(1e-3).unwrap());
                drop(x.get(6).get(0).fill_(1e4));
                x = x.clamp(-1e4, 1e4);
                let found = quantize(&x, granularity).unwrap();
                let x = x.to_kind(Kind::Double);
                let error = (&x - dequantized(&found)).abs();
                // Three bits of mantissa; below 2⁻⁶ the steps are 2⁻⁹.
                let half_a_unit = x.abs() * 2f64.powi(-4);
                let half_a_step = found.scale.to_kind(Kind::Double) * 2f64.powi(-10);
                let worst = (error / half_a_unit.max_other(&half_a_step)).max().double_value(&[]);
                assert!(worst <= 1.0001, "{granularity:?} {kind:?} {columns}: {worst}");
            }
        }
    }
}

#[test]
fn the_cast_saturates() {
    for granularity in BOTH {
        for kind in KINDS {
            // A scale that is rounded down takes amax beyond 448; some of these round that way.
            for step in 0..64 {
                let amax = 1.0 + f64::from(step) / 64.0;
                let x = Tensor::full([2, 16], amax, (kind, Device::Cpu));
                let found = quantize(&x, granularity).unwrap();
                let values = found.values.to_kind(Kind::Double);
                let all = values.eq(448.0).all().int64_value(&[]);
                assert_eq!(all, 1, "{granularity:?} {kind:?} {amax}");
            }
        }
    }
}

/// The scale of subnormal numbers is one itself, of few bits, so that rounding it may be an error of
/// any size: amax / 448 lies below twice the smallest number here, and is rounded to it.
#[test]
fn subnormal_rows_keep_sign_and_order_and_stay_finite() {
    for kind in [Kind::Float, Kind::BFloat16] {
        let smallest = if kind == Kind::Float { 2f64.powi(-149) } else { 2f64.powi(-133) };
        let steps = [448.0, -448.0, 224.0, 1.0, -1.0, 0.0, 560.0, 17.0];
        let exact = Tensor::from_slice(&steps) * smallest;
        let x = exact.to_kind(kind).unsqueeze(0);
        for granularity in BOTH {
            let found = quantize(&x, granularity).unwrap();
            assert_eq!(found.scale.double_value(&[0, 0]), smallest, "{granularity:?} {kind:?}");
            // 560 is beyond the largest and saturates; 17 is a tie, which rounds to the even 16.
            let values = Vec::<f64>::try_from(found.values.to_kind(Kind::Double).reshape([-1]));
            let expected = [448.0, -448.0, 224.0, 1.0, -1.0, 0.0, 448.0, 16.0];
            assert_eq!(values.unwrap(), expected, "{granularity:?} {kind:?}");
        }
    }
}

#[test]
fn zeros_without_a_scale_are_nan_and_refused() {
    for kind in KINDS {
        let weight = wave(32, 32, kind);
        drop(weight.get(9).fill_(0.0));
        // Half of the smallest number, over 448, is 0 in every dtype.
        let smallest = if kind == Kind::Half { 6e-8 } else { 1e-45 };
        drop(weight.get(20).fill_(smallest));

        let rows = quantize(&weight, Granularity::Row).unwrap();
        let nan = rows.values.to_kind(Kind::Float).isnan().sum_dim_intlist(
            [1].as_slice(),
            false,
            Kind::Int64,
        );
        assert_eq!((nan.int64_value(&[9]), nan.int64_value(&[8])), (32, 0));
        for recipe in [Recipe::Float8wo, Recipe::Float8dqRow] {
            let Err(Refusal::Unsupported(reason)) = eager(recipe, &weight) else {
                panic!("{recipe} {kind:?}")
            };
            let expected = "row 9 of the weight is all zero or too small: its float8 scale, \
                            amax / 448, is 0, and its values NaN";
            assert_eq!(reason, expected);
        }
        // One scale for all rows is that of the others.
        let layer = eager(Recipe::Float8dqTensor, &weight).unwrap();
        let y = layer.forward(&wave(4, 32, kind), None).unwrap();
        assert_eq!(y.isfinite().all().int64_value(&[]), 1, "{kind:?}");
        assert_eq!(y.select(1, 9).count_nonzero(None::<i64>).int64_value(&[]), 0);

        let refusal = eager(Recipe::Float8dqTensor, &weight.zeros_like()).err().unwrap();
        let Refusal::Unsupported(reason) = refusal else { panic!("{refusal}") };
        assert!(reason.starts_with("the weight is all zero"), "{reason}");
    }
}

#[test]
fn a_token_of_zeros_is_nan_where_it_has_a_scale_of_its_own() {
    let (weight, x) = (wave(16, 32, Kind::BFloat16), wave(3, 32, Kind::BFloat16));
    drop(x.get(1).fill_(0.0));
    for (recipe, nan) in
        [(Recipe::Float8dqRow, 16), (Recipe::Float8dqTensor, 0), (Recipe::Float8wo, 0)]
    {
        let y = eager(recipe, &weight).unwrap().forward(&x, None).unwrap();
        assert_eq!(y.isnan().sum(Kind::Int64).int64_value(&[]), nan, "{recipe}");
    }
}

#[test]
fn layers_compute_what_their_numbers_stand_for() {
    for recipe in RECIPES {
        for kind in KINDS.into_iter().filter(|kind| takes(recipe, *kind)) {
            for tokens in [1, 3] {
                let (weight, x) = (wave(48, 80, kind), wave(2 * tokens, 80, kind));
                let x = x.reshape([2, tokens, 80]);
                let w = recipes::quantize(recipe, &weight).unwrap().unwrap();
                let v = match recipes::quantize_activation(recipe, &x).unwrap() {
                    None => x.to_kind(Kind::Double),
                    Some(found) => dequantized(&found),
                };
                let layer = eager(recipe, &weight).unwrap();
                let y = layer.forward(&x, None).unwrap();
                assert_eq!((y.size(), y.kind()), (vec![2, tokens, 48], kind), "{recipe}");
                let exact = v.matmul(&dequantized(&w).tr());
                let error = (y.to_kind(Kind::Double) - &exact).norm() / exact.norm();
                let rounding = match kind {
                    Kind::Float => 1e-6,
                    Kind::Half => 1e-3,
                    _ => 4e-3,
                };
                let error = error.double_value(&[]);
                assert!(error < rounding, "{recipe} {kind:?}: {error}");

                let out = y.full_like(f64::NAN);
                drop(layer.forward(&x, Some(&out)).unwrap());
                assert!(out.equal(&y), "{recipe} {kind:?}");
            }
        }
    }
}

#[test]
fn tokens_do_not_see_each_other_per_row() {
    let (weight, x) = (wave(16, 64, Kind::BFloat16), wave(4, 64, Kind::BFloat16));
    let layer = eager(Recipe::Float8dqRow, &weight).unwrap();
    let before = layer.forward(&x, None).unwrap();
    drop(x.get(3).f_mul_scalar_(1024.0).unwrap());
    let after = layer.forward(&x, None).unwrap();
    assert!(after.narrow(0, 0, 3).equal(&before.narrow(0, 0, 3)));
    // A power of two changes the scale alone.
    assert!(after.get(3).equal(&(before.get(3) * 1024.0)));
}

#[test]
fn what_upstream_would_not_quantize_is_refused() {
    let check = |recipe, dtype, k, n| {
        let linear = LinearShape { name: "fc", rows: 4, k, n };
        let variant = Variant::eager(recipe);
        recipes::check(&LayerContext { variant, device: plan::Device::Cpu, dtype, linear })
    };
    let refused = |recipe, constraint: &str| {
        Err(Refusal::Unsupported(format!("recipe `{recipe}`, layer `fc`: {constraint}")))
    };
    for recipe in [Recipe::Float8dqTensor, Recipe::Float8dqRow] {
        let widths = "but float8dq quantizes only weights whose sizes are multiples of 16";
        let bf16 = Dtype::BFloat16;
        assert_eq!(check(recipe, bf16, 80, 48), Ok(()));
        assert_eq!(check(recipe, bf16, 100, 48), refused(recipe, &format!("k = 100, {widths}")));
        assert_eq!(check(recipe, bf16, 80, 40), refused(recipe, &format!("n = 40, {widths}")));
    }
    for dtype in [Dtype::Float32, Dtype::Float16] {
        assert_eq!(check(Recipe::Float8dqTensor, dtype, 80, 48), Ok(()));
        assert_eq!(
            check(Recipe::Float8dqRow, dtype, 80, 48),
            refused(
                Recipe::Float8dqRow,
                &format!("dtype {dtype}, but scales per row need bfloat16")
            )
        );
    }
    for &dtype in Dtype::ALL {
        assert_eq!(check(Recipe::Float8wo, dtype, 7, 3), Ok(()));
        let layer = eager(Recipe::Float8wo, &wave(3, 7, Kind::Float)).unwrap();
        assert_eq!(layer.forward(&wave(2, 7, Kind::Float), None).unwrap().size(), [2, 3]);
    }
}
