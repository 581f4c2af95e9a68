//! Every variant × model × dtype on the CPU: it passes its check, or is refused by name.

use plan::{Dtype, ModelKind, Recipe, Shape, Sparsity, Variant};

use super::testing::case;
use super::*;

/// Roomy enough for every recipe: groups of 256, rows of 256, and eight heads.
const SHAPE: Shape = Shape::new(4, 256, 256);

/// All that a recipe comes in, the eager variant first.
fn variants(recipe: Recipe) -> Vec<Variant> {
    let eager = Variant::eager(recipe);
    let mut variants = vec![eager];
    if recipe.has_packed() {
        variants.push(Variant { packed: true, ..eager });
    }
    for &sparsity in Sparsity::ALL {
        if sparsity.pairs_with(recipe) {
            variants.push(Variant { sparsity: Some(sparsity), ..eager });
        }
    }
    variants
}

fn case_of(variant: Variant, model: ModelKind, dtype: Dtype) -> Case {
    let Variant { recipe, sparsity, packed, .. } = variant;
    Case { sparsity, packed, ..case(model, recipe, dtype, SHAPE) }
}

/// Whether the case passed its check; a refusal has to name its recipe.
fn passes(variant: Variant, model: ModelKind, dtype: Dtype) -> bool {
    let case = case_of(variant, model, dtype);
    let what = format!("{variant} {model} {dtype}");
    match prepare(&case) {
        Ok(workload) => {
            let accuracy = workload.check().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(accuracy.sqnr_db.0 >= accuracy.min_sqnr_db, "{what}");
            let weights = workload.weights().expect("every model has linear layers");
            let linears = plan::linears(model, SHAPE).len() as u64;
            let quantized = if variant.recipe == Recipe::Baseline { 0 } else { linears };
            assert_eq!((weights.linears, weights.quantized), (linears, quantized), "{what}");
            assert_eq!(weights.density.is_some(), variant.sparsity.is_some(), "{what}");
            assert!(!workload.kernels().is_empty(), "{what}");
            true
        }
        Err(Refusal::Unsupported(reason)) => {
            assert!(reason.contains(&variant.recipe.to_string()), "{what}: {reason}");
            false
        }
        Err(other) => panic!("{what}: {other}"),
    }
}

/// Of torchao's default dtype nothing may be refused here.
#[test]
fn in_bfloat16_every_variant_of_every_model_passes() {
    for recipe in Recipe::examples() {
        if !crate::recipes::integer_products_are_exact().unwrap()
            && matches!(recipe, Recipe::Int8dq { .. } | Recipe::Int8dqPrefillWoDecode)
        {
            continue;
        }
        for variant in variants(recipe) {
            for model in ModelKind::all() {
                assert!(passes(variant, model, Dtype::BFloat16), "{variant} {model} was refused");
            }
        }
    }
}

#[test]
fn in_other_dtypes_a_variant_passes_or_is_refused() {
    let mut passed = 0;
    for recipe in Recipe::examples() {
        for variant in variants(recipe) {
            for dtype in [Dtype::Float32, Dtype::Float16] {
                let models = [ModelKind::Linear, ModelKind::TransformerBlock];
                passed += models.into_iter().filter(|&it| passes(variant, it, dtype)).count();
            }
        }
    }
    // At the very least the baseline and int8wo, in both dtypes and models.
    assert!(passed >= 8, "{passed}");
}
