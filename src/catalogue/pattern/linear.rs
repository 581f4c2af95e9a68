//! The patterns around a linear layer: `linear_bias`, x·Wᵀ + b, and with an activation after it
//! `linear_bias_relu` and `linear_bias_gelu`, the exact x·Φ(x), with erf.

use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork};
use tch::{TchError, Tensor};

use super::{mkldnn, torchscript};
use crate::inputs::{self, Inputs};
use crate::kernel::Gates;
use crate::kernel::{KernelContext, Operation, Step};
use crate::native::addmm;
use crate::native::onednn::{self, PostOp};
use crate::refusal::Refusal;

#[derive(Clone, Copy)]
pub(super) struct Linear {
    activation: Option<Activation>,
    gates: Gates,
}

#[derive(Clone, Copy)]
enum Activation {
    Relu,
    Gelu,
}

impl Linear {
    /// Lowest values measured on a CPU, in dB, over 8 to 28 seeds and sizes from
    /// 1x17x33 to 512x1024x1024 and 1x16384x16, where float32 is lowest:
    ///
    /// | dtype    | unfused, inplace | fused | mkldnn | gate |
    /// |----------|------------------|-------|--------|------|
    /// | float32  | 113.6            | 113.6 | 114.6  | 100  |
    /// | bfloat16 | 48.8             | 51.5  | 51.5   | 42   |
    /// | float16  | 66.9             | 70.0  |        | 60   |
    ///
    /// A bias that is missing leaves about 10·log10(k), which no gate of bfloat16 tells from
    /// rounding when k is beyond 15000.
    pub(super) const BIAS: Self =
        Self { activation: None, gates: Gates { float32: 100.0, bfloat16: 42.0, float16: 60.0 } };

    /// Lowest values over the same seeds and sizes:
    ///
    /// | dtype    | unfused, inplace | fused, addmm | mkldnn | gate |
    /// |----------|------------------|--------------|--------|------|
    /// | float32  | 110.5            | 110.5        | 112.5  | 100  |
    /// | bfloat16 | 46.9             | 51.4         | 51.4   | 40   |
    /// | float16  | 65.8             | 70.2         |        | 58   |
    pub(super) const BIAS_RELU: Self = Self {
        activation: Some(Activation::Relu),
        gates: Gates { float32: 100.0, bfloat16: 40.0, float16: 58.0 },
    };

    /// Lowest values over the same seeds and sizes:
    ///
    /// | dtype    | unfused, inplace | fused, addmm | mkldnn | gate |
    /// |----------|------------------|--------------|--------|------|
    /// | float32  | 112.1            | 112.1        | 114.4  | 100  |
    /// | bfloat16 | 44.8             | 46.2         | 51.9   | 38   |
    /// | float16  | 61.9             | 64.5         |        | 55   |
    ///
    /// The tanh approximation has 74 dB against the exact form: the gate stops it in float32; in
    /// half precision it hides behind the roundings.
    pub(super) const BIAS_GELU: Self = Self {
        activation: Some(Activation::Gelu),
        gates: Gates { float32: 100.0, bfloat16: 38.0, float16: 55.0 },
    };

    /// `operations`, then the activation.
    fn kernels(self, operations: &[&'static str]) -> Vec<&'static str> {
        operations.iter().copied().chain(self.activation.map(|it| it.names().0)).collect()
    }

    /// The activation of `y`, which it frees as a variable of Python's would, or overwrites.
    fn activated(self, mut y: Tensor, in_place: bool) -> Result<Tensor, TchError> {
        match (self.activation, in_place) {
            (None, _) => Ok(y),
            (Some(Activation::Relu), false) => y.f_relu(),
            (Some(Activation::Relu), true) => y.f_relu_(),
            (Some(Activation::Gelu), false) => y.f_gelu(EXACT),
            (Some(Activation::Gelu), true) => y.f_gelu_(EXACT),
        }
    }
}

/// torch's name of the exact form of GELU.
pub(super) const EXACT: &str = "none";

impl Activation {
    /// Its operation, and the one in place.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Relu => ("aten::relu", "aten::relu_"),
            Self::Gelu => ("aten::gelu", "aten::gelu_"),
        }
    }

    const fn python(self) -> &'static str {
        match self {
            Self::Relu => "torch.relu",
            Self::Gelu => "torch.gelu",
        }
    }
}

const POINTWISE: &str = "mkldnn::_linear_pointwise";

impl Operation<FusionWork> for Linear {
    /// `x [m, k]` normal; weight `[n, k]` and bias `[n]` as `torch.nn.Linear` initializes them.
    fn inputs(&self, context: &KernelContext<FusionWork>) -> Result<Inputs, Refusal> {
        let FusionShape::Linear { m, k, n } = context.work.size else {
            return Err(context
                .unsupported(&format!("{} is not a size of a linear layer", context.work.size)));
        };
        let range = inputs::initial_range(k);
        Ok(Inputs {
            examples: vec![context.normal(&[m, k])?],
            parameters: vec![context.uniform(&[n, k], range)?, context.uniform(&[n], range)?],
        })
    }

    fn check(&self, context: &KernelContext<FusionWork>) -> Result<(), String> {
        match (context.work.variant, context.device, self.activation) {
            (FusionVariant::Fused, Device::Cuda, Some(Activation::Relu)) => check_epilogue(context),
            (FusionVariant::Fused, Device::Cuda, Some(Activation::Gelu)) => {
                Err("the GELU of `_addmm_activation` is the tanh approximation on cuda, \
                     another function than the exact one of the pattern"
                    .to_owned())
            }
            _ => mkldnn::check(context),
        }
    }

    fn reference(
        &self,
        context: &KernelContext<FusionWork>,
        inputs: Inputs,
    ) -> Result<Tensor, Refusal> {
        super::unfused(self, context, inputs)
    }

    fn build(&self, context: &KernelContext<FusionWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], [weight, bias]) = inputs.into_parts()?;
        let (it, weight_t) = (*self, weight.f_tr()?);
        Ok(match (context.work.variant, self.activation) {
            (FusionVariant::Unfused, _) => {
                let reads = [&x, &weight_t, &bias].map(Tensor::shallow_clone).into();
                Step::new(&it.kernels(&["aten::mm", "aten::add"]), move || {
                    let mut y = x.f_mm(&weight_t)?;
                    // Frees the product before the activation.
                    y = y.f_add(&bias)?;
                    it.activated(y, false)
                })
                .reading(reads)
            }
            (FusionVariant::Fused, None) => {
                Step::new(&["aten::addmm"], move || bias.f_addmm(&x, &weight_t))
            }
            (FusionVariant::Fused, Some(activation)) => {
                addmm_activation(context, [x, weight_t, bias], activation)
            }
            (FusionVariant::Addmm, _) => Step::new(&it.kernels(&["aten::addmm"]), move || {
                it.activated(bias.f_addmm(&x, &weight_t)?, false)
            }),
            (FusionVariant::Inplace, _) => {
                let last = self.activation.map(|it| it.names().1);
                let kernels: Vec<_> = ["aten::mm", "aten::add_"].into_iter().chain(last).collect();
                Step::new(&kernels, move || it.activated(x.f_mm(&weight_t)?.f_add_(&bias)?, true))
            }
            (FusionVariant::Mkldnn, activation) => {
                let (weight, stored) = reordered(&x, &weight, &bias)?;
                let post_op = match activation {
                    None => PostOp::None,
                    Some(Activation::Relu) => PostOp::Relu,
                    Some(Activation::Gelu) => PostOp::Gelu,
                };
                let step = Step::new(&[POINTWISE], move || {
                    onednn::linear_pointwise(&x, &weight, Some(&bias), post_op)
                });
                mkldnn::noting_reordered(step.storing(stored), context)
            }
            (FusionVariant::MkldnnUnfused, _) => {
                let (weight, stored) = reordered(&x, &weight, &bias)?;
                let kernels = it.kernels(&[POINTWISE, "aten::add"]);
                let step = Step::new::<Refusal>(&kernels, move || {
                    let mut y = onednn::linear_pointwise(&x, &weight, None, PostOp::None)?;
                    // Frees the product before the activation.
                    y = y.f_add(&bias)?;
                    Ok(it.activated(y, false)?)
                });
                mkldnn::noting_reordered(step.storing(stored), context)
            }
            (FusionVariant::OnednnGraph, activation) => {
                let output = match activation {
                    None => "y",
                    Some(Activation::Relu) => "torch.relu(y)",
                    Some(Activation::Gelu) => "torch.gelu(y, approximate='none')",
                };
                let source = format!(
                    "
def pattern(x, weight, bias):
    y = torch.linear(x, weight, bias)
    return {output}"
                );
                let step =
                    torchscript::build_onednn_graph(context, &source, vec![x, weight, bias])?;
                mkldnn::with_own_product(step, context.dtype)
            }
            (FusionVariant::TorchScript, Some(activation)) => {
                let python = activation.python();
                // Upstream's function.
                let source = format!(
                    "
def pattern(x, weight_t, bias):
    return {python}(torch.addmm(bias, x, weight_t))"
                );
                let unfused = it.kernels(&["aten::mm", "aten::add"]);
                torchscript::build(context, &source, [x, weight_t, bias], &unfused)?
            }
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn min_sqnr_db(&self, _: &FusionWork, dtype: Dtype) -> f64 {
        self.gates.for_dtype(dtype)
    }
}

/// `_addmm_activation`. On CUDA it is one operation, which is fused if cuBLASLt takes it as an
/// epilogue; elsewhere the same name runs these two.
fn addmm_activation(
    context: &KernelContext<FusionWork>,
    [x, weight_t, bias]: [Tensor; 3],
    activation: Activation,
) -> Step {
    let (_, in_place) = activation.names();
    let activation = match activation {
        Activation::Relu => addmm::Activation::Relu,
        Activation::Gelu => addmm::Activation::Gelu,
    };
    let run = move || addmm::addmm_activation(&bias, &x, &weight_t, activation);
    match context.device {
        Device::Cuda => Step::new(&["aten::_addmm_activation"], run).noting(NOT_VERIFIED),
        Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
            Step::new(&["aten::addmm", in_place], run)
        }
    }
}

/// libtorch says neither whether cuBLASLt found an algorithm nor which kernels it queued. A profiler knows them, but would
/// change the times of the process that measures.
const NOT_VERIFIED: &str = "not verified to be fused: where cuBLASLt refuses, libtorch runs product and \
                            activation one by one under the same name; `cargo xtask gpu-check` names \
                            the kernels that ran";

/// Whether cuBLASLt has an epilogue for that size; where it has not, libtorch runs product and
/// activation one by one under the name of `_addmm_activation`, and says nothing.
///
/// As libtorch 2.11 decides it: ATen's `native/cuda/Blas.cpp`, `isInputCompliesAddmmCudaLt`.
fn check_epilogue(context: &KernelContext<FusionWork>) -> Result<(), String> {
    let FusionShape::Linear { m, k, n } = context.work.size else { return Ok(()) };
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

/// The weight in oneDNN's layout, reordered for as many rows as there are, and the bytes that are
/// stored with the bias.
fn reordered(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<(Tensor, u64), Refusal> {
    let (rows, _) = x.size2()?;
    let (weight, bytes) = mkldnn::reordered(|| onednn::reorder_linear_weight(weight, rows))?;
    Ok((weight, bytes + inputs::bytes(bias)))
}
