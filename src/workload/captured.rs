//! A step captured as one CUDA graph: a compiled package's run, or the operations of an eager case.

use std::cell::RefCell;

use plan::CudaGraph;
use tch::Tensor;

use super::Refusal;
use crate::inputs;
use crate::native::cuda_graph::Graph;

/// Runs before the capture: the first ones load kernels and allocate workspaces.
const WARM_UP: u64 = 3;

/// A captured step. Its outputs are the same tensors in every step.
#[derive(Debug)]
pub(super) struct Captured {
    graph: RefCell<Graph>,
    device: usize,
    words: CaptureMessages,
}

/// The words of the message of a failed capture.
#[derive(Debug)]
pub(super) struct CaptureMessages {
    /// The captured step: `its compiled package`.
    pub step: &'static str,
    /// The suggested step without a graph: `torch_compile_mode: default`.
    pub instead: String,
}

impl Captured {
    /// Captures `run` on the CUDA device of this index.
    ///
    /// # Errors
    /// Errors of a run; unsupported, with CUDA's reason and the step without a graph, when a run
    /// succeeds but its capture fails.
    pub(super) fn new(
        device: usize,
        words: CaptureMessages,
        run: impl Fn() -> Result<Vec<Tensor>, Refusal>,
    ) -> Result<Self, Refusal> {
        let graph = RefCell::new(capture(device, &words, run)?);
        Ok(Self { graph, device, words })
    }

    /// Captures again, because the tensors that the step reads have new addresses.
    pub(super) fn recapture(
        &self,
        run: impl Fn() -> Result<Vec<Tensor>, Refusal>,
    ) -> Result<(), Refusal> {
        drop(self.graph.replace(capture(self.device, &self.words, run)?));
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

fn capture(
    device: usize,
    words: &CaptureMessages,
    run: impl Fn() -> Result<Vec<Tensor>, Refusal>,
) -> Result<Graph, Refusal> {
    tch::no_grad(|| {
        // If the run fails without a graph, too, that error is reported instead of the capture's.
        drop(run()?);
        Graph::capture(device, WARM_UP, run).map_err(|refusal| refused(refusal, words))
    })
}

/// The outcome of a case whose capture failed.
fn refused(refusal: Refusal, CaptureMessages { step, instead }: &CaptureMessages) -> Refusal {
    match refusal {
        Refusal::Failed(reason) => Refusal::Unsupported(format!(
            "{step} cannot be captured in a CUDA graph: {reason}; `{instead}` is the same without a graph"
        )),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use tch::TchError;

    use super::*;

    #[test]
    fn a_failed_capture_names_the_step_without_a_graph_and_memory_stays_memory() {
        let error = TchError::Torch(
            "CUDA error: operation not permitted when stream is capturing\nframes".to_owned(),
        );
        let words = CaptureMessages {
            step: "its compiled package",
            instead: "torch_compile_mode: default".to_owned(),
        };
        let expected = "its compiled package cannot be captured in a CUDA graph: CUDA error: operation \
                        not permitted when stream is capturing; `torch_compile_mode: default` is the \
                        same without a graph";
        assert_eq!(refused(error.into(), &words), Refusal::Unsupported(expected.to_owned()));
        let error = TchError::Torch("CUDA out of memory. Tried to allocate 1 GiB.".to_owned());
        assert!(matches!(refused(error.into(), &words), Refusal::Oom(_)));
    }

    #[test]
    fn a_step_that_fails_without_a_graph_fails_in_its_own_words() {
        let words = CaptureMessages { step: "its step", instead: "int8dq".to_owned() };
        let run = || Err(Refusal::Failed("no such product".to_owned()));
        let refusal = Captured::new(0, words, run).expect_err("the step fails");
        assert_eq!(refusal, Refusal::Failed("no such product".to_owned()));
    }
}
