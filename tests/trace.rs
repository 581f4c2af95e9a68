//! Every model, pattern and operator of the CPU under the tracer: what is recorded is what runs, or the reason why not is
//! the one that is written here.

use criterion_torch::kernel::{Computation, KernelContext, Shipped};
use criterion_torch::native::trace::trace;
use criterion_torch::refusal::Refusal;
use criterion_torch::{inputs, models, recipes};
use plan::{
    Device, Dtype, FusionShape, FusionVariant, FusionWork, Implementation, MemoryFormat, Mode,
    ModelKind, Operator, OperatorShape, OperatorWork, Pattern, PatternFamily, Recipe, Shape,
    Sparsity, Variant,
};
use tch::Tensor;

/// Roomy enough for every recipe.
const SHAPE: Shape = Shape::new(4, 256, 256);

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The graph is what it does, and reads its inputs alone.
    Traced,
    /// It reads tensors that were made beforehand: views, folded weights, outputs.
    Constants,
    /// A kernel that is not libtorch's writes what it reads.
    Unwritten,
    /// libtorch's tracer has no way to write it down.
    Refused,
}

fn verdict(
    what: &str,
    inputs: &[&Tensor],
    step: impl FnOnce() -> Result<Tensor, Refusal>,
) -> Verdict {
    let trace = match trace(inputs, step) {
        Ok(trace) => trace,
        Err(error) => {
            let error = error.to_string();
            // Prepacked weights and the arguments of an activation.
            let known = ["Unsupported value kind: Tensor", "unsupported input list type: Scalar?"];
            assert!(known.iter().any(|it| error.contains(it)), "{what}: {error}");
            return Verdict::Refused;
        }
    };
    match trace.untraceable() {
        Some(reason) => {
            let unwritten = "it reads what no operation of libtorch has written";
            assert!(reason.starts_with(unwritten), "{what}: {reason}");
            Verdict::Unwritten
        }
        None if trace.constants().is_empty() => Verdict::Traced,
        None => Verdict::Constants,
    }
}

fn variants(recipe: Recipe) -> Vec<Variant> {
    let eager = Variant::eager(recipe);
    let packed = recipe.has_packed().then_some(Variant { packed: true, ..eager });
    let sparse = Sparsity::ALL.iter().filter(|it| it.pairs_with(recipe));
    let sparse = sparse.map(|&it| Variant { sparsity: Some(it), ..eager });
    [eager].into_iter().chain(packed).chain(sparse).collect()
}

fn model(variant: Variant, model: ModelKind, dtype: Dtype) -> Result<Verdict, Refusal> {
    let sizes = models::sizes(model, SHAPE)?;
    for &linear in &sizes.linears {
        recipes::check(&recipes::LayerContext { variant, device: Device::Cpu, dtype, linear })?;
    }
    let (mut parameters, input) = {
        let _drawing = inputs::seeded(7);
        let parameters = models::Parameters::random(model, SHAPE, dtype, tch::Device::Cpu)?;
        (parameters, inputs::normal(&sizes.input, dtype, tch::Device::Cpu)?)
    };
    if let Some(sparsity) = variant.sparsity {
        parameters.prune(model, SHAPE, sparsity)?;
    }
    let built = models::build(model, parameters, &mut |name, weight| {
        recipes::named_layer(variant, name, weight)
    })?;
    let layers = built.layers();
    let mut all = vec![&input];
    all.extend(layers.iter().flat_map(|layer| layer.tensors()));
    all.extend(built.norms());
    Ok(verdict(&format!("{variant} {model} {dtype}"), &all, || Ok(built.forward(&input, None)?)))
}

fn kernel(work: impl Shipped, dtype: Dtype) -> Result<Verdict, Refusal> {
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    let context = KernelContext { work, dtype, device, torch_device: place, threads: 1, seed: 7 };
    context.check()?;
    let drawn = context.inputs()?;
    let drawn_tensors = drawn.tensors();
    let mut step = context.build(drawn)?;
    let read = step.reads.take().unwrap_or(drawn_tensors);
    let what = context.unsupported(dtype.as_str()).to_string();
    Ok(verdict(&what, &read.iter().collect::<Vec<_>>(), || step.run()))
}

/// Refused for another reason than the tracer's: the matrix of workloads has these.
fn cannot_run(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Unsupported(_))
}

fn inference() -> impl Iterator<Item = Recipe> {
    Recipe::examples().filter(|recipe| recipe.takes(Mode::Inference))
}

#[test]
#[ignore = "long: traces every model, seconds"]
fn models_are_traced_where_libtorch_does_the_work() {
    let mut traced = 0;
    for dtype in [Dtype::BFloat16, Dtype::Float32] {
        for variant in inference().flat_map(variants) {
            // Kernels of this project: on a CPU, libtorch has no 2:4 sparsity and no such packings.
            let own = variant.sparsity == Some(Sparsity::SemiSparse)
                || matches!(variant.recipe, Recipe::Gemlitewo { .. } | Recipe::Fp6);
            let expected = if own { Verdict::Unwritten } else { Verdict::Traced };
            for kind in [ModelKind::Linear, ModelKind::TransformerBlock] {
                match model(variant, kind, dtype) {
                    Ok(found) => assert_eq!(found, expected, "{variant} {kind} {dtype}"),
                    Err(refusal) => assert!(cannot_run(&refusal), "{variant}: {refusal}"),
                }
                traced += usize::from(!own);
            }
        }
    }
    assert!(traced > 40, "{traced}");
}

fn expected_of(pattern: Pattern, variant: FusionVariant) -> Verdict {
    let linear_or_scores = pattern.family() == PatternFamily::Linear
        || matches!(pattern, Pattern::QkScores | Pattern::QkSoftmax);
    match (pattern, variant) {
        // The step says which views it reads.
        (_, FusionVariant::Unfused) => Verdict::Traced,
        (_, FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused)
        | (Pattern::Conv2dRelu | Pattern::Conv2dBnRelu, FusionVariant::Fused) => Verdict::Refused,
        (_, FusionVariant::OnednnGraph) => Verdict::Unwritten,
        // A transposed weight or K, or the folded weights of a convolution.
        (Pattern::Conv2dBn, FusionVariant::Fused)
        | (Pattern::Conv2dBnRelu, FusionVariant::Folded) => Verdict::Constants,
        (Pattern::FullAttention, _) => match variant.to_string().as_str() {
            "baddbmm" | "sdpa-3d" => Verdict::Constants,
            _ => Verdict::Traced,
        },
        _ if linear_or_scores => Verdict::Constants,
        _ => Verdict::Traced,
    }
}

#[test]
fn patterns_that_prepare_tensors_show_them() {
    for dtype in [Dtype::BFloat16, Dtype::Float32] {
        for &kind in Pattern::ALL {
            let memory_format = MemoryFormat::ALL[0];
            let size = match kind.family() {
                PatternFamily::Linear => FusionShape::Linear { m: 3, k: 64, n: 128 },
                PatternFamily::Attention => {
                    FusionShape::Attention { b: 2, heads: 2, s: 16, d: 8, causal: false }
                }
                _ => FusionShape::Conv { b: 1, i: 16, o: 32, s: 8, memory_format },
            };
            for &variant in kind.variants() {
                match kernel(FusionWork { pattern: kind, variant, compile: None, size }, dtype) {
                    Ok(found) => {
                        assert_eq!(found, expected_of(kind, variant), "{kind} {variant} {dtype}");
                    }
                    Err(refusal) => assert!(cannot_run(&refusal), "{kind} {variant}: {refusal}"),
                }
            }
        }
    }
}

#[test]
fn operators_are_traced_but_for_own_kernels_and_outputs() {
    let size = OperatorShape { batch_size: 2, sequence_length: 3, tensor_dimension: 48 };
    for dtype in [Dtype::BFloat16, Dtype::Float32] {
        for &kind in Operator::ALL {
            for &implementation in kind.implementations() {
                let expected = match (kind, implementation) {
                    // No computation: what it does to memory is the point.
                    (_, Implementation::Stream) => continue,
                    (_, Implementation::Rust) => Verdict::Unwritten,
                    // Outputs made beforehand.
                    (_, Implementation::AtenOut) => Verdict::Constants,
                    _ => Verdict::Traced,
                };
                let max_elements = 1 << 20;
                let compile = None;
                let work =
                    OperatorWork { operator: kind, implementation, compile, size, max_elements };
                match kernel(work, dtype) {
                    Ok(found) => assert_eq!(found, expected, "{kind} {implementation} {dtype}"),
                    Err(refusal) => {
                        assert!(cannot_run(&refusal), "{kind} {implementation}: {refusal}");
                    }
                }
            }
        }
    }
}
