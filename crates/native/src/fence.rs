//! Memory of tensors on the host, each block between pages that nobody may touch: what reads or writes beyond a tensor
//! ends the process.

use super::border::{self, Status};
use super::error::Error;

unsafe extern "C" {
    fn ctn_fence_tensors() -> Status;
}

/// Has every tensor on the host that is made from now on end where such a page begins, less the bytes up to a multiple
/// of 64. There is no way back; each tensor takes four pages and microseconds more.
///
/// # Errors
/// When libtorch refuses an allocator.
pub fn tensors() -> Result<(), Error> {
    // SAFETY: it takes nothing; tensors that were made before are freed as they were made.
    border::check(unsafe { ctn_fence_tensors() })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use tch::{Device, Kind, Tensor};

    use super::*;

    /// Tells the copy of the test program which element to write.
    const CHILD: &str = "CRITERION_TORCH_TEST_FENCE";
    const ELEMENTS: i64 = 1040;

    /// Writes an element, which need not be one of the tensor's, and reads the others.
    fn write(element: isize) {
        tensors().expect("an allocator");
        let old = Tensor::ones([ELEMENTS], (Kind::Float, Device::Cpu));
        let tensor = &old + 1;
        drop(old);
        let place = tensor.data_ptr().cast::<f32>().wrapping_offset(element);
        // SAFETY: it ends this process where it is beyond the tensor, as the test wants.
        unsafe { place.write_volatile(0.0) };
        assert_eq!(f64::try_from(tensor.sum(Kind::Float)).expect("a number"), 2078.0);
    }

    /// Runs this very test in a process of its own.
    fn ends_by(element: isize) -> Option<i32> {
        let test = "fence::tests::what_lies_beyond_a_tensor_may_not_be_touched";
        let output = Command::new(std::env::current_exe().expect("the test program has a path"))
            .args(["--exact", test])
            .env(CHILD, element.to_string())
            .output()
            .expect("the test program starts");
        let signal = output.status.signal();
        assert!(output.status.success() || signal.is_some(), "{output:?}");
        signal
    }

    #[test]
    fn what_lies_beyond_a_tensor_may_not_be_touched() {
        if let Ok(element) = std::env::var(CHILD) {
            return write(element.parse().expect("a number"));
        }
        let touched = Some(libc::SIGSEGV);
        let ends = [0, ELEMENTS as isize - 1, ELEMENTS as isize, -1040].map(ends_by);
        assert_eq!(ends, [None, None, touched, touched]);
    }
}
