use plan::{Activation, Device, Dtype, ModelKind, Recipe, Shape, Sparsity};
use tch::Kind;

use super::*;
use crate::native::memory;
use crate::recipes::integer_products_are_exact;
use crate::workload::preflight;
use crate::workload::testing::{case, work, work_mut};

const RECIPES: [Recipe; 3] = [Recipe::Baseline, Recipe::INT8WO, Recipe::INT8DQ];
const SMALL: Shape = Shape::new(10, 64, 32);

fn forward(case: &Case) -> Result<Forward, Refusal> {
    Forward::prepare(case, work(case))
}

/// The case in another layout.
fn sparse(mut case: Case, sparsity: Option<Sparsity>) -> Case {
    work_mut(&mut case).variant.sparsity = sparsity;
    case
}

fn prepared(model: ModelKind, recipe: Recipe, dtype: Dtype, shape: Shape) -> Forward {
    forward(&case(model, recipe, dtype, shape)).unwrap()
}

/// Prepares a case with a preallocated output.
fn prepared_out(model: ModelKind, recipe: Recipe, dtype: Dtype, shape: Shape) -> Forward {
    let mut case = case(model, recipe, dtype, shape);
    work_mut(&mut case).variant.preallocated = true;
    preflight(&case).unwrap();
    forward(&case).unwrap()
}

#[test]
fn every_model_passes_its_check_in_every_dtype_and_recipe() {
    // Odd where the models allow it; k must suit eight heads.
    let shape = Shape::new(13, 40, 27);
    for model in ModelKind::all() {
        for &dtype in Dtype::ALL {
            for recipe in RECIPES {
                let checked = prepared(model, recipe, dtype, shape).check();
                let what = format!("{model} {dtype} {recipe}: {checked:?}");
                if recipe == Recipe::INT8DQ && !integer_products_are_exact().unwrap() {
                    assert!(matches!(checked, Err(Refusal::Failed(_))), "{what}");
                    continue;
                }
                let accuracy = checked.expect(&what);
                assert_eq!(accuracy.rows_checked, 13, "{what}");
                assert!(accuracy.sqnr_db.0 >= accuracy.min_sqnr_db, "{what}");
                assert!(accuracy.relative_error.0 < 0.02, "{what}");
            }
        }
    }
}

#[test]
fn on_cuda_too() {
    if !matches!(device::resolve(Device::Cuda), Ok(tch::Device::Cuda(_))) {
        crate::skip::hardware("no CUDA device");
        return;
    }
    for model in ModelKind::all() {
        for &dtype in Dtype::ALL {
            for recipe in RECIPES {
                let mut case = case(model, recipe, dtype, Shape::new(24, 64, 40));
                case.device = Device::Cuda;
                preflight(&case).unwrap();
                let workload = forward(&case).unwrap();
                assert!(workload.step().unwrap().device().is_cuda());
                workload
                    .check()
                    .unwrap_or_else(|error| panic!("{model} {dtype} {recipe}: {error}"));

                work_mut(&mut case).variant.preallocated = true;
                let out = forward(&case).unwrap();
                let same = out.step().unwrap().equal(&workload.step().unwrap());
                assert!(same, "{model} {dtype} {recipe}");
            }
        }
    }
}

#[test]
fn a_preallocated_output_has_the_bits_of_a_fresh_one() {
    for shape in [Shape::new(13, 40, 27), Shape::new(1, 64, 64)] {
        for model in ModelKind::all() {
            for &dtype in Dtype::ALL {
                for recipe in RECIPES {
                    let what = format!("{model} {dtype} {recipe} {shape}");
                    let eager = prepared(model, recipe, dtype, shape);
                    let out = prepared_out(model, recipe, dtype, shape);
                    let home = out.output.as_ref().unwrap();
                    let unwritten = verify::nonfinite(home).unwrap();
                    assert_eq!(unwritten, home.numel() as i64, "{what}");

                    let (expected, found) = (eager.step().unwrap(), out.step().unwrap());
                    assert!(found.equal(&expected), "{what}");
                    assert_eq!((found.size(), found.kind()), (expected.size(), expected.kind()));
                    assert_eq!(found.data_ptr(), home.data_ptr(), "{what}");
                    assert_eq!(out.check(), eager.check(), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_step_does_not_allocate_a_preallocated_output() {
    let step = |workload: &Forward| {
        drop(workload.step().unwrap());
        memory::track(|| workload.step().unwrap()).unwrap().1.cpu
    };
    for model in ModelKind::all() {
        for &dtype in Dtype::ALL {
            for recipe in RECIPES {
                let what = format!("{model} {dtype} {recipe}");
                let eager = step(&prepared(model, recipe, dtype, SMALL));
                let workload = prepared_out(model, recipe, dtype, SMALL);
                let (out, output) = (step(&workload), workload.outputs_bytes());
                assert_eq!(eager.total_bytes - out.total_bytes, output, "{what}");
                assert_eq!(eager.allocations - out.allocations, 1, "{what}");
                assert_eq!((eager.live_bytes, out.live_bytes), (output as i64, 0), "{what}");
            }
        }
    }
    // Where the output is what the peak consists of, it is gone from there.
    for (model, eager, out) in [
        (ModelKind::Linear, 320 * 4, 0),
        // The layer's output, beside the model's or, before that, beside its own input.
        (ModelKind::LnLinear(Activation::Silu), 2 * 320 * 4, (320 + 10 * 8) * 4),
    ] {
        let peak = |workload: &Forward| step(workload).peak_bytes;
        let shape = Shape::new(10, 8, 32);
        let found = peak(&prepared(model, Recipe::Baseline, Dtype::Float32, shape));
        assert_eq!(found, eager, "{model}");
        let found = peak(&prepared_out(model, Recipe::Baseline, Dtype::Float32, shape));
        assert_eq!(found, out, "{model}");
    }
}

#[test]
fn outputs_have_the_sizes_of_upstreams_tests() {
    let sigmoid = ModelKind::LnLinear(Activation::Sigmoid);
    for (model, size) in [
        (ModelKind::Linear, vec![10, 32]),
        (sigmoid, vec![10, 32]),
        (ModelKind::TransformerBlock, vec![10, 16, 64]),
    ] {
        for recipe in RECIPES {
            let output = prepared(model, recipe, Dtype::BFloat16, SMALL).step().unwrap();
            assert_eq!((output.size(), output.kind()), (size.clone(), Kind::BFloat16), "{model}");
            if model == sigmoid {
                let ends = (output.min().double_value(&[]), output.max().double_value(&[]));
                assert!(ends.0 >= 0.0 && ends.1 <= 1.0 && ends.0 < ends.1, "{ends:?}");
            }
        }
    }
}

fn reference(it: &Forward) -> &Tensor {
    it.judge.reference().expect("a model has one").output()
}

#[test]
fn a_group_shares_weights_and_input_and_another_seed_does_not() {
    for model in ModelKind::all() {
        let baseline = prepared(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        for recipe in [Recipe::INT8WO, Recipe::INT8DQ] {
            let candidate = prepared(model, recipe, Dtype::BFloat16, SMALL);
            assert!(candidate.input.equal(&baseline.input), "{model} {recipe}");
            // The reference is computed from the unquantized weights.
            assert!(reference(&candidate).equal(reference(&baseline)), "{model}");
        }
        let mut other = case(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        other.settings.seed += 1;
        let other = forward(&other).unwrap();
        assert!(!other.input.equal(&baseline.input), "{model}");
        assert!(!reference(&other).equal(reference(&baseline)), "{model}");
    }
}

#[test]
fn an_output_below_its_gate_fails_with_figures() {
    let mut case = case(ModelKind::Linear, Recipe::INT8WO, Dtype::BFloat16, SMALL);
    case.settings.tolerance.min_sqnr_db = Some(80.0);
    let Err(Refusal::Failed(error)) = forward(&case).unwrap().check() else {
        panic!("int8wo cannot reach 80 dB");
    };
    assert!(error.contains("below the gate of 80.0 dB") && error.contains("10 rows"), "{error}");
    case.settings.tolerance.min_sqnr_db = Some(20.0);
    let accuracy = forward(&case).unwrap().check().unwrap();
    assert_eq!(accuracy.min_sqnr_db, 20.0);
}

#[test]
fn a_wrong_model_fails() {
    for model in ModelKind::all() {
        let mut workload = prepared(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        let other = prepared(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        workload.input = other.input.flip([-1]);
        assert!(matches!(workload.check(), Err(Refusal::Failed(_))), "{model}");
    }
}

#[test]
fn a_value_that_is_no_number_fails_wherever_it_is() {
    for value in [f64::NAN, f64::INFINITY] {
        let mut workload = prepared(ModelKind::Linear, Recipe::Baseline, Dtype::Float32, SMALL);
        workload.input = workload.input.copy();
        assert_eq!(workload.input.get(9).get(63).fill_(value).numel(), 1);
        let Err(Refusal::Failed(error)) = workload.check() else { panic!("{value} passed") };
        assert_eq!(error, "32 of 320 outputs are NaN or infinite");
    }
}

#[test]
fn a_failing_step_is_an_error_and_not_a_panic() {
    let mut workload = prepared(ModelKind::Linear, Recipe::INT8DQ, Dtype::Float32, SMALL);
    workload.input = workload.input.narrow(1, 0, 63);
    assert!(workload.step().is_err());
    assert!(matches!(workload.check(), Err(Refusal::Failed(_))));
}

#[test]
fn bytes_are_exact() {
    let bytes = |model, recipe| {
        let workload = prepared(model, recipe, Dtype::BFloat16, SMALL);
        (workload.weights_bytes(), workload.inputs_bytes())
    };
    assert_eq!(bytes(ModelKind::Linear, Recipe::Baseline), (64 * 32 * 2, 10 * 64 * 2));
    assert_eq!(bytes(ModelKind::Linear, Recipe::INT8WO).0, 64 * 32 + 32 * (2 + 8));
    assert_eq!(bytes(ModelKind::Linear, Recipe::INT8DQ).0, 64 * 32 + 32 * 2);
    for (model, output) in
        [(ModelKind::Linear, 10 * 32 * 2), (ModelKind::TransformerBlock, 10 * 16 * 64 * 2)]
    {
        let eager = prepared(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        let out = prepared_out(model, Recipe::Baseline, Dtype::BFloat16, SMALL);
        assert_eq!((eager.outputs_bytes(), out.outputs_bytes()), (0, output));
        assert_eq!(eager.inputs_bytes(), out.inputs_bytes());
        assert_eq!(eager.weights_bytes(), out.weights_bytes());
    }
    // 3k² + k² + 4k² + 4k², and two norms.
    let (weights, inputs) = bytes(ModelKind::TransformerBlock, Recipe::Baseline);
    assert_eq!((weights, inputs), ((12 * 64 * 64 + 2 * 64) * 2, 10 * 16 * 64 * 2));
    let (weights, _) = bytes(ModelKind::TransformerBlock, Recipe::INT8DQ);
    assert_eq!(weights, 12 * 64 * 64 + (3 + 1 + 4 + 1) * 64 * 2 + 2 * 64 * 2);
}

#[test]
fn kernels_are_named_once() {
    let kernels =
        |recipe| prepared(ModelKind::TransformerBlock, recipe, Dtype::BFloat16, SMALL).kernels();
    assert_eq!(kernels(Recipe::Baseline), ["aten::mm"]);
    assert_eq!(kernels(Recipe::INT8WO), ["aten::_to_copy", "aten::mm"]);
    assert_eq!(kernels(Recipe::INT8DQ), ["aten::_int_mm"]);
}

/// Every sparse layout with every recipe that it goes with.
fn sparse_cases() -> impl Iterator<Item = Case> {
    let models =
        [ModelKind::Linear, ModelKind::LnLinear(Activation::Gelu), ModelKind::TransformerBlock];
    models.into_iter().flat_map(|model| {
        Sparsity::ALL.iter().flat_map(move |&sparsity| {
            let recipes = Recipe::examples().filter(move |&recipe| sparsity.pairs_with(recipe));
            recipes.map(move |recipe| {
                // One token, too, where the recipe treats it differently.
                let rows = if recipe == Recipe::Int8dqPrefillWoDecode { 1 } else { 5 };
                let shape = Shape::new(rows, 128, 192);
                let plain = case(model, recipe, Dtype::BFloat16, shape);
                sparse(plain, Some(sparsity))
            })
        })
    })
}

#[test]
fn every_sparse_pairing_is_right_and_says_what_it_is() {
    let mut pairings = 0;
    for case in sparse_cases() {
        let (recipe, sparsity) =
            (work(&case).variant.recipe, work(&case).variant.sparsity.unwrap());
        let what = format!("{} {recipe} {sparsity}", work(&case).model);
        if let Err(refusal) = preflight(&case) {
            let saturates = !integer_products_are_exact().unwrap();
            assert!(saturates && refusal.to_string().contains("saturated"), "{what}: {refusal}");
            continue;
        }
        let workload = forward(&case).unwrap();
        let accuracy = workload.check().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(accuracy.sqnr_db.0 < 80.0, "{what}: {accuracy:?}");

        let weights = workload.weights().unwrap();
        assert_eq!(weights.density, Some(0.5), "{what}");
        let quantized = if recipe == Recipe::Baseline { 0 } else { weights.linears };
        assert_eq!(weights.quantized, quantized, "{what}");
        let (kernels, expands) = (workload.kernels(), sparsity == Sparsity::SemiSparse);
        let found = kernels.iter().any(|kernel| kernel.starts_with("criterion_torch::expand_2_4_"));
        assert_eq!(found, expands, "{what}: {kernels:?}");

        let [note] = workload.notes().try_into().unwrap();
        assert!(note.starts_with("accuracy is against the pruned weights; "), "{note}");
        let dense = forward(&sparse(case, None)).unwrap();
        assert!(dense.notes().is_empty());
        assert!(!reference(&dense).equal(reference(&workload)), "{what}");
        pairings += 1;
    }
    assert!(pairings > 0);
}

#[test]
fn a_sparse_weight_is_half_and_its_indices() {
    let stored = |recipe, sparsity| {
        let plain = case(ModelKind::Linear, recipe, Dtype::BFloat16, Shape::new(17, 256, 128));
        let case = sparse(plain, Some(sparsity));
        forward(&case).unwrap().weights().unwrap()
    };
    let weights = 256 * 128;
    // Half of the values, and one bit for each of all.
    let semi_sparse = stored(Recipe::Baseline, Sparsity::SemiSparse);
    assert_eq!(
        (semi_sparse.packed_bytes, semi_sparse.bits_per_weight),
        (weights + weights / 8, 9.0)
    );
    let int8 = stored(Recipe::INT8DQ, Sparsity::SemiSparse);
    assert_eq!(int8.packed_bytes, weights / 2 + weights / 8 + 128 * 2);
    // Half of the values, and four bytes for each of the 2 × 2 blocks that are left.
    let block = stored(Recipe::Baseline, Sparsity::Block);
    assert_eq!(block.packed_bytes, weights + 4 * 4);
}

#[test]
fn pruning_by_magnitude_leaves_what_uniform_weights_predict() {
    // With weights uniform in ±1 the two largest of four keep, of E w² = 1/3, 2/5 and 4/15: the sum
    // of the two largest of E[u²₍ᵢ₎] = i (i + 1) / 30 is 32/30 of 40/30 in all; 10·log₁₀ 5 = 7.0 dB.
    let plain = case(ModelKind::Linear, Recipe::Baseline, Dtype::Float32, Shape::new(4, 512, 512));
    for (sparsity, expected) in [(Sparsity::SemiSparse, "7.0 dB"), (Sparsity::Block, "3.1 dB")] {
        let case = sparse(plain.clone(), Some(sparsity));
        let notes = forward(&case).unwrap().notes();
        assert!(notes[0].ends_with(expected), "{notes:?}");
    }
}

/// The gates of few bits are low, that of one bit below the 0 dB of silence; another input's output,
/// which is 3 dB below it, passes none.
#[test]
fn the_gates_of_intx_let_no_garbage_through() {
    for &dtype in Dtype::ALL {
        for asymmetric in [false, true] {
            let of = |bits| Recipe::Int8DynamicIntx { bits, group: 32, asymmetric };
            for bits in 1..=8 {
                let shape = Shape::new(16, 256, 64);
                let checked = prepared(ModelKind::Linear, of(bits), dtype, shape).check();
                assert!(checked.is_ok(), "{bits} bits {dtype}: {checked:?}");

                let gate = verify::min_sqnr_db(ModelKind::Linear, dtype, of(bits), 1024).unwrap();
                let mut case = case(ModelKind::Linear, of(8), dtype, shape);
                case.settings.tolerance.min_sqnr_db = Some(gate);
                let mut other = forward(&case).unwrap();
                other.input = other.input.flip([-1]);
                assert!(matches!(other.check(), Err(Refusal::Failed(_))), "{bits} bits {dtype}");
            }
        }
    }
}

#[test]
fn intx_and_fp6_pass_their_checks_in_every_model() {
    let recipes = ["int8_dynamic_activation_intx_weight-4-32-true", "fp6"];
    for recipe in recipes.map(|word| word.parse().unwrap()) {
        for model in ModelKind::all() {
            for dtype in [Dtype::BFloat16, Dtype::Float16] {
                let checked = prepared(model, recipe, dtype, Shape::new(2, 256, 256)).check();
                assert!(checked.is_ok(), "{model} {dtype} {recipe}: {checked:?}");
            }
        }
    }
}
