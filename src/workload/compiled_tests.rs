//! Compiled variants: what Inductor makes of every recipe, model, pattern and operator agrees with the
//! eager operations, or is refused for the reason written here.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use plan::{
    Activation, BlockFormat, Device, Dtype, Float8Recipe, FusionShape, FusionVariant, FusionWork,
    Implementation, MemoryFormat, Mode, ModelKind, Operator, OperatorShape, OperatorWork, Pass,
    Pattern, PatternFamily, Recipe, Shape, Sparsity, Variant, Work,
};

use super::*;
use crate::workload::testing::{case, work_mut};
use crate::workload::{eager, matrix_tests, preflight, prepare};

const MODE: CompileMode = CompileMode::Default;

/// Groups of 256, rows of 256 and eight heads fit; small, for what is compiled does not depend on it.
const SHAPE: Shape = Shape::new(4, 256, 256);

/// Whether there is a Python that compiles.
fn can_compile() -> bool {
    let Err(refusal) = compile::available(Device::Cpu) else { return true };
    crate::skip::tool(refusal);
    false
}

type Checked = Result<(Accuracy, Box<dyn Workload>), Refusal>;

/// Each case compiled, several at once, then checked.
fn checked(cases: &[Case]) -> Vec<Checked> {
    let traced = |case| {
        preflight(case).ok()?;
        job(case, MODE, &*eager(case).ok()?).ok()
    };
    let jobs: Vec<_> = cases.iter().filter_map(traced).collect();
    let next = Mutex::new(jobs.iter());
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(job) = next.lock().expect("nobody panics").next() else { return };
                    // A refusal is that of the case, below.
                    drop(job.compile());
                }
            });
        }
    });
    let check = |case| {
        let workload = prepare(case)?;
        Ok((workload.check()?, workload))
    };
    cases.iter().map(check).collect()
}

/// Demands of each case that it agrees with its eager twin, or is refused with these words.
fn agree_or_are_refused(cases: &[Case], constraint: impl Fn(&Case) -> Option<&'static str>) {
    let mut wrong = Vec::new();
    for (case, outcome) in cases.iter().zip(checked(cases)) {
        let id = case.full_id();
        match (outcome, constraint(case)) {
            (Ok((accuracy, workload)), None) => {
                let eager = accuracy.eager.expect("a compiled case is compared with eager");
                println!("{:7.1} {:7.1} dB  {id}", eager.sqnr_db.0, accuracy.sqnr_db.0);
                assert!(!workload.kernels().is_empty(), "{id}");
                let facts = workload.compilation().expect("it was compiled");
                assert!(facts.package_bytes > 0 && facts.seconds > 0.0, "{id}: {facts:?}");
            }
            (Err(Refusal::Unsupported(reason)), Some(words)) if reason.contains(words) => {
                println!("unsupported     {id}: {reason}");
            }
            (outcome, expected) => wrong.push(format!(
                "{id}: expected {expected:?}, found {:?}",
                outcome.map(|(accuracy, _)| accuracy)
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn compiled_model(model: ModelKind, variant: Variant, dtype: Dtype) -> Case {
    let mut case = case(model, variant.recipe, dtype, SHAPE);
    let variant = Variant { compile: Some(MODE), ..variant };
    work_mut(&mut case).variant = variant;
    case.id.variant = variant.to_string();
    case
}

fn variants() -> Vec<Variant> {
    let inference = Recipe::examples().filter(|recipe| recipe.takes(Mode::Inference));
    inference
        .flat_map(|recipe| {
            let eager = Variant::eager(recipe);
            let sparse = Sparsity::ALL.iter().filter(move |it| it.pairs_with(recipe));
            let sparse = sparse.map(move |&it| Variant { sparsity: Some(it), ..eager });
            std::iter::once(eager).chain(sparse)
        })
        .collect()
}

/// The words in which a recipe is refused on a CPU: those of its eager form, else those of the tracer.
fn constraint(case: &Case) -> Option<&'static str> {
    let work = case.work.model().expect("a model's");
    let eager = matrix_tests::constraint(case);
    eager.or(match (work.variant.recipe, work.variant.sparsity) {
        // A kernel of this project packs or multiplies, which the tracer does not see.
        (_, Some(Sparsity::SemiSparse)) | (Recipe::Gemlitewo { .. } | Recipe::Fp6, _) => {
            Some("this step cannot be traced: it reads what no operation of libtorch has written")
        }
        // Inductor fails on the rounding of activations to e2m1.
        (Recipe::BlockScaled { format, weight_only: false }, _) if format != BlockFormat::Mxfp8 => {
            Some("Inductor: DataDependentOutputException")
        }
        _ => None,
    })
}

#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_every_recipe_agrees_with_eager_or_is_refused_as_written() {
    if !can_compile() {
        return;
    }
    // Other groups, formats and solvers make the same operations.
    let is_like_another = |recipe| {
        matches!(recipe, Recipe::Int4wo { group, .. } if group != 64)
            || matches!(recipe, Recipe::BlockScaled { format, weight_only: true } if format != BlockFormat::Nvfp4)
            || recipe.has_solver()
    };
    let cases: Vec<Case> = variants()
        .into_iter()
        .filter(|variant| !is_like_another(variant.recipe))
        .map(|variant| compiled_model(ModelKind::Linear, variant, Dtype::BFloat16))
        .collect();
    agree_or_are_refused(&cases, constraint);
}

#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_every_model_and_dtype_agree_with_eager() {
    if !can_compile() {
        return;
    }
    // Each pair of a model, recipe and dtype occurs in the nightly test alone.
    let norm = ModelKind::LnLinear(Activation::Gelu);
    let cases = [
        (norm, Recipe::INT8DQ, Dtype::BFloat16),
        (norm, Recipe::INT8WO, Dtype::Float32),
        (ModelKind::TransformerBlock, Recipe::Baseline, Dtype::BFloat16),
        (ModelKind::TransformerBlock, Recipe::INT8WO, Dtype::BFloat16),
        (ModelKind::Linear, Recipe::Baseline, Dtype::Float16),
        (ModelKind::Linear, Recipe::INT8DQ, Dtype::Float32),
        (ModelKind::Linear, Recipe::INT8WO, Dtype::Float16),
    ];
    let cases =
        cases.map(|(model, recipe, dtype)| compiled_model(model, Variant::eager(recipe), dtype));
    agree_or_are_refused(&cases, constraint);
}

/// LayerNorm in other steps changes float32 results, which moves activations across the edges of int8
/// and back: whatever the seed, that is no failure.
#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_quantized_activations_agree_whatever_the_seed() {
    if !can_compile() {
        return;
    }
    let model = ModelKind::LnLinear(Activation::Relu);
    let of = |seed| {
        let mut case = compiled_model(model, Variant::eager(Recipe::INT8DQ), Dtype::Float32);
        let work = work_mut(&mut case);
        work.shape = Shape::new(256, 512, 512);
        case.settings.seed = seed;
        case
    };
    agree_or_are_refused(&(1..=3).map(of).collect::<Vec<_>>(), |_| None);
}

#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_a_weight_that_would_be_read_beyond_is_refused() {
    if !can_compile() {
        return;
    }
    let mut case =
        compiled_model(ModelKind::Linear, Variant::eager(Recipe::INT8WO), Dtype::BFloat16);
    work_mut(&mut case).shape = Shape::new(4, 40, 32);
    agree_or_are_refused(&[case], |_| Some("k = 40: Inductor makes `_weight_int8pack_mm`"));
}

#[test]
#[ignore = "nightly: some hundreds of compilations, an hour"]
fn nightly_recipes_of_every_model_in_every_dtype() {
    assert!(can_compile());
    let models = || ModelKind::all().collect::<Vec<_>>();
    let cases: Vec<Case> = variants()
        .into_iter()
        .flat_map(|variant| {
            Dtype::ALL.iter().flat_map(move |&dtype| {
                models().into_iter().map(move |model| compiled_model(model, variant, dtype))
            })
        })
        .collect();
    agree_or_are_refused(&cases, constraint);
}

fn compiled(work: Work, dtype: Dtype) -> Case {
    let mut case = case(ModelKind::Linear, Recipe::Baseline, dtype, SHAPE);
    case.id.group = match &work {
        Work::Fusion(work) => work.pattern.to_string(),
        Work::Operator(work) => work.operator.to_string(),
        Work::Model(_) | Work::Probe(_) | Work::Kernel(_) => {
            unreachable!("neither pattern nor operator")
        }
    };
    case.id.variant = work.variant();
    Case { work, ..case }
}

fn size(pattern: Pattern) -> FusionShape {
    match pattern.family() {
        PatternFamily::Linear => FusionShape::Linear { m: 4, k: 64, n: 96 },
        PatternFamily::Conv => {
            let memory_format = MemoryFormat::Contiguous;
            FusionShape::Conv { b: 2, i: 16, o: 32, s: 8, memory_format }
        }
        PatternFamily::Attention => {
            let causal = pattern != Pattern::QkScores;
            FusionShape::Attention { b: 2, s: 16, d: 64, heads: 2, causal }
        }
    }
}

fn patterns_and_operators() -> Vec<Case> {
    let (compile, bfloat16, float32) = (Some(MODE), Dtype::BFloat16, Dtype::Float32);
    let patterns = Pattern::ALL.iter().enumerate().map(|(index, &pattern)| {
        let variant = FusionVariant::Unfused;
        let work = FusionWork { pattern, variant, compile, size: size(pattern) };
        compiled(Work::Fusion(work), if index % 2 == 0 { bfloat16 } else { float32 })
    });
    let operators = Operator::ALL.iter().enumerate().map(|(index, &operator)| {
        let size = OperatorShape { batch_size: 2, sequence_length: 3, tensor_dimension: 96 };
        let (implementation, dtype) = match index % 2 {
            0 => (Implementation::Aten, bfloat16),
            _ => (Implementation::AtenComposed, float32),
        };
        let max_elements = size.elements();
        let work = OperatorWork { operator, implementation, compile, size, max_elements };
        compiled(Work::Operator(work), dtype)
    });
    patterns.chain(operators).collect()
}

#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_parts_of_training_agree_with_eager() {
    if !can_compile() {
        return;
    }
    let float8 = Recipe::Float8 { recipe: Float8Recipe::Tensorwise };
    let parts = [
        (ModelKind::Linear, Recipe::Baseline, Pass::Forward),
        (ModelKind::Linear, float8, Pass::ForwardBackward),
        (ModelKind::Linear, float8, Pass::Casts),
        (ModelKind::LnLinear(Activation::Relu), Recipe::Baseline, Pass::Backward),
        (ModelKind::LnLinear(Activation::Gelu), float8, Pass::ForwardBackward),
        (ModelKind::TransformerBlock, float8, Pass::Backward),
    ];
    let of_part = |(model, recipe, pass)| {
        let mut case = compiled_model(model, Variant::eager(recipe), Dtype::BFloat16);
        case.mode = Mode::Training;
        let work = work_mut(&mut case);
        work.pass = Some(pass);
        // Rows in multiples of 16, for which there are products.
        work.shape = Shape::new(16, 64, 32);
        case.id.parameter = format!("{pass}");
        case
    };
    let cases = parts.map(of_part);
    agree_or_are_refused(&cases, |_| None);
}

/// Views that a step has prepared, a convolution, attention; a norm, a composition, a loss.
#[test]
#[ignore = "nightly: Inductor compiles, minutes"]
fn nightly_some_patterns_and_operators_agree_with_eager() {
    if !can_compile() {
        return;
    }
    let some = ["linear_bias_gelu", "conv2d_bn_relu", "full_attention"];
    let others = ["layer_norm", "gelu", "cross_entropy"];
    let is_one = |case: &Case| some.iter().chain(&others).any(|it| case.id.group == *it);
    let cases: Vec<Case> = patterns_and_operators().into_iter().filter(is_one).collect();
    assert_eq!(cases.len(), 6);
    agree_or_are_refused(&cases, |_| None);
}

#[test]
#[ignore = "nightly: compilations, minutes"]
fn nightly_patterns_and_operators_agree_with_eager() {
    assert!(can_compile());
    agree_or_are_refused(&patterns_and_operators(), |_| None);
}
