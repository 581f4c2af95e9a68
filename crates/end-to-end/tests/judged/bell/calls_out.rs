//! Opens a socket, by which it could tell others its inputs; a judge's process cannot, so that it fails there.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct CallsOut {
    honest: Honest,
}

impl Kernel for CallsOut {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0");
        socket.map_err(|error| Refusal::Failed(error.to_string()))?;
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
