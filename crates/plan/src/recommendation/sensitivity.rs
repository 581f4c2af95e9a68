//! Accuracy that was measured elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LinearLayers;
use crate::words::Recipe;

/// Accuracy of layers with recipes, measured elsewhere: it counts instead of ours. The names of layers have numbers, or `*`
/// for all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sensitivity {
    /// Decibels of a layer's output, by layer and recipe.
    pub sqnr_db: Numbers,
    /// Losses, by layer and recipe.
    pub loss: Numbers,
    /// The largest loss that a layer may have.
    pub max_loss: Option<f64>,
}

/// A number for each recipe of each layer.
pub type Numbers = BTreeMap<String, BTreeMap<String, f64>>;

impl Sensitivity {
    /// The numbers of these layers with a recipe.
    pub fn of(
        numbers: &Numbers,
        layers: &LinearLayers,
        recipe: Recipe,
    ) -> impl Iterator<Item = f64> {
        let named = numbers.iter().filter(|(name, _)| layers.has_name(name));
        let is_it = move |word: &str| word.parse::<Recipe>().is_ok_and(|it| it == recipe);
        let all = named.flat_map(|(_, numbers)| numbers);
        all.filter(move |(word, _)| is_it(word)).map(|(_, number)| *number)
    }
}
