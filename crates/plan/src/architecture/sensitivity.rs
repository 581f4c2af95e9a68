//! A file with the accuracy of a model's layers, measured elsewhere.

use super::error::ArchitectureError;
use crate::recommendation::{ModelLayers, Sensitivity};
use crate::words::{Recipe, UnknownWord};

/// Reads a YAML or JSON file with the accuracy of a model's layers. Errors name `file`.
///
/// ```yaml
/// sqnr_db:
///   model.layers.*.mlp.down_proj: { int8dq: 31.5, int4wo-64: 22 }
/// loss:
///   model.layers.0.self_attn.q_proj: { int8dq: 0.002 }
/// max_loss: 0.01
/// ```
///
/// # Errors
/// When the text is no such YAML, a layer or recipe is unknown, a number is not finite, or losses have no limit.
pub fn sensitivity(
    text: &str,
    file: &str,
    model: &ModelLayers,
) -> Result<Sensitivity, ArchitectureError> {
    let fail = |key: &str, message: String, remedy: &str| {
        ArchitectureError::new(file, key.to_owned(), message, remedy)
    };
    let unknown = |key: &str, word: UnknownWord| fail(key, word.to_string(), &word.remedy);
    let read: Sensitivity = serde_yaml::from_str(text).map_err(|error| {
        let remedy = "write sqnr_db, loss and max_loss: numbers of recipes, by layer";
        fail("", error.to_string(), remedy)
    })?;
    let known: Vec<&str> = model.layers.iter().map(|it| &*it.fqn).collect();
    for (measure, numbers) in [("sqnr_db", &read.sqnr_db), ("loss", &read.loss)] {
        for (layer, numbers) in numbers {
            if !model.layers.iter().any(|it| it.has_name(layer)) {
                return Err(unknown(measure, UnknownWord::among("layer", layer, &known)));
            }
            let key = format!("{measure}.{layer}");
            for (recipe, number) in numbers {
                recipe.parse::<Recipe>().map_err(|word| unknown(&key, word))?;
                if !number.is_finite() {
                    return Err(fail(&key, format!("{recipe}: {number}"), "write a finite number"));
                }
            }
        }
    }
    if !read.loss.is_empty() && read.max_loss.is_none_or(f64::is_nan) {
        let remedy = "write the largest loss that a layer may have";
        return Err(fail("max_loss", "losses have no limit".to_owned(), remedy));
    }
    Ok(read)
}
