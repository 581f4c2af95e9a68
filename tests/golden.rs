//! Recipes and models against fixtures that torchao 0.17 computed on torch 2.11 (some
//! by its other versions); `golden/README.md` has each formula.
//!
//! Exact to the last bit: quantized integers, scales and zero points, of weights and activations, and the
//! casts of training, because element-wise operations round the same way on every instruction set; the outputs of an
//! int8dq linear layer, because integer sums do not round; weights from a seed.
//!
//! Within rounding: outputs of floating-point matrix products, because the order of their sums,
//! and so their last bits, change with the instruction set and the blocking of the machine's GEMM;
//! norms and activations, whose sums and functions are vectorized differently; and what a model
//! computes from any of these.
//!
//! `GOLDEN_DIR` names another folder of fixtures.

#[path = "golden/compare.rs"]
mod compare;
#[path = "golden/fixture.rs"]
mod fixture;
#[path = "golden/linear.rs"]
mod linear;
#[path = "common/skip.rs"]
mod skip;
#[path = "golden/training.rs"]
mod training;

use std::cell::RefCell;
use std::rc::Rc;

use criterion_torch::models::{self, Network, Parameters};
use criterion_torch::recipes::{self, LinearLayer};
use criterion_torch::{inputs, refusal::Refusal};
use fixture::Fixture;
use plan::{DecoderBlock, Dtype, ModelKind, Recipe, Variant};
use tch::{Device, Kind, TchError, Tensor};

/// On a machine where they are not, int8dq is refused, and its outputs cannot be those of the
/// fixtures.
fn integer_products_are_exact() -> bool {
    let exact = recipes::integer_products_are_exact().unwrap();
    if !exact {
        skip::hardware("this CPU's int8 products saturate (no VNNI)");
    }
    exact
}

/// Models that torchao does not have.
const OURS: &[ModelKind] =
    &[ModelKind::Decoder(DecoderBlock::EXAMPLES[0]), ModelKind::Decoder(DecoderBlock::EXAMPLES[1])];

/// The fixtures of models, one at the least of each in our own folder; another may hold none.
fn model_fixtures() -> Vec<Fixture> {
    let fixtures = Fixture::all("model");
    if !Fixture::elsewhere() {
        for model in ModelKind::all().filter(|it| !OURS.contains(it)) {
            let found = fixtures.iter().any(|fixture| model_of(fixture).0 == model);
            assert!(found, "no fixture of {model}");
        }
    }
    fixtures
}

#[test]
fn models_agree_stage_by_stage() {
    for fixture in model_fixtures() {
        let (model, stages) = recording(&fixture, Recipe::Baseline);
        let output = model.forward(fixture.tensor("input"), None).unwrap();
        for (name, found) in stages.borrow().iter() {
            fixture.expect_rounding(&format!("stage.{name}"), found, 4.0);
        }
        fixture.expect_rounding("output", &output, 4.0);
    }
}

#[test]
fn quantized_models_agree() {
    for fixture in model_fixtures() {
        for recipe in [Recipe::INT8WO, Recipe::INT8DQ, Recipe::Float8wo] {
            if recipe == Recipe::INT8DQ && !integer_products_are_exact() {
                continue;
            }
            let (model, _) = recording(&fixture, recipe);
            let output = model.forward(fixture.tensor("input"), None).unwrap();
            let name = format!("output_{recipe}");
            fixture.expect_rounding(&name, &output, 4.0);
            // Four roundings are more than quantizing changes in some models.
            let far = fixture.distance(&name, fixture.tensor("output"));
            let near = fixture.distance(&name, &output);
            let what = "from torchao's output, and that is";
            assert!(
                near < far / 2.0,
                "{fixture}: {recipe}: {near:.1e} {what} {far:.1e} from unquantized"
            );
        }
    }
}

#[test]
fn models_follow_the_dtype_of_their_input() {
    for fixture in model_fixtures() {
        let (kind, parameters) = model_of(&fixture);
        let mut wide = Parameters::default();
        for (name, tensor) in parameters.iter() {
            wide.insert(name, tensor.to_kind(Kind::Float));
        }
        let model = build(kind, wide, Recipe::Baseline);
        let output = model.forward(&fixture.tensor("input").to_kind(Kind::Float), None).unwrap();
        fixture.expect_rounding("output_f32", &output, 16.0);
    }
}

/// One seed gives torch's own parameters and input. `linear` is left out: since 0.17 upstream draws
/// that weight in bfloat16 rather than in float32. So are the norms' weights, which the fixtures
/// replace by random ones.
#[test]
fn a_seed_gives_upstreams_weights_and_input() {
    for fixture in model_fixtures() {
        let (model, _) = model_of(&fixture);
        let _drawing = inputs::seeded(fixture.text("seed").parse().unwrap());
        let parameters =
            Parameters::random(model, fixture.shape(), Dtype::BFloat16, Device::Cpu).unwrap();
        let sizes = models::sizes(model, fixture.shape()).unwrap();
        let input = inputs::normal(&sizes.input, Dtype::BFloat16, Device::Cpu).unwrap();
        fixture.expect_rounding("input", &input, 1.0);
        for (name, found) in parameters.iter() {
            if model != ModelKind::Linear && !name.starts_with("norm") {
                fixture.expect_bits(&format!("param.{name}"), found);
            }
        }
    }
}

fn model_of(fixture: &Fixture) -> (ModelKind, Parameters) {
    let mut parameters = Parameters::default();
    for (name, tensor) in fixture.tensors("param.") {
        parameters.insert(name, tensor.shallow_clone());
    }
    (fixture.text("recipe").parse().unwrap(), parameters)
}

fn build(kind: ModelKind, parameters: Parameters, recipe: Recipe) -> Box<dyn Network> {
    models::build(kind, parameters, &mut |_, weight| recipes::layer(Variant::eager(recipe), weight))
        .unwrap()
}

type Stages = Rc<RefCell<Vec<(String, Tensor)>>>;

/// A layer that keeps what goes in and comes out, under the names of the fixtures' stages.
struct Recording {
    layer: Box<dyn LinearLayer>,
    name: String,
    stages: Stages,
}

impl LinearLayer for Recording {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let y = self.layer.forward(x, out)?;
        let before = match self.name.as_str() {
            "fc" => Some("ln"),
            "qkv" => Some("norm1"),
            "mlp_fc1" => Some("norm2"),
            "mlp_fc2" => Some("activation"),
            _ => None,
        };
        let mut stages = self.stages.borrow_mut();
        stages.extend(before.map(|name| (name.to_owned(), x.shallow_clone())));
        if self.name != "linear1" {
            stages.push((self.name.clone(), y.shallow_clone()));
        }
        Ok(y)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.layer.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        self.layer.kernels()
    }
}

fn recording(fixture: &Fixture, recipe: Recipe) -> (Box<dyn Network>, Stages) {
    let stages = Stages::default();
    let (kind, parameters) = model_of(fixture);
    let model = models::build(kind, parameters, &mut |name, weight| {
        let layer = recipes::layer(Variant::eager(recipe), weight)?;
        let recording = Recording { layer, name: name.to_owned(), stages: Rc::clone(&stages) };
        Ok::<Box<dyn LinearLayer>, Refusal>(Box::new(recording))
    });
    (model.unwrap(), stages)
}
