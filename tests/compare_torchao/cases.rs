//! Cases as configs make them.

use std::path::Path;

use plan::{Case, ModelWork, Work};

/// A case of each of these recipes, on a small layer; the baseline is always the first.
pub fn cases(recipes: &[String], keys: &str) -> Vec<Case> {
    expanded(recipes, keys, "false")
}

/// Like [`cases`], and behind each case its compiled sibling, in this mode.
pub fn with_compiled(recipes: &[String], keys: &str, mode: &str) -> Vec<Case> {
    expanded(recipes, keys, mode)
}

fn expanded(recipes: &[String], keys: &str, compile: &str) -> Vec<Case> {
    let shapes = "matrix_shapes: [{ name: custom, shapes: [[4, 256, 128]] }]";
    let recipes = recipes.join(", ");
    let text = format!(
        "quantization_config_recipe_names: [{recipes}]\n{keys}\n\
         model_params: {{ compile: {compile}, {shapes} }}"
    );
    let config = plan::Config::parse(Path::new("peer.yml"), &text).expect("a valid config");
    let plan = plan::expand(&[config]).expect("a valid plan");
    // torchao has no packed forms.
    plan.cases().filter(|case| !work(case).variant.packed).cloned().collect()
}

pub fn work(case: &Case) -> &ModelWork {
    case.work.model().expect("a case of a model")
}

pub fn work_mut(case: &mut Case) -> &mut ModelWork {
    match &mut case.work {
        Work::Model(work) => work,
        other => panic!("no case of a model: {other:?}"),
    }
}
