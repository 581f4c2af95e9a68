//! The question of `cargo torch-bench recommend`, which `criterion-report recommend` answers: the linear layers of a model,
//! the phases that use them, and the objective.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalogue::{product, sum};
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{DecoderBlock, Device, Dtype, ModelKind, Recipe, UnknownWord};

/// The value of `schema`.
pub const SCHEMA: &str = "criterion-torch/recommendation-request";
/// Counts incompatible changes.
pub const VERSION: u64 = 1;

/// The question: which recipe for which layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecommendationRequest {
    /// [`SCHEMA`]
    pub schema: String,
    /// [`VERSION`]
    pub version: u64,
    /// The model.
    pub model: ModelLayers,
    /// The forward passes of one request to the model.
    pub phases: Vec<Phase>,
    /// The aim of the choice.
    pub objective: Objective,
    /// The device that was measured.
    pub device: Device,
    /// The dtype of the unquantized model.
    pub dtype: Dtype,
    /// File stem of the config whose cases answer it.
    pub stem: String,
    /// Accuracy that was measured elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// The folder of the weights that accuracy was checked with; random weights if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
    /// When it was asked, in seconds since the Unix epoch: only later measurements answer it.
    #[serde(default)]
    pub asked: u64,
}

/// One block of a model in a phase, which shows what the chosen recipes gain together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The block.
    pub model: ModelKind,
    /// Its sequences, width and MLP's width.
    pub shape: Shape,
}

impl RecommendationRequest {
    /// File stem of the config that measures the block.
    pub fn block_stem(&self) -> String {
        format!("{}-block", self.stem)
    }

    /// The block in a phase. A pass of one token attends to as many cached tokens as the longest phase has.
    ///
    /// # Errors
    /// Why the model has no block that is known here.
    pub fn block(&self, phase: &Phase) -> Result<Block, String> {
        let layers = self.model.block_layers()?;
        let attention = self.model.attention.ok_or("the heads of its attention are not known")?;
        let Attention { heads, key_value_heads, head_width } = attention;
        let longest = self.phases.iter().map(|it| it.tokens).max().filter(|it| *it > 1);
        let cached = longest.filter(|_| phase.tokens == 1).unwrap_or_default();
        let (is_fused, tokens) = (layers.len() < DecoderBlock::LAYERS.len(), phase.tokens);
        let block = DecoderBlock { is_fused, heads, key_value_heads, head_width, tokens, cached };
        let (model, down) = (ModelKind::Decoder(block), layers[layers.len() - 1]);
        Ok(Block { model, shape: Shape { m: phase.batch, k: down.n, n: down.k } })
    }

    /// The recipe of a block whose layers have these variants, by their fully qualified names.
    ///
    /// # Errors
    /// A variant has no place in such a recipe: it is compiled, in a CUDA graph, or of a package.
    pub fn block_recipe<'a>(
        &self,
        variants: impl IntoIterator<Item = (&'a str, Variant)>,
    ) -> Result<Recipe, UnknownWord> {
        let part = |(fqn, variant): (&'a str, Variant)| format!("{}={variant}", last_part(fqn));
        let parts: Vec<String> = variants.into_iter().map(part).collect();
        format!("per_layer-{}", parts.join(",")).parse()
    }
}

/// The variable with the path of a JSON list of [`StoredWeight`]s. The accuracy of the model `linear` is checked with those
/// of its shape, too.
pub const WEIGHTS: &str = "CRITERION_TORCH_WEIGHTS";

/// The weight of a linear layer, in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredWeight {
    /// The file.
    pub file: PathBuf,
    /// Its name there.
    pub tensor: String,
    /// The dtype of the stored values, little-endian and row by row.
    pub dtype: Dtype,
    /// Bytes before the first value.
    pub start: u64,
    /// Output features.
    pub n: u64,
    /// Input features.
    pub k: u64,
    /// Whether it is stored as [k, n].
    pub transposed: bool,
}

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

/// The linear layers of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLayers {
    /// The name of the model, or of the file that describes it.
    pub name: String,
    /// `model_type` of the file, such as `qwen2`.
    pub family: String,
    /// The layers, in the order of the model.
    pub layers: Vec<LinearLayers>,
    /// Parameters that no recipe changes: embeddings, norms, biases.
    pub other_parameters: u64,
    /// The heads of its attention, where they are known and its layers are named as Llama's.
    #[serde(default)]
    pub attention: Option<Attention>,
}

/// The heads of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Width of a head.
    pub head_width: u64,
}

/// Linear layers that are alike: one in each block of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinearLayers {
    /// The fully qualified name in Hugging Face's model, with `*` for numbers: `model.layers.*.self_attn.q_proj`.
    pub fqn: String,
    /// Output features.
    pub n: u64,
    /// Input features.
    pub k: u64,
    /// How many layers have the name.
    pub count: u64,
    /// Layers of one group have one recipe: `self_attn.qkv`, because runtimes fuse them.
    pub group: String,
    /// The rows of their input.
    pub rows: Rows,
    /// The kind of their module.
    #[serde(default)]
    pub module: Module,
}

/// The module that holds a weight. It decides whether torchao's `quantize_` changes the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// `torch.nn.Linear`.
    #[default]
    Linear,
    /// GPT-2's `Conv1D`, whose weight is [k, n]. `quantize_` skips it.
    Conv1d,
    /// `torch.nn.Linear` with the weight of the embedding, which [`ModelLayers::other_parameters`] counts. Quantizing the
    /// layer adds a weight, because the embedding keeps its own.
    Tied,
    /// An expert or a router: `torch.nn.Linear` in transformers 4. `quantize_` skips it in transformers 5, where it is a
    /// tensor of another module.
    Mixture,
}

/// Which tokens a layer works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// All tokens of the forward pass.
    #[default]
    Tokens,
    /// The last token of each sequence, as the head of a language model.
    LastToken,
    /// The tokens that are routed to an expert.
    Routed {
        /// Experts of a block.
        experts: u64,
        /// Experts that each token goes to.
        chosen: u64,
    },
}

/// Forward passes of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// `prefill` or `decode`, or another name.
    pub name: String,
    /// Tokens of each sequence in a pass.
    pub tokens: u64,
    /// Sequences in a pass.
    pub batch: u64,
    /// Passes of this size in a request.
    pub passes: u64,
}

/// The aim of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The least time, with weights and products as accurate as asked for.
    Fastest,
    /// The fewest bytes of weights, with a time within this share of the least.
    Smallest {
        /// 0.05 allows 5 % more time.
        within: f64,
    },
    /// The least time with at most so many bytes of weights.
    Memory {
        /// Bytes of all linear layers.
        bytes: u64,
    },
}

impl LinearLayers {
    /// The product of a layer in a phase.
    pub fn shape(&self, phase: &Phase) -> Shape {
        let tokens = phase.batch.saturating_mul(phase.tokens);
        let m = match self.rows {
            Rows::Tokens => tokens,
            Rows::LastToken => phase.batch,
            // Spread evenly.
            Rows::Routed { experts, chosen } => {
                tokens.saturating_mul(chosen).div_ceil(experts.max(1))
            }
        };
        Shape { m, k: self.k, n: self.n }
    }

    /// How often the product runs in one pass of a phase.
    pub fn runs(&self, phase: &Phase) -> u64 {
        match self.rows {
            Rows::Tokens | Rows::LastToken => self.count,
            Rows::Routed { experts, chosen } => {
                let experts = experts.max(1);
                let tokens = phase.batch.saturating_mul(phase.tokens);
                let used = experts.min(tokens.saturating_mul(chosen));
                (self.count / experts).saturating_mul(used)
            }
        }
    }

    /// Whether this is the name of one of the layers, or of all of them.
    pub fn has_name(&self, name: &str) -> bool {
        let fits = |(own, other): (&str, &str)| {
            own == other || own == "*" && other.bytes().all(|it| it.is_ascii_digit())
        };
        let has_length = self.fqn.split('.').count() == name.split('.').count();
        has_length && self.fqn.split('.').zip(name.split('.')).all(fits)
    }

    /// Weights of all layers of the name.
    pub fn weights(&self) -> u64 {
        product(&[self.count, self.n, self.k])
    }

    /// Parameters of the model that are its own: no weights if they are the embedding's.
    pub fn parameters(&self) -> u64 {
        if self.module == Module::Tied { 0 } else { self.weights() }
    }
}

impl ModelLayers {
    /// The layers of a block, in its order.
    ///
    /// # Errors
    /// They are not those of Llama's, or of Phi 3's.
    pub fn block_layers(&self) -> Result<Vec<&LinearLayers>, String> {
        let layers: Vec<&LinearLayers> =
            self.layers.iter().filter(|it| it.fqn.contains('*')).collect();
        let is =
            |names: &[&str]| layers.iter().map(|it| last_part(&it.fqn)).eq(names.iter().copied());
        match is(DecoderBlock::LAYERS) || is(DecoderBlock::FUSED_LAYERS) {
            true => Ok(layers),
            false => Err(format!("the blocks of `{}` are not of Llama's layers", self.family)),
        }
    }

    /// All parameters of the model.
    pub fn parameters(&self) -> u64 {
        let linear = self.layers.iter().map(LinearLayers::parameters);
        sum(&linear.chain([self.other_parameters]).collect::<Vec<_>>())
    }
}

/// The name of a layer within its block.
fn last_part(fqn: &str) -> &str {
    fqn.rsplit('.').next().unwrap_or(fqn)
}

/// The file of the last question, among the records.
pub fn file(records: &Path) -> PathBuf {
    records.join("recommendation-request.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(rows: Rows, count: u64) -> LinearLayers {
        let (fqn, group) = ("model.layers.*.it".to_owned(), "it".to_owned());
        LinearLayers { fqn, n: 768, k: 2048, count, group, rows, module: Module::Linear }
    }

    fn phase(tokens: u64, batch: u64) -> Phase {
        Phase { name: "prefill".to_owned(), tokens, batch, passes: 1 }
    }

    #[test]
    fn the_head_reads_one_token_of_each_sequence() {
        let (all, head) = (layers(Rows::Tokens, 24), layers(Rows::LastToken, 1));
        assert_eq!(all.shape(&phase(2048, 2)), Shape::new(4096, 2048, 768));
        assert_eq!(head.shape(&phase(2048, 2)), Shape::new(2, 2048, 768));
        assert_eq!((all.runs(&phase(1, 1)), head.runs(&phase(1, 1))), (24, 1));
        assert_eq!(all.parameters(), 24 * 2048 * 768);
    }

    #[test]
    fn tokens_are_spread_over_experts() {
        // 48 blocks of 128 experts, of which each token goes to 8.
        let experts = layers(Rows::Routed { experts: 128, chosen: 8 }, 48 * 128);
        let (decode, prefill) = (phase(1, 1), phase(2048, 1));
        assert_eq!((experts.shape(&decode).m, experts.runs(&decode)), (1, 48 * 8));
        assert_eq!((experts.shape(&prefill).m, experts.runs(&prefill)), (128, 48 * 128));
    }

    fn request(names: &[&str]) -> RecommendationRequest {
        let layers = |name: &&str| LinearLayers {
            fqn: format!("model.layers.*.{name}"),
            ..layers(Rows::Tokens, 2)
        };
        let attention = Some(Attention { heads: 14, key_value_heads: 2, head_width: 64 });
        let (name, family) = ("it".to_owned(), "llama".to_owned());
        let layers = names.iter().map(layers).collect();
        RecommendationRequest {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            model: ModelLayers { name, family, layers, other_parameters: 0, attention },
            phases: vec![phase(2048, 4), phase(1, 4)],
            objective: Objective::Fastest,
            device: Device::Cpu,
            dtype: Dtype::BFloat16,
            stem: "it".to_owned(),
            sensitivity: None,
            weights: None,
            asked: 0,
        }
    }

    #[test]
    fn a_block_is_that_of_a_phase() {
        let request = self::request(DecoderBlock::LAYERS);
        let words = [0, 1].map(|place| {
            let Block { model, shape } = request.block(&request.phases[place]).expect("a block");
            assert_eq!(shape, Shape::new(4, 768, 2048));
            assert_eq!(model.to_string().parse(), Ok(model));
            model.to_string()
        });
        assert_eq!(words, ["decoder-14-2-64-2048-0", "decoder-14-2-64-1-2048"]);
        let fused = self::request(DecoderBlock::FUSED_LAYERS);
        let block = fused.block(&fused.phases[0]).expect("a block");
        assert_eq!(block.model.to_string(), "decoder_fused-14-2-64-2048-0");
        let other = self::request(&["q_proj", "dense"]);
        let why = other.block(&other.phases[0]).expect_err("no such block");
        assert_eq!(why, "the blocks of `llama` are not of Llama's layers");
    }

    #[test]
    fn a_block_has_the_variants_of_its_layers() {
        let request = self::request(DecoderBlock::LAYERS);
        let int8wo = Variant { packed: true, ..Variant::eager(Recipe::INT8WO) };
        let variants = [("layers.*.up_proj", int8wo), ("layers.*.o_proj", Variant::BASELINE)];
        let recipe = request.block_recipe(variants).expect("a recipe");
        assert_eq!(recipe.to_string(), "per_layer-o_proj=baseline,up_proj=int8wo+packed");
        let graph = Variant { graph: true, ..int8wo };
        assert!(request.block_recipe([("up_proj", graph)]).is_err());
    }
}
