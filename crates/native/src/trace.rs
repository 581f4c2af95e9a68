//! One step, recorded as TorchScript while it runs.
//!
//! libtorch's tracer writes down the operations that pass its dispatcher, with sizes and numbers as they are in this
//! run. It does not see what is done to memory behind its back, by kernels of other libraries or of this project, nor
//! what becomes of a number that is taken out of a tensor; [`Trace::untraceable`] says when a step has such, and when its
//! output is no memory of its own.

use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use crate::sys as shim;
use tch::Tensor;

use super::error::{Error, check, returned_string};

/// One recorded step, as TorchScript.
#[derive(Debug)]
pub struct Trace {
    raw: *mut shim::Trace,
    graph: String,
    constants: Vec<String>,
    untraceable: Option<String>,
}

/// Runs `step` once under libtorch's tracer, without gradients. `inputs` are all tensors that it reads; they become the
/// inputs of the graph, in this order, whether it reads them or not. If the step can be traced, the graph is then run
/// once on the same inputs, to see that it gives the same output, number by number.
///
/// A tensor is known by its identity: a view of an input that was made beforehand is not that input, but a
/// [constant](Trace::constants).
///
/// # Errors
/// What the step says; when an input is undefined or there twice, when the output depends on no input, or when a step is
/// being traced on this thread already.
///
/// # Panics
/// When the step does: with its panic. Nothing is being traced any more then.
pub fn trace<F, E>(inputs: &[&Tensor], step: F) -> Result<Trace, E>
where
    F: FnOnce() -> Result<Tensor, E>,
    E: From<Error>,
{
    let handles: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
    let mut call = Call { step: Some(step), outcome: None };
    let context = (&raw mut call).cast::<c_void>();
    let mut raw = std::ptr::null_mut();
    let (first, count) = (handles.as_ptr(), handles.len());
    // SAFETY: the tensors live during the call, `run` is made for a context of this type, which lives until the call
    // has ended and is nobody else's meanwhile, and `raw` is writable.
    let status = unsafe { shim::ctn_trace_record(first, count, run::<F, E>, context, &mut raw) };
    let recorded = check(status);
    // The step's own words say more than that it failed.
    match call.outcome {
        Some(Ok(Err(error))) => return Err(error),
        Some(Err(payload)) => panic::resume_unwind(payload),
        Some(Ok(Ok(_))) | None => recorded?,
    }
    Ok(Trace::read(raw)?)
}

struct Call<F, E> {
    step: Option<F>,
    /// None before it ran; else its result or its panic.
    outcome: Option<std::thread::Result<Result<Tensor, E>>>,
}

/// # Safety
/// `context` points to a live `Call<F, E>` that nobody else uses.
unsafe extern "C" fn run<F: FnOnce() -> Result<Tensor, E>, E>(
    context: *mut c_void,
) -> *const shim::C_tensor {
    // SAFETY: the caller's promise.
    let call = unsafe { &mut *context.cast::<Call<F, E>>() };
    let Some(step) = call.step.take() else { return std::ptr::null() };
    // Unwind-safe: the panic is resumed, so nobody sees broken state.
    match call.outcome.insert(panic::catch_unwind(AssertUnwindSafe(step))) {
        Ok(Ok(output)) => output.as_ptr(),
        _ => std::ptr::null(),
    }
}

impl Trace {
    fn read(raw: *mut shim::Trace) -> Result<Self, Error> {
        // First, so that it is freed whatever happens.
        let mut trace = Self { raw, graph: String::new(), constants: vec![], untraceable: None };
        // SAFETY: the trace lives, and `out` is writable.
        let graph = |out| unsafe { shim::ctn_trace_text(raw, out) };
        // SAFETY: as above.
        let constants = |out| unsafe { shim::ctn_trace_constants(raw, out) };
        // SAFETY: as above.
        let reason = |out| unsafe { shim::ctn_trace_untraceable(raw, out) };
        // SAFETY: each of the calls hands over a new string.
        let text = |call: &dyn Fn(_) -> _| unsafe { returned_string(call) };
        trace.graph = text(&graph)?;
        trace.constants = text(&constants)?.lines().map(str::to_owned).collect();
        let reason = text(&reason)?;
        trace.untraceable = (!reason.is_empty()).then_some(reason);
        Ok(trace)
    }

    /// The graph in writing: the same operations on inputs of the same form give the same text in every process. It
    /// names the inputs' dtypes, sizes, strides and devices, and every number, to the last bit.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// The tensors of more than one element that the step reads and that are no inputs, as `int8 [4, 4]`: the graph
    /// holds copies of them.
    pub fn constants(&self) -> &[String] {
        &self.constants
    }

    /// Why the graph is not what the step did, as the end of a sentence that begins "this step cannot be traced: ";
    /// none when it is.
    pub fn untraceable(&self) -> Option<&str> {
        self.untraceable.as_deref()
    }

    /// Writes a module for `torch.jit.load`, whose `forward` takes the inputs and returns the output.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let (text, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the trace lives, and `text` has that many bytes.
        check(unsafe { shim::ctn_trace_save(self.raw, text, length) })
    }
}

// SAFETY: the graph is this trace's alone, and is not tied to the thread that it was recorded on.
unsafe impl Send for Trace {}

impl Drop for Trace {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the pointer.
        unsafe { shim::ctn_trace_free(self.raw) };
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
