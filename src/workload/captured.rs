//! A package's run captured as one CUDA graph, for the modes of `torch.compile` that use one.

use std::cell::RefCell;

use plan::{CompileMode, CudaGraph};
use tch::{Device, TchError, Tensor};

use super::Refusal;
use crate::inputs;
use crate::native::cuda_graph::Graph;
use crate::native::package::Package;

/// Runs before the capture: the first ones load kernels and allocate workspaces.
const WARM_UP: u64 = 3;

/// A captured run. Its outputs are the same tensors in every step.
#[derive(Debug)]
pub(super) struct Captured {
    graph: RefCell<Graph>,
    device: usize,
    /// The same mode without a graph, which is suggested when the capture fails.
    instead: CompileMode,
}

impl Captured {
    /// Captures the package's run, if the mode asks for a CUDA graph and the device has such.
    ///
    /// # Errors
    /// Those of a run; unsupported, with CUDA's reason and the mode without a graph, when a run
    /// succeeds but its capture fails.
    pub(super) fn of(
        package: &Package,
        device: Device,
        mode: CompileMode,
    ) -> Result<Option<Self>, Refusal> {
        let (Device::Cuda(device), Some(instead)) = (device, mode.without_cuda_graph()) else {
            return Ok(None);
        };
        let graph = RefCell::new(capture(package, device, instead)?);
        Ok(Some(Self { graph, device, instead }))
    }

    /// Captures again, because the package's inputs have new addresses.
    pub(super) fn again(&self, package: &Package) -> Result<(), Refusal> {
        drop(self.graph.replace(capture(package, self.device, self.instead)?));
        Ok(())
    }

    pub(super) fn step(&self) -> Result<Tensor, Refusal> {
        let graph = self.graph.borrow();
        graph.replay()?;
        Ok(graph.outputs()[0].shallow_clone())
    }

    /// All outputs of a replay. They are filled with NaN first, so that an element that the replay does not write fails
    /// the check.
    pub(super) fn over_nan(&self) -> Result<Vec<Tensor>, Refusal> {
        let graph = self.graph.borrow();
        for output in graph.outputs().iter().filter(|it| it.is_floating_point()) {
            drop(output.shallow_clone().f_fill_(f64::NAN)?);
        }
        graph.replay()?;
        Ok(graph.outputs().iter().map(Tensor::shallow_clone).collect())
    }

    pub(super) fn outputs_bytes(&self) -> u64 {
        self.graph.borrow().outputs().iter().map(inputs::bytes).sum()
    }

    /// Why no memory is reported for a step.
    pub(super) fn uncounted(&self) -> String {
        format!(
            "a CUDA graph replays in the memory of its own pool, {} bytes here, and no step allocates",
            self.graph.borrow().pool_bytes()
        )
    }

    pub(super) fn facts(&self) -> CudaGraph {
        CudaGraph { warm_up_runs: WARM_UP, pool_bytes: self.graph.borrow().pool_bytes() }
    }
}

fn capture(package: &Package, device: usize, instead: CompileMode) -> Result<Graph, Refusal> {
    tch::no_grad(|| {
        // If the run fails without a graph, too, that error is reported instead of the capture's.
        drop(package.run_all()?);
        Graph::capture(device, WARM_UP, || package.run_all())
            .map_err(|error| refused(error, instead))
    })
}

/// The outcome of a case whose capture failed.
fn refused(error: TchError, instead: CompileMode) -> Refusal {
    match Refusal::from(error) {
        Refusal::Failed(reason) => Refusal::Unsupported(format!(
            "its compiled package cannot be captured in a CUDA graph: {reason}; \
             `torch_compile_mode: {}` is the same without a graph",
            instead.as_str()
        )),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_capture_names_the_mode_without_a_graph_and_memory_stays_memory() {
        let error = TchError::Torch(
            "CUDA error: operation not permitted when stream is capturing\nframes".to_owned(),
        );
        let expected = "its compiled package cannot be captured in a CUDA graph: CUDA error: operation \
                        not permitted when stream is capturing; `torch_compile_mode: default` is the \
                        same without a graph";
        assert_eq!(refused(error, CompileMode::Default), Refusal::Unsupported(expected.to_owned()));
        let error = TchError::Torch("CUDA out of memory. Tried to allocate 1 GiB.".to_owned());
        assert!(matches!(refused(error, CompileMode::Default), Refusal::Oom(_)));
    }
}
