//! Switches of libtorch that trade exactness or repeatability for speed.
//!
//! They are process-wide, and pinned before anything is measured, because a comparison of two numbers under different
//! switches is worth nothing. The precision of float32 products, as read back, goes into every record.

use crate::sys as shim;

use super::error::{Error, check};

/// How a float32 matrix product may be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatmulPrecision {
    /// In float32.
    Highest,
    /// In TF32, or as a sum of bfloat16 products.
    High,
    /// In bfloat16.
    Medium,
}

impl MatmulPrecision {
    /// PyTorch's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Highest => "highest",
            Self::High => "high",
            Self::Medium => "medium",
        }
    }
}

/// State of the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numerics {
    /// cuBLAS may use TF32.
    pub tf32_cublas: bool,
    /// cuDNN may use TF32.
    pub tf32_cudnn: bool,
    /// cuDNN tries its algorithms on the first call of a shape and keeps the fastest.
    pub cudnn_benchmark: bool,
    /// cuDNN takes repeatable algorithms only.
    pub cudnn_deterministic: bool,
    /// Every operator is repeatable or throws.
    pub deterministic_algorithms: bool,
    /// How a float32 matrix product may be computed.
    pub matmul_precision: MatmulPrecision,
}

/// Turns TF32 and cuDNN's autotuning off and asks for full float32 precision; leaves the deterministic switches alone.
///
/// Returns all switches as read back.
///
/// # Errors
/// When a switch did not take, which an environment variable of PyTorch can cause.
pub fn pin() -> Result<Numerics, Error> {
    check(shim::ctn_numerics_pin())?;
    let state = read()?;
    let pinned = Numerics {
        tf32_cublas: false,
        tf32_cudnn: false,
        cudnn_benchmark: false,
        matmul_precision: MatmulPrecision::Highest,
        ..state
    };
    if state == pinned {
        Ok(state)
    } else {
        Err(Error::Torch(format!(
            "libtorch did not take the pinned numerics: wanted {pinned:?}, found {state:?}; unset \
             TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
        )))
    }
}

/// Reads the switches.
///
/// # Errors
/// When libtorch cannot say, for instance after its old and new precision switches were mixed.
pub fn read() -> Result<Numerics, Error> {
    let mut state = shim::NumericsState::default();
    // SAFETY: `state` is writable.
    check(unsafe { shim::ctn_numerics_read(&mut state) })?;
    let shim::NumericsState {
        tf32_cublas,
        tf32_cudnn,
        cudnn_benchmark,
        cudnn_deterministic,
        deterministic_algorithms,
        float32_matmul_precision,
    } = state;
    Ok(Numerics {
        tf32_cublas: tf32_cublas != 0,
        tf32_cudnn: tf32_cudnn != 0,
        cudnn_benchmark: cudnn_benchmark != 0,
        cudnn_deterministic: cudnn_deterministic != 0,
        deterministic_algorithms: deterministic_algorithms != 0,
        matmul_precision: match float32_matmul_precision {
            0 => MatmulPrecision::Highest,
            1 => MatmulPrecision::High,
            2 => MatmulPrecision::Medium,
            other => {
                return Err(Error::Torch(format!("unknown float32 matmul precision {other}")));
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_switches_read_back() {
        // On by default, so the pin has something to do and `read` something to show.
        tch::Cuda::cudnn_set_benchmark(true);
        assert!(read().expect("nothing is mixed").cudnn_benchmark);

        let pinned = pin().expect("no override is set in tests");
        assert!(!pinned.tf32_cublas && !pinned.tf32_cudnn && !pinned.cudnn_benchmark);
        assert_eq!(pinned.matmul_precision.as_str(), "highest");
        assert!(!pinned.deterministic_algorithms);
        assert_eq!(read(), Ok(pinned));
    }
}
