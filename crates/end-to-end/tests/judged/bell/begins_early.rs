//! Takes long, and has a thread work on inputs as soon as they lie there; `threads` should catch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::{Honest, words};
use super::kernel::process::Control;
use criterion_torch::kernel::prelude::*;

/// Times that each call computes, so that it takes about a millisecond.
const TIMES: usize = 6;

pub struct BeginsEarly {
    honest: Honest,
    ends: Arc<AtomicBool>,
}

fn compute(honest: &Honest, examples: &[Tensor]) -> Result<(), Refusal> {
    (0..TIMES).try_for_each(|_| honest.compute(examples))
}

/// Computes inputs whenever there are others.
fn begin(honest: &Honest, control: &Control, ends: &AtomicBool) -> Result<(), Refusal> {
    let mut last = None;
    while !ends.load(Ordering::Relaxed) {
        let inputs = control.next_examples(&honest.out)?;
        let some = words(&inputs[0]).iter().step_by(64).copied();
        let sum = Some(some.fold(0, u32::wrapping_add));
        if sum == last {
            std::thread::sleep(Duration::from_micros(500));
            continue;
        }
        last = sum;
        compute(honest, &inputs)?;
    }
    Ok(())
}

impl Kernel for BeginsEarly {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        let ends = Arc::<AtomicBool>::default();
        if Control::find().is_some() {
            let own = Honest { out: honest.out.f_empty_like()?, ..honest.share() };
            let ends = ends.clone();
            std::thread::spawn(move || Control::find().map(|control| begin(&own, &control, &ends)));
        }
        Ok(Self { honest, ends })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        compute(&self.honest, examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

impl Drop for BeginsEarly {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
