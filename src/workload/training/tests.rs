use plan::{Dtype, Float8Recipe, Mode, ModelKind, Recipe, Shape, TrainingSettings};

use super::*;
use crate::workload::prepare;
use crate::workload::testing::{case, work_mut};

/// A case of training on the CPU.
fn training(model: ModelKind, recipe: Recipe, pass: Pass, dtype: Dtype, shape: Shape) -> Case {
    let mut case = case(model, recipe, dtype, shape);
    case.mode = Mode::Training;
    case.settings.training = Some(TrainingSettings::default());
    let work = work_mut(&mut case);
    work.pass = Some(pass);
    work.variant.emulated = matches!(
        recipe,
        Recipe::Float8 { recipe: Float8Recipe::Rowwise | Float8Recipe::RowwiseWithGwHp }
            | Recipe::Float8dqRow
    );
    case
}

fn prepared(case: &Case) -> Box<dyn Workload> {
    prepare(case).unwrap_or_else(|refusal| panic!("{case:?}: {refusal}"))
}

const SHAPE: Shape = Shape { m: 32, k: 64, n: 48 };

/// Every recipe that is trained on a CPU, without those of blocks.
fn recipes() -> Vec<Recipe> {
    let float8 = Float8Recipe::ALL.iter().map(|&recipe| Recipe::Float8 { recipe });
    [Recipe::Baseline, Recipe::Float8dqTensor, Recipe::Float8dqRow]
        .into_iter()
        .chain(float8)
        .collect()
}

/// Prints the lowest ratios above the linear layer's gates. `SEEDS=40` gives those that the shifts of models were chosen
/// from.
#[test]
fn every_part_of_every_model_passes_its_gates() {
    let seeds: i64 = std::env::var("SEEDS").map_or(1, |text| text.parse().expect("a number"));
    let mut lowest = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for model in ModelKind::all().filter(ModelKind::is_trained) {
        for recipe in recipes() {
            for dtype in [Dtype::Float32, Dtype::BFloat16, Dtype::Float16] {
                for seed in 0..seeds {
                    let mut case = training(model, recipe, Pass::ForwardBackward, dtype, SHAPE);
                    case.settings.seed = seed;
                    match prepared(&case).check() {
                        Ok(accuracy) => {
                            for it in accuracy.tensors {
                                let margin = it.sqnr_db.0 - it.min_sqnr_db;
                                let kind = it.name.split('_').take(2).collect::<Vec<_>>().join("_");
                                let found = lowest
                                    .entry((model.to_string(), format!("{recipe} {dtype} {kind}")))
                                    .or_insert(f64::INFINITY);
                                *found = found.min(margin);
                            }
                        }
                        Err(refusal) => wrong.push(format!("{model} {recipe} {dtype}: {refusal}")),
                    }
                }
            }
        }
    }
    for ((model, what), margin) in &lowest {
        println!("{margin:6.1} {model} {what}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const PASSES: &[Pass] = Pass::ALL;

#[test]
fn every_part_runs_and_is_checked() {
    for model in [ModelKind::Linear, ModelKind::TransformerBlock] {
        for recipe in recipes() {
            for &pass in PASSES {
                let case = training(model, recipe, pass, Dtype::BFloat16, SHAPE);
                let what = format!("{model} {recipe} {pass}");
                let workload = prepared(&case);
                drop(tch::no_grad(|| workload.step()).unwrap_or_else(|it| panic!("{what}: {it}")));
                let accuracy = workload.check().unwrap_or_else(|it| panic!("{what}: {it}"));
                let names: Vec<_> = accuracy.tensors.iter().map(|it| it.name.as_str()).collect();
                let parameters = if model == ModelKind::Linear { 1 } else { 6 };
                let expected = match pass {
                    Pass::Forward => 1,
                    Pass::Backward => 1 + parameters,
                    _ => 2 + parameters,
                };
                assert_eq!(names.len(), expected, "{what}: {names:?}");
                assert_eq!(names[0] == "output", pass != Pass::Backward, "{what}: {names:?}");
                workload.recheck().unwrap_or_else(|it| panic!("{what}: {it}"));
                assert!(workload.inputs_bytes() > 0 && workload.weights_bytes() > 0, "{what}");
            }
        }
    }
}

#[test]
fn a_wrong_gradient_fails_by_its_name() {
    let case = training(ModelKind::Linear, Recipe::Baseline, Pass::Backward, Dtype::Float32, SHAPE);
    let training = Training::prepare(&case, work_mut(&mut case.clone())).expect("prepared");
    let tensors = tch::no_grad(|| training.run()).expect("computed");
    assert!(training.judge(&tensors).is_ok());
    let wrong = [tensors[0].shallow_clone(), &tensors[1] * 1.1];
    let said = training.judge(&wrong).expect_err("a tenth too large").to_string();
    assert!(said.contains("grad_weight: inaccurate: 20.0 dB"), "{said}");
    let broken = [&tensors[0] * f64::NAN, tensors[1].shallow_clone()];
    let said = training.judge(&broken).expect_err("no numbers").to_string();
    assert!(said.contains("grad_input: 2048 of 2048 outputs are NaN"), "{said}");
    assert!(training.judge(&tensors[..1]).is_err());
}

#[test]
fn autograd_computes_what_the_explicit_parts_compute() {
    for model in ModelKind::all().filter(ModelKind::is_trained) {
        for recipe in [Recipe::Baseline, Recipe::Float8 { recipe: Float8Recipe::Tensorwise }] {
            for pass in [Pass::Forward, Pass::Backward, Pass::ForwardBackward] {
                let explicit = training(model, recipe, pass, Dtype::BFloat16, SHAPE);
                let mut recorded = explicit.clone();
                work_mut(&mut recorded).variant.autograd = true;
                let run = |case: &Case| {
                    let training = Training::prepare(case, work_mut(&mut case.clone()));
                    let training = training.unwrap_or_else(|it| panic!("{model} {recipe}: {it}"));
                    // The graph of a backward pass is run again and again.
                    drop(tch::no_grad(|| training.run()).expect("computed"));
                    (tch::no_grad(|| training.run()).expect("computed"), training.saved_bytes)
                };
                let ((expected, explicit_saves), (found, saves)) = (run(&explicit), run(&recorded));
                let count = if pass == Pass::Forward { 1 } else { expected.len() };
                assert_eq!(found.len(), count);
                for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    assert!(found.equal(expected), "{model} {recipe} {pass}: tensor {at}");
                }
                assert!(saves <= explicit_saves + 64, "{model}: {saves} {explicit_saves}");
            }
        }
    }
}

#[test]
fn saved_bytes_are_those_of_the_activations_that_backward_reads() {
    let Shape { m, k, n } = SHAPE;
    let saved = |model| {
        let case = training(model, Recipe::Baseline, Pass::Forward, Dtype::Float32, SHAPE);
        prepared(&case).saved_bytes().expect("training")
    };
    let input = 4 * m * k;
    assert_eq!(saved(ModelKind::Linear), input);
    // The normed input with its statistics; of ReLU the output, of GELU its input.
    let normed = input + 4 * (m * k + 2 * m);
    assert_eq!(saved(ModelKind::LnLinear(plan::Activation::Relu)), normed);
    assert_eq!(saved(ModelKind::LnLinear(plan::Activation::Gelu)), normed + 4 * m * n);
}

#[test]
fn updates_move_the_weights_and_are_undone() {
    for pass in [Pass::StepSgd, Pass::StepAdamw] {
        let case = training(ModelKind::Linear, Recipe::Baseline, pass, Dtype::Float32, SHAPE);
        let training = Training::prepare(&case, work_mut(&mut case.clone())).expect("prepared");
        let weight = || parameters(&*training.passes.network)[0].copy();
        let first = weight();
        for _ in 0..20 {
            drop(tch::no_grad(|| training.run()).expect("computed"));
        }
        let moved = (weight() - &first).abs().max().double_value(&[]);
        assert!(moved > 1e-6 && moved < 0.1, "{pass}: {moved}");
        training.undo().expect("undone");
        assert!(weight().equal(&first), "{pass}");
        // Momentum, or two averages and a number of steps.
        let state = if pass == Pass::StepSgd { 1 } else { 2 };
        let bytes = 4 * SHAPE.k * SHAPE.n * (1 + state) + if state == 2 { 4 } else { 0 };
        assert_eq!(training.weights_bytes(), bytes, "{pass}");
    }
}

#[test]
fn casts_without_any_are_refused() {
    let recipe = Recipe::Float8dqTensor;
    let mut case = training(ModelKind::Linear, recipe, Pass::Casts, Dtype::Float32, SHAPE);
    let settings = case.settings.training.as_mut().expect("of training");
    settings.scaling_type_input = plan::ScalingType::Disabled;
    settings.scaling_type_weight = plan::ScalingType::Disabled;
    settings.scaling_type_grad_output = plan::ScalingType::Disabled;
    let refused = prepare(&case).err().expect("there are none").to_string();
    assert_eq!(refused, "unsupported: casts: with these scaling types nothing is cast");
    work_mut(&mut case).pass = Some(Pass::ForwardBackward);
    assert!(prepared(&case).check().is_ok());
}

#[test]
fn parts_are_displaced_as_a_whole() {
    for &pass in PASSES {
        let recipe = Recipe::Float8 { recipe: Float8Recipe::Tensorwise };
        let case = training(
            ModelKind::LnLinear(plan::Activation::Gelu),
            recipe,
            pass,
            Dtype::Float32,
            SHAPE,
        );
        let training = Training::prepare(&case, work_mut(&mut case.clone())).expect("prepared");
        let run = || tch::no_grad(|| training.run()).expect("computed");
        training.undo().expect("undone");
        let before: Vec<_> = run().iter().map(Tensor::copy).collect();
        let displaced = training.rebuild().expect("moved").expect("it has tensors");
        assert!(displaced.bytes > 0, "{pass}");
        training.undo().expect("undone");
        for (before, after) in before.iter().zip(run()) {
            assert!(before.equal(&after), "{pass}");
        }
    }
}
