//! A list of layers in YAML, for a model of an unknown family.

use std::num::NonZeroU64;

use serde::Deserialize;

use super::error::ArchitectureError;
use crate::recommendation::{LinearLayers, ModelLayers, Module, Rows};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    name: Option<String>,
    layers: Vec<Entry>,
    #[serde(default)]
    other_parameters: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    fqn: String,
    n: NonZeroU64,
    k: NonZeroU64,
    count: Option<NonZeroU64>,
    group: Option<String>,
    #[serde(default, with = "serde_yaml::with::singleton_map")]
    rows: Rows,
    #[serde(default)]
    module: Module,
}

/// Reads a YAML file of layers: the way to describe a model whose `model_type` is unknown. Errors name `file`, which is the
/// model's name, too, without the key `name`.
///
/// ```yaml
/// name: mine
/// layers:
/// - fqn: blocks.*.mlp.experts.*.up
///   n: 1408 # output features
///   k: 2048 # input features
///   count: 240 # default: 1
///   group: mlp.experts.up # default: the fqn
///   rows: { routed: { experts: 60, chosen: 4 } } # or last_token, tokens (default)
///   module: mixture # or conv1d, tied, linear (default)
/// other_parameters: 311164928 # default: 0
/// ```
///
/// # Errors
/// When the text is no such YAML, or a number is impossible.
pub fn layers_of_yaml(text: &str, file: &str) -> Result<ModelLayers, ArchitectureError> {
    let listing: Listing = serde_yaml::from_str(text).map_err(|error| {
        let remedy = "write layers, each with fqn, n, k and, if need be, count, group, rows, module; \
                      beside them, name and other_parameters";
        ArchitectureError::new(file, String::new(), error.to_string(), remedy)
    })?;
    let mut layers: Vec<LinearLayers> = Vec::new();
    for (index, entry) in listing.layers.into_iter().enumerate() {
        let Entry { fqn, n, k, count, group, rows, module } = entry;
        let count = count.map_or(1, NonZeroU64::get);
        let fail = |key, message, remedy| {
            Err(ArchitectureError::new(file, format!("layers[{index}].{key}"), message, remedy))
        };
        if layers.iter().any(|it| it.fqn == fqn) {
            return fail("fqn", format!("{fqn} stands above, too"), "add up their counts");
        }
        if let Rows::Routed { experts, chosen } = rows {
            if !(1..=experts).contains(&chosen) {
                let message = format!("{chosen} of {experts} experts");
                return fail("rows.routed.chosen", message, "choose at least one, at most all");
            }
            if !count.is_multiple_of(experts) {
                let message = format!("{count} is not a multiple of the {experts} experts");
                return fail("count", message, "count the experts of all blocks");
            }
        }
        let group = group.unwrap_or_else(|| fqn.clone());
        layers.push(LinearLayers { fqn, n: n.get(), k: k.get(), count, group, rows, module });
    }
    if layers.is_empty() {
        let (key, message) = ("layers".to_owned(), "it is empty".to_owned());
        return Err(ArchitectureError::new(file, key, message, "list at least one"));
    }
    let (family, other_parameters) = ("layers".to_owned(), listing.other_parameters);
    let name = listing.name.unwrap_or_else(|| file.to_owned());
    Ok(ModelLayers { name, family, layers, other_parameters, attention: None })
}
