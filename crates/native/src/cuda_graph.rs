//! CUDA graphs: the work of a step, captured once and replayed by one launch.

use std::ffi::c_void;

use tch::Tensor;

use super::border::{Handle, Status, Step, check};
use super::cuda::device_index;
use super::error::Error;

unsafe extern "C" {
    fn ctn_cuda_graph_new(device_index: i32, out: *mut Handle) -> Status;
    fn ctn_cuda_graph_warm_up(graph: *mut c_void, step: Callback, context: *mut c_void) -> Status;
    fn ctn_cuda_graph_capture(
        graph: *mut c_void,
        step: Callback,
        context: *mut c_void,
        pool_bytes: *mut u64,
    ) -> Status;
    fn ctn_cuda_graph_replay(graph: *mut c_void) -> Status;
}

/// Returns false when the step failed, and must not unwind.
type Callback = unsafe extern "C" fn(context: *mut c_void) -> bool;

/// A captured step. A replay reads its inputs at the addresses they had during the capture, and always writes the same
/// output tensors.
#[derive(Debug)]
pub struct Graph {
    handle: Handle,
    outputs: Vec<Tensor>,
    pool_bytes: u64,
}

impl Graph {
    /// Runs `step` `warm_up` times on a side stream, so that libraries load their kernels and allocate their
    /// workspaces, then captures it once into a graph with its own memory pool. The tensors that the step reads must
    /// keep their addresses as long as the graph is replayed.
    ///
    /// # Errors
    /// The step's own error. libtorch's error when there is no CUDA device, or when the step does something that cannot
    /// be captured, such as waiting for the device. Nothing is being captured any more then: neither by the stream, nor
    /// by libtorch's allocators and its random generator.
    ///
    /// # Panics
    /// When the step panics: the panic is resumed after the capture has ended.
    pub fn capture<E: From<Error>>(
        index: usize,
        warm_up: u64,
        step: impl Fn() -> Result<Vec<Tensor>, E>,
    ) -> Result<Self, E> {
        let index = device_index(index)?;
        // SAFETY: `out` is writable.
        let handle = Handle::new(|out| unsafe { ctn_cuda_graph_new(index, out) })?;
        let graph = handle.as_ptr();
        for _ in 0..warm_up {
            // SAFETY: the graph lives, and callback and context fit each other.
            run(&step, |call, context| unsafe { ctn_cuda_graph_warm_up(graph, call, context) })?;
        }
        let mut pool_bytes = 0;
        let outputs = run(&step, |call, context| {
            // SAFETY: as above, and `pool_bytes` is writable.
            unsafe { ctn_cuda_graph_capture(graph, call, context, &mut pool_bytes) }
        })?;
        Ok(Self { handle, outputs, pool_bytes })
    }

    /// Queues the captured work on the device's current stream. It reads the current values of the inputs and
    /// overwrites [`Self::outputs`].
    ///
    /// # Errors
    /// When CUDA reports an error, which may come from work queued earlier.
    pub fn replay(&self) -> Result<(), Error> {
        // SAFETY: the graph lives, and is bound to this thread.
        check(unsafe { ctn_cuda_graph_replay(self.handle.as_ptr()) })
    }

    /// The outputs of the captured step. They hold nothing before the first replay.
    pub fn outputs(&self) -> &[Tensor] {
        &self.outputs
    }

    /// Bytes of device memory that the graph's pool took during the capture.
    pub fn pool_bytes(&self) -> u64 {
        self.pool_bytes
    }
}

/// Lets the shim call `step` once and returns its outputs.
fn run<F, E>(step: &F, call: impl FnOnce(Callback, *mut c_void) -> Status) -> Result<Vec<Tensor>, E>
where
    F: Fn() -> Result<Vec<Tensor>, E>,
    E: From<Error>,
{
    let mut outputs = Vec::new();
    let once = || -> Result<(), E> {
        outputs = step()?;
        Ok(())
    };
    let mut once = Step::new(once);
    let callback = callback_of(&once);
    let called = check(call(callback, std::ptr::from_mut(&mut once).cast()));
    once.end(called)?;
    Ok(outputs)
}

/// The callback for a context of this type.
fn callback_of<F, E>(_context: &Step<F, (), E>) -> Callback
where
    F: FnOnce() -> Result<(), E>,
    E: From<Error>,
{
    callback::<F, E>
}

/// # Safety
/// `context` points to a live `Step<F, (), E>` that nobody else uses.
unsafe extern "C" fn callback<F, E>(context: *mut c_void) -> bool
where
    F: FnOnce() -> Result<(), E>,
    E: From<Error>,
{
    // SAFETY: the caller's promise.
    let step = unsafe { &mut *context.cast::<Step<F, (), E>>() };
    step.run().is_some()
}

#[cfg(test)]
#[path = "cuda_graph_tests.rs"]
mod tests;
