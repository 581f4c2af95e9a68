//! Recipes and models that a bench target brings: what is asked of them, and what is refused.

use plan::{Case, Dtype, LinearShape, ModelKind, ModelSizes, Recipe, Shape, Sparsity};
use serde::de::DeserializeOwned;
use tch::{TchError, Tensor};

use super::generated::{self, Architecture, Scheme, UserDefinition, number};
use super::{Refusal, prepare, testing};
use crate::models::{MakeLayer, Network, Parameters};
use crate::recipes::LinearLayer;

/// Keeps the weight, and writes into an output only where it says so.
struct Kept {
    parts: i64,
}

impl Scheme for Kept {
    fn check(&self, context: &crate::recipes::LayerContext) -> Result<(), String> {
        match context.linear.k % self.parts.unsigned_abs() {
            0 => Ok(()),
            _ => Err(format!("k = {}, but {} parts", context.linear.k, self.parts)),
        }
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(Layer(weight)))
    }

    fn writes_out(&self) -> bool {
        self.parts != 2
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        90.0
    }
}

struct Layer(Tensor);

impl LinearLayer for Layer {
    /// Forgets the output.
    fn forward(&self, x: &Tensor, _out: Option<&Tensor>) -> Result<Tensor, TchError> {
        x.f_linear(&self.0, None::<&Tensor>)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.0]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::linear"]
    }
}

/// `Linear(k, n)`, which says that it has so many features.
struct Claims {
    features: u64,
}

impl Architecture for Claims {
    fn sizes(&self, shape: Shape) -> ModelSizes {
        let Shape { m, k, n } = shape;
        let linears = vec![LinearShape { name: "fc", rows: m, k, n }];
        ModelSizes { output: vec![m, self.features], ..ModelSizes::plain(linears, shape) }
    }

    fn ends_with_linear(&self) -> bool {
        true
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        Ok(Box::new(Claimed(make("fc", parameters.take_weight("fc")?)?)))
    }
}

struct Claimed(Box<dyn LinearLayer>);

impl Network for Claimed {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        self.0.forward(input, out)
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.0]
    }
}

const RECIPES: &[UserDefinition<dyn Scheme>] = &[UserDefinition {
    spelling: "kept-<parts>",
    make: |numbers| Ok(Box::new(Kept { parts: number(numbers, 0)? })),
}];
const MODELS: &[UserDefinition<dyn Architecture>] = &[UserDefinition {
    spelling: "claims-<features>",
    make: |numbers| Ok(Box::new(Claims { features: number(numbers, 0)? })),
}];

/// A word as it stands in a plan.
fn word<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).expect("a word")
}

fn case(model: &str, recipe: &str) -> Case {
    generated::register(RECIPES, MODELS, &[]);
    let (model, recipe): (ModelKind, Recipe) = (word(model), word(recipe));
    testing::case(model, recipe, Dtype::Float32, Shape::new(4, 8, 6))
}

fn refusal(case: &Case) -> Refusal {
    match prepare(case) {
        Err(refusal) => refusal,
        Ok(workload) => workload.check().expect_err("something is wrong"),
    }
}

#[test]
fn the_numbers_of_a_word_reach_its_file() {
    let workload = prepare(&case("claims-6", "kept-4")).unwrap_or_else(|it| panic!("{it}"));
    workload.check().unwrap_or_else(|it| panic!("{it}"));
    let facts = workload.model().expect("a package's model has facts");
    assert_eq!((facts.flops, facts.output_elements), (2 * 4 * 8 * 6, 4 * 6));
    assert_eq!(workload.weights_bytes(), 8 * 6 * 4);
    let built_in = prepare(&case("linear", "kept-4")).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(built_in.model(), None, "the case says it all");
    assert_eq!(
        refusal(&case("linear", "kept-3")),
        Refusal::Unsupported("recipe `kept-3`, layer `linear1`: k = 8, but 3 parts".to_owned())
    );
}

#[test]
fn a_word_without_its_file_is_refused() {
    for (model, recipe, what) in [
        ("linear", "forgotten", "recipe `forgotten`"),
        ("forgotten", "kept-4", "model `forgotten`"),
    ] {
        let Refusal::Failed(why) = refusal(&case(model, recipe)) else { panic!("{model}") };
        assert!(why.starts_with(&format!("{what} is known only to the bench target")), "{why}");
    }
}

#[test]
fn what_a_file_says_of_itself_is_checked() {
    let mut given = case("claims-6", "kept-4");
    testing::work_mut(&mut given).variant.preallocated = true;
    let mut refused = case("claims-6", "kept-2");
    testing::work_mut(&mut refused).variant.preallocated = true;
    let mut sparse = case("claims-6", "kept-4");
    testing::work_mut(&mut sparse).variant.sparsity = Some(Sparsity::SemiSparse);
    for (case, status, what) in [
        (case("claims-7", "kept-4"), "failed", "its output is [4, 6], but its sizes say [4, 7]"),
        (given, "failed", "its output is not in the tensor that it was given"),
        (refused, "unsupported", "out: the last operation of recipe `kept-2` has no form"),
        (
            sparse,
            "unsupported",
            "recipe `kept-4`, layer `fc`: this recipe has no semi-sparse layout",
        ),
    ] {
        let refusal = refusal(&case).to_string();
        assert!(refusal.starts_with(&format!("{status}: {what}")), "{refusal}");
    }
}
