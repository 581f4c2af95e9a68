//! Errors that come out of C++, and the question whether one means that memory ran out.

/// Why a call into libtorch, or into the C library's allocator, did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Memory of the host or of a device did not suffice.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// Any other C++ exception: the first line of its message.
    #[error("{0}")]
    Torch(String),
    /// The C library's allocator cannot be set as asked.
    #[error("{0}")]
    Allocator(String),
    /// A compiled package that cannot be loaded, or that was compiled for other inputs: its path and why.
    #[error("{0}")]
    Package(String),
}

impl Error {
    /// For functions that call libtorch both ways. No `From`, which would leave it
    /// open which error a closure's `?` means.
    pub(crate) fn of_tch(error: &tch::TchError) -> Self {
        let line = first_line(error);
        if is_out_of_memory(&line) { Self::OutOfMemory(line) } else { Self::Torch(line) }
    }
}

impl From<Error> for tch::TchError {
    /// For functions that call libtorch both ways. The text still shows that memory ran out.
    fn from(error: Error) -> Self {
        Self::Torch(error.to_string())
    }
}

/// The message of an error of tch, without backtrace and general advice.
pub(crate) fn first_line(error: &tch::TchError) -> String {
    let text = match error {
        tch::TchError::Torch(message) => message.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}

/// Whether an error's text says that memory ran out.
///
/// For texts that have lost their type, such as those of `tch::TchError`. libtorch itself has a type for this only on
/// devices: its CPU allocator throws a plain error that nothing but the text tells apart.
pub fn is_out_of_memory(message: &str) -> bool {
    const SIGNS: [&str; 5] = [
        "out of memory",
        // alloc_cpu on POSIX and on Windows
        "can't allocate memory",
        "not enough memory",
        "std::bad_alloc",
        // cuBLAS could not get its workspace
        "CUBLAS_STATUS_ALLOC_FAILED",
    ];
    // The lines after the first are a backtrace and general advice.
    let first_line = message.lines().next().unwrap_or_default();
    SIGNS.iter().any(|sign| first_line.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::border::tests::raised;

    #[test]
    fn tch_texts_are_classified() {
        let cpu = (tch::Kind::Float, tch::Device::Cpu);
        let too_large =
            tch::Tensor::f_empty([1 << 50], cpu).expect_err("four pebibytes fit nowhere");
        assert!(is_out_of_memory(&too_large.to_string()), "{too_large}");

        let a = tch::Tensor::zeros([2, 3], cpu);
        let mismatch = a.f_matmul(&a).expect_err("the inner sizes differ");
        assert!(!is_out_of_memory(&mismatch.to_string()), "{mismatch}");
    }

    #[test]
    fn as_an_error_of_tch_it_keeps_its_class() {
        for (what, out_of_memory) in [(1, false), (2, true), (3, true), (4, false)] {
            let error = raised(what).expect_err("raised");
            let text = tch::TchError::from(error.clone()).to_string();
            assert_eq!(is_out_of_memory(&text), out_of_memory, "{error}");
        }
    }

    #[test]
    fn only_the_first_line_counts() {
        assert!(!is_out_of_memory("shape mismatch\nframe #3: out of memory handler"));
        assert!(is_out_of_memory("CUDA error: out of memory\nCompile with TORCH_USE_CUDA_DSA"));
        assert!(!is_out_of_memory(""));
    }
}
