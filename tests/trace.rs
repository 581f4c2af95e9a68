//! Every model, pattern and operator under the tracer: what is recorded is what runs, or the reason why not is the one
//! that is written here.

use std::path::Path;
use std::process::Command;

use criterion_torch::native::trace::{Trace, trace};
use criterion_torch::refusal::Refusal;
use criterion_torch::{fusion, inputs, models, operators, recipes};
use plan::{
    Device, Dtype, FusionShape, FusionWork, Implementation, MemoryFormat, ModelKind, Operator,
    OperatorShape, OperatorWork, Pattern, PatternFamily, Recipe, Shape, Sparsity, Variant,
};
use tch::Tensor;

/// Roomy enough for every recipe.
const SHAPE: Shape = Shape::new(4, 256, 256);

/// A case by name, and what the tracer makes of it; not those that cannot run here.
struct Outcome {
    name: String,
    trace: Trace,
    forms: Vec<String>,
}

fn record(
    name: String,
    inputs: &[&Tensor],
    step: impl FnOnce() -> Result<Tensor, tch::TchError>,
) -> Option<Outcome> {
    let forms = inputs.iter().map(|it| form(it)).collect();
    match trace(inputs, step) {
        Ok(trace) => Some(Outcome { name, trace, forms }),
        Err(error) => { println!("ERR {name}: {}", error.to_string().lines().next().unwrap_or_default()); None }
    }
}

fn form(tensor: &Tensor) -> String {
    // Opaque layouts have none.
    let strides = if tensor.is_mkldnn() || tensor.is_sparse() { vec![] } else { tensor.stride() };
    format!("{:?}|{:?}|{:?}", tensor.kind(), tensor.size(), strides)
}

fn variants(recipe: Recipe) -> Vec<Variant> {
    let eager = Variant::eager(recipe);
    let packed = recipe.has_packed().then_some(Variant { packed: true, ..eager });
    let sparse = Sparsity::ALL.iter().filter(|it| it.pairs_with(recipe));
    let sparse = sparse.map(|&it| Variant { sparsity: Some(it), ..eager });
    [eager].into_iter().chain(packed).chain(sparse).collect()
}

fn model(variant: Variant, model: ModelKind, dtype: Dtype) -> Result<Option<Outcome>, Refusal> {
    for linear in plan::linears(model, SHAPE) {
        recipes::check(&recipes::Site { variant, device: Device::Cpu, dtype, linear })?;
    }
    let (mut parameters, input) = {
        let _drawing = inputs::seeded(7);
        let parameters = models::Parameters::random(model, SHAPE, dtype, tch::Device::Cpu)?;
        (parameters, inputs::random(model, SHAPE, dtype, tch::Device::Cpu)?)
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
    let name = format!("{variant} {model} {dtype}");
    Ok(record(name, &all, || built.forward(&input)))
}

fn held(inputs: &inputs::Inputs) -> Vec<Tensor> {
    inputs.examples.iter().chain(&inputs.parameters).map(Tensor::shallow_clone).collect()
}

fn pattern(work: FusionWork, dtype: Dtype) -> Result<Option<Outcome>, Refusal> {
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    let site = fusion::Site { work, dtype, device, place };
    fusion::check(&site)?;
    let drawn = {
        let _drawing = inputs::seeded(7);
        fusion::draw(&site)?
    };
    let held = held(&drawn);
    let step = fusion::build(&site, drawn)?;
    let name = format!("{} {} {} {dtype}", work.pattern, work.variant, work.size);
    Ok(record(name, &held.iter().collect::<Vec<_>>(), || step.run()))
}

fn operator(work: OperatorWork, dtype: Dtype) -> Result<Option<Outcome>, Refusal> {
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    let site = operators::Site { work, dtype, device, place };
    operators::check(&site)?;
    let drawn = {
        let _drawing = inputs::seeded(7);
        site.draw()?
    };
    let held = held(&drawn);
    let step = operators::build(&site, drawn)?;
    let name = format!("{} {} {dtype}", work.operator, work.implementation);
    Ok(record(name, &held.iter().collect::<Vec<_>>(), || step.run()))
}

#[test]
fn look() {
    let mut outcomes = vec![];
    for dtype in [Dtype::BFloat16, Dtype::Float32] {
        for recipe in Recipe::examples() {
            for variant in variants(recipe) {
                for kind in ModelKind::all() {
                    outcomes.push(model(variant, kind, dtype));
                }
            }
        }
        for &kind in Pattern::ALL {
            let size = match kind.family() {
                PatternFamily::Linear => FusionShape::Linear { m: 3, k: 64, n: 128 },
                PatternFamily::Attention => FusionShape::Attention { b: 2, heads: 2, s: 16, d: 8, causal: false },
                _ => FusionShape::Conv { b: 1, i: 16, o: 32, s: 8, memory_format: MemoryFormat::ALL[0] },
            };
            for &variant in kind.variants() {
                outcomes.push(pattern(FusionWork { pattern: kind, variant, size }, dtype));
            }
        }
        for &kind in Operator::ALL {
            for &implementation in kind.implementations() {
                if implementation == Implementation::Stream { continue; }
                let size = OperatorShape { batch_size: 2, sequence_length: 3, tensor_dimension: 48 };
                let work = OperatorWork { operator: kind, implementation, size, max_elements: 1 << 20 };
                outcomes.push(operator(work, dtype));
            }
        }
    }
    let dir = Path::new("/tmp/aoti-native/ts");
    std::fs::create_dir_all(dir).unwrap();
    let mut list = String::new();
    for (i, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Ok(None) => {}
            Ok(Some(it)) => {
                println!("{}: {} ops, constants {:?}, untraceable {:?}", it.name, it.trace.graph().matches("::").count(), it.trace.constants(), it.trace.untraceable());
                it.trace.save(&dir.join(format!("{i}.ts"))).unwrap();
                std::fs::write(dir.join(format!("{i}.txt")), it.trace.graph()).unwrap();
                list += &format!("{i}\t{}\t{}\n", it.name, it.forms.join(";"));
            }
            Err(refusal) => println!("refused: {refusal}"),
        }
    }
    std::fs::write(dir.join("list"), list).unwrap();
    let _ = Command::new("true").status();
}
