//! The recommended recipes for other libraries, where these have the same formats: a recipe of llm-compressor, whose models
//! vLLM runs, and a configuration of ModelOpt.

use plan::Recipe;
use plan::recommendation::{LinearLayers, Module};

use super::Recommendation;
use super::files::pattern;
use crate::render::json_text::{Style, to_string};
use crate::visible;

/// How a library writes the format of weights, and that of inputs where they are quantized.
type Format = (String, Option<String>);

/// The type of numbers of 8 bits, and which of them share a scale: weights, and inputs where they are quantized.
const fn of_8_bits(recipe: Recipe) -> Option<(&'static str, &'static str, Option<&'static str>)> {
    Some(match recipe {
        Recipe::Int8wo { .. } | Recipe::Gemlitewo { bits: 8, .. } => ("int", "channel", None),
        Recipe::Int8dq { .. } => ("int", "channel", Some("token")),
        Recipe::Float8wo => ("float", "channel", None),
        Recipe::Float8dqRow => ("float", "channel", Some("token")),
        Recipe::Float8dqTensor => ("float", "tensor", Some("tensor")),
        _ => return None,
    })
}

fn llm_compressor_format(recipe: Recipe) -> Option<Format> {
    if let Recipe::Int4wo { group, .. } | Recipe::Gemlitewo { bits: 4, group, .. } = recipe {
        let format = "num_bits: 4, type: int, symmetric: false, strategy: group";
        return Some((format!("{{{format}, group_size: {group}}}"), None));
    }
    let (kind, weights, inputs) = of_8_bits(recipe)?;
    let of = |share| format!("{{num_bits: 8, type: {kind}, symmetric: true, strategy: {share}");
    Some((of(weights) + "}", inputs.map(|it| of(it) + ", dynamic: true}")))
}

/// None for integers with a zero point, which ModelOpt lacks.
fn modelopt_format(recipe: Recipe) -> Option<Format> {
    let (kind, weights, inputs) = of_8_bits(recipe)?;
    let bits = if kind == "int" { "8" } else { "(4, 3)" };
    let of = |share| match share {
        "tensor" => format!("{{\"num_bits\": {bits}, \"axis\": None"),
        "channel" => format!("{{\"num_bits\": {bits}, \"axis\": 0"),
        _ => format!("{{\"num_bits\": {bits}, \"block_sizes\": {{-1: None}}"),
    };
    Some((of(weights) + "}", inputs.map(|it| of(it) + ", \"type\": \"dynamic\"}")))
}

/// The layers of each group whose recipe has a format, and a comment on every other layer with a recipe.
fn formats<'a>(
    it: &'a Recommendation<'_>,
    of: fn(Recipe) -> Option<Format>,
) -> (Vec<(Vec<&'a LinearLayers>, Format)>, String) {
    let model = visible::line(&it.request.model.name);
    let mut comment = format!(
        "# Written by `criterion-report recommend` for {model}.\n\
         # The formats are those that were measured; the kernels that run them are others.\n"
    );
    let mut found = Vec::new();
    for group in it.groups.iter().filter(|group| group.choice.chosen > 0) {
        let chosen = &group.chosen().variant;
        let format = of(chosen.recipe);
        let (layers, left): (Vec<_>, Vec<_>) = (group.layers.iter().copied())
            .partition(|it| format.is_some() && it.module != Module::Conv1d);
        let left = left.into_iter().map(|it| visible::line(&it.fqn));
        comment.extend(left.map(|it| format!("# Left unquantized: {it} with {chosen}.\n")));
        found.extend(format.filter(|_| !layers.is_empty()).map(|it| (layers, it)));
    }
    (found, comment)
}

/// A recipe of llm-compressor 0.14.
pub fn llm_compressor(it: &Recommendation<'_>) -> Result<String, serde_json::Error> {
    let (found, mut text) = formats(it, llm_compressor_format);
    if !found.is_empty() {
        text += "default_stage:\n  default_modifiers:\n    QuantizationModifier:\n      \
                 config_groups:\n";
    }
    for (place, (layers, (weights, inputs))) in found.iter().enumerate() {
        // llm-compressor looks for an expression at the beginning of a name.
        let target = |it: &&LinearLayers| match pattern(&it.fqn) {
            all if all.starts_with("re:") => all + "$",
            name => name,
        };
        let targets = layers.iter().map(target).collect::<Vec<_>>();
        let targets = to_string(&targets, Style::Compact)?;
        text += &format!("        group_{place}:\n          targets: {targets}\n");
        text += &format!("          weights: {weights}\n");
        text.extend(inputs.iter().map(|it| format!("          input_activations: {it}\n")));
    }
    Ok(text)
}

/// A configuration for `mtq.quantize` of ModelOpt 0.47.
pub fn modelopt(it: &Recommendation<'_>) -> Result<String, serde_json::Error> {
    let (found, mut text) = formats(it, modelopt_format);
    text += "import modelopt.torch.quantization as mtq\n\nCONFIG = {\n    \"quant_cfg\": [\n        \
             {\"quantizer_name\": \"*\", \"enable\": False},\n";
    for (layers, (weights, inputs)) in &found {
        for LinearLayers { fqn, .. } in layers {
            let kinds = [("weight", Some(weights)), ("input", inputs.as_ref())];
            for (kind, format) in kinds.into_iter().filter_map(|(kind, it)| Some((kind, it?))) {
                let name = to_string(&format!("{fqn}.{kind}_quantizer"), Style::Python)?;
                text += &format!("        {{\"quantizer_name\": {name}, \"cfg\": {format}}},\n");
            }
        }
    }
    Ok(text
        + "    ],\n    \"algorithm\": \"max\",\n}\n\n\ndef quantize(model):\n    \
           return mtq.quantize(model, CONFIG)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_a_library_lacks_are_left_out() {
        let channel = "{num_bits: 8, type: float, symmetric: true, strategy: channel}";
        let token = "{num_bits: 8, type: float, symmetric: true, strategy: token, dynamic: true}";
        let group = "{num_bits: 4, type: int, symmetric: false, strategy: group, group_size: 64}";
        let row = r#"{"num_bits": (4, 3), "axis": 0}"#;
        let of_token = r#"{"num_bits": (4, 3), "block_sizes": {-1: None}, "type": "dynamic"}"#;
        let tensor = r#"{"num_bits": (4, 3), "axis": None}"#;
        let of_tensor = r#"{"num_bits": (4, 3), "axis": None, "type": "dynamic"}"#;
        let tensors = "{num_bits: 8, type: float, symmetric: true, strategy: tensor}";
        let of_tensors =
            "{num_bits: 8, type: float, symmetric: true, strategy: tensor, dynamic: true}";
        let some = |weights: &str, inputs: Option<&str>| {
            Some((weights.to_owned(), inputs.map(str::to_owned)))
        };
        for (recipe, llm_compressor, modelopt) in [
            ("float8wo", some(channel, None), some(row, None)),
            ("float8dq-row", some(channel, Some(token)), some(row, Some(of_token))),
            ("float8dq-tensor", some(tensors, Some(of_tensors)), some(tensor, Some(of_tensor))),
            ("int4wo-64-hqq", some(group, None), None),
            ("gemlitewo-4-64", some(group, None), None),
            ("fp6", None, None),
            ("baseline", None, None),
        ] {
            let it = recipe.parse().expect("a recipe");
            assert_eq!(llm_compressor_format(it), llm_compressor, "{recipe}");
            assert_eq!(modelopt_format(it), modelopt, "{recipe}");
        }
    }
}
