//! The files for other libraries, read by the libraries themselves.

use super::*;

/// A model with the layers of the request.
const MODEL: &str = r#"
import torch

def linear(n):
    return torch.nn.Linear(64, n, bias=False, dtype=torch.bfloat16)

def block():
    attention = torch.nn.ModuleDict({"q_proj": linear(64), "k_proj": linear(32)})
    mlp = torch.nn.ModuleDict({"up_proj": linear(128)})
    return torch.nn.ModuleDict({"self_attn": attention, "mlp": mlp})

body = torch.nn.ModuleDict({"layers": torch.nn.ModuleList([block(), block()])})
model = torch.nn.ModuleDict({"model": body, "lm_head": linear(256)})
"#;

/// The lines that a program prints about the layers of the model, sorted; none without a Python that has the library.
fn of_layers(library: &str, program: &str, folder: &TempDir) -> Option<Vec<String>> {
    let python = env::var_os("CRITERION_TORCH_PYTHON").filter(|it| !it.is_empty())?;
    let python = |program: &str| {
        let mut python = Command::new(&python);
        python.args(["-W", "ignore", "-c", program]).current_dir(folder.path());
        python.output().expect("it starts")
    };
    let find =
        format!("import importlib.util, sys; sys.exit(not importlib.util.find_spec({library:?}))");
    if !python(&find).status.success() {
        return None;
    }
    let output = python(&(MODEL.to_owned() + program));
    assert!(output.status.success(), "{}", err(&output));
    let lines = stdout(&output).lines().filter_map(|line| line.strip_prefix("layer "));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    Some(lines)
}

/// Each layer of the model with what is said about it.
fn layers_with(block: &str, head: &str) -> Vec<String> {
    let names = ["mlp.up_proj", "self_attn.k_proj", "self_attn.q_proj"];
    let of_block = |at| names.map(|name| format!("model.layers.{at}.{name} {block}"));
    std::iter::once(format!("lm_head {head}"))
        .chain([0, 1].into_iter().flat_map(of_block))
        .collect()
}

/// torchao itself makes of the file what it says.
#[test]
fn torchao_quantizes_by_the_python() {
    const PROGRAM: &str = r#"
from recommendation import quantize

model = quantize(model)
for name, layer in model.named_modules():
    if isinstance(layer, torch.nn.Linear):
        layer(torch.ones(32, 64, dtype=torch.bfloat16))
        print("layer", name, type(layer.weight).__name__)
"#;
    let Some(found) = of_layers("torchao", PROGRAM, &written()) else {
        return skip::tool("CRITERION_TORCH_PYTHON names no Python with torchao");
    };
    assert_eq!(found, layers_with("LinearActivationQuantizedTensor", "Parameter"));
}

/// The head has int8wo+packed, whose format is that of int8wo.
#[test]
fn llm_compressor_reads_its_recipe() {
    const PROGRAM: &str = r#"
from llmcompressor.recipe import Recipe

[modifier] = Recipe.create_instance("recommendation_llmcompressor.yml").modifiers
modifier.initialize_quantization(model)
for name, layer in model.named_modules():
    if isinstance(layer, torch.nn.Linear):
        scheme = layer.quantization_scheme
        weights, inputs = scheme.weights, scheme.input_activations
        inputs = inputs and (inputs.num_bits, inputs.strategy, inputs.dynamic)
        print("layer", name, weights.num_bits, weights.type, weights.strategy, inputs)
"#;
    match of_layers("llmcompressor", PROGRAM, &written()) {
        None => skip::hardware("CRITERION_TORCH_PYTHON names no Python with llm-compressor"),
        Some(found) => {
            let head = "8 int channel None";
            assert_eq!(found, layers_with("8 int channel (8, 'token', True)", head));
        }
    }
}

#[test]
fn modelopt_quantizes_by_its_configuration() {
    const PROGRAM: &str = r#"
from recommendation_modelopt import quantize

model = quantize(model)
for name, layer in model.named_modules():
    if hasattr(layer, "weight_quantizer"):
        weights, inputs = layer.weight_quantizer, layer.input_quantizer
        inputs = inputs.is_enabled and (inputs.num_bits, inputs.block_sizes, inputs._dynamic)
        layer(torch.ones(3, 64, dtype=torch.bfloat16))
        print("layer", name, weights.num_bits, weights.axis, weights.is_enabled, inputs)
"#;
    match of_layers("modelopt", PROGRAM, &written()) {
        None => skip::hardware("CRITERION_TORCH_PYTHON names no Python with ModelOpt"),
        Some(found) => {
            let block = "8 0 True (8, {-1: None}, True)";
            assert_eq!(found, layers_with(block, "8 0 True False"));
        }
    }
}
