//! `mxfp8`, `mxfp4`, `nvfp4` on CUDA: the layer around libtorch's product of blocks.

use plan::BlockFormat;
use tch::{Kind, TchError, Tensor};

use super::blocks::Blocks;
use super::{LinearLayer, filled};
use crate::native::scaled_mm::{self, Format, block_scaled_mm};
use crate::refusal::Refusal;

/// The layer of a quantized weight `[n, k]` on a CUDA device, in the dtype `kind`.
///
/// # Errors
/// Unsupported where libtorch is built without the product.
pub(super) fn layer(weight: Blocks, kind: Kind) -> Result<Box<dyn LinearLayer>, Refusal> {
    let layer = Layer { swizzled: weight.swizzled_scales()?, weight, kind };
    if layer.weight.format() == BlockFormat::Mxfp4 {
        // A kernel of FBGEMM's, which a libtorch may be built without; only a call tells.
        drop(layer.product(&layer.weight, &layer.swizzled).map_err(unsupported)?);
    }
    Ok(Box::new(layer))
}

/// Memory that runs out has a refusal of its own.
fn unsupported(error: TchError) -> Refusal {
    match Refusal::from(error) {
        Refusal::Failed(text) => Refusal::Unsupported(format!("`_scaled_mm_v2`: {text}")),
        other => other,
    }
}

#[derive(Debug)]
struct Layer {
    weight: Blocks,
    /// The weight's scales as the product reads them.
    swizzled: Tensor,
    kind: Kind,
}

impl Layer {
    /// `rows [.., k] · weightᵀ`, the scales of the tensors aside.
    fn product(&self, rows: &Blocks, swizzled: &Tensor) -> Result<Tensor, TchError> {
        product((rows, swizzled), (&self.weight, &self.swizzled), self.kind)
    }
}

/// `left · rightᵀ` of blocks with their swizzled scales, the scales of the tensors aside.
pub(super) fn product(
    left: (&Blocks, &Tensor),
    right: (&Blocks, &Tensor),
    kind: Kind,
) -> Result<Tensor, TchError> {
    let format = match left.0.format() {
        BlockFormat::Mxfp8 => Format::Mxfp8,
        BlockFormat::Mxfp4 => Format::Mxfp4,
        BlockFormat::Nvfp4 => Format::Nvfp4,
    };
    let [left, right] =
        [left, right].map(|(it, scales)| scaled_mm::Blocks { codes: &it.codes, scales });
    Ok(block_scaled_mm(format, left, right, kind)?)
}

impl LinearLayer for Layer {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let k = x.size().last().copied().unwrap_or_default();
        let rows = Blocks::quantize(self.weight.format(), &x.f_reshape([-1, k])?)?;
        let product = self.product(&rows, &rows.swizzled_scales()?)?;
        let (_, n) = product.size2()?;
        let scale = rows.scale_of_product(&self.weight)?;
        match (scale, out) {
            (Some(scale), _) => filled(x, n, out, |out| {
                drop(product.f_mul_out(out, &scale.f_to_kind(self.kind)?)?);
                Ok(())
            }),
            // libtorch's out form of mxfp4 puts another tensor in the place of the one it is given.
            (None, Some(_)) => filled(x, n, out, |out| out.f_copy_(&product)),
            (None, None) => product.f_reshape(super::output_size(x, n)),
        }
    }

    fn tensors(&self) -> Vec<&Tensor> {
        [&self.weight.codes, &self.swizzled].into_iter().chain(&self.weight.tensor_scale).collect()
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_scaled_mm_v2"]
    }
}
