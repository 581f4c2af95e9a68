use plan::{Dtype, Float8Recipe, ModelKind, Recipe, Shape, TrainingSettings};
use tch::{Device, Kind};

use super::*;
use crate::native::autograd;
use crate::{inputs, models, recipes};

/// A layer that torch's autograd records.
struct Recorded(TrainedLinear);

impl TrainedLayer for Recorded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.0.forward_autograd(x)
    }

    fn backward(&self, _: &Tensor, _: &Tensor) -> Result<Gradients, TchError> {
        unreachable!("autograd runs the backward pass")
    }

    fn linear(&self) -> &TrainedLinear {
        &self.0
    }
}

const DTYPES: [Dtype; 4] = [Dtype::Float64, Dtype::Float32, Dtype::BFloat16, Dtype::Float16];

fn linear(recipe: Recipe, weight: Tensor) -> Result<TrainedLinear, Refusal> {
    let emulated = recipe == Recipe::Float8 { recipe: Float8Recipe::Rowwise };
    recipes::trained_with(recipe, &TrainingSettings::default(), emulated, weight)
}

/// Parameters with norms that are no ones, input and gradient of the output.
fn drawn(model: ModelKind, dtype: Dtype) -> (Vec<(String, Tensor)>, Tensor, Tensor) {
    let shape = Shape::new(16, 64, 48);
    let _drawing = inputs::seeded(7);
    let parameters = Parameters::random(model, shape, dtype, Device::Cpu).expect("drawn");
    let parameters = parameters.iter().map(|(name, tensor)| {
        let is_norm = tensor.dim() == 1;
        let tensor = if is_norm { tensor.rand_like() + 0.5 } else { tensor.copy() };
        (name.to_owned(), tensor)
    });
    let parameters = parameters.collect();
    let sizes = models::sizes(model, shape).expect("it has sizes");
    let input = inputs::normal(&sizes.input, dtype, Device::Cpu).expect("drawn");
    (parameters, input, inputs::normal(&sizes.output, dtype, Device::Cpu).expect("drawn"))
}

fn parameters(tensors: &[(String, Tensor)]) -> Parameters {
    let mut parameters = Parameters::default();
    tensors.iter().for_each(|(name, it)| parameters.insert(name, it.shallow_clone()));
    parameters
}

/// Demands that output and gradients of the explicit passes are those of autograd, to the bit.
fn same_as_autograd(model: ModelKind, recipe: Recipe, dtype: Dtype) {
    let what = format!("{model} {recipe} {dtype}");
    let (tensors, input, grad_output) = drawn(model, dtype);
    let explicit =
        train(model, parameters(&tensors), &mut |_, weight| Ok(Box::new(linear(recipe, weight)?)))
            .unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
    let passed = explicit.forward(&input).unwrap_or_else(|error| panic!("{what}: {error}"));
    let gradients = explicit.backward(&input, &passed.saved, &grad_output);
    let gradients = gradients.unwrap_or_else(|error| panic!("{what}: {error}"));

    let leaf = |tensor: &Tensor| tensor.copy().set_requires_grad(true);
    let leaves: Vec<_> = tensors.iter().map(|(name, it)| (name.clone(), leaf(it))).collect();
    let recorded = train(model, parameters(&leaves), &mut |_, weight| {
        Ok(Box::new(Recorded(linear(recipe, weight)?)))
    })
    .expect("built");
    let input = leaf(&input);
    let output = tch::with_grad(|| recorded.forward(&input)).expect("computed").output;
    assert!(output.detach().equal(&passed.output), "{what}: output");
    let weights: Vec<_> = recorded.layers().iter().map(|it| it.linear().weight()).collect();
    let inputs: Vec<_> = [&input].into_iter().chain(weights).chain(recorded.norms()).collect();
    let expected = autograd::gradients(&output, &grad_output, &inputs, false).expect("computed");
    let found = [gradients.input].into_iter().chain(gradients.parameters);
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!((found.size(), found.kind()), (expected.size(), expected.kind()), "{what}");
        let difference = (found.to_kind(Kind::Double) - expected.to_kind(Kind::Double)).abs().max();
        assert!(found.equal(expected), "{what}: gradient {at} differs by {difference}");
    }
}

#[test]
fn explicit_passes_have_the_bits_of_autograd() {
    let _off = tch::no_grad_guard();
    for model in ModelKind::all().filter(ModelKind::is_trained) {
        for dtype in DTYPES {
            same_as_autograd(model, Recipe::Baseline, dtype);
        }
        for recipe in [Float8Recipe::Tensorwise, Float8Recipe::Rowwise] {
            for dtype in [Dtype::Float32, Dtype::BFloat16] {
                same_as_autograd(model, Recipe::Float8 { recipe }, dtype);
            }
        }
    }
}

#[test]
fn a_model_without_a_backward_pass_says_so() {
    struct Forward;
    impl models::Architecture for Forward {
        fn sizes(&self, shape: Shape) -> plan::ModelSizes {
            plan::ModelSizes::plain(vec![], shape)
        }

        fn build(
            &self,
            _: Parameters,
            _: &mut models::MakeLayer<'_>,
        ) -> Result<Box<dyn models::Network>, Refusal> {
            unreachable!("it is not built")
        }
    }
    let make: &mut MakeTrained<'_> = &mut |_, _| unreachable!("it has no layer");
    let refused = models::Architecture::trained(&Forward, Parameters::default(), make);
    let Some(Refusal::Unsupported(reason)) = refused.err() else { panic!("it is unsupported") };
    assert!(reason.contains("Architecture::trained"), "{reason}");
}
