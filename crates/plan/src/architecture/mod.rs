//! The linear layers of a model, from its Hugging Face `config.json` or from a YAML file that lists them.

mod config;
mod error;
mod families;
mod family;
mod listing;
mod sensitivity;

use crate::catalogue::{product, sum};
use crate::recommendation::{Attention, LinearLayers, ModelLayers, Module};
use config::Config;
pub use error::ArchitectureError;
use family::Place;
pub use listing::layers_of_yaml;
pub use sensitivity::sensitivity;

/// Reads the `config.json` of a model that is called `name`, also in errors.
///
/// Layers have the names of transformers 4.57. Published weights have them, too, but the path before the blocks may
/// differ. Transformers 5 names those of ViT differently and stores the experts of a block as one tensor.
///
/// The first class in `architectures` decides the head. A model of several media is read as its language model.
///
/// These keys have the defaults of transformers, because published files leave them out: biases, `head_dim`,
/// `num_key_value_heads`, `tie_word_embeddings`, `n_inner`, `num_labels`, `pooler_output_size`, `decoder_sparse_step`,
/// `mlp_only_layers`, and the vocabulary and heads of Gemma 3. Any other missing key is an error.
///
/// # Errors
/// When the family or the class is unknown, or a key is missing or has no possible value.
pub fn read(text: &str, name: &str) -> Result<ModelLayers, ArchitectureError> {
    let config = Config::read(text, name)?;
    let (family, head) = (config.family, config.head()?);
    let is_tied = config.number("tie_word_embeddings")? == 1;
    let mut others = vec![config.number(family.others)?, config.number(head.others)?];
    let mut layers = Vec::new();
    for linear in family.linears.iter().copied().flatten().chain(head.linears) {
        let (count, rows) = config.count(linear.place)?;
        if count == 0 {
            continue;
        }
        let (n, k) = (config.number(linear.n)?, config.number(linear.k)?);
        others.push(product(&[count, n, config.number(linear.biases)?]));
        let prefix = match linear.place {
            Place::Head | Place::HeadOfTokens => String::new(),
            _ => format!("{}{}.*.", head.path, family.blocks),
        };
        let is_untied = linear.module == Module::Tied && !is_tied;
        let module = if is_untied { Module::Linear } else { linear.module };
        let (fqn, group) = linear.name_and_group(&prefix);
        layers.push(LinearLayers { fqn, n, k, count, group, rows, module });
    }
    let has_heads = layers.iter().any(|it| it.fqn.ends_with(".o_proj"));
    let attention = has_heads.then(|| attention(&config)).transpose()?;
    let (name, family) = (name.to_owned(), family.model_type.to_owned());
    Ok(ModelLayers { name, family, layers, other_parameters: sum(&others), attention })
}

fn attention(config: &Config) -> Result<Attention, ArchitectureError> {
    Ok(Attention {
        heads: config.number("num_attention_heads")?,
        key_value_heads: config.number("num_key_value_heads")?,
        head_width: config.number("head_dim")?,
    })
}
