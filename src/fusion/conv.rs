//! What the patterns around a convolution have in common.

use plan::fusion::KERNEL_SIZE;
use plan::{Device, FusionShape, FusionVariant, MemoryFormat};
use tch::{TchError, Tensor};

use super::batch_norm::BatchNorm;
use super::{Inputs, Site, Step, mkldnn, torchscript};
use crate::inputs;
use crate::native::onednn::{self, Convolution, PostOp};
use crate::refusal::Refusal;

/// oneDNN's convolution by name.
const POINTWISE: &str = "mkldnn::_convolution_pointwise";

/// Keeps height and width.
const SAME: Convolution =
    Convolution { padding: [1, 1], stride: [1, 1], dilation: [1, 1], groups: 1 };

/// `x [b, i, s, s]` normal; filters `[o, i, 3, 3]` and bias as `torch.nn.Conv2d` initializes them.
pub(super) fn draw_biased(site: &Site) -> Result<Inputs, TchError> {
    let Images { x, filters, fan_in, channels } = images(site)?;
    let bias = site.uniform(&[channels], fan_in)?;
    Ok(Inputs { examples: vec![x], parameters: vec![filters, bias] })
}

/// The same without the bias, and with a normalization of the output's channels.
pub(super) fn draw_normalized(site: &Site) -> Result<Inputs, TchError> {
    let Images { x, filters, channels, .. } = images(site)?;
    let BatchNorm { weight, bias, mean, variance } = BatchNorm::draw(site, channels)?;
    Ok(Inputs { examples: vec![x], parameters: vec![filters, weight, bias, mean, variance] })
}

/// What [`draw_normalized`] has drawn: x, filters and normalization.
pub(super) fn normalized(inputs: Inputs) -> Result<(Tensor, Tensor, BatchNorm), TchError> {
    let ([x], [filters, weight, bias, mean, variance]) = inputs.into_parts()?;
    Ok((x, filters, BatchNorm { weight, bias, mean, variance }))
}

struct Images {
    x: Tensor,
    filters: Tensor,
    /// Products that are summed for an element of the output.
    fan_in: u64,
    /// Of the output.
    channels: u64,
}

fn images(site: &Site) -> Result<Images, TchError> {
    let FusionShape::Conv { b, i, o, s, memory_format } = site.work.size else {
        return Err(TchError::Shape(format!("{} is no size of a convolution", site.work.size)));
    };
    let fan_in = i * KERNEL_SIZE * KERNEL_SIZE;
    let laid_out = |tensor: Tensor| match memory_format {
        MemoryFormat::Contiguous => Ok(tensor),
        MemoryFormat::ChannelsLast => channels_last(&tensor),
    };
    Ok(Images {
        x: laid_out(site.normal(&[b, i, s, s])?)?,
        filters: laid_out(site.uniform(&[o, i, KERNEL_SIZE, KERNEL_SIZE], fan_in)?)?,
        fan_in,
        channels: o,
    })
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

/// Whether convolution and ReLU are one operation here, where the variant has it: cuDNN's on CUDA,
/// oneDNN's otherwise.
pub(super) fn check_with_relu(site: &Site) -> Result<(), String> {
    match (site.work.variant, site.device) {
        (FusionVariant::Fused, Device::Cuda) => Ok(()),
        (FusionVariant::Fused, _) => mkldnn::check(site),
        (variant, _) => check_onednn(site, variant),
    }
}

/// Whether oneDNN can do it, where it is called by name.
pub(super) fn check_onednn(site: &Site, variant: FusionVariant) -> Result<(), String> {
    match variant {
        FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph => {
            mkldnn::check(site)
        }
        _ => Ok(()),
    }
}

/// libtorch's own convolution.
pub(super) fn conv2d(
    x: &Tensor,
    filters: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, TchError> {
    let Convolution { padding, stride, dilation, groups } = SAME;
    x.f_conv2d(filters, bias, stride, padding, dilation, groups)
}

/// max(conv(x) + bias, 0) in one operation, with filters as they are.
pub(super) fn with_relu(
    site: &Site,
    x: Tensor,
    filters: Tensor,
    bias: Tensor,
) -> Result<Step, Refusal> {
    let Convolution { padding, stride, dilation, groups } = SAME;
    Ok(match site.device {
        Device::Cuda => {
            let step = Step::new(&["aten::cudnn_convolution_relu"], move || {
                x.f_cudnn_convolution_relu(&filters, Some(&bias), stride, padding, dilation, groups)
            });
            // Whether cuDNN has an engine for it, in full precision too, only cuDNN knows.
            drop(tch::no_grad(|| step.run()).map_err(|error| site.refuse(error.to_string()))?);
            step
        }
        Device::Cpu | Device::Xpu | Device::Mps => {
            let contiguous = x.is_contiguous();
            let step = Step::new(&[POINTWISE], move || {
                Ok(onednn::convolution_pointwise(&x, &filters, Some(&bias), &SAME, PostOp::Relu)?)
            });
            with_other_kernel(step, contiguous)
        }
    })
}

/// The operations of [`conv2d`] with a bias: cuDNN's convolution has none, and libtorch adds it
/// afterwards.
pub(super) fn biased_kernels(device: Device, rest: &[&'static str]) -> Vec<&'static str> {
    let add: &[&str] = if device == Device::Cuda { &["aten::add_"] } else { &[] };
    ["aten::conv2d"].iter().chain(add).chain(rest).copied().collect()
}

/// The convolution with what `output` makes of it, fused by oneDNN Graph.
pub(super) fn onednn_graph(
    site: &Site,
    x: Tensor,
    filters: Tensor,
    bias: Tensor,
    output: &str,
) -> Result<Step, Refusal> {
    let Convolution { padding, stride, .. } = SAME;
    let source = format!(
        "
def pattern(x, filters, bias):
    y = torch.conv2d(x, filters, bias, {stride:?}, {padding:?})
    return {output}"
    );
    let contiguous = x.is_contiguous();
    let step = torchscript::build_onednn_graph(site, &source, vec![x, filters, bias])?;
    Ok(with_other_kernel(step, contiguous))
}

/// A step whose convolution is oneDNN's by name, with what that means for its speed-up.
fn with_other_kernel(step: Step, contiguous: bool) -> Step {
    match contiguous {
        false => step,
        true => step.noting(
            "of contiguous images it runs oneDNN's channels_last kernel, on copies, where `unfused` \
             runs another of oneDNN's: not all of the difference is fusion's; with channels_last \
             both run one kernel"
                .to_owned(),
        ),
    }
}

/// oneDNN's convolution, its filters reordered for images of that size, and what `rest` does to its
/// output by the operations `names`.
pub(super) fn pointwise(
    x: Tensor,
    filters: &Tensor,
    bias: Option<Tensor>,
    post_op: PostOp,
    names: &[&'static str],
    rest: impl Fn(Tensor) -> Result<Tensor, TchError> + 'static,
) -> Result<Step, Refusal> {
    let (b, i, h, w) = x.size4()?;
    let reorder = || onednn::reorder_convolution_weight(filters, &SAME, [b, i, h, w]);
    let (filters, bytes) = mkldnn::reordered(reorder)?;
    let stored = bytes + bias.as_ref().map_or(0, inputs::bytes);
    let contiguous = x.is_contiguous();
    let kernels: Vec<_> = [POINTWISE].iter().chain(names).collect();
    let step = Step::new(&kernels, move || {
        rest(onednn::convolution_pointwise(&x, &filters, bias.as_ref(), &SAME, post_op)?)
    });
    let step = mkldnn::noting_reordered(step.storing(stored));
    Ok(match contiguous {
        false => step,
        true => step.noting(
            "with reordered filters oneDNN computes in channels_last: contiguous images are copied \
             to that layout in every step, and the output stays in it"
                .to_owned(),
        ),
    })
}
