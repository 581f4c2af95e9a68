//! One step, recorded as TorchScript while it runs.
//!
//! libtorch's tracer writes down the operations that pass its dispatcher, with sizes and numbers as they are in this
//! run. It does not see what is done to memory behind its back, by kernels of other libraries or of this project, nor
//! what becomes of a number that is taken out of a tensor; [`Trace::untraceable`] says when a step has such, and when its
//! output is no memory of its own.

use std::ffi::c_void;
use std::path::Path;

use tch::Tensor;

use super::border::{self, Handle, In, Status, Step, Tensors, Text, TextOut, check, pointers};
use super::error::Error;

unsafe extern "C" {
    /// `step` returns its outputs, alive until this returns, or none when it failed, and must not unwind.
    fn ctn_trace_record(
        inputs: Tensors,
        step: unsafe extern "C" fn(context: *mut c_void) -> Tensors,
        context: *mut c_void,
        out: *mut Handle,
    ) -> Status;
    fn ctn_trace_text(trace: *const c_void, out: TextOut) -> Status;
    fn ctn_trace_constants(trace: *const c_void, out: TextOut) -> Status;
    fn ctn_trace_untraceable(trace: *const c_void, out: TextOut) -> Status;
    fn ctn_trace_save(trace: *const c_void, path: Text) -> Status;
}

/// One recorded step, as TorchScript.
#[derive(Debug)]
pub struct Trace {
    handle: Handle,
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
/// The step's error; when an input is undefined or there twice, when the output depends on no input, or when a step is
/// being traced on this thread already.
///
/// # Panics
/// When the step does: with its panic. Nothing is being traced any more then.
pub fn trace<F, E>(inputs: &[&Tensor], step: F) -> Result<Trace, E>
where
    F: FnOnce() -> Result<Tensor, E>,
    E: From<Error>,
{
    trace_all(inputs, || Ok(vec![step()?]))
}

/// [`trace`] of a step with several outputs, one at least, which the graph returns in their order.
///
/// # Errors
/// As [`trace`].
///
/// # Panics
/// As [`trace`].
pub fn trace_all<F, E>(inputs: &[&Tensor], step: F) -> Result<Trace, E>
where
    F: FnOnce() -> Result<Vec<Tensor>, E>,
    E: From<Error>,
{
    let inputs = pointers(inputs.iter().copied());
    let mut call = Step::new(|| -> Result<Outputs, E> {
        let outputs = step()?;
        let pointers = pointers(&outputs);
        Ok(Outputs { pointers, _keep: outputs })
    });
    let recorded = record(&inputs, &mut call);
    Ok(Trace::read(call.end(recorded)?)?)
}

/// The outputs of a step, alive.
struct Outputs {
    pointers: Vec<In>,
    _keep: Vec<Tensor>,
}

fn record<F, E>(inputs: &Vec<In>, call: &mut Step<F, Outputs, E>) -> Result<Handle, Error>
where
    F: FnOnce() -> Result<Outputs, E>,
    E: From<Error>,
{
    let context = std::ptr::from_mut(call).cast::<c_void>();
    // SAFETY: the tensors live during the call, `run` is made for a context of this type, which lives until the call
    // has ended and is nobody else's meanwhile, and `out` is writable.
    Handle::new(|out| unsafe { ctn_trace_record(inputs.into(), run::<F, E>, context, out) })
}

/// # Safety
/// `context` points to a live `Step<F, Outputs, E>` that nobody else uses.
unsafe extern "C" fn run<F: FnOnce() -> Result<Outputs, E>, E: From<Error>>(
    context: *mut c_void,
) -> Tensors {
    // SAFETY: the caller's promise.
    let step = unsafe { &mut *context.cast::<Step<F, Outputs, E>>() };
    match step.run() {
        Some(outputs) => (&outputs.pointers).into(),
        None => (&Vec::new()).into(),
    }
}

impl Trace {
    fn read(handle: Handle) -> Result<Self, Error> {
        let trace = handle.as_ptr();
        // SAFETY: the trace lives.
        let graph = border::text(|out| unsafe { ctn_trace_text(trace, out) })?;
        // SAFETY: as above.
        let constants = border::text(|out| unsafe { ctn_trace_constants(trace, out) })?;
        // SAFETY: as above.
        let reason = border::text(|out| unsafe { ctn_trace_untraceable(trace, out) })?;
        Ok(Self {
            handle,
            graph,
            constants: constants.lines().map(str::to_owned).collect(),
            untraceable: Some(reason).filter(|it| !it.is_empty()),
        })
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

    /// Writes a module for `torch.jit.load`, whose `forward` takes the inputs and returns the output, or a tuple of several.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        // SAFETY: trace and path live during the call.
        check(unsafe { ctn_trace_save(self.handle.as_ptr(), path.into()) })
    }
}

// SAFETY: the graph is this trace's alone, and is not tied to the thread that it was recorded on.
unsafe impl Send for Trace {}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
