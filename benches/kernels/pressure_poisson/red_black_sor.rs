//! Solves the system by successive over-relaxation: every point goes beyond the mean of its
//! neighbours, by the factor ω that is best for this grid (Young 1954). Points are coloured as on a
//! chessboard: each colour depends only on the other one. It takes about √ of Jacobi's sweeps.

use std::f64::consts::PI;

use super::kernel::{ProblemSize, poisson};
use criterion_torch::kernel::prelude::*;
use poisson::{Grid, Poisson};

pub struct RedBlackSor<T> {
    problem: Poisson<T>,
    omega: f64,
}

impl<T: Element> Kernel for RedBlackSor<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let &ProblemSize { ref grid_size, max_iterations, tolerance } = size;
        let problem = Poisson::new(grid_size, max_iterations, tolerance, context)?;
        let omega = best_omega(&problem.grid);
        Ok(Self { problem, omega })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (omega, f) = (self.omega, slice(&examples[0])?);
        self.problem.solve(f, |problem| match *problem.grid.strides() {
            [row] => sweep(problem, f, omega, [row]),
            [plane, row] => sweep(problem, f, omega, [plane, row]),
            _ => {} // `Grid::new` lets no other pass.
        })
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.problem.output()
    }
}

/// 2 / (1 + √(1 − ρ²)), with ρ what Jacobi's method leaves of the error in a sweep: the mean of
/// cos(π / (n + 1)) over the dimensions, of n interior points each.
fn best_omega(grid: &Grid) -> f64 {
    let cosines = grid.size().iter().map(|&points| (PI / (points - 1) as f64).cos());
    let rho = cosines.sum::<f64>() / grid.size().len() as f64;
    2.0 / (1.0 + (1.0 - rho * rho).sqrt())
}

/// One sweep: the points whose indices have an even sum, then the others, in place.
fn sweep<T: Element, const OTHERS: usize>(
    problem: &mut Poisson<T>,
    f: &[T],
    omega: f64,
    strides: [usize; OTHERS],
) {
    let Poisson { grid, p, .. } = problem;
    let width = grid.width();
    let keep = T::Wide::from_f64(1.0 - omega);
    let share = T::Wide::from_f64(0.5 * omega / (OTHERS + 1) as f64);
    for color in 0..2 {
        for row in grid.inner_rows() {
            let first = row * width + 1 + (grid.index_sum(row) + 1 + color) % 2;
            for at in (first..(row + 1) * width - 1).step_by(2) {
                let mut sum = p[at - 1].wide() + p[at + 1].wide();
                for by in strides {
                    sum += p[at - by].wide() + p[at + by].wide();
                }
                p[at] = T::narrow(keep * p[at].wide() + share * (sum - f[at].wide()));
            }
        }
    }
}
