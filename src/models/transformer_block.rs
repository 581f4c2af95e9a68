//! `transformer_block`: pre-norm attention and MLP on `[m, 16, k]`; n is ignored, as upstream.

use plan::{BLOCK_HEADS, ModelKind, ModelSizes, Shape};
use tch::{Kind, TchError, Tensor};

use super::{
    Architecture, MakeLayer, MakeTrained, Network, Parameters, TrainedNetwork, built_in, rms_norm,
};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

pub(super) struct Model;

impl Architecture for Model {
    fn sizes(&self, shape: Shape) -> ModelSizes {
        built_in(ModelKind::TransformerBlock, shape)
    }

    fn check(&self, shape: Shape) -> Result<(), String> {
        match shape.k.is_multiple_of(BLOCK_HEADS) {
            true => Ok(()),
            false => Err(format!(
                "k = {}, but its {BLOCK_HEADS} heads need a multiple of {BLOCK_HEADS}",
                shape.k
            )),
        }
    }

    fn norms(&self, shape: Shape) -> Vec<(&'static str, u64)> {
        vec![("norm1", shape.k), ("norm2", shape.k)]
    }

    /// The residual is exact.
    fn gate_shift_db(&self) -> f64 {
        8.0
    }

    /// The errors of four layers add up.
    fn gradient_shift_db(&self) -> f64 {
        -5.0
    }

    fn build(
        &self,
        parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal> {
        Ok(Box::new(TransformerBlock::build(parameters, make)?))
    }

    fn trained(
        &self,
        parameters: Parameters,
        make: &mut MakeTrained<'_>,
    ) -> Result<Box<dyn TrainedNetwork>, Refusal> {
        Ok(Box::new(TransformerBlock::build(parameters, make)?))
    }
}

/// `x += proj(attention(norm1(x)))`, `x += fc2(gelu(fc1(norm2(x))))`, without biases or mask.
pub(super) struct TransformerBlock<Layer: ?Sized> {
    pub norm1: Tensor,
    pub qkv: Box<Layer>,
    pub proj: Box<Layer>,
    pub norm2: Tensor,
    pub mlp_fc1: Box<Layer>,
    pub mlp_fc2: Box<Layer>,
}

impl<Layer: ?Sized> TransformerBlock<Layer> {
    fn build(
        mut parameters: Parameters,
        mut make: impl FnMut(&str, Tensor) -> Result<Box<Layer>, Refusal>,
    ) -> Result<Self, Refusal> {
        let norm1 = parameters.take_weight("norm1")?;
        let norm2 = parameters.take_weight("norm2")?;
        let mut layer = |name| make(name, parameters.take_weight(name)?);
        Ok(Self {
            qkv: layer("qkv")?,
            proj: layer("proj")?,
            mlp_fc1: layer("mlp_fc1")?,
            mlp_fc2: layer("mlp_fc2")?,
            norm1,
            norm2,
        })
    }
}

impl TransformerBlock<dyn LinearLayer> {
    /// Attention over the sequence, without the projection: `[b, s, k]` → `[b, s, k]`.
    ///
    /// Upstream's function holds every one of these tensors until it returns, the MLP included,
    /// and `held` does so here: peak memory is compared too.
    fn attention(&self, x: Tensor, held: &mut Vec<Tensor>) -> Result<Tensor, TchError> {
        let (batch, sequence, width) = x.size3()?;
        let heads = BLOCK_HEADS as i64;
        let head = width / heads;

        let qkv = self.qkv.forward(&x, None)?.f_reshape([batch, sequence, 3, heads, head])?;
        // To [3, b, heads, s, head].
        let qkv = qkv.f_permute([2, 0, 3, 1, 4])?;
        let mut parts = qkv.f_unbind(0)?;
        for part in &mut parts {
            *part = part.f_reshape([batch * heads, sequence, head])?;
        }
        let [q, k, v] = parts.as_slice() else {
            return Err(TchError::Shape(format!("3 parts expected, {} found", parts.len())));
        };
        let scale = 1.0 / (head as f64).sqrt();
        let mut scores = q.f_matmul(&k.f_transpose(-2, -1)?)?;
        scores = scores.f_mul_scalar(scale)?;
        scores = scores.f_softmax(-1, None::<Kind>)?;
        let mixed = scores.f_matmul(v)?.f_reshape([batch, heads, sequence, head])?;
        drop(x);
        held.extend([qkv, scores]);
        held.append(&mut parts);
        mixed.f_transpose(1, 2)?.f_reshape([batch, sequence, width])
    }
}

impl Network for TransformerBlock<dyn LinearLayer> {
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let mut held = Vec::new();
        let mut x = rms_norm::forward(input, &self.norm1)?.output;
        x = self.attention(x, &mut held)?;
        x = self.proj.forward(&x, None)?;
        x = input.f_add(&x)?;

        let residual = x.shallow_clone();
        x = rms_norm::forward(&x, &self.norm2)?.output;
        x = self.mlp_fc1.forward(&x, None)?;
        x = x.f_gelu("none")?;
        x = self.mlp_fc2.forward(&x, None)?;
        match out {
            None => residual.f_add(&x),
            Some(out) => residual.f_add_out(out, &x),
        }
    }

    fn layers(&self) -> Vec<&dyn LinearLayer> {
        vec![&*self.qkv, &*self.proj, &*self.mlp_fc1, &*self.mlp_fc2]
    }

    fn norms(&self) -> Vec<&Tensor> {
        vec![&self.norm1, &self.norm2]
    }
}
