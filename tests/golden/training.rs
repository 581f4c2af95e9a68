//! Linear layers in training: the casts of each product, and the three products.

use criterion_torch::recipes::{self, Casts, Operand, TrainedLinear};
use plan::{Recipe, TrainingSettings};
use tch::{Kind, Tensor};

use super::fixture::Fixture;

/// The largest error of a product in roundings of its dtype. In float32, sums of up to 64 products in another order
/// add theirs.
fn steps(fixture: &Fixture) -> f64 {
    if fixture.tensor("weight").kind() == Kind::Float { 16.0 } else { 2.0 }
}

/// The layer of the fixture's recipe, its products dequantized or by `_scaled_mm`.
fn layer(fixture: &Fixture, emulated: bool) -> TrainedLinear {
    let family = if fixture.text("kind") == "float8_training" { "float8-" } else { "" };
    let recipe: Recipe = format!("{family}{}", fixture.text("recipe"))
        .parse()
        .unwrap_or_else(|error| panic!("{fixture}: {error}"));
    let weight = fixture.tensor("weight").shallow_clone();
    recipes::trained_with(recipe, &TrainingSettings::default(), emulated, weight)
        .unwrap_or_else(|refusal| panic!("{fixture}: {refusal}"))
}

#[test]
fn casts_and_products_agree() {
    let fixtures = Fixture::all("float8_training");
    for fixture in &fixtures {
        let (x, grad_output) = (fixture.tensor("input"), fixture.tensor("grad_output"));
        casts(fixture, &layer(fixture, true).casts(x, grad_output).unwrap());
        products(fixture, "", &layer(fixture, true));
        if fixture.has("output_scaled_mm") {
            products(fixture, "_scaled_mm", &layer(fixture, false));
        }
    }
    // Another folder may hold fewer.
    if !Fixture::elsewhere() {
        for recipe in ["tensorwise", "rowwise", "rowwise_with_gw_hp"] {
            let found = fixtures.iter().any(|fixture| fixture.text("recipe") == recipe);
            assert!(found, "no fixture of {recipe}");
        }
        assert!(fixtures.iter().any(|fixture| fixture.has("output_scaled_mm")));
    }
}

#[test]
fn blocks_agree() {
    let fixtures = Fixture::all("block_training");
    for fixture in &fixtures {
        let layer = layer(fixture, true);
        let casts = layer.casts(fixture.tensor("input"), fixture.tensor("grad_output")).unwrap();
        // Right operands are cast transposed.
        for (names, operands) in [
            (["input", "weight"], &casts.output),
            (["grad_output", "weight_t"], &casts.grad_input),
            (["grad_output_t", "input_t"], &casts.grad_weight),
        ] {
            for (name, operand) in names.iter().zip(operands) {
                let Operand::Blocks(blocks) = operand else {
                    panic!("{fixture}: {name}: no blocks")
                };
                fixture.expect_bits(&format!("cast_{name}_data"), &blocks.codes);
                fixture.expect_bits(&format!("cast_{name}_scale"), &blocks.scales);
            }
        }
        products(fixture, "", &layer);
    }
    assert!(!fixtures.is_empty() || Fixture::elsewhere(), "no fixture");
}

/// Every cast, bit for bit. Those that the fixture lacks are none here, either.
fn casts(fixture: &Fixture, casts: &Casts) {
    let [input, weight_t] = &casts.output;
    let [grad_output, weight] = &casts.grad_input;
    let [grad_output_t, input_again] = &casts.grad_weight;
    for (name, found, is_transposed) in [
        ("input", input, false),
        ("weight_t", weight_t, false),
        ("grad_output", grad_output, false),
        ("weight_t_for_grad_input", weight, true),
        ("grad_output_for_grad_weight", grad_output_t, true),
        ("input_for_grad_weight", input_again, false),
    ] {
        let Operand::Scaled { values, scale } = found else {
            assert!(!fixture.has(&format!("cast_{name}_data")), "{fixture}: {name} is not cast");
            continue;
        };
        let oriented =
            |found: &Tensor| if is_transposed { found.tr() } else { found.shallow_clone() };
        fixture.expect_bits(&format!("cast_{name}_data"), &oriented(values));
        fixture.expect_bits(&format!("cast_{name}_scale"), &oriented(scale));
        let dtype = match values.kind() {
            Kind::Float8e5m2 => "float8_e5m2",
            _ => "float8_e4m3fn",
        };
        assert_eq!(fixture.text(&format!("cast_{name}_dtype")), dtype, "{fixture}: {name}");
    }
}

/// Output and gradients, within rounding of upstream's and at upstream's distance from the unquantized layer.
fn products(fixture: &Fixture, suffix: &str, layer: &TrainedLinear) {
    let x = fixture.tensor("input");
    let gradients = layer.backward(x, fixture.tensor("grad_output")).unwrap();
    let output = layer.forward(x).unwrap();
    for (name, found) in
        [("output", output), ("grad_input", gradients.input), ("grad_weight", gradients.weight)]
    {
        fixture.expect_rounding(&format!("{name}{suffix}"), &found, steps(fixture));
        let exact = format!("{name}_hp");
        let norm = fixture.tensor(&exact).to_kind(Kind::Double).norm().double_value(&[]);
        let sqnr_db = 20.0 * (norm / fixture.distance(&exact, &found)).log10();
        let upstream: f64 = fixture.text(&format!("sqnr_{name}_db")).parse().unwrap();
        assert!(
            sqnr_db >= upstream - 0.2,
            "{fixture}: {name}{suffix}: {sqnr_db:.2} dB, upstream {upstream:.2} dB"
        );
    }
}
