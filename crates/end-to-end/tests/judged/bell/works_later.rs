//! Computes, and leaves a thread that works from 5 to 55 ms after the last call; `threads` should catch it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::spin;
use criterion_torch::kernel::prelude::*;

pub struct WorksLater {
    honest: Honest,
    /// The end of the last call.
    ended: Arc<Mutex<Instant>>,
    working: Option<JoinHandle<()>>,
}

impl Kernel for WorksLater {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, ended: Arc::new(Mutex::new(Instant::now())), working: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)?;
        *self.ended.lock().expect("no panic") = Instant::now();
        if self.working.as_ref().is_none_or(JoinHandle::is_finished) {
            let ended = Arc::clone(&self.ended);
            self.working = Some(std::thread::spawn(move || work(&ended)));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

fn work(ended: &Mutex<Instant>) {
    loop {
        let rest = ended.lock().expect("no panic").elapsed();
        match rest.as_millis() {
            0..5 => std::thread::sleep(Duration::from_millis(1)),
            5..55 => spin(Duration::from_millis(1)),
            _ => break,
        }
    }
}
