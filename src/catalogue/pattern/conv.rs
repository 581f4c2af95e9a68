//! The patterns around a convolution: `conv2d_relu`, max(conv(x) + b, 0), `conv2d_bn`, a convolution
//! without bias, then batch normalization with fixed statistics, and `conv2d_bn_relu`, then
//! max(·, 0).

use plan::pattern::KERNEL_SIZE;
use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork, MemoryFormat};
use tch::{TchError, Tensor};

use super::batch_norm::BatchNorm;
use super::{mkldnn, torchscript};
use crate::inputs::{self, Inputs};
use crate::kernel::Gates;
use crate::kernel::{KernelContext, Operation, Step};
use crate::native::onednn::{self, Convolution, PostOp};
use crate::refusal::Refusal;

#[derive(Clone, Copy)]
pub(super) struct Conv {
    /// Whether the output's channels are normalized, or get a bias.
    normalized: bool,
    relu: bool,
    gates: Gates,
}

impl Conv {
    /// Lowest values measured on a CPU, in dB, over 8 to 28 seeds, sizes from
    /// 1x3x7x5 to 8x256x256x14 and both layouts of images:
    ///
    /// | dtype    | unfused, inplace | fused, mkldnn | gate |
    /// |----------|------------------|---------------|------|
    /// | float32  | 118.0            | 118.0         | 100  |
    /// | bfloat16 | 54.0             | 54.0          | 46   |
    /// | float16  | 71.8             |               | 64   |
    pub(super) const RELU: Self = Self {
        normalized: false,
        relu: true,
        gates: Gates { float32: 100.0, bfloat16: 46.0, float16: 64.0 },
    };

    /// Lowest values over the same seeds, sizes and layouts:
    ///
    /// | dtype    | unfused | fused | mkldnn | gate |
    /// |----------|---------|-------|--------|------|
    /// | float32  | 120.8   | 120.5 | 120.5  | 100  |
    /// | bfloat16 | 52.5    | 48.2  | 48.2   | 42   |
    /// | float16  | 70.3    | 68.6  |        | 61   |
    ///
    /// In half precision folded filters are rounded a second time, which costs more than the
    /// rounding of an output between the operations.
    pub(super) const BN: Self = Self {
        normalized: true,
        relu: false,
        gates: Gates { float32: 100.0, bfloat16: 42.0, float16: 61.0 },
    };

    /// Lowest values over the same seeds, sizes and layouts:
    ///
    /// | dtype    | unfused, inplace | folded | fused, mkldnn | gate |
    /// |----------|------------------|--------|---------------|------|
    /// | float32  | 120.4            | 120.6  | 120.6         | 100  |
    /// | bfloat16 | 48.8             | 49.7   | 49.7          | 42   |
    /// | float16  | 65.5             | 64.7   |               | 58   |
    pub(super) const BN_RELU: Self = Self {
        normalized: true,
        relu: true,
        gates: Gates { float32: 100.0, bfloat16: 42.0, float16: 58.0 },
    };
}

const POINTWISE: &str = "mkldnn::_convolution_pointwise";

/// Keeps height and width.
const SAME: Convolution =
    Convolution { padding: [1, 1], stride: [1, 1], dilation: [1, 1], groups: 1 };

/// The separate operations on the output of a convolution.
struct Rest {
    norm: Option<BatchNorm>,
    relu: Relu,
}

#[derive(Clone, Copy)]
enum Relu {
    None,
    New,
    InPlace,
}

impl Rest {
    /// `operations`, then its own.
    fn kernels(&self, operations: &[&'static str]) -> Vec<&'static str> {
        let norm = self.norm.as_ref().map(|_| "aten::batch_norm");
        let relu = match self.relu {
            Relu::None => None,
            Relu::New => Some("aten::relu"),
            Relu::InPlace => Some("aten::relu_"),
        };
        operations.iter().copied().chain(norm).chain(relu).collect()
    }

    /// Frees the convolution before ReLU, as a variable of Python's would.
    fn run(&self, mut y: Tensor) -> Result<Tensor, TchError> {
        if let Some(norm) = &self.norm {
            y = norm.apply(&y)?;
        }
        match self.relu {
            Relu::None => Ok(y),
            Relu::New => y.f_relu(),
            Relu::InPlace => y.f_relu_(),
        }
    }
}

impl Operation<FusionWork> for Conv {
    /// `x [b, i, s, s]` normal, filters `[o, i, 3, 3]` as `torch.nn.Conv2d` initializes them, and a bias
    /// like them or the four vectors of a normalization.
    fn inputs(&self, context: &KernelContext<FusionWork>) -> Result<Inputs, Refusal> {
        let FusionShape::Conv { b, i, o, s, memory_format } = context.work.size else {
            return Err(context
                .unsupported(&format!("{} is not a size of a convolution", context.work.size)));
        };
        let range = inputs::initial_range(i * KERNEL_SIZE * KERNEL_SIZE);
        let laid_out = |tensor: Tensor| match memory_format {
            MemoryFormat::Contiguous => Ok(tensor),
            MemoryFormat::ChannelsLast => channels_last(&tensor),
        };
        let x = laid_out(context.normal(&[b, i, s, s])?)?;
        let filters = laid_out(context.uniform(&[o, i, KERNEL_SIZE, KERNEL_SIZE], range)?)?;
        let parameters = if self.normalized {
            let BatchNorm { weight, bias, mean, variance } = BatchNorm::draw(context, o)?;
            vec![filters, weight, bias, mean, variance]
        } else {
            vec![filters, context.uniform(&[o], range)?]
        };
        Ok(Inputs { examples: vec![x], parameters })
    }

    /// Convolution and ReLU are one operation of cuDNN's on CUDA, of oneDNN's otherwise.
    fn check(&self, context: &KernelContext<FusionWork>) -> Result<(), String> {
        match (context.work.variant, context.device) {
            (FusionVariant::Fused, device) if self.relu && device != Device::Cuda => {
                mkldnn::supports(context)
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
        use FusionVariant::{Folded, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, Unfused};
        let variant = context.work.variant;
        let (x, mut filters, mut bias, mut norm) = if self.normalized {
            let ([x], [filters, weight, bias, mean, variance]) = inputs.into_parts()?;
            (x, filters, None, Some(BatchNorm { weight, bias, mean, variance }))
        } else {
            let ([x], [filters, bias]) = inputs.into_parts()?;
            (x, filters, Some(bias), None)
        };
        let mut stored = norm.as_ref().map(BatchNorm::bytes);
        if !matches!(variant, Unfused | Inplace | MkldnnUnfused)
            && let Some(norm) = norm.take()
        {
            let (folded, added) = norm.fold(&filters)?;
            stored = Some(inputs::bytes(&folded) + inputs::bytes(&added));
            (filters, bias) = (folded, Some(added));
        }
        let folds = norm.is_none();
        let relu = match variant {
            _ if !self.relu => Relu::None,
            Inplace => Relu::InPlace,
            _ => Relu::New,
        };
        let rest = Rest { norm, relu };
        let step = match variant {
            // ReLU alone has a convolution of its own to be part of.
            Fused if self.relu => with_relu(context, x, filters, bias)?,
            Unfused | Inplace | Fused | Folded => {
                let kernels = rest.kernels(convolution(context.device, bias.is_some()));
                Step::new(&kernels, move || rest.run(conv2d(&x, &filters, bias.as_ref())?))
            }
            Mkldnn => {
                let post_op = if self.relu { PostOp::Relu } else { PostOp::None };
                let rest = Rest { norm: None, relu: Relu::None };
                return pointwise(x, &filters, bias, post_op, rest);
            }
            MkldnnUnfused => {
                let step = pointwise(x, &filters, bias, PostOp::None, rest)?;
                return Ok(step.storing_also(stored.unwrap_or(0)));
            }
            OnednnGraph => onednn_graph(context, x, filters, bias, self.relu)?,
            _ => return Err(context.no_such_implementation()),
        };
        Ok(match stored {
            Some(bytes) if folds => step.storing(bytes),
            _ => step,
        })
    }

    fn min_sqnr_db(&self, _: &FusionWork, dtype: Dtype) -> f64 {
        self.gates.for_dtype(dtype)
    }
}

/// A copy that lies pixel by pixel, with the strides that torch gives it, also where a dimension
/// of 1 would leave a choice.
fn channels_last(tensor: &Tensor) -> Result<Tensor, TchError> {
    let (n, c, h, w) = tensor.size4()?;
    let strides = [h * w * c, 1, w * c, c];
    let mut copy =
        Tensor::f_empty_strided([n, c, h, w], strides, (tensor.kind(), tensor.device()))?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}

fn conv2d(x: &Tensor, filters: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
    let Convolution { padding, stride, dilation, groups } = SAME;
    x.f_conv2d(filters, bias, stride, padding, dilation, groups)
}

/// The operations of [`conv2d`]: cuDNN's convolution has no bias, and libtorch adds it afterwards.
const fn convolution(device: Device, has_bias: bool) -> &'static [&'static str] {
    match device {
        Device::Cuda if has_bias => &["aten::conv2d", "aten::add_"],
        _ => &["aten::conv2d"],
    }
}

/// max(conv(x) + bias, 0) in one operation, with filters as they are.
fn with_relu(
    context: &KernelContext<FusionWork>,
    x: Tensor,
    filters: Tensor,
    bias: Option<Tensor>,
) -> Result<Step, Refusal> {
    let Convolution { padding, stride, dilation, groups } = SAME;
    Ok(match context.device {
        Device::Cuda => {
            let step = Step::new(&["aten::cudnn_convolution_relu"], move || {
                let bias = bias.as_ref();
                x.f_cudnn_convolution_relu(&filters, bias, stride, padding, dilation, groups)
            });
            // Whether cuDNN has an engine for it, in full precision too, only cuDNN knows.
            drop(tch::no_grad(|| step.run()).map_err(|refusal| match refusal {
                Refusal::Failed(text) => context.unsupported(&text),
                other => other,
            })?);
            step
        }
        Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
            let contiguous = x.is_contiguous();
            let step = Step::new(&[POINTWISE], move || {
                onednn::convolution_pointwise(&x, &filters, bias.as_ref(), &SAME, PostOp::Relu)
            });
            with_other_kernel(step, contiguous)
        }
    })
}

/// The convolution, with ReLU or without, fused by oneDNN Graph.
fn onednn_graph(
    context: &KernelContext<FusionWork>,
    x: Tensor,
    filters: Tensor,
    bias: Option<Tensor>,
    relu: bool,
) -> Result<Step, Refusal> {
    let Convolution { padding, stride, .. } = SAME;
    let output = if relu { "torch.relu(y)" } else { "y" };
    let source = format!(
        "
def pattern(x, filters, bias):
    y = torch.conv2d(x, filters, bias, {stride:?}, {padding:?})
    return {output}"
    );
    let contiguous = x.is_contiguous();
    let arguments = [x, filters].into_iter().chain(bias).collect();
    let step = torchscript::build_onednn_graph(context, &source, arguments)?;
    Ok(with_other_kernel(step, contiguous))
}

/// A step whose convolution is oneDNN's by name, with what that means for its speed-up.
fn with_other_kernel(step: Step, contiguous: bool) -> Step {
    match contiguous {
        false => step,
        true => step.noting(
            "of contiguous images it runs oneDNN's channels_last kernel, on copies, where `unfused` \
             runs another of oneDNN's: not all of the difference is fusion's; with channels_last \
             both run one kernel",
        ),
    }
}

/// oneDNN's convolution, its filters reordered for images of that size, and the `rest`.
fn pointwise(
    x: Tensor,
    filters: &Tensor,
    bias: Option<Tensor>,
    post_op: PostOp,
    rest: Rest,
) -> Result<Step, Refusal> {
    let (b, i, h, w) = x.size4()?;
    let reorder = || onednn::reorder_convolution_weight(filters, &SAME, [b, i, h, w]);
    let (filters, bytes) = mkldnn::reordered(reorder)?;
    let stored = bytes + bias.as_ref().map_or(0, inputs::bytes);
    let contiguous = x.is_contiguous();
    let step = Step::new::<Refusal>(&rest.kernels(&[POINTWISE]), move || {
        let y = onednn::convolution_pointwise(&x, &filters, bias.as_ref(), &SAME, post_op)?;
        Ok(rest.run(y)?)
    });
    let step = step.storing(stored).noting(mkldnn::REORDERED);
    Ok(match contiguous {
        false => step,
        true => step.noting(
            "with reordered filters oneDNN computes in channels_last: contiguous images are copied \
             to that layout in every step, and the output stays in it",
        ),
    })
}
