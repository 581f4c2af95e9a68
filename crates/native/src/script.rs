//! TorchScript from source: functions of tensors that libtorch's interpreter runs and its fusers may fuse.
//!
//! libtorch profiles the first run of a function, and at the second optimizes it for the dtypes, devices, sizes and
//! strides that it saw; [`Function::optimize`] does both. A fused group is guarded: inputs that differ from those take
//! an unfused copy of the same operations, and nothing tells (the results are right).
//!
//! The fuser depends on the device. On CUDA it is TensorExpr, which is on by default and takes
//! chains of elementwise operations; reductions only when asked, and nothing here asks. On the CPU
//! it would need an LLVM that PyTorch's own builds are without, so there nothing is fused
//! ([`Function::optimized_graph`] shows it) unless [`Fuser::OnednnGraph`] is asked for.

use std::ffi::c_void;

use tch::Tensor;

use super::border::{self, Handle, Out, Status, Tensors, Text, TextOut, check, pointers};
use super::error::Error;

unsafe extern "C" {
    fn ctn_script_compile(source: Text, out: *mut Handle) -> Status;
    fn ctn_script_function(script: *const c_void, name: Text, out: *mut Handle) -> Status;
    fn ctn_script_run(function: *const c_void, inputs: Tensors, out: Out) -> Status;
    fn ctn_script_optimize(function: *const c_void, inputs: Tensors, onednn: bool) -> Status;
    fn ctn_script_optimized_graph(function: *const c_void, out: TextOut) -> Status;
}

/// The fuser, besides those that are on in libtorch by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fuser {
    /// Nobody.
    Default,
    /// oneDNN Graph, which fuses on the CPU: elementwise operations onto each other, and onto linear layers,
    /// convolutions and matrix products; in inputs that require no gradient.
    OnednnGraph,
}

/// Whether a node of an [optimized graph](Function::optimized_graph) runs several operations as one.
pub fn is_fusion_group(node: &str) -> bool {
    // TensorExprGroup, TensorExprDynamicGroup, oneDNNFusionGroup
    node.split('(').next().is_some_and(|kind| kind.starts_with("prim::") && kind.ends_with("Group"))
}

/// Compiled source.
#[derive(Debug)]
pub struct Script(Handle);

impl Script {
    /// Compiles definitions of functions: `def f(x, y):`, with `torch` as the only module.
    ///
    /// # Errors
    /// The code that TorchScript does not understand, and its line, counted from 1.
    pub fn compile(source: &str) -> Result<Self, Error> {
        // SAFETY: the source lives during the call, and `out` is writable.
        Handle::new(|out| unsafe { ctn_script_compile(source.into(), out) }).map(Self)
    }

    /// A function of the source, looked up once. It may outlive the script.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        let script = self.0.as_ptr();
        // SAFETY: script and name live during the call, and `out` is writable.
        Handle::new(|out| unsafe { ctn_script_function(script, name.into(), out) }).map(Function)
    }
}

/// A function from tensors to a tensor.
#[derive(Debug)]
pub struct Function(Handle);

impl Function {
    /// Runs the function on such inputs until libtorch has optimized it: twice, as libtorch is set by default.
    ///
    /// Before the first `run`, which would begin to optimize it, too, without the fuser.
    ///
    /// # Errors
    /// When the function is optimized already, when libtorch does not optimize, or as in [`run`](Self::run).
    pub fn optimize(&self, inputs: &[&Tensor], fuser: Fuser) -> Result<(), Error> {
        let (function, pointers) = (self.0.as_ptr(), pointers(inputs.iter().copied()));
        let onednn = fuser == Fuser::OnednnGraph;
        // SAFETY: the function and the tensors live during the call.
        check(unsafe { ctn_script_optimize(function, (&pointers).into(), onednn) })
    }

    /// Calls the function.
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Tensor, Error> {
        let (function, pointers) = (self.0.as_ptr(), pointers(inputs.iter().copied()));
        // SAFETY: the function and the tensors live during the call.
        border::tensor(|out| unsafe { ctn_script_run(function, (&pointers).into(), out) })
    }

    /// The nodes that run when the function is called: their kinds in order, without constants.
    ///
    /// A node with blocks is followed by what is in them: `prim::If` by both its branches. A node that runs a graph of
    /// its own has that in parentheses: `prim::oneDNNFusionGroup(aten::linear, aten::relu)`. A fused group comes with
    /// its guard and the call of its unfused copy: `prim::oneDNNFusionGuard`, `prim::If`, the group,
    /// `prim::CallFunction`, `prim::TupleUnpack`.
    ///
    /// # Errors
    /// When the function is not optimized yet.
    pub fn optimized_graph(&self) -> Result<Vec<String>, Error> {
        // SAFETY: the function lives.
        let lines =
            border::text(|out| unsafe { ctn_script_optimized_graph(self.0.as_ptr(), out) })?;
        Ok(lines.lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
