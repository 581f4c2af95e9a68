//! Which of its kernels `scaled_dot_product_attention` takes.

use tch::{Device, TchError, Tensor};

/// A kernel of scaled dot-product attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdpaBackend {
    /// Products and softmax one after the other, with the matrix of scores in memory.
    Math,
    /// FlashAttention.
    Flash,
    /// xFormers' memory-efficient attention.
    Efficient,
    /// cuDNN's.
    CudnnAttention,
    /// That of a backend outside of PyTorch.
    Overrideable,
}

impl SdpaBackend {
    /// The ATen operation that it is on a device.
    pub fn operation(self, device: Device) -> &'static str {
        match self {
            Self::Math => "aten::_scaled_dot_product_attention_math",
            Self::Flash if device == Device::Cpu => {
                "aten::_scaled_dot_product_flash_attention_for_cpu"
            }
            Self::Flash => "aten::_scaled_dot_product_flash_attention",
            Self::Efficient => "aten::_scaled_dot_product_efficient_attention",
            Self::CudnnAttention => "aten::_scaled_dot_product_cudnn_attention",
            Self::Overrideable => "aten::_scaled_dot_product_fused_attention_overrideable",
        }
    }

    fn from_number(number: i64) -> Result<Self, TchError> {
        // at::SDPBackend
        match number {
            0 => Ok(Self::Math),
            1 => Ok(Self::Flash),
            2 => Ok(Self::Efficient),
            3 => Ok(Self::CudnnAttention),
            4 => Ok(Self::Overrideable),
            -1 => Err(TchError::Torch("no kernel of SDPA takes these tensors".to_owned())),
            other => Err(TchError::Torch(format!("unknown kernel {other} of SDPA"))),
        }
    }
}

/// The kernel that SDPA takes for queries, keys and values [batch, heads, length, width], or of other shapes; without
/// mask, dropout or grouped heads, scaled by 1/√width.
///
/// libtorch's own answer, which nothing is computed for. It depends on sizes, dtypes, strides, gradients, and on which
/// kernels are switched on; on the CPU only four dimensions lead to [`Flash`](SdpaBackend::Flash).
///
/// # Errors
/// When no kernel takes such tensors, or libtorch's kernels are numbered anew.
pub fn sdpa_backend(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    causal: bool,
) -> Result<SdpaBackend, TchError> {
    let number = Tensor::f_internal_fused_sdp_choice(
        query,
        key,
        value,
        None::<Tensor>,
        0.0,
        causal,
        None,
        false,
    )?;
    SdpaBackend::from_number(number)
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::native::tensor::wave;

    fn attend(query: &Tensor, causal: bool) -> Tensor {
        Tensor::scaled_dot_product_attention(
            query,
            query,
            query,
            None::<Tensor>,
            0.0,
            causal,
            None,
            false,
        )
    }

    fn math(query: &Tensor, causal: bool) -> Tensor {
        let (output, _weights) = Tensor::internal_scaled_dot_product_attention_math(
            query,
            query,
            query,
            None::<Tensor>,
            0.0,
            causal,
            None::<Tensor>,
            None,
            false,
        );
        output
    }

    fn flash(query: &Tensor, causal: bool) -> Tensor {
        let (output, _log_sums) = Tensor::internal_scaled_dot_product_flash_attention_for_cpu(
            query,
            query,
            query,
            0.0,
            causal,
            None::<Tensor>,
            None,
        );
        output
    }

    #[test]
    fn on_the_cpu_four_dimensions_flash_and_three_do_not() {
        for kind in [Kind::Float, Kind::BFloat16] {
            let four = wave(&[2, 3, 80, 32], kind);
            let three = four.select(0, 0);
            for causal in [false, true] {
                let chosen = |x: &Tensor| sdpa_backend(x, x, x, causal).expect("one takes it");
                assert_eq!(chosen(&four), SdpaBackend::Flash, "{kind:?} {causal}");
                assert_eq!(chosen(&three), SdpaBackend::Math, "{kind:?} {causal}");
                // And that is what runs: the two differ in their last bits.
                assert_ne!(math(&four, causal), flash(&four, causal), "{kind:?} {causal}");
                assert_eq!(attend(&four, causal), flash(&four, causal), "{kind:?} {causal}");
                assert_eq!(attend(&three, causal), math(&three, causal), "{kind:?} {causal}");
            }
        }
    }

    #[test]
    fn an_operation_is_named_for_its_device() {
        let (flash, math) = (SdpaBackend::Flash, SdpaBackend::Math);
        let on_cpu = "aten::_scaled_dot_product_flash_attention_for_cpu";
        assert_eq!(flash.operation(Device::Cpu), on_cpu);
        let on_cuda = "aten::_scaled_dot_product_flash_attention";
        assert_eq!(flash.operation(Device::Cuda(0)), on_cuda);
        assert_eq!(math.operation(Device::Cpu), math.operation(Device::Cuda(0)));
    }

    #[test]
    fn unknown_numbers_are_errors() {
        let message = |number| SdpaBackend::from_number(number).expect_err("none").to_string();
        assert!(message(-1).contains("no kernel"), "{}", message(-1));
        assert!(message(5).contains("unknown kernel 5"), "{}", message(5));
    }
}
