//! The keys of `benchmark_mode: training`.

use super::node::{Fields, Node};
use crate::settings::TrainingSettings;
use crate::words::Mode;

pub(super) const TRAINING_KEYS: &[&str] = &[
    "scaling_type_input",
    "scaling_type_weight",
    "scaling_type_grad_output",
    "scaling_granularity",
    "use_fast_accum",
    "repeat_n",
];

/// The training settings; an error for each of their keys outside training mode.
pub(super) fn read(fields: &Fields<'_>, mode: Mode) -> Option<TrainingSettings> {
    if mode != Mode::Training {
        for node in TRAINING_KEYS.iter().filter_map(|key| fields.get(key)) {
            let message = "this key has a meaning in training mode only".to_owned();
            node.report(message, "write `benchmark_mode: training`, or delete it");
        }
        return None;
    }
    let default = TrainingSettings::default();
    Some(TrainingSettings {
        scaling_type_input: fields.word_or("scaling_type_input", default.scaling_type_input),
        scaling_type_weight: fields.word_or("scaling_type_weight", default.scaling_type_weight),
        scaling_type_grad_output: fields
            .word_or("scaling_type_grad_output", default.scaling_type_grad_output),
        scaling_granularity: fields.word_or("scaling_granularity", default.scaling_granularity),
        use_fast_accum: fields
            .read("use_fast_accum", Node::boolean)
            .unwrap_or(default.use_fast_accum),
        repeat_n: fields
            .read("repeat_n", |node| node.integer(1..=1_000_000))
            .unwrap_or(default.repeat_n),
    })
}
