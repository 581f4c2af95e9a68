//! Records what CUDA's caching allocator does during a step, as torch's own memory snapshot.

use std::ffi::c_void;

use super::border::{Handle, Status, Text, check};
use super::cuda::device_index;
use super::error::Error;

unsafe extern "C" {
    fn ctn_memory_history_begin(index: i32, out: *mut Handle) -> Status;
    /// `show` must not unwind.
    fn ctn_memory_history_read(
        history: *const c_void,
        peaks: *mut DevicePeaks,
        show: unsafe extern "C" fn(context: *mut c_void, pickle: Text),
        context: *mut c_void,
    ) -> Status;
}

/// Peak bytes over everything that the device's allocator holds, including tensors that the step did not allocate.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DevicePeaks {
    /// Bytes of tensors: `allocated_bytes.all.peak` of `torch.cuda.memory_stats`.
    pub allocated_bytes: u64,
    /// Bytes of blocks that a tensor or a stream uses: `active_bytes.all.peak`.
    pub active_bytes: u64,
    /// Bytes taken from the driver: `reserved_bytes.all.peak`.
    pub reserved_bytes: u64,
}

/// A step's memory on a CUDA device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryHistory {
    /// The content of a file as `torch.cuda.memory._dump_snapshot` writes it; torch's visualizer reads it.
    pub pickle: Vec<u8>,
    /// Peak bytes of the device during the step.
    pub peaks: DevicePeaks,
}

/// Runs `f` while the device's allocator records its calls, each with its C++ stack. Waits for the device before and
/// after. Blocks allocated before are in the snapshot without a stack.
///
/// Only the last 100 000 calls are kept, as in torchao's benchmarks. Recording is slow: never time a recorded step.
///
/// # Errors
/// When CUDA is not linked, when there is no such device, or when it fails.
pub fn record<T>(device: usize, f: impl FnOnce() -> T) -> Result<(T, MemoryHistory), Error> {
    let index = device_index(device)?;
    // SAFETY: `out` is writable.
    let scope = Handle::new(|out| unsafe { ctn_memory_history_begin(index, out) })?;
    let value = f();
    let mut history = MemoryHistory { pickle: vec![], peaks: DevicePeaks::default() };
    let context = (&raw mut history.pickle).cast::<c_void>();
    let read =
        // SAFETY: the scope lives, the peaks are writable, and `show` is made for a context of this type.
        unsafe { ctn_memory_history_read(scope.as_ptr(), &mut history.peaks, show, context) };
    check(read)?;
    Ok((value, history))
}

/// # Safety
/// `context` points to a live `Vec<u8>` that nobody else uses; the pickle lives.
unsafe extern "C" fn show(context: *mut c_void, pickle: Text) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { &mut *context.cast::<Vec<u8>>() };
    // SAFETY: the caller's promise.
    bytes.extend_from_slice(unsafe { pickle.as_bytes() });
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    #[test]
    fn a_step_on_a_device_has_a_snapshot() {
        if !tch::Cuda::is_available() {
            let error = record(0, || panic!("the step must not run")).expect_err("no device");
            assert!(error.to_string().contains("CUDA"), "{error}");
            crate::skip::hardware("no CUDA device");
            return;
        }
        let kept = Tensor::rand([1 << 20], (Kind::Float, Device::Cuda(0)));
        let ((), history) = record(0, || drop(kept.exp())).expect("recorded");
        assert_eq!(history.pickle.first(), Some(&0x80), "a pickle");
        assert!(history.peaks.allocated_bytes >= 8 << 20, "{:?}", history.peaks);
        assert!(history.peaks.reserved_bytes >= history.peaks.active_bytes);
        assert!(history.peaks.active_bytes >= history.peaks.allocated_bytes);
    }
}
