//! Properties of the recipes; their numbers are in the golden tests.

use tch::{Device, Kind, Tensor};

use super::*;

fn quantized(recipe: Recipe, weight: &Tensor) -> Quantized {
    quantize(recipe, weight).unwrap().unwrap()
}

fn eager(recipe: Recipe, weight: Tensor) -> Box<dyn LinearLayer> {
    layer(Variant::eager(recipe), weight).unwrap()
}

/// Values between −1 and 1 that follow no period of a row; not random, because torch's generator
/// is shared with the tests that seed it.
fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
}

fn row(values: &[f32], kind: Kind) -> Tensor {
    Tensor::from_slice(values).reshape([1, -1]).to_kind(kind)
}

fn integers(tensor: &Tensor) -> Vec<i64> {
    Vec::try_from(tensor.to_kind(Kind::Int64).reshape([-1])).unwrap()
}

fn reals(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double)).unwrap()
}

/// Largest error of the round trip, in steps of the row's scale.
fn worst_steps(weight: &Tensor, quantized: &Quantized) -> f64 {
    let scale = quantized.scale.to_kind(Kind::Double);
    let restored = quantized.values.to_kind(Kind::Double) * &scale;
    ((weight.to_kind(Kind::Double) - restored) / scale).abs().max().double_value(&[])
}

#[test]
fn a_worked_example_of_weights() {
    let value = |row: i64, column: i64| (((37 * row + 17 * column) % 101) - 50) as f32 / 25.0;
    let values: Vec<f32> =
        (0..2).flat_map(|row| (0..32).map(move |column| value(row, column))).collect();
    let weight = Tensor::from_slice(&values).reshape([2, 32]);
    let layer = quantized(Recipe::INT8WO, &weight);
    assert_eq!(reals(&layer.scale.squeeze_dim(-1)), [0.01568627543747425, 0.014431373216211796]);
    let first = [
        -127, -84, -41, 3, 46, 89, -125, -82, -38, 5, 48, 92, -122, -79, -36, 8, 51, 94, -120, -76,
        -33, 10, 54, 97, -117, -74, -31, 13, 56, 99, -115, -71,
    ];
    assert_eq!(integers(&layer.values)[..32], first);

    let activation = quantize_activation(Recipe::INT8DQ, &weight).unwrap().unwrap();
    assert_eq!(
        reals(&activation.scale.squeeze_dim(-1)),
        [0.015748031437397003, 0.014488189481198788]
    );
    assert_eq!(integers(&activation.values)[..8], [-127, -84, -41, 3, 46, 89, -124, -81]);
}

#[test]
fn a_round_trip_errs_by_half_a_step() {
    // In bfloat16 the scale, its reciprocal and the product are rounded to 8 bits too, in
    // float16 to 11.
    for (kind, steps) in [(Kind::Float, 0.5001), (Kind::Half, 0.65), (Kind::BFloat16, 1.5)] {
        for columns in [1, 2, 17, 256, 1000] {
            let weight = wave(8, columns, kind);
            let layer = quantized(Recipe::INT8WO, &weight);
            assert_eq!(layer.scale.kind(), kind);
            assert_eq!(layer.values.size(), weight.size());
            let worst = worst_steps(&weight, &layer);
            assert!(worst <= steps, "{kind:?}, {columns} columns: {worst} steps");
        }
    }
}

#[test]
fn an_all_zero_row_stays_zero() {
    for kind in [Kind::Float, Kind::BFloat16] {
        let weight = Tensor::zeros([1, 32], (kind, Device::Cpu));
        let layer = quantized(Recipe::INT8WO, &weight);
        assert_eq!(integers(&layer.values), [0; 32]);
        assert_eq!(layer.scale.double_value(&[0, 0]), f64::from(f32::EPSILON));
        for recipe in [Recipe::INT8WO, Recipe::INT8DQ] {
            let layer = eager(recipe, weight.shallow_clone());
            for x in [wave(4, 32, kind), Tensor::zeros([4, 32], (kind, Device::Cpu))] {
                let y = layer.forward(&x, None).unwrap();
                assert_eq!(y.count_nonzero(None::<i64>).int64_value(&[]), 0, "{recipe}");
            }
        }
    }
}

#[test]
fn extremes_of_a_row_land_on_the_ends_of_the_range() {
    for (name, values, expected) in [
        ("constant", [0.75, 0.75, 0.75, 0.75], [127, 127, 127, 127]),
        // The product with a rounded reciprocal falls short of the tie at −127.5; a division by
        // the scale would not.
        ("negative constant", [-0.5, -0.5, -0.5, -0.5], [-127, -127, -127, -127]),
        ("alternating", [1.0, -1.0, 1.0, -1.0], [127, -127, 127, -127]),
        ("outlier", [1e4, 1.0, -1.0, 39.0], [127, 0, 0, 0]),
        ("tiny", [1e-8, -1e-8, 0.0, 1e-8], [0, 0, 0, 0]),
        ("subnormal", [1e-39, -1e-39, 0.0, 1e-39], [0, 0, 0, 0]),
    ] {
        let layer = quantized(Recipe::INT8WO, &row(&values, Kind::Float));
        assert_eq!(integers(&layer.values), expected, "{name}");
    }
}

#[test]
fn activations_use_the_reduced_range_per_token() {
    let x = Tensor::stack(&[wave(3, 64, Kind::Float), wave(3, 64, Kind::Float) * -1000.0], 0);
    let activation = quantize_activation(Recipe::INT8DQ, &x).unwrap().unwrap();
    assert_eq!(
        (activation.values.size(), activation.scale.size()),
        (vec![2, 3, 64], vec![2, 3, 1])
    );
    let found = integers(&activation.values);
    assert_eq!((found.iter().min(), found.iter().max()), (Some(&-127), Some(&127)));
    // Each token has its own scale, so the two batch elements are mirror images.
    let mirrored: Vec<i64> = found[..192].iter().map(|q| -q).collect();
    assert_eq!(found[192..], mirrored);

    let half = quantize_activation(Recipe::INT8DQ, &x.to_kind(Kind::Half)).unwrap().unwrap();
    assert_eq!(half.scale.kind(), Kind::Float);
}

#[test]
fn float16_sums_beyond_its_range_do_not_overflow() {
    // The integer sums reach 127 · 127 · 4096 = 66 million, a thousand times float16's largest.
    let x = Tensor::ones([2, 4096], (Kind::Half, Device::Cpu));
    let weight = Tensor::full([8, 4096], 0.01, (Kind::Half, Device::Cpu));
    let y = eager(Recipe::INT8DQ, weight).forward(&x, None).unwrap();
    assert_eq!(y.kind(), Kind::Half);
    if !integer_products_are_exact().unwrap() {
        crate::skip::hardware("int8 products saturate on this CPU (no VNNI)");
        return;
    }
    let relative = (y.to_kind(Kind::Double) / 40.96 - 1.0).abs().max().double_value(&[]);
    assert!(relative < 0.01, "{relative}");
}

#[test]
fn layers_keep_leading_dimensions_and_dtype() {
    for recipe in [Recipe::Baseline, Recipe::INT8WO, Recipe::INT8DQ] {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let layer = eager(recipe, wave(5, 24, kind));
            for (rows, leading) in [(3, vec![3]), (6, vec![2, 3]), (6, vec![1, 2, 3])] {
                let mut size = leading;
                size.push(24);
                let y = layer.forward(&wave(rows, 24, kind).reshape(&size), None).unwrap();
                *size.last_mut().unwrap() = 5;
                assert_eq!((y.size(), y.kind()), (size, kind), "{recipe}");
            }
        }
    }
}

#[test]
fn only_what_a_recipe_needs_is_stored() {
    let bytes = |recipe| {
        let layer = eager(recipe, wave(32, 64, Kind::BFloat16));
        let size = |tensor: &&Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        layer.tensors().iter().map(size).sum::<usize>()
    };
    assert_eq!(bytes(Recipe::Baseline), 32 * 64 * 2);
    assert_eq!(bytes(Recipe::INT8WO), 32 * 64 + 32 * (2 + 8));
    assert_eq!(bytes(Recipe::INT8DQ), 32 * 64 + 32 * 2);
}
