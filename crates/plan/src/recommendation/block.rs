//! One block of a model, which proves a choice of recipes.

use super::layers::last_part;
use super::{Attention, Phase, RecommendationRequest};
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{DecoderBlock, ModelKind, Recipe, UnknownWord};

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
        variants: impl IntoIterator<Item = (&'a str, Variant)>,
    ) -> Result<Recipe, UnknownWord> {
        let part = |(fqn, variant): (&'a str, Variant)| format!("{}={variant}", last_part(fqn));
        let parts: Vec<String> = variants.into_iter().map(part).collect();
        format!("per_layer-{}", parts.join(",")).parse()
    }
}
