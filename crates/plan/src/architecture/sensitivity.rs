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
/// When the text is no such YAML, a layer is not one of the model, a recipe is unknown, a number is not finite, or losses
/// have no limit.
pub fn sensitivity(
    text: &str,
    file: &str,
    model: &ModelLayers,
) -> Result<Sensitivity, ArchitectureError> {
    let fail = |key: String, message: String, remedy: &str| {
        Err(ArchitectureError::new(file, key, message, remedy))
    };
    let read: Sensitivity = serde_yaml::from_str(text).or_else(|error| {
        let remedy = "write sqnr_db or loss, each with layers, of which each has numbers by recipe; and max_loss";
        fail(String::new(), error.to_string(), remedy)
    })?;
    let known: Vec<&str> = model.layers.iter().map(|it| &*it.fqn).collect();
    for (measure, numbers) in [("sqnr_db", &read.sqnr_db), ("loss", &read.loss)] {
        for (layer, numbers) in numbers {
            if !model.layers.iter().any(|it| it.has_name(layer)) {
                let unknown = UnknownWord::among("layer", layer, &known);
                return fail(measure.to_owned(), unknown.to_string(), &unknown.remedy);
            }
            for (recipe, number) in numbers {
                let key = format!("{measure}.{layer}");
                if let Err(unknown) = recipe.parse::<Recipe>() {
                    return fail(key, unknown.to_string(), &unknown.remedy);
                }
                if !number.is_finite() {
                    return fail(
                        format!("{key}.{recipe}"),
                        format!("{number}"),
                        "write a finite number",
                    );
                }
            }
        }
    }
    let limit = read.max_loss.unwrap_or(f64::NAN);
    if !read.loss.is_empty() && limit.is_nan() {
        let message = "losses have no limit".to_owned();
        return fail(
            "max_loss".to_owned(),
            message,
            "write the largest loss that a layer may have",
        );
    }
    if read.sqnr_db.is_empty() && read.loss.is_empty() {
        return fail(String::new(), "no numbers".to_owned(), "write sqnr_db or loss of a layer");
    }
    Ok(read)
}
