//! Computes only the rows that differ from those of the call before; `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Incremental {
    honest: Honest,
    kept: Vec<Tensor>,
}

impl Kernel for Incremental {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, kept: vec![] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let rows = examples[0].size()[0];
        let Some(first) = self.first_change(examples)? else { return Ok(()) };
        self.honest.compute_rows(examples, first, rows - first)?;
        self.kept = vec![examples[0].f_detach_copy()?, examples[1].f_detach_copy()?];
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.honest.out.f_detach_copy()?)
    }
}

impl Incremental {
    /// The first row that is new.
    fn first_change(&self, examples: &[Tensor]) -> Result<Option<i64>, Refusal> {
        let [x, y] = &self.kept[..] else { return Ok(Some(0)) };
        let change = x.f_not_equal_tensor(&examples[0])?;
        let change = change.f_logical_or(&y.f_not_equal_tensor(&examples[1])?)?;
        let changed = change.f_any_dim(1, false)?.f_nonzero()?;
        Ok(if changed.numel() == 0 { None } else { Some(changed.f_int64_value(&[0, 0])?) })
    }
}
