//! Linear layers: every recipe's numbers, and what it computes with them.

use criterion_torch::recipes::{
    self, Blocks, LayerContext, LinearLayer, Quantized, Scaling, ZeroPoint,
};
use criterion_torch::refusal::Refusal;
use plan::{BlockFormat, Device, Dtype, LinearShape, Recipe, Variant};
use tch::{Kind, Tensor};

use super::fixture::Fixture;
use super::integer_products_are_exact;

/// The linear fixtures of a family of recipes, each compared in all that it holds.
fn compare(belongs: fn(Recipe) -> bool) {
    let fixtures = Fixture::all("linear");
    let mut compared = 0;
    for fixture in fixtures.iter().filter(|fixture| belongs(recipe_of(fixture))) {
        let recipe = recipe_of(fixture);
        match recipe {
            Recipe::BlockScaled { format, weight_only } => blocks(fixture, format, weight_only),
            _ => weight_and_input(fixture, recipe),
        }
        output(fixture, recipe);
        compared += 1;
    }
    // Another folder may hold fewer families.
    assert!(compared > 0 || Fixture::elsewhere(), "no fixture");
}

fn weight_and_input(fixture: &Fixture, recipe: Recipe) {
    match recipes::quantize(recipe, fixture.tensor("weight")).unwrap() {
        Some(found) => numbers(fixture, "qweight", "scale", &found),
        None => assert!(!fixture.has("qweight"), "{fixture}: {recipe} does not quantize"),
    }
    match recipes::quantize_activation(recipe, fixture.tensor("input")).unwrap() {
        Some(found) => numbers(fixture, "qinput", "input_scale", &found),
        None => assert!(!fixture.has("qinput"), "{fixture}: {recipe} leaves activations alone"),
    }
}

/// The weight as recipes quantize it, and with the other way of scaling, and the input.
fn blocks(fixture: &Fixture, format: BlockFormat, weight_only: bool) {
    let (weight, input) = (fixture.tensor("weight"), fixture.tensor("input"));
    let found = Blocks::quantize(format, weight).unwrap();
    block_numbers(fixture, ["qweight", "scale", "dequantized", "tensor_scale"], &found);
    fixture.expect_bits("swizzled_scale", &found.swizzled_scales().unwrap());
    let other = match format {
        BlockFormat::Nvfp4 => Blocks::nvfp4(weight, None),
        _ => Blocks::mx(format, weight, Scaling::Floor),
    };
    let names = ["qweight_other", "scale_other", "dequantized_other", "no tensor_scale"];
    block_numbers(fixture, names, &other.unwrap());
    assert_eq!(fixture.has("qinput"), !weight_only, "{fixture}");
    if !weight_only {
        let found = Blocks::quantize(format, input).unwrap();
        let names = ["qinput", "input_scale", "input_dequantized", "input_tensor_scale"];
        block_numbers(fixture, names, &found);
    }
}

fn block_numbers(fixture: &Fixture, names: [&str; 4], found: &Blocks) {
    let [codes, scales, dequantized, tensor_scale] = names;
    fixture.expect_bits(codes, &found.codes);
    fixture.expect_bits(scales, &found.scales);
    let kind = fixture.tensor("weight").kind();
    fixture.expect_bits(dequantized, &found.dequantize(kind).unwrap());
    assert_eq!(fixture.has(tensor_scale), found.tensor_scale.is_some(), "{fixture}");
    if let Some(found) = &found.tensor_scale {
        fixture.expect_bits(tensor_scale, found);
    }
}

fn recipe_of(fixture: &Fixture) -> Recipe {
    fixture.text("recipe").parse().unwrap_or_else(|error| panic!("{fixture}: {error}"))
}

fn numbers(fixture: &Fixture, values: &str, scale: &str, found: &Quantized) {
    fixture.expect_bits(values, &found.values);
    fixture.expect_bits(scale, &found.scale);
    let zero_point = scale.replace("scale", "zero_point");
    match found.zero_point.tensor() {
        // Upstream's fixtures omit an activation's zero points if they are all 0.
        Some(found) if values == "qweight" || fixture.has(&zero_point) => {
            fixture.expect_bits(&zero_point, found);
        }
        Some(found) => {
            assert_eq!(found.count_nonzero(None::<i64>).int64_value(&[]), 0, "{fixture}")
        }
        None => assert!(!fixture.has(&zero_point), "{fixture}: no {zero_point} found"),
    }
    if values != "qweight" {
        return;
    }
    match found.zero_point {
        // 256 output channels are its least, too many to store them dequantized, too.
        ZeroPoint::Float6 => float6(fixture),
        _ => fixture.expect_bits("dequantized", &found.dequantize().unwrap()),
    }
}

/// The value of each of the 64 codes of a 6-bit float.
fn float6(fixture: &Fixture) {
    let values = Tensor::arange(64, (Kind::Uint8, tch::Device::Cpu)).unsqueeze(0);
    let scale = Tensor::ones([1, 1], (Kind::Float, tch::Device::Cpu));
    let codes = Quantized { values, scale, zero_point: ZeroPoint::Float6 };
    fixture.expect_bits("codes", &codes.dequantize().unwrap());
}

/// The layer's output; where the weight's values break the recipe (a float8 row of zeros), the layer
/// has to be refused instead.
fn output(fixture: &Fixture, recipe: Recipe) {
    if !integer_products_are_exact() && takes_integer_products(recipe) {
        return;
    }
    let variant = Variant::eager(recipe);
    let shape = fixture.shape();
    let linear = LinearShape { name: "linear1", rows: shape.m, k: shape.k, n: shape.n };
    let input = fixture.tensor("input");
    let (dtype, steps) = match input.kind() {
        Kind::Float => (Dtype::Float32, 16.0),
        _ => (Dtype::BFloat16, 2.0),
    };
    let context = LayerContext { variant, device: Device::Cpu, dtype, linear };
    recipes::check(&context).unwrap_or_else(|refusal| panic!("{fixture}: {refusal}"));
    let layer = recipes::layer(variant, fixture.tensor("weight").shallow_clone());
    if fixture.text("nonfinite_qweight_rows") != "[]" {
        let refusal = layer.err().unwrap_or_else(|| panic!("{fixture}: NaN was let through"));
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{fixture}: {refusal}");
        return;
    }
    let layer = layer.unwrap_or_else(|refusal| panic!("{fixture}: {refusal}"));
    let found = layer.forward(input, None).unwrap();
    if takes_integer_products(recipe) {
        // Integer sums do not round, so there is one right answer.
        fixture.expect_bits("output", &found);
    } else {
        fixture.expect_rounding("output", &found, steps);
    }
    accuracy(fixture, recipe, &found);
    writes_the_same(fixture, recipe, &*layer, &found);
}

/// Demands upstream's signal-to-noise ratio against the unquantized layer, and that the error
/// against the exact product of the dequantized operands is within the README's bound. Non-finite
/// values are skipped; they have been compared before.
fn accuracy(fixture: &Fixture, recipe: Recipe, found: &Tensor) {
    let double = |tensor: &Tensor| tensor.to_kind(Kind::Double);
    let finite = found.isfinite();
    let selected = |tensor: &Tensor| double(tensor).masked_select(&finite);
    let unquantized = selected(fixture.tensor("output_hp"));
    let noise = (&unquantized - selected(found)).norm().double_value(&[]);
    let sqnr_db = 20.0 * (unquantized.norm().double_value(&[]) / noise).log10();
    let upstream: f64 = fixture.text("sqnr_db").parse().unwrap();
    assert!(sqnr_db >= upstream - 0.2, "{fixture}: {sqnr_db:.2} dB, upstream {upstream:.2} dB");

    let edge = fixture.text("case").starts_with("edge");
    let nvfp4 = Recipe::BlockScaled { format: BlockFormat::Nvfp4, weight_only: false };
    let bound = match edge {
        // Five roundings to bfloat16: of both scales in `output_exact`, of their product, of the product of
        // blocks, and of the result.
        _ if recipe == nvfp4 => 5.0 * 2f64.powi(-9),
        true if takes_integer_products(recipe) => 7.5e-3,
        false if takes_integer_products(recipe) => 1.7e-3,
        true => 5e-3,
        false => 1.5e-3,
    };
    let norms = |tensor: &Tensor| double(tensor).norm_scalaropt_dim(2.0, [-1], true);
    let (x, weight) = (norms(fixture.tensor("input")), norms(fixture.tensor("weight")));
    let mut allowed = weight * bound;
    if let Recipe::Gemlitewo { bits: 4, .. } = recipe {
        // The kernel takes the zero points off the sums, so that of a row of zeros, too, there is
        // left what float32 has rounded: of products with integers of up to 8, times the scale.
        let scale = double(fixture.tensor("scale")).amax([-1], true);
        let root = (fixture.shape().k as f64).sqrt();
        allowed += scale * (8.0 * root * 2f64.powi(-24));
    }
    let largest = x.matmul(&allowed.tr()).masked_select(&finite);
    let error = (selected(fixture.tensor("output_exact")) - selected(found)).abs();
    let within = error.less_equal_tensor(&largest).all().int64_value(&[]);
    assert_eq!(within, 1, "{fixture}: an error above {bound:.1e} |x| |w|");
}

fn writes_the_same(fixture: &Fixture, recipe: Recipe, layer: &dyn LinearLayer, found: &Tensor) {
    let out = found.full_like(f64::NAN);
    let written = layer.forward(fixture.tensor("input"), Some(&out));
    assert_eq!(written.is_ok(), recipes::writes_out(recipe).unwrap(), "{fixture}");
    if written.is_ok() {
        assert_eq!((out.size(), out.kind()), (found.size(), found.kind()), "{fixture}");
        let nan = out.isnan().logical_and(&found.isnan());
        let same = out.eq_tensor(found).logical_or(&nan);
        assert_eq!(same.all().int64_value(&[]), 1, "{fixture}");
    }
}

fn takes_integer_products(recipe: Recipe) -> bool {
    matches!(recipe, Recipe::Int8dq { .. } | Recipe::Int8dqPrefillWoDecode)
}

#[test]
fn baseline() {
    compare(|recipe| recipe == Recipe::Baseline);
}

#[test]
fn int8wo() {
    compare(|recipe| matches!(recipe, Recipe::Int8wo { .. }));
}

#[test]
fn int8dq() {
    compare(takes_integer_products);
}

#[test]
fn int4wo() {
    compare(|recipe| matches!(recipe, Recipe::Int4wo { .. }));
}

#[test]
fn float8() {
    compare(|recipe| {
        matches!(recipe, Recipe::Float8wo | Recipe::Float8dqTensor | Recipe::Float8dqRow)
    });
}

#[test]
fn gemlitewo() {
    compare(|recipe| matches!(recipe, Recipe::Gemlitewo { .. }));
}

#[test]
fn uintx() {
    compare(|recipe| matches!(recipe, Recipe::Uintx { .. }));
}

#[test]
fn intx() {
    compare(|recipe| matches!(recipe, Recipe::Int8DynamicIntx { .. }));
}

#[test]
fn fp6() {
    compare(|recipe| recipe == Recipe::Fp6);
}

#[test]
fn block_scaled() {
    compare(|recipe| matches!(recipe, Recipe::BlockScaled { .. }));
}
