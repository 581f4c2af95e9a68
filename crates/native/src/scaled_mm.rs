//! Products of matrices in blocks that share a scale.

use tch::{Kind, Tensor};

use super::border::{self, In, Out, Status};
use super::error::Error;

unsafe extern "C" {
    fn ctn_block_scaled_mm(
        a: In,
        b: In,
        scale_a: In,
        scale_b: In,
        is_e2m1: bool,
        is_nvfp4: bool,
        to_float32: bool,
        out: Out,
    ) -> Status;
}

/// The dtypes of an operand's codes and scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// e4m3; an e8m0 for 32.
    Mxfp8,
    /// e2m1, two to a byte; an e8m0 for 32. Only a libtorch that is built with FBGEMM's kernels has it.
    Mxfp4,
    /// e2m1, two to a byte; an e4m3 for 16.
    Nvfp4,
}

/// An operand.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// Codes `[rows, k]`, or two to a byte `[rows, k / 2]`, in any dtype of one byte.
    pub codes: &'a Tensor,
    /// The bytes of the scales, swizzled.
    pub scales: &'a Tensor,
}

/// a · bᵀ, in float32 or bfloat16: ATen's `_scaled_mm_v2`. tch 0.24 has it, but not the dtypes e2m1 and e8m0.
pub fn block_scaled_mm(format: Format, a: Blocks, b: Blocks, kind: Kind) -> Result<Tensor, Error> {
    let to_float32 = match kind {
        Kind::Float => true,
        Kind::BFloat16 => false,
        other => return Err(Error::Torch(format!("a block-scaled product in {other:?}"))),
    };
    let (is_e2m1, is_nvfp4) = (format != Format::Mxfp8, format == Format::Nvfp4);
    let [a, scale_a, b, scale_b] = [a.codes, a.scales, b.codes, b.scales].map(Tensor::as_ptr);
    // SAFETY: the tensors live during the call.
    border::tensor(|out| unsafe {
        ctn_block_scaled_mm(a, b, scale_a, scale_b, is_e2m1, is_nvfp4, to_float32, out)
    })
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    /// libtorch has no such product for the CPU: when this fails, the recipes need not emulate it there.
    #[test]
    fn the_cpu_has_none() {
        let bytes = |size: &[i64]| Tensor::zeros(size, (Kind::Uint8, Device::Cpu));
        for (format, columns, scales) in
            [(Format::Mxfp8, 128, 512), (Format::Mxfp4, 64, 512), (Format::Nvfp4, 64, 1024)]
        {
            let (codes, scales) = (bytes(&[16, columns]), bytes(&[scales]));
            let blocks = Blocks { codes: &codes, scales: &scales };
            let error = block_scaled_mm(format, blocks, blocks, Kind::BFloat16).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("aten::_scaled_mm_v2"), "{format:?}: {text}");
        }
    }

    #[test]
    fn other_dtypes_are_refused() {
        let byte = Tensor::zeros([16, 16], (Kind::Uint8, Device::Cpu));
        let blocks = Blocks { codes: &byte, scales: &byte };
        let error = block_scaled_mm(Format::Nvfp4, blocks, blocks, Kind::Half).unwrap_err();
        assert_eq!(error.to_string(), "a block-scaled product in Half");
    }
}
