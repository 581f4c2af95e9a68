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
    for model in ModelKind::all() {
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
