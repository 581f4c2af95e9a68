//! `transformer_block` in training.

use plan::BLOCK_HEADS;
use tch::{Kind, TchError, Tensor};

use super::trained::exactly;
use super::transformer_block::TransformerBlock;
use super::{ModelGradients, Passed, TrainedLayer, TrainedNetwork, rms_norm};

/// Tensors that the forward pass saves.
const SAVED: usize = 15;

impl TrainedNetwork for TransformerBlock<dyn TrainedLayer> {
    fn forward(&self, input: &Tensor) -> Result<Passed, TchError> {
        let normed1 = rms_norm::forward(input, &self.norm1)?;
        let Mixed { qkv: [q, k, v], weights, output: mixed } =
            attention(&self.qkv.forward(&normed1.output)?)?;
        let x = input.f_add(&self.proj.forward(&mixed)?)?;
        let normed2 = rms_norm::forward(&x, &self.norm2)?;
        let hidden = self.mlp_fc1.forward(&normed2.output)?;
        let activated = hidden.f_gelu("none")?;
        let output = x.f_add(&self.mlp_fc2.forward(&activated)?)?;
        let rms_norm::Normed { wide: wide1, inverse: inverse1, normed: n1, output: x1 } = normed1;
        let rms_norm::Normed { wide: wide2, inverse: inverse2, normed: n2, output: x2 } = normed2;
        let saved: [Tensor; SAVED] = [
            wide1, inverse1, n1, x1, q, k, v, weights, mixed, wide2, inverse2, n2, x2, hidden,
            activated,
        ];
        Ok(Passed { output, saved: saved.into() })
    }

    fn backward(
        &self,
        _input: &Tensor,
        tensors: &[Tensor],
        grad_output: &Tensor,
    ) -> Result<ModelGradients, TchError> {
        let [
            wide1,
            inverse1,
            n1,
            x1,
            q,
            k,
            v,
            weights,
            mixed,
            wide2,
            inverse2,
            n2,
            x2,
            hidden,
            activated,
        ]: &[Tensor; SAVED] = exactly(tensors)?;
        let fc2 = self.mlp_fc2.backward(activated, grad_output)?;
        let grad = hidden.f_gelu_backward(&fc2.input, "none")?;
        let fc1 = self.mlp_fc1.backward(x2, &grad)?;
        let [grad, norm2] =
            rms_norm::backward([wide2, inverse2, n2], &self.norm2, &fc1.input, grad_output)?;
        let proj = self.proj.backward(mixed, &grad)?;
        let grad_qkv = attention_backward([q, k, v], weights, &proj.input)?;
        let qkv = self.qkv.backward(x1, &grad_qkv)?;
        let [input, norm1] =
            rms_norm::backward([wide1, inverse1, n1], &self.norm1, &qkv.input, &grad)?;
        let parameters = vec![qkv.weight, proj.weight, fc1.weight, fc2.weight, norm1, norm2];
        Ok(ModelGradients { input, parameters })
    }

    fn layers(&self) -> Vec<&dyn TrainedLayer> {
        vec![&*self.qkv, &*self.proj, &*self.mlp_fc1, &*self.mlp_fc2]
    }

    fn norms(&self) -> Vec<&Tensor> {
        vec![&self.norm1, &self.norm2]
    }
}

/// Attention with what its backward pass reads.
struct Mixed {
    /// Each `[b · heads, s, head]`.
    qkv: [Tensor; 3],
    /// After the softmax, `[b · heads, s, s]`.
    weights: Tensor,
    /// `[b, s, k]`
    output: Tensor,
}

/// The factor of the scores.
fn scale(head: i64) -> f64 {
    1.0 / (head as f64).sqrt()
}

/// Attention over the sequence, without the projections: `[b, s, 3k]` → `[b, s, k]`.
fn attention(qkv: &Tensor) -> Result<Mixed, TchError> {
    let (batch, sequence, width) = qkv.size3()?;
    let heads = BLOCK_HEADS as i64;
    let (width, head) = (width / 3, width / 3 / heads);
    // To [3, b, heads, s, head].
    let qkv = qkv.f_reshape([batch, sequence, 3, heads, head])?.f_permute([2, 0, 3, 1, 4])?;
    let parts = qkv.f_unbind(0)?;
    let [q, k, v] = exactly(&parts)?;
    let part = |it: &Tensor| it.f_reshape([batch * heads, sequence, head]);
    let [q, k, v] = [part(q)?, part(k)?, part(v)?];
    let mut weights = q.f_matmul(&k.f_transpose(-2, -1)?)?;
    weights = weights.f_mul_scalar(scale(head))?;
    weights = weights.f_softmax(-1, None::<Kind>)?;
    let mixed = weights.f_matmul(&v)?.f_reshape([batch, heads, sequence, head])?;
    let output = mixed.f_transpose(1, 2)?.f_reshape([batch, sequence, width])?;
    Ok(Mixed { qkv: [q, k, v], weights, output })
}

/// The gradient of what [`attention`] took.
fn attention_backward(
    [q, k, v]: [&Tensor; 3],
    weights: &Tensor,
    grad_output: &Tensor,
) -> Result<Tensor, TchError> {
    let (batch, sequence, width) = grad_output.size3()?;
    let heads = BLOCK_HEADS as i64;
    let head = width / heads;
    let grad = grad_output.f_reshape([batch, sequence, heads, head])?.f_transpose(1, 2)?;
    let grad = grad.f_reshape([batch * heads, sequence, head])?;
    let grad_v = weights.f_transpose(1, 2)?.f_bmm(&grad)?;
    let mut scores = grad.f_bmm(&v.f_transpose(1, 2)?)?;
    scores = Tensor::f_internal_softmax_backward_data(&scores, weights, -1, weights.f_kind()?)?;
    scores = scores.f_mul_scalar(scale(head))?;
    let grad_q = scores.f_bmm(k)?;
    let grad_k = q.f_transpose(1, 2)?.f_bmm(&scores)?.f_transpose(1, 2)?;
    let part = |it: Tensor| it.f_reshape([batch, heads, sequence, head]);
    let parts = Tensor::f_stack(&[part(grad_q)?, part(grad_k)?, part(grad_v)?], 0)?;
    parts.f_permute([1, 3, 0, 2, 4])?.f_reshape([batch, sequence, 3 * width])
}
