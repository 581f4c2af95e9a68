//! Torch's autograd, with linear layers whose forward and backward are functions of Rust.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tch::{TchError, Tensor};
use torch_sys::C_tensor;

use super::border::{self, In, Out, Status, Tensors, check, pointers};
use super::error::Error;

unsafe extern "C" {
    /// Takes the function's context, also where it fails.
    fn ctn_autograd_linear(input: In, weight: In, function: RawFunction, out: Out) -> Status;
    /// `out` has a place for each input.
    fn ctn_autograd_gradients(
        output: In,
        grad_output: In,
        inputs: Tensors,
        keep_graph: bool,
        out: Out,
    ) -> Status;
}

/// `LinearFunction` of `shim/autograd.cpp`.
#[repr(C)]
struct RawFunction {
    context: *mut c_void,
    forward: unsafe extern "C" fn(*mut c_void, In, In, Out) -> Status,
    backward: unsafe extern "C" fn(*mut c_void, In, In, In, Out, Out) -> Status,
    free: unsafe extern "C" fn(*mut c_void),
}

/// Forward and backward of a linear layer without bias.
///
/// On CUDA, torch runs the backward pass on a thread of its own, hence `Send` and `Sync`. Gradients are off in both.
pub trait LinearFunction: Send + Sync {
    /// `input [.., k]` × `weightᵀ [k, n]` → `[.., n]`.
    fn forward(&self, input: &Tensor, weight: &Tensor) -> Result<Tensor, TchError>;

    /// The gradients of input and weight.
    fn backward(
        &self,
        grad_output: &Tensor,
        input: &Tensor,
        weight: &Tensor,
    ) -> Result<(Tensor, Tensor), TchError>;
}

/// A linear layer as a custom autograd function, which saves `input` and `weight` as they are. The output's graph holds
/// `function`. Gradients are recorded whether the caller has them on or off.
///
/// # Errors
/// The error of [`LinearFunction::forward`], or its panic as an error. Those of the backward pass come out of
/// [`gradients`].
pub fn linear(
    input: &Tensor,
    weight: &Tensor,
    function: &Arc<dyn LinearFunction>,
) -> Result<Tensor, Error> {
    let context = Box::into_raw(Box::new(Arc::clone(function))).cast::<c_void>();
    let function = RawFunction { context, forward, backward, free };
    let (input, weight) = (input.as_ptr(), weight.as_ptr());
    // SAFETY: the tensors live during the call. The context is what the three functions take; it is the shim's from
    // here on, which frees it once, after the last call.
    border::tensor(|out| unsafe { ctn_autograd_linear(input, weight, function, out) })
}

/// The gradients of `inputs` where the gradient of `output` is `grad_output`: `torch.autograd.grad`. Frees the
/// graph, unless it is to be run again (`keep_graph`).
///
/// # Errors
/// Also when `output` does not depend on an input, or an input requires no gradient.
pub fn gradients(
    output: &Tensor,
    grad_output: &Tensor,
    inputs: &[&Tensor],
    keep_graph: bool,
) -> Result<Vec<Tensor>, Error> {
    let pointers = pointers(inputs.iter().copied());
    let (output, grad_output) = (output.as_ptr(), grad_output.as_ptr());
    let mut out = vec![std::ptr::null_mut::<C_tensor>(); inputs.len()];
    // SAFETY: the tensors live during the call, and `out` has a place for each input.
    check(unsafe {
        let inputs = (&pointers).into();
        ctn_autograd_gradients(output, grad_output, inputs, keep_graph, out.as_mut_ptr())
    })?;
    // SAFETY: each was just handed over, from the same `new` that tch's own come from.
    Ok(out.into_iter().map(|it| unsafe { Tensor::from_ptr(it) }).collect())
}

/// # Safety
/// `context` is one of [`linear`], not freed yet; the tensors live, and `out` is writable.
unsafe extern "C" fn forward(context: *mut c_void, input: In, weight: In, out: Out) -> Status {
    // SAFETY: the caller's promise.
    let function = unsafe { function(context) };
    // SAFETY: the caller's promise.
    let [input, weight] = [input, weight].map(|it| unsafe { lent(it) });
    let output = match caught("forward", || function.forward(&input, &weight)) {
        Ok(output) => output,
        Err(error) => return Status::failed(&error),
    };
    // SAFETY: the caller's promise.
    unsafe { out.write(given(output)) };
    Status::fine()
}

/// # Safety
/// `context` is one of [`linear`], not freed yet; the tensors live, and both places are writable.
unsafe extern "C" fn backward(
    context: *mut c_void,
    grad_output: In,
    input: In,
    weight: In,
    grad_input: Out,
    grad_weight: Out,
) -> Status {
    // SAFETY: the caller's promise.
    let function = unsafe { function(context) };
    // SAFETY: the caller's promise.
    let [grad_output, input, weight] = [grad_output, input, weight].map(|it| unsafe { lent(it) });
    let call = || function.backward(&grad_output, &input, &weight);
    let gradients = match caught("backward", call) {
        Ok(gradients) => gradients,
        Err(error) => return Status::failed(&error),
    };
    for (place, gradient) in [(grad_input, gradients.0), (grad_weight, gradients.1)] {
        // SAFETY: the caller's promise.
        unsafe { place.write(given(gradient)) };
    }
    Status::fine()
}

/// # Safety
/// `context` is one of [`linear`], and nobody uses it afterwards.
unsafe extern "C" fn free(context: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(context.cast::<Arc<dyn LinearFunction>>()) });
}

/// # Safety
/// `context` is one of [`linear`], and lives as long as the result.
unsafe fn function<'c>(context: *mut c_void) -> &'c dyn LinearFunction {
    // SAFETY: the caller's promise.
    unsafe { &**context.cast::<Arc<dyn LinearFunction>>() }
}

/// A tensor of C++'s, which is not dropped here.
///
/// # Safety
/// The tensor lives as long as the result.
unsafe fn lent(tensor: In) -> ManuallyDrop<Tensor> {
    // SAFETY: it is never dropped, so the pointer stays its owner's; no function of the result writes to the handle.
    ManuallyDrop::new(unsafe { Tensor::from_ptr(tensor.cast_mut()) })
}

/// The pointer that a tensor owns, for C++ to own.
fn given(tensor: Tensor) -> *mut C_tensor {
    ManuallyDrop::new(tensor).as_mut_ptr()
}

/// The result of a call, a panic of it as an error.
fn caught<T>(pass: &str, call: impl FnOnce() -> Result<T, TchError>) -> Result<T, TchError> {
    // Unwind-safe: the functions take their state by shared reference, and the call is not repeated.
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a payload that is no text");
        Err(TchError::Torch(format!("the {pass} pass of a linear layer panicked: {text}")))
    })
}

#[cfg(test)]
#[path = "autograd_tests.rs"]
mod tests;
