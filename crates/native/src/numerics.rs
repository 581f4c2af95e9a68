//! Switches of libtorch that trade exactness or repeatability for speed.
//!
//! They are process-wide, and pinned before anything is measured, because a comparison of two numbers under different
//! switches is worth nothing. The precision of float32 products, as read back, goes into every record.

use super::border::{self, Status, check};
use super::error::Error;

unsafe extern "C" {
    safe fn ctn_numerics_pin() -> Status;
    fn ctn_numerics_read(out: *mut RawNumerics) -> Status;
}

/// `Numerics` of `shim/numerics.cpp`.
#[repr(C)]
#[derive(Default)]
struct RawNumerics {
    tf32_cublas: bool,
    tf32_cudnn: bool,
    cudnn_benchmark: bool,
    matmul_precision: i32,
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
    /// How a float32 matrix product may be computed, by PyTorch's word for it: `highest`, in float32; `high`, in TF32,
    /// or as a sum of bfloat16 products; `medium`, in bfloat16.
    pub matmul_precision: &'static str,
}

/// The numerics of every measurement.
const PINNED: Numerics = Numerics {
    tf32_cublas: false,
    tf32_cudnn: false,
    cudnn_benchmark: false,
    matmul_precision: "highest",
};

/// Turns TF32 and cuDNN's autotuning off and asks for full float32 precision; leaves the deterministic switches alone.
///
/// Returns all switches as read back.
///
/// # Errors
/// When a switch did not take, which an environment variable of PyTorch can cause.
pub fn pin() -> Result<Numerics, Error> {
    check(ctn_numerics_pin())?;
    let state = read()?;
    if state == PINNED {
        return Ok(state);
    }
    Err(Error::Torch(format!(
        "libtorch did not take the pinned numerics: wanted {PINNED:?}, found {state:?}; unset \
         TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
    )))
}

/// Reads the switches.
///
/// # Errors
/// When libtorch cannot say, for instance after its old and new precision switches were mixed.
pub fn read() -> Result<Numerics, Error> {
    // SAFETY: `out` is writable.
    let state: RawNumerics = border::value(|out| unsafe { ctn_numerics_read(out) })?;
    let RawNumerics { tf32_cublas, tf32_cudnn, cudnn_benchmark, matmul_precision } = state;
    let matmul_precision = match matmul_precision {
        0 => "highest",
        1 => "high",
        2 => "medium",
        other => return Err(Error::Torch(format!("unknown float32 matmul precision {other}"))),
    };
    Ok(Numerics { tf32_cublas, tf32_cudnn, cudnn_benchmark, matmul_precision })
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
        assert_eq!(pinned.matmul_precision, "highest");
        assert_eq!(read(), Ok(pinned));
    }
}
