//! Why a case was not measured.

use tch::TchError;
use thiserror::Error;

/// Why a case was not measured, in the words of [`plan::Outcome`]. The text says what is missing
/// or broken, with names and values; it does not repeat the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The machine lacks what the case needs.
    #[error("skipped: {0}")]
    Skipped(String),
    /// No kernel or rule for this combination.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// Memory ran out, or would have.
    #[error("out of memory: {0}")]
    Oom(String),
    /// An error, or an output that fails its check.
    #[error("failed: {0}")]
    Failed(String),
}

/// What libtorch's allocators say when they have nothing left, in lower case: the CPU allocator
/// on Linux, the same on Windows, the CUDA caching allocator, and C++ itself.
const OUT_OF_MEMORY: &[&str] =
    &["can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc"];

impl From<TchError> for Refusal {
    /// Sorts a C++ exception by its message. Only its first line is kept: the rest is a backtrace.
    fn from(error: TchError) -> Self {
        let text = match error {
            TchError::Torch(message) => message,
            other => other.to_string(),
        };
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        let lower = line.to_lowercase();
        if OUT_OF_MEMORY.iter().any(|words| lower.contains(words)) {
            Self::Oom(line)
        } else {
            Self::Failed(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind, Tensor};

    #[test]
    fn libtorchs_own_messages_are_sorted() {
        let petabytes = Tensor::f_empty([1 << 50], (Kind::Float, Device::Cpu)).unwrap_err();
        let oom = Refusal::from(petabytes);
        assert!(matches!(&oom, Refusal::Oom(text) if text.contains("allocate")), "{oom}");

        let a = Tensor::f_zeros([2, 3], (Kind::Float, Device::Cpu)).unwrap();
        let mismatch = Refusal::from(a.f_mm(&a).unwrap_err());
        let expected = "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)";
        assert_eq!(mismatch, Refusal::Failed(expected.to_owned()));
    }

    #[test]
    fn messages_of_other_machines_are_sorted() {
        for (message, oom) in [
            ("CUDA out of memory. Tried to allocate 2.00 GiB.\nframe #0", true),
            ("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes.", true),
            ("std::bad_alloc", true),
            ("CUDA error: an illegal memory access was encountered\nCUDA kernel errors", false),
            ("", false),
        ] {
            let refusal = Refusal::from(TchError::Torch(message.to_owned()));
            assert_eq!(matches!(refusal, Refusal::Oom(_)), oom, "{message}");
            assert!(!refusal.to_string().contains("frame"), "{refusal}");
        }
    }
}
