//! Why a case was not measured.

use tch::TchError;
use thiserror::Error;

use crate::error::{Error, is_out_of_memory};

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
    /// It took longer than its time limit.
    #[error("timeout: {0}")]
    Timeout(String),
    /// An error, or an output that fails its check.
    #[error("failed: {0}")]
    Failed(String),
}

impl From<TchError> for Refusal {
    /// Sorts a C++ exception by its message. Only its first line is kept: the rest is a backtrace.
    fn from(error: TchError) -> Self {
        let text = match error {
            TchError::Torch(message) => message,
            other => other.to_string(),
        };
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        if is_out_of_memory(&line) { Self::Oom(line) } else { Self::Failed(line) }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory(text) => Self::Oom(text),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<Refusal> for plan::Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Skipped(reason) => Self::Skipped { reason },
            Refusal::Unsupported(reason) => Self::Unsupported { reason },
            Refusal::Oom(reason) => Self::Oom { reason },
            Refusal::Timeout(reason) => Self::Timeout { reason },
            Refusal::Failed(error) => Self::Failed { error },
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
