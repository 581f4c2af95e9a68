//! Files that reproduce a recommendation: Python for torchao 0.17, and a config of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use plan::recommendation::Module;
use plan::{Device, Int4Numerics, Int8Numerics, Recipe, Shape, Variant};

use super::{Recommendation, Way, products};
use crate::model::once;
use crate::render::json_text::{Style, to_string};
use crate::visible;

const QUANTIZATION: &str = "torchao.quantization";

/// A configuration of torchao 0.17.
pub struct Torchao {
    module: &'static str,
    class: &'static str,
    arguments: String,
    /// Names of `torchao.quantization` that the arguments have.
    names: &'static [&'static str],
}

impl Torchao {
    const fn new(class: &'static str, arguments: String) -> Self {
        Self { module: QUANTIZATION, class, arguments, names: &[] }
    }

    pub fn text(&self) -> String {
        format!("{}({})", self.class, self.arguments)
    }
}

/// The configuration of torchao 0.17 that computes what the variant does on a device; `None` of an unquantized layer, and
/// where torchao has none or runs other operations.
pub fn torchao(variant: &Variant, device: Device) -> Option<Torchao> {
    let Variant { compile, graph, recipe, .. } = *variant;
    if *variant != (Variant { compile, graph, ..Variant::eager(recipe) }) {
        return None;
    }
    let is_cpu = device == Device::Cpu;
    let version = |numerics| match numerics {
        Int8Numerics::V1 => Some("version=1".to_owned()),
        Int8Numerics::V2 => Some("version=2".to_owned()),
        Int8Numerics::V018 => None,
    };
    let float8 = |granularity: &str, names| {
        let arguments = format!("granularity={granularity}()");
        let float8 = Torchao::new("Float8DynamicActivationFloat8WeightConfig", arguments);
        (!is_cpu).then_some(Torchao { names, ..float8 })
    };
    Some(match recipe {
        Recipe::Int8wo { numerics } => Torchao::new("Int8WeightOnlyConfig", version(numerics)?),
        Recipe::Int8dq { numerics } => {
            Torchao::new("Int8DynamicActivationInt8WeightConfig", version(numerics)?)
        }
        Recipe::Int8dqPrefillWoDecode => {
            let arguments = "version=1, weight_only_decode=True".to_owned();
            Torchao::new("Int8DynamicActivationInt8WeightConfig", arguments)
        }
        Recipe::Int4wo { group, numerics } => int4(group, numerics, device)?,
        Recipe::Float8wo => Torchao::new("Float8WeightOnlyConfig", String::new()),
        Recipe::Float8dqTensor => float8("PerTensor", &["PerTensor"])?,
        Recipe::Float8dqRow => float8("PerRow", &["PerRow"])?,
        Recipe::Int8DynamicIntx { bits, group, asymmetric } => {
            let mapping = if asymmetric { "ASYMMETRIC" } else { "SYMMETRIC" };
            let arguments = format!(
                "weight_dtype=torch.int{bits}, weight_granularity=PerGroup({group}), \
                 weight_mapping_type=MappingType.{mapping}"
            );
            let config = Torchao::new("Int8DynamicActivationIntxWeightConfig", arguments);
            Torchao { names: &["MappingType", "PerGroup"], ..config }
        }
        _ => return None,
    })
}

/// On a CPU the layout for it; on CUDA the one with 4-bit products, whose solver works in float16.
fn int4(group: u16, numerics: Int4Numerics, device: Device) -> Option<Torchao> {
    let algorithm = match numerics {
        Int4Numerics::Affine | Int4Numerics::TilePacked => "tinygemm",
        Int4Numerics::Hqq | Int4Numerics::HqqFp16Solver => "hqq",
    };
    let arguments = format!("group_size={group}, int4_choose_qparams_algorithm=\"{algorithm}\"");
    match (device, numerics) {
        (Device::Cpu, Int4Numerics::Affine | Int4Numerics::Hqq) => Some(Torchao {
            module: "torchao.prototype.quantization.int4",
            ..Torchao::new("Int4WeightOnlyOpaqueTensorConfig", arguments)
        }),
        (Device::Cpu, _) | (Device::Cuda, Int4Numerics::Affine) => None,
        (Device::Cuda, _) => {
            let packing = "int4_packing_format=\"tile_packed_to_4d\"";
            Some(Torchao::new("Int4WeightOnlyConfig", format!("{arguments}, {packing}")))
        }
        _ => None,
    }
}

/// The recommended recipes as Python that quantizes a model with torchao 0.17.
pub fn python(it: &Recommendation<'_>) -> Result<String, serde_json::Error> {
    let request = it.request;
    let mut imports =
        BTreeMap::from([(QUANTIZATION, BTreeSet::from(["FqnToConfig", "quantize_"]))]);
    let (mut configs, mut others) = (String::new(), String::new());
    for group in it.groups.iter().filter(|group| group.choice.chosen > 0) {
        let chosen = &group.chosen().variant;
        let config = torchao(chosen, request.device);
        for layers in &group.layers {
            if layers.module == Module::Conv1d {
                let fqn = visible::line(&layers.fqn);
                others += &format!("# A Conv1D, which `quantize_` skips: {fqn} with {chosen}.\n");
            } else if let Some(config) = &config {
                let name = to_string(&pattern(&layers.fqn), Style::Python)?;
                configs += &format!("        {name}: {},\n", config.text());
            } else {
                let fqn = visible::line(&layers.fqn);
                others += &format!("# Ours, and not torchao's: {fqn} with {chosen}.\n");
            }
        }
        if let Some(Torchao { module, class, names, .. }) = config {
            imports.entry(module).or_default().insert(class);
            imports.entry(QUANTIZATION).or_default().extend(names);
        }
    }
    let import = |(module, names): (&str, BTreeSet<&str>)| {
        let names: Vec<&str> = names.into_iter().collect();
        format!("from {module} import {}\n", names.join(", "))
    };
    Ok(format!(
        "# Written by `criterion-report recommend` for torchao 0.17.\n\
         # The model: {} on {}, in {}; it runs {}.\n{}{}\n{others}\
         CONFIG = FqnToConfig(\n    {{\n{configs}    }}\n)\n\n\n\
         def quantize(model):\n    quantize_(model, CONFIG, filter_fn=None)\n    return model\n",
        visible::line(&request.model.name),
        request.device,
        request.dtype,
        it.options.way.words(),
        if configs.contains("torch.") { "import torch\n" } else { "" },
        imports.into_iter().map(import).collect::<String>(),
    ))
}

/// The name as torchao looks for it: an expression where it has numbers.
pub(super) fn pattern(fqn: &str) -> String {
    let parts: Vec<String> = fqn.split('*').map(regex::escape).collect();
    if parts.len() == 1 { fqn.to_owned() } else { format!("re:{}", parts.join(r"\d+")) }
}

/// A config that measures the recommended recipes at the shapes of the request.
pub fn config(it: &Recommendation<'_>) -> String {
    let request = it.request;
    let chosen: Vec<Variant> = it.groups.iter().map(|group| group.chosen().variant).collect();
    let list = |words: Vec<String>| once(words).join(", ");
    let dtypes = list(chosen.iter().filter_map(|it| Some(it.dtype?.plain().to_owned())).collect());
    let modes = it.groups.iter().filter_map(|it| it.unquantized().variant.compile);
    let way = match it.options.way {
        Way::Eager => String::new(),
        Way::Graph => "    cuda_graph: true\n".to_owned(),
        Way::Compiled => format!("    compile: [{}]\n", list(modes.map(quoted).collect())),
    };
    let layers = request.model.layers.iter();
    let products = layers.flat_map(|layers| products(layers, &request.phases));
    let shape = |Shape { m, k, n }: Shape| format!("          - [{m}, {k}, {n}]\n");
    format!(
        "# Written by `criterion-report recommend`: the recipes for {}, at its shapes.\n\
         benchmark_mode: inference\nquantization_config_recipe_names: [{}]\nmodel_params:\n  \
         - model_type: linear\n    device: {}\n    high_precision_dtype: {}\n    packed: {}\n\
         {}{way}    matrix_shapes:\n      - name: custom\n        shapes:  # [m, k, n]\n{}",
        visible::line(&request.model.name),
        list(chosen.iter().map(|it| quoted(it.recipe)).collect()),
        request.device,
        request.dtype,
        chosen.iter().any(|it| it.packed),
        if dtypes.is_empty() { dtypes } else { format!("    unquantized_dtypes: [{dtypes}]\n") },
        once(products.map(|(_, shape, _)| shape)).into_iter().map(shape).collect::<String>(),
    )
}

fn quoted(word: impl Display) -> String {
    format!("\"{word}\"")
}
