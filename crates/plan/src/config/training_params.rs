//! Configs of training: torchao's keys, and which parts of a step are measured. A part of a model's step at a
//! shape is measured in its variants: recipe × autograd × compilation.

use super::model::refuse;
use super::node::{Fields, Node};
use crate::settings::TrainingSettings;
use crate::words::{Mode, Pass, Recipe, ScalingGranularity, ScalingType, Sparsity};

/// torchao's keys.
pub(super) const KEYS: &[&str] =
    &[TYPES[0], TYPES[1], TYPES[2], GRANULARITY, "use_fast_accum", "repeat_n"];

const TYPES: [&str; 3] = ["scaling_type_input", "scaling_type_weight", "scaling_type_grad_output"];
const GRANULARITY: &str = "scaling_granularity";

/// Our own, allowed in an entry, too.
pub(super) const OWN_KEYS: &[&str] = &["passes", "autograd"];

/// Settings that a training config has for all models.
#[derive(Debug, Clone)]
pub(super) struct Training {
    pub(super) settings: TrainingSettings,
    pub(super) passes: Vec<Pass>,
    /// Whether each eager variant gets a sibling that torch's autograd runs.
    pub(super) autograd: bool,
}

/// Nothing outside of training mode, where each of its keys is an error.
pub(super) fn read(
    fields: &Fields<'_>,
    mode: Mode,
    recipes: &[Recipe],
    sparsities: &[Sparsity],
) -> Option<Training> {
    if mode != Mode::Training {
        refuse(fields, &[KEYS, OWN_KEYS].concat(), Mode::Training);
        return None;
    }
    let mut settings = TrainingSettings::default();
    fields.update(TYPES[0], &mut settings.scaling_type_input, Node::word);
    fields.update(TYPES[1], &mut settings.scaling_type_weight, Node::word);
    fields.update(TYPES[2], &mut settings.scaling_type_grad_output, Node::word);
    fields.update(GRANULARITY, &mut settings.scaling_granularity, Node::word);
    fields.update("use_fast_accum", &mut settings.use_fast_accum, Node::boolean);
    fields.update("repeat_n", &mut settings.repeat_n, |node| node.integer(1..=1_000_000));
    refuse_combination(fields, &settings, recipes);
    if let (false, Some(node)) = (sparsities.is_empty(), fields.get("sparsity_config_recipe_names"))
    {
        let message = "sparse layouts have no backward pass; torchao switches them off in training";
        node.report(message.to_owned(), "delete it, or write `benchmark_mode: inference`");
    }
    let passes = Pass::ALL.iter().copied().filter(|pass| *pass != Pass::Products).collect();
    Some(Training { settings, passes, autograd: false })
}

/// Refuses combinations that torchao raises on, or that it would measure as something else.
fn refuse_combination(fields: &Fields<'_>, settings: &TrainingSettings, recipes: &[Recipe]) {
    use ScalingType::{Disabled, Dynamic};
    let said = |key: &&str| fields.get(key);
    let types = settings.scaling_types();
    let mixed = types.contains(&Dynamic) && types.contains(&Disabled);
    if let (true, Some(node)) = (mixed, TYPES.iter().find_map(said)) {
        let [input, weight, grad_output] = types;
        let message = format!(
            "input {input}, weight {weight}, grad_output {grad_output}: each product of a step has \
             two of these as its operands, which are both cast or both not"
        );
        node.report(message, "write `dynamic` for all three, or `disabled` for all three");
    }
    let granularity = fields.get(GRANULARITY);
    if let (ScalingGranularity::Columnwise, Some(node)) =
        (settings.scaling_granularity, &granularity)
    {
        let message = "torchao documents `columnwise` and raises on it: it has no such scales";
        node.report(
            message.to_owned(),
            "write `tensorwise`, or `rowwise` (`axiswise` is the same)",
        );
    }
    let is_row = |recipe: &&Recipe| match recipe {
        Recipe::Float8dqRow => true,
        Recipe::Float8dqTensor => settings.scaling_granularity.is_axiswise(),
        _ => false,
    };
    if let (false, Some(recipe), Some(node)) =
        (settings.casts() || mixed, recipes.iter().find(is_row), TYPES.iter().find_map(said))
    {
        let message =
            format!("`{recipe}` has a scale for each row, which torchao has of `dynamic` alone");
        let remedy = "write `dynamic` for all three, or keep to `float8dq-tensor` with \
                      `scaling_granularity: tensorwise`";
        node.report(message, remedy);
    }
}

impl Training {
    /// With what `fields` says on top.
    pub(super) fn read(&mut self, fields: &Fields<'_>) {
        fields.update("autograd", &mut self.autograd, Node::boolean);
        if let Some(Some(passes)) = fields.words("passes") {
            self.passes = passes;
        }
    }
}
