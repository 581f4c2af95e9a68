//! Which recipes a device has no products for.

use crate::settings::TrainingSettings;
use crate::words::{BlockFormat, Device, Float8Recipe, Recipe};

/// Whether the recipe's operands are dequantized for their products on this device: in training, if there are
/// its `training` settings. Weights alone are dequantized by definition, on every device.
pub(super) fn is_emulated(
    recipe: Recipe,
    training: Option<&TrainingSettings>,
    device: Device,
) -> bool {
    let on_cpu = device == Device::Cpu;
    match recipe {
        Recipe::Mxfp8EmulatedRceil => true,
        Recipe::BlockScaled { weight_only: true, .. } => false,
        // In training the first has an emulated form under a name of its own, the second no other.
        Recipe::BlockScaled { format: BlockFormat::Mxfp8, .. } if training.is_some() => false,
        Recipe::BlockScaled { format: BlockFormat::Nvfp4, .. } if training.is_some() => true,
        Recipe::BlockScaled { .. } => on_cpu,
        Recipe::Float8 { recipe } => on_cpu && recipe != Float8Recipe::Tensorwise,
        Recipe::Float8dqRow => on_cpu && training.is_some_and(TrainingSettings::casts),
        Recipe::Float8dqTensor => {
            on_cpu && training.is_some_and(|it| it.casts() && it.scaling_granularity.is_axiswise())
        }
        _ => recipe.named_layers().iter().any(|it| is_emulated(it.recipe, training, device)),
    }
}
