//! The kernels of `scaled_dot_product_attention`: which one it takes, and each by its own name.

use tch::{Device, TchError, Tensor};

use super::border::{self, In, Out, Status};
use super::error::Error;

unsafe extern "C" {
    fn ctn_sdpa_attend(
        backend: i64,
        query: In,
        key: In,
        value: In,
        causal: bool,
        out: Out,
    ) -> Status;
}

/// A kernel of scaled dot-product attention, by its number in `at::SDPBackend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdpaBackend {
    /// Products and softmax one after the other, with the matrix of scores in memory.
    Math = 0,
    /// FlashAttention.
    Flash = 1,
    /// xFormers' memory-efficient attention.
    Efficient = 2,
    /// cuDNN's.
    CudnnAttention = 3,
    /// The kernel of a backend outside of PyTorch.
    Overrideable = 4,
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

    /// Runs this kernel, as [`sdpa_backend`]'s question puts it, whatever SDPA itself would take.
    ///
    /// # Errors
    /// When libtorch does not have the kernel on the tensors' device, or not for their dtype and sizes; and always of
    /// [`Overrideable`](Self::Overrideable).
    pub fn attend(
        self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        causal: bool,
    ) -> Result<Tensor, Error> {
        let backend = self as i64;
        let (query, key, value) = (query.as_ptr(), key.as_ptr(), value.as_ptr());
        // SAFETY: the tensors live during the call.
        border::tensor(|out| unsafe { ctn_sdpa_attend(backend, query, key, value, causal, out) })
    }

    fn from_number(number: i64) -> Result<Self, TchError> {
        if number == -1 {
            return Err(TchError::Torch("no kernel of SDPA takes these tensors".to_owned()));
        }
        let all =
            [Self::Math, Self::Flash, Self::Efficient, Self::CudnnAttention, Self::Overrideable];
        let found = all.into_iter().find(|it| *it as i64 == number);
        found.ok_or_else(|| TchError::Torch(format!("unknown kernel {number} of SDPA")))
    }
}

/// The kernel that SDPA takes for queries, keys and values [batch, heads, length, width], or of other shapes; without
/// mask, dropout or grouped heads, scaled by 1/√width.
///
/// libtorch's own answer, which nothing is computed for. It depends on sizes, dtypes, strides, gradients, and on which
/// kernels are switched on; on the CPU only four dimensions lead to [`Flash`](SdpaBackend::Flash).
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
    use crate::border::tests::wave;

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
    fn a_kernel_runs_by_its_name_or_says_why_not() {
        let x = wave(&[2, 3, 80, 32], Kind::Float);
        for causal in [false, true] {
            let by_name = |backend: SdpaBackend| backend.attend(&x, &x, &x, causal);
            assert_eq!(by_name(SdpaBackend::Math).expect("on any device"), math(&x, causal));
            assert_eq!(by_name(SdpaBackend::Flash).expect("on the CPU"), flash(&x, causal));
            for (backend, text) in [
                (SdpaBackend::Efficient, "_scaled_dot_product_efficient_attention"),
                (SdpaBackend::CudnnAttention, "_scaled_dot_product_cudnn_attention"),
                (SdpaBackend::Overrideable, "kernel 4 of SDPA is not called by name"),
            ] {
                let error = by_name(backend).expect_err("not on the CPU").to_string();
                assert!(error.contains(text), "{error}");
            }
        }
    }

    #[test]
    fn unknown_numbers_are_errors() {
        let message = |number| SdpaBackend::from_number(number).expect_err("none").to_string();
        assert!(message(-1).contains("no kernel"), "{}", message(-1));
        assert!(message(5).contains("unknown kernel 5"), "{}", message(5));
    }
}
