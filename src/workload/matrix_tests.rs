//! Every variant × model × dtype: it passes its check, or is refused for the reason written here.

use plan::{
    BlockFormat, Device, Dtype, Int4Numerics, Int8Numerics, Mode, ModelKind, Recipe, Shape,
    Sparsity, Variant,
};

use super::testing::{case, computes_the_same_elsewhere, work, work_mut};
use super::*;
use crate::device;
use crate::recipes::integer_products_are_exact;

/// Roomy enough for every recipe: groups of 256, rows of 256, and eight heads; on CUDA integer
/// products need more than 16 rows.
const fn shape(device: Device) -> Shape {
    Shape::new(if matches!(device, Device::Cuda) { 32 } else { 4 }, 256, 256)
}

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

fn cases(device: Device) -> impl Iterator<Item = (Variant, Case)> {
    let recipes = Recipe::examples().filter(|recipe| recipe.takes(Mode::Inference));
    recipes.flat_map(variants).flat_map(move |variant| {
        let cases = Dtype::ALL.iter().flat_map(move |&dtype| {
            models(dtype).into_iter().map(move |model| {
                let mut case = case(model, variant.recipe, dtype, shape(device));
                work_mut(&mut case).variant = variant;
                case.device = device;
                (variant, case)
            })
        });
        cases.collect::<Vec<_>>()
    })
}

/// All in torchao's default dtype, one layer and several in the others.
fn models(dtype: Dtype) -> Vec<ModelKind> {
    match dtype {
        Dtype::BFloat16 => ModelKind::all().collect(),
        _ => vec![ModelKind::Linear, ModelKind::TransformerBlock],
    }
}

/// All that is refused at [`shape`]: the words of the constraint; none where the case has to pass.
pub fn constraint(case: &Case) -> Option<&'static str> {
    let (cuda, bfloat16) = (case.device == Device::Cuda, case.dtype == Dtype::BFloat16);
    let sparse = work(case).variant.sparsity == Some(Sparsity::SemiSparse);
    match work(case).variant.recipe {
        Recipe::Baseline if cuda && sparse && case.dtype == Dtype::Float32 => {
            Some("`_cslt_sparse_mm` on cuda takes bfloat16 or float16")
        }
        Recipe::Int8dqPrefillWoDecode if cuda && sparse => {
            Some("device cuda, but its 2:4 sparse layout is for the cpu")
        }
        Recipe::Int8dq { numerics } if cuda && sparse && numerics != Int8Numerics::V1 => {
            Some("torchao has 2:4 sparse int8 weights in version 1 alone")
        }
        Recipe::Int8dq { .. } | Recipe::Int8dqPrefillWoDecode
            if !cuda && !integer_products_are_exact().unwrap() =>
        {
            Some("saturated")
        }
        Recipe::Int4wo { numerics: Int4Numerics::TilePacked, .. } if !bfloat16 => {
            Some("the tile-packed format takes bfloat16 alone")
        }
        Recipe::Int4wo { .. } if cuda && !bfloat16 => {
            Some("`_weight_int4pack_mm` on cuda takes bfloat16 alone")
        }
        Recipe::Uintx { .. } if cuda && work(case).variant.packed && !bfloat16 => {
            Some("`_weight_int4pack_mm` on cuda takes bfloat16 alone")
        }
        Recipe::Float8dqTensor | Recipe::Float8dqRow if cuda && sparse => {
            Some("device cuda, but its 2:4 sparse layout is for the cpu")
        }
        Recipe::Float8dqRow if !bfloat16 => Some("scales per row need bfloat16"),
        Recipe::Gemlitewo { .. } if cuda && case.dtype == Dtype::Float32 => {
            Some("its kernel on cuda takes bf16 and f16")
        }
        Recipe::Fp6 if case.dtype == Dtype::Float32 => Some("fp6 takes bfloat16 or float16"),
        Recipe::BlockScaled { format, weight_only: false }
            if format != BlockFormat::Nvfp4 && !bfloat16 =>
        {
            Some("products need bfloat16")
        }
        Recipe::BlockScaled { .. } if case.dtype == Dtype::Float16 => {
            Some("is of bfloat16 or float32")
        }
        _ => None,
    }
}

/// Demands that the refusal is the one that is expected, and names recipe and layer.
fn refused_as_written(what: &str, case: &Case, refusal: Option<Refusal>) {
    match (constraint(case), refusal) {
        (None, None) => {}
        (Some(constraint), Some(Refusal::Unsupported(reason))) => {
            let layer = work(case).sizes().expect("it is built in").linears[0].name;
            let whose = format!("recipe `{}`, layer `{layer}`: ", work(case).variant.recipe);
            assert!(reason.starts_with(&whose) && reason.contains(constraint), "{what}: {reason}");
        }
        (constraint, refusal) => panic!("{what}: expected {constraint:?}, found {refusal:?}"),
    }
}

fn passes_its_check(what: &str, variant: Variant, case: &Case, workload: &dyn Workload) {
    let accuracy = workload.check().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(accuracy.sqnr_db.0 >= accuracy.min_sqnr_db, "{what}");
    let weights = workload.weights().expect("every model has linear layers");
    let linears = work(case).sizes().expect("it is built in").linears.len() as u64;
    let quantized = if variant.recipe == Recipe::Baseline { 0 } else { linears };
    assert_eq!((weights.linears, weights.quantized), (linears, quantized), "{what}");
    assert_eq!(weights.density.is_some(), variant.sparsity.is_some(), "{what}");
    assert!(!workload.kernels().is_empty(), "{what}");
    computes_the_same_elsewhere(what, workload);
}

fn on_a_cpu(is_there: fn(Dtype) -> bool) {
    for (variant, case) in cases(Device::Cpu).filter(|(_, case)| is_there(case.dtype)) {
        let what = format!("{variant} {} {}", work(&case).model, case.dtype);
        match prepare(&case) {
            Ok(workload) => {
                refused_as_written(&what, &case, None);
                passes_its_check(&what, variant, &case, &*workload);
            }
            Err(refusal) => refused_as_written(&what, &case, Some(refusal)),
        }
    }
}

#[test]
fn in_bfloat16_every_variant_of_every_model_passes_or_is_refused_as_written() {
    on_a_cpu(|dtype| dtype == Dtype::BFloat16);
}

#[test]
fn in_other_dtypes_every_variant_passes_or_is_refused_as_written() {
    on_a_cpu(|dtype| dtype != Dtype::BFloat16);
}

/// A broken constraint is found without a device.
#[test]
fn for_cuda_every_variant_is_let_through_or_refused_as_written() {
    let absent = device::resolve(Device::Cuda).err();
    for (variant, case) in cases(Device::Cuda) {
        let what = format!("{variant} {} {} cuda", work(&case).model, case.dtype);
        match preflight(&case).err() {
            refusal if refusal.is_some() && refusal == absent => {
                refused_as_written(&what, &case, None);
            }
            Some(Refusal::Unsupported(reason)) if is_of_the_device(&reason) => {
                crate::skip::hardware(format_args!("{what}: {reason}"));
            }
            refusal => refused_as_written(&what, &case, refusal),
        }
    }
}

#[test]
fn on_cuda_every_variant_that_is_let_through_passes() {
    if !matches!(device::resolve(Device::Cuda), Ok(tch::Device::Cuda(_))) {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for (variant, case) in cases(Device::Cuda).filter(|(_, case)| constraint(case).is_none()) {
        let what = format!("{variant} {} {} cuda", work(&case).model, case.dtype);
        match prepare(&case) {
            Ok(workload) => {
                assert!(workload.step().unwrap().device().is_cuda(), "{what}");
                passes_its_check(&what, variant, &case, &*workload);
            }
            // No compiler for kernels of our own, or a device that is too old.
            Err(Refusal::Skipped(reason)) => crate::skip::tool(format_args!("{what}: {reason}")),
            Err(Refusal::Unsupported(reason)) if is_of_the_device(&reason) => {
                crate::skip::hardware(format_args!("{what}: {reason}"));
            }
            Err(other) => panic!("{what}: {other}"),
        }
    }
}

/// Whether it is this device that is refused, rather than any.
fn is_of_the_device(reason: &str) -> bool {
    reason.contains("compute capability")
}
