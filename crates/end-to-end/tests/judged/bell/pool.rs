//! Honest: two threads share the rows, and the one that it keeps for this sleeps between calls. No check should accuse
//! it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Pool {
    honest: Honest,
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<(Honest, Vec<Tensor>)>,
    result: Option<Result<(), Refusal>>,
    ends: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes the second half of each call until the end.
    fn work(&self) {
        let mut state = self.lock();
        while !state.ends {
            let Some((honest, examples)) = state.job.take() else {
                state = self.wait(state);
                continue;
            };
            drop(state);
            let result = second_half(&honest, &examples);
            state = self.lock();
            state.result = Some(result);
            self.changed.notify_all();
        }
    }
}

fn second_half(honest: &Honest, examples: &[Tensor]) -> Result<(), Refusal> {
    let half = examples[0].size()[0] / 2;
    honest.compute_rows(examples, half, half)
}

impl Kernel for Pool {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        let shared = Arc::<Shared>::default();
        let working = shared.clone();
        let worker = Some(std::thread::spawn(move || working.work()));
        Ok(Self { honest, shared, worker })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let shared = examples.iter().map(Tensor::shallow_clone).collect();
        self.shared.lock().job = Some((self.honest.share(), shared));
        self.shared.changed.notify_all();
        self.honest.compute_rows(examples, 0, examples[0].size()[0] / 2)?;
        let mut state = self.shared.lock();
        loop {
            match state.result.take() {
                Some(result) => return result,
                None => state = self.shared.wait(state),
            }
        }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        if let Some(Err(_)) = self.worker.take().map(JoinHandle::join) {
            eprintln!("the thread of the pool panicked");
        }
    }
}
