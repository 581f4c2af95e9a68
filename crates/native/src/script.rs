//! TorchScript from source: functions of tensors that libtorch's interpreter runs and its fusers may fuse.
//!
//! libtorch profiles the first run of a function, and at the second optimizes it for the dtypes, devices, sizes and
//! strides that it saw; [`Function::optimize`] does both. A fused group is guarded: inputs that differ from those take
//! an unfused copy of the same operations, and nothing tells (the results are right).
//!
//! Which fuser there is depends on the device. On CUDA it is TensorExpr, which is on by default and takes chains of
//! elementwise operations; reductions only when asked, and nothing here asks. On the CPU it would need an LLVM that
//! PyTorch's own builds are without, so there nothing is fused ([`Function::optimized_graph`] shows it) unless
//! [`Fuser::OnednnGraph`] is asked for.

use crate::sys as shim;
use tch::Tensor;

use super::error::{Error, check, take_string};
use super::tensor::returned;

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
pub struct Script(*mut shim::Script);

impl Script {
    /// Compiles definitions of functions: `def f(x, y):`, with `torch` as the only module.
    ///
    /// # Errors
    /// What TorchScript does not understand, and its line, counted from 1.
    pub fn compile(source: &str) -> Result<Self, Error> {
        let mut script = std::ptr::null_mut();
        let (text, length) = (source.as_ptr().cast(), source.len());
        // SAFETY: `text` has that many bytes, and `script` is writable.
        check(unsafe { shim::ctn_script_compile(text, length, &mut script) })?;
        Ok(Self(script))
    }

    /// A function of the source, looked up once. It may outlive the script.
    ///
    /// # Errors
    /// When there is none of that name, or when it takes or returns something else than tensors.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        let mut function = std::ptr::null_mut();
        let (text, length) = (name.as_ptr().cast(), name.len());
        // SAFETY: the script lives, `text` has that many bytes, and `function` is writable.
        check(unsafe { shim::ctn_script_function(self.0, text, length, &mut function) })?;
        Ok(Function(function))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the pointer; functions share what they need.
        unsafe { shim::ctn_script_free(self.0) };
    }
}

/// A function from tensors to a tensor.
#[derive(Debug)]
pub struct Function(*mut shim::ScriptFunction);

impl Function {
    /// Runs the function on such inputs until libtorch has optimized it: twice, as libtorch is set by default.
    ///
    /// Before the first `run`, which would begin to optimize it, too, without the fuser.
    ///
    /// # Errors
    /// When the function is optimized already, when libtorch does not optimize, or as in [`run`](Self::run).
    pub fn optimize(&self, inputs: &[&Tensor], fuser: Fuser) -> Result<(), Error> {
        let handles: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
        let onednn = i32::from(fuser == Fuser::OnednnGraph);
        let (first, count) = (handles.as_ptr(), handles.len());
        // SAFETY: the function and the tensors live during the call.
        check(unsafe { shim::ctn_script_optimize(self.0, first, count, onednn) })
    }

    /// Calls the function.
    ///
    /// # Errors
    /// When it takes another number of tensors, or what an operation of the script says.
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Tensor, Error> {
        let handles: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
        let (first, count) = (handles.as_ptr(), handles.len());
        // SAFETY: the function and the tensors live during the call, and `out` is writable.
        let call = |out| unsafe { shim::ctn_script_run(self.0, first, count, out) };
        // SAFETY: the call hands over a new tensor.
        unsafe { returned(call) }
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
        let mut lines = std::ptr::null_mut();
        // SAFETY: the function lives, and `lines` is writable.
        check(unsafe { shim::ctn_script_optimized_graph(self.0, &mut lines) })?;
        // SAFETY: just handed over.
        let lines = unsafe { take_string(lines) };
        Ok(lines.lines().map(str::to_owned).collect())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the pointer.
        unsafe { shim::ctn_script_function_free(self.0) };
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
