//! Training really trains: fifty steps of a small regression, with every recipe.

use plan::{Activation, Dtype, Mode, ModelKind, Recipe, Shape, TrainingSettings};
use tch::Tensor;

use super::parameters;
use crate::models::{self, Parameters, TrainedNetwork};
use crate::native::optimizer::{AdamW, AdamWOptions};
use crate::{inputs, recipes};

const STEPS: usize = 50;
const SHAPE: Shape = Shape { m: 128, k: 64, n: 32 };
const MODEL: ModelKind = ModelKind::LnLinear(Activation::Gelu);

fn network(seed: i64, recipe: Recipe, emulated: bool) -> Box<dyn TrainedNetwork> {
    let parameters = {
        let _drawing = inputs::seeded(seed);
        Parameters::random(MODEL, SHAPE, Dtype::BFloat16, tch::Device::Cpu).expect("drawn")
    };
    let settings = TrainingSettings::default();
    let built = models::train(MODEL, parameters, &mut |_, weight| {
        Ok(Box::new(recipes::trained_with(recipe, &settings, emulated, weight)?))
    });
    built.unwrap_or_else(|refusal| panic!("{recipe}: {refusal}"))
}

/// The mean squared error before the first step and after the last, for the outputs of another network of this kind.
fn losses(recipe: Recipe, emulated: bool) -> [f64; 2] {
    let input = {
        let _drawing = inputs::seeded(3);
        inputs::normal(&[SHAPE.m, SHAPE.k], Dtype::BFloat16, tch::Device::Cpu).expect("drawn")
    };
    let target = network(2, Recipe::Baseline, false).forward(&input).expect("computed").output;
    let student = network(1, recipe, emulated);
    let parameters = parameters(&*student);
    let mut optimizer = AdamW::new(AdamWOptions { lr: 3e-3, ..Default::default() });
    let loss =
        |error: &Tensor| error.to_kind(tch::Kind::Float).square().mean(None).double_value(&[]);
    let error = || student.forward(&input).expect("computed").output - &target;
    let first = loss(&error());
    for _ in 0..STEPS {
        let passed = student.forward(&input).expect("computed");
        let error = &passed.output - &target;
        let grad_output = &error * (2.0 / error.numel() as f64);
        let gradients = student.backward(&input, &passed.saved, &grad_output).expect("computed");
        let gradients: Vec<_> = gradients.parameters.iter().collect();
        optimizer.step(&parameters, &gradients).expect("updated");
    }
    [first, loss(&error())]
}

/// The distance that is promised, in parts of the loss that there is at first.
const DISTANCE: f64 = 0.02;

#[test]
fn fifty_steps_of_a_regression_stay_near_the_baseline() {
    let _off = tch::no_grad_guard();
    let [first, trained] = losses(Recipe::Baseline, false);
    assert!(trained < 0.1 * first, "the baseline learns: {first} to {trained}");
    let recipes: Vec<_> = Recipe::examples().filter(|it| it.takes(Mode::Training)).collect();
    assert!(recipes.len() >= 9, "{recipes:?}");
    for recipe in recipes {
        // A CPU has no products for it, and no other form of it.
        if recipe.to_string() == "mxfp8" {
            continue;
        }
        // In the form that runs on a CPU.
        let emulated = !matches!(
            recipe,
            Recipe::Baseline
                | Recipe::Float8dqTensor
                | Recipe::Float8 { recipe: plan::Float8Recipe::Tensorwise }
        );
        let [_, found] = losses(recipe, emulated);
        let distance = (found - trained).abs() / first;
        println!("{recipe}: {first:.4} to {found:.5}, the baseline to {trained:.5}: {distance:.4}");
        assert!(distance <= DISTANCE, "{recipe}: {distance}");
    }
}
