//! What the patterns around a linear layer have in common.

use plan::{Device, FusionShape};
use tch::{TchError, Tensor};

use super::{Inputs, Site, Step, mkldnn, torchscript};
use crate::inputs;
use crate::native::addmm;
use crate::native::onednn::{self, PostOp};
use crate::refusal::Refusal;

/// oneDNN's linear layer.
const POINTWISE: &str = "mkldnn::_linear_pointwise";

/// `x [m, k]`, `Wᵀ [k, n]` (a view of `W [n, k]`) and `b [n]`.
pub(super) struct Operands {
    pub(super) x: Tensor,
    pub(super) weight: Tensor,
    pub(super) weight_t: Tensor,
    pub(super) bias: Tensor,
}

/// `x` normal; weight and bias as `torch.nn.Linear` initializes them.
pub(super) fn draw(site: &Site) -> Result<Inputs, TchError> {
    let FusionShape::Linear { m, k, n } = site.work.size else {
        return Err(TchError::Shape(format!("{} is no size of a linear layer", site.work.size)));
    };
    Ok(Inputs {
        examples: vec![site.normal(&[m, k])?],
        parameters: vec![site.uniform(&[n, k], k)?, site.uniform(&[n], k)?],
    })
}

impl Operands {
    /// What the operations one by one read.
    pub(super) fn unfused(&self) -> Vec<Tensor> {
        [&self.x, &self.weight_t, &self.bias].map(Tensor::shallow_clone).into()
    }
}

/// What [`draw`] has drawn.
pub(super) fn operands(inputs: Inputs) -> Result<Operands, TchError> {
    let ([x], [weight, bias]) = inputs.into_parts()?;
    let weight_t = weight.f_tr()?;
    Ok(Operands { x, weight, weight_t, bias })
}

/// `_addmm_activation`. On CUDA it is one operation, which is fused if cuBLASLt takes it as an
/// epilogue; elsewhere the same name runs these two.
pub(super) fn addmm_activation(
    site: &Site,
    [x, weight_t, bias]: [Tensor; 3],
    activation: addmm::Activation,
    in_place: &'static str,
) -> Step {
    let run = move || Ok(addmm::addmm_activation(&bias, &x, &weight_t, activation)?);
    match site.device {
        Device::Cuda => {
            Step::new(&["aten::_addmm_activation"], run).noting(NOT_VERIFIED.to_owned())
        }
        Device::Cpu | Device::Xpu | Device::Mps => Step::new(&["aten::addmm", in_place], run),
    }
}

/// libtorch says neither whether cuBLASLt found an algorithm nor which kernels it queued. A profiler knows them, but would
/// change the times of the process that measures.
const NOT_VERIFIED: &str = "not verified to be fused: where cuBLASLt refuses, libtorch runs product and \
                            activation one by one under the same name; `cargo xtask gpu-check` names the \
                            kernels that ran";

/// Whether cuBLASLt has an epilogue for that size; where it has not, libtorch runs product and
/// activation one by one under the name of `_addmm_activation`, and says nothing.
///
/// As libtorch 2.11 decides it: ATen's `native/cuda/Blas.cpp`, `isInputCompliesAddmmCudaLt`.
pub(super) fn check_epilogue(site: &Site) -> Result<(), String> {
    let FusionShape::Linear { m, k, n } = site.work.size else { return Ok(()) };
    if m.min(k).min(n) < 2 {
        return Err(format!(
            "the epilogue of cuBLASLt takes m, k and n from 2 on, not {m}x{k}x{n}"
        ));
    }
    match std::env::var("DISABLE_ADDMM_CUDA_LT") {
        Ok(value) if value == "1" => Err("libtorch leaves cuBLASLt's epilogue out, because \
                                          DISABLE_ADDMM_CUDA_LT is 1; unset it"
            .to_owned()),
        _ => Ok(()),
    }
}

/// The layer fused by oneDNN Graph with what is done to its output: `torch.relu(y)`, or `y`.
pub(super) fn onednn_graph(
    site: &Site,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    output: &str,
) -> Result<Step, Refusal> {
    let source = format!(
        "
def pattern(x, weight, bias):
    y = torch.linear(x, weight, bias)
    return {output}"
    );
    let step = torchscript::build_onednn_graph(site, &source, vec![x, weight, bias])?;
    Ok(mkldnn::with_own_product(step, site.dtype))
}

/// oneDNN's linear layer, its weight reordered for as many rows as there are.
pub(super) fn pointwise(
    site: &Site,
    x: Tensor,
    weight: &Tensor,
    bias: Tensor,
    post_op: PostOp,
) -> Result<Step, Refusal> {
    let (weight, stored) = reordered(&x, weight, &bias)?;
    let step = Step::new(&[POINTWISE], move || {
        Ok(onednn::linear_pointwise(&x, &weight, Some(&bias), post_op)?)
    });
    Ok(mkldnn::with_own_product(mkldnn::noting_reordered(step.storing(stored)), site.dtype))
}

/// An operation on the output of a layer: its name, and itself.
pub(super) type Activation = (&'static str, fn(&Tensor) -> Result<Tensor, TchError>);

/// The operations one by one, the product by oneDNN as in [`pointwise`]; `activation` is the last of
/// them, if there is one.
pub(super) fn pointwise_unfused(
    site: &Site,
    x: Tensor,
    weight: &Tensor,
    bias: Tensor,
    activation: Option<Activation>,
) -> Result<Step, Refusal> {
    let (weight, stored) = reordered(&x, weight, &bias)?;
    let kernels = [POINTWISE, "aten::add"].into_iter().chain(activation.map(|(name, _)| name));
    let step = Step::new(&kernels.collect::<Vec<_>>(), move || {
        let mut y = onednn::linear_pointwise(&x, &weight, None, PostOp::None)?;
        // Frees the product before the activation, as a variable of Python's would.
        y = y.f_add(&bias)?;
        match activation {
            Some((_, activate)) => activate(&y),
            None => Ok(y),
        }
    });
    Ok(mkldnn::with_own_product(mkldnn::noting_reordered(step.storing(stored)), site.dtype))
}

/// The weight in oneDNN's layout, and the bytes that are stored with the bias.
fn reordered(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<(Tensor, u64), Refusal> {
    let (rows, _) = x.size2()?;
    let (weight, bytes) = mkldnn::reordered(|| onednn::reorder_linear_weight(weight, rows))?;
    Ok((weight, bytes + inputs::bytes(bias)))
}
