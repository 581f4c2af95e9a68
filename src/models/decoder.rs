//! `decoder-…`: a block of a decoder on `[m, tokens, k]`, with an MLP of width n, as Llama has it.

use plan::{DecoderBlock, ModelKind, ModelSizes, Shape};
use tch::{Kind, TchError, Tensor};

use super::{Architecture, MakeLayer, Network, Parameters, built_in, rms_norm};
use crate::inputs;
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

const NORMS: [&str; 2] = ["input_layernorm", "post_attention_layernorm"];
const CACHES: [&str; 2] = ["key_cache", "value_cache"];

pub(super) struct Model(pub DecoderBlock);

impl Architecture for Model {
    fn sizes(&self, shape: Shape) -> ModelSizes {
        built_in(ModelKind::Decoder(self.0), shape)
    }

    fn norms(&self, shape: Shape) -> Vec<(&'static str, u64)> {
        let elements = self.cached().iter().fold(shape.m, |all, &size| all.saturating_mul(size));
        let caches = CACHES.iter().filter(|_| self.0.cached > 0).map(|&name| (name, elements));
        NORMS.iter().map(|&name| (name, shape.k)).chain(caches).collect()
    }

    /// The residual is exact, and larger than what is added to it.
    fn gate_shift_db(&self) -> f64 {
        8.0
    }

    fn build(
        &self,
        mut parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        let mut norms = Vec::new();
        for name in NORMS {
            norms.push(parameters.take_weight(name)?);
        }
        if self.0.cached > 0 {
            norms.push(self.cache(&parameters.take_weight(CACHES[0])?, Tensor::f_sin_)?);
            norms.push(self.cache(&parameters.take_weight(CACHES[1])?, Tensor::f_cos_)?);
        }
        let (mut layers, mut width) = (Vec::new(), 0);
        for &name in self.0.layers() {
            let weight = parameters.take_weight(name)?;
            // The last one's inputs are as many as the MLP is wide.
            (_, width) = weight.size2()?;
            layers.push(make(name, weight)?);
        }
        let size = |size| inputs::dimension(size);
        let DecoderBlock { heads, key_value_heads, head_width, .. } = self.0;
        let heads = [size(heads)?, size(key_value_heads)?, size(head_width)?];
        Ok(Box::new(Decoder { is_fused: self.0.is_fused, heads, width, norms, layers }))
    }
}

impl Model {
    /// Size of the keys of a sequence: the cached ones, with room for those of a pass.
    fn cached(&self) -> [u64; 3] {
        let DecoderBlock { key_value_heads, head_width, tokens, cached, .. } = self.0;
        [key_value_heads, cached.saturating_add(tokens), head_width]
    }

    /// A cache that is as large as `ones`, with the same values for each sequence.
    fn cache(
        &self,
        ones: &Tensor,
        wave: impl Fn(&mut Tensor) -> Result<Tensor, TchError>,
    ) -> Result<Tensor, TchError> {
        let [heads, tokens, width] = self.cached().map(u64::cast_signed);
        let elements = heads * tokens * width;
        let mut ramp = Tensor::f_arange(elements, (Kind::Float, ones.device()))?;
        let values = wave(&mut ramp)?.f_to_kind(ones.f_kind()?)?;
        let sequences = ones.numel() as i64 / elements;
        values.f_view([1, heads, tokens, width])?.f_repeat([sequences, 1, 1, 1])
    }
}

/// `x += o_proj(attention(norm(x)))`, `x += down_proj(silu(gate_proj(norm(x))) · up_proj(norm(x)))`.
struct Decoder {
    is_fused: bool,
    /// Heads of queries, heads of keys and values, width of a head.
    heads: [i64; 3],
    /// Width of the MLP.
    width: i64,
    /// The weights of both norms, then the caches of keys and values, `[m, heads, cached + 1, width]`, if there are any.
    norms: Vec<Tensor>,
    layers: Vec<Box<dyn LinearLayer>>,
}

impl Decoder {
    /// Causal attention, `[b, t, k]` → `[b, t, heads · width]`, in the layers that make its input.
    fn attention(&self, x: &Tensor, layers: &[Box<dyn LinearLayer>]) -> Result<Tensor, TchError> {
        let (batch, tokens, _) = x.size3()?;
        let [heads, shared, width] = self.heads;
        let by_head = |part: &Tensor, heads: i64| {
            part.f_reshape([batch, tokens, heads, width])?.f_transpose(1, 2)
        };
        let parts = apart(layers, x, &[heads * width, shared * width, shared * width])?;
        let query = by_head(&parts[0], heads)?;
        let (mut key, mut value) = (by_head(&parts[1], shared)?, by_head(&parts[2], shared)?);
        if let [_, _, keys, values] = &self.norms[..] {
            (key, value) = (appended(keys, &key)?, appended(values, &value)?);
        }
        let group = heads / shared;
        let attend = |query: &Tensor, key: &Tensor, value: &Tensor, is_causal| {
            let mask = None::<&Tensor>;
            Tensor::f_scaled_dot_product_attention(
                query, key, value, mask, 0.0, is_causal, None, false,
            )
        };
        let mixed = match tokens {
            // The queries that share a key are its rows: nothing is copied.
            1 => {
                let query = query.f_reshape([batch, shared, group, width])?;
                attend(&query, &key, &value, false)?
            }
            _ => {
                let spread = |shared: &Tensor| shared.f_repeat_interleave_self_int(group, 1, None);
                attend(&query, &spread(&key)?, &spread(&value)?, true)?.f_transpose(1, 2)?
            }
        };
        mixed.f_reshape([batch, tokens, heads * width])
    }
}

/// The outputs of layers with one input; of one layer, its parts with these sizes.
fn apart(
    layers: &[Box<dyn LinearLayer>],
    x: &Tensor,
    sizes: &[i64],
) -> Result<Vec<Tensor>, TchError> {
    match layers {
        [fused] => fused.forward(x, None)?.f_split_with_sizes(sizes, -1),
        each => each.iter().map(|layer| layer.forward(x, None)).collect(),
    }
}

/// The cache of these sequences with `new` as its last token, written in place.
fn appended(cache: &Tensor, new: &Tensor) -> Result<Tensor, TchError> {
    let (batch, _, tokens, _) = new.size4()?;
    // The reference has fewer sequences and another dtype.
    let cache = cache.f_narrow(0, 0, batch)?.f_to_kind(new.f_kind()?)?;
    let (_, _, all, _) = cache.size4()?;
    cache.f_narrow(2, all - tokens, tokens)?.f_copy_(new)?;
    Ok(cache)
}

impl Network for Decoder {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let (inputs, others) = self.layers.split_at(if self.is_fused { 1 } else { 3 });
        let [output, gate_up @ .., down] = others else {
            return Err(TchError::Shape(format!("{} layers", self.layers.len())));
        };
        let mut x = rms_norm::forward(input, &self.norms[0])?.output;
        x = self.attention(&x, inputs)?;
        let residual = input.f_add(&output.forward(&x, None)?)?;

        x = rms_norm::forward(&residual, &self.norms[1])?.output;
        let parts = apart(gate_up, &x, &[self.width, self.width])?;
        x = parts[0].f_silu()?.f_mul(&parts[1])?;
        x = down.forward(&x, None)?;
        match out {
            None => residual.f_add(&x),
            Some(out) => residual.f_add_out(out, &x),
        }
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        self.layers.iter().map(|layer| &**layer).collect()
    }

    fn norms(&self) -> Vec<&Tensor> {
        self.norms.iter().collect()
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
