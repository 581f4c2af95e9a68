//! The pressure's equation of an incompressible flow, ∇²p = f with p = 0 on the boundary, in two or
//! three dimensions: by Jacobi's method, whose every sweep makes a point the mean of what its
//! neighbours were. Solved to `tolerance`, or failed after `max_iterations`.

#[path = "_poisson.rs"]
pub mod poisson;

use criterion_torch::kernel::prelude::*;
use poisson::{Grid, Poisson};

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Points in each of two or three dimensions, the boundary's among them.
    pub grid_size: Vec<usize>,
    /// Sweeps at most.
    pub max_iterations: u32,
    /// The residual's size, relative to the right-hand side.
    pub tolerance: f64,
}

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let grid = Grid::new(&self.grid_size, context)?;
        Ok(Inputs { examples: vec![context.normal(grid.size())?], parameters: vec![] })
    }

    fn reference(
        &self,
        inputs: &Inputs,
        context: &KernelContext,
    ) -> Result<Option<Tensor>, Refusal> {
        let grid = Grid::new(&self.grid_size, context)?;
        poisson::reference(&inputs.examples[0], &grid).map(Some)
    }
}

pub struct Jacobi<T> {
    problem: Poisson<T>,
    next: Vec<T>,
}

impl<T: Element> Kernel for Jacobi<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let &ProblemSize { ref grid_size, max_iterations, tolerance } = size;
        let problem = Poisson::new(grid_size, max_iterations, tolerance, context)?;
        Ok(Self { next: problem.p.clone(), problem })
    }

    /// From zero to the solution, every time.
    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (Self { problem, next }, f) = (self, slice(&examples[0])?);
        problem.solve(f, |problem| {
            match *problem.grid.strides() {
                [row] => sweep(problem, f, next, [row]),
                [plane, row] => sweep(problem, f, next, [plane, row]),
                _ => {} // `Grid::new` lets no other pass.
            }
            // Both have zeros on the boundary.
            std::mem::swap(&mut problem.p, next);
        })
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.problem.output()
    }

    // No `flops` and no `bytes`: how many sweeps it takes is known when it is done, not from the size.
}

/// One sweep, `next` from `p`, with neighbours so far away in D − 1 dimensions, and beside the point
/// in the last.
fn sweep<T: Element, const OTHERS: usize>(
    problem: &Poisson<T>,
    f: &[T],
    next: &mut [T],
    strides: [usize; OTHERS],
) {
    let Poisson { grid, p, .. } = problem;
    let (width, inner) = (grid.width(), grid.width() - 2);
    let share = T::Wide::from_f64(0.5 / (OTHERS + 1) as f64);
    for row in grid.inner_rows() {
        let first = row * width + 1;
        // Slices of one length: the loop over them needs no check of bounds, and becomes vector code.
        let shifted = |from: usize| &p[from..][..inner];
        let around = strides.map(|by| (shifted(first - by), shifted(first + by)));
        let (left, right, f) = (shifted(first - 1), shifted(first + 1), &f[first..][..inner]);
        for (i, out) in next[first..][..inner].iter_mut().enumerate() {
            let mut sum = left[i].wide() + right[i].wide();
            for (before, behind) in &around {
                sum += before[i].wide() + behind[i].wide();
            }
            *out = T::narrow((sum - f[i].wide()) * share);
        }
    }
}
