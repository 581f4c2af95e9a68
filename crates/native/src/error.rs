//! Errors that come out of C++, and the question whether one means that memory ran out.

use std::ffi::{CStr, c_char};

use crate::sys as shim;

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

impl From<Error> for tch::TchError {
    /// For functions that call libtorch both ways. The text still shows that memory ran out.
    fn from(error: Error) -> Self {
        Self::Torch(error.to_string())
    }
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

/// The only place that reads a status of the shim.
pub(super) fn check(status: shim::Status) -> Result<(), Error> {
    let shim::Status { kind, message } = status;
    if kind == shim::FINE {
        return Ok(());
    }
    let message = if message.is_null() {
        "no memory was left for the message".to_owned()
    } else {
        // SAFETY: a status owns its message, and this one was just taken apart.
        unsafe { take_string(message) }
    };
    if kind == shim::OUT_OF_MEMORY || is_out_of_memory(&message) {
        Err(Error::OutOfMemory(message))
    } else {
        Err(Error::Torch(message))
    }
}

/// The string that a call of the shim hands over.
///
/// # Safety
/// When its status is fine, `call` has written a string that nobody else owns.
pub(super) unsafe fn returned_string(
    call: impl FnOnce(*mut *mut c_char) -> shim::Status,
) -> Result<String, Error> {
    let mut text = std::ptr::null_mut();
    check(call(&mut text))?;
    // SAFETY: just handed over.
    Ok(unsafe { take_string(text) })
}

/// Copies a string of the shim and frees it.
///
/// # Safety
/// `text` is a string that the shim handed over, not null, and nobody uses it afterwards.
pub(super) unsafe fn take_string(text: *mut c_char) -> String {
    // SAFETY: the shim ends its strings with NUL, and the caller owns this one.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: freed once: the caller gives the string up.
    unsafe { shim::ctn_string_free(text) };
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_becomes_its_error() {
        let raised = |what| check(shim::ctn_raise(what));
        assert_eq!(raised(0), Ok(()));
        assert_eq!(raised(1), Err(Error::Torch("a check".to_owned())));
        let cuda = "CUDA out of memory. Tried to allocate 1 GiB.".to_owned();
        assert_eq!(raised(2), Err(Error::OutOfMemory(cuda)));
        assert_eq!(raised(3), Err(Error::OutOfMemory("std::bad_alloc".to_owned())));
        assert_eq!(raised(4), Err(Error::Torch("a runtime error".to_owned())));
        let unknown = "a C++ exception that is no std::exception".to_owned();
        assert_eq!(raised(5), Err(Error::Torch(unknown)));
    }

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
            let error = check(shim::ctn_raise(what)).expect_err("raised");
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
