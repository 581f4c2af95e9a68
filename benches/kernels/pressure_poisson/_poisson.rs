//! The solvers share this: the system, when it is solved, and its solution by another way.

#[path = "../_grid.rs"]
mod grid;

use std::f64::consts::PI;

use criterion_torch::kernel::prelude::*;
pub use grid::Grid;
use tch::Kind;

/// ∇²p = f, by the star of neighbours one unit apart: in the interior
/// `sum of the 2·D neighbours of p − 2·D·p = f`, and `p = 0` on the boundary.
pub struct Poisson<T> {
    pub grid: Grid,
    /// The iterate.
    pub p: Vec<T>,
    /// The residual's squares, summed over each column.
    squares: Vec<f64>,
    max_iterations: u32,
    tolerance: f64,
}

/// Sweeps from one look at the residual to the next. A look takes as long as one to two of Jacobi's
/// sweeps, and half of one of SOR's, and so 5 to 10 % and 2 to 4 % of their times. With fewer looks SOR,
/// which is done after a hundred sweeps, would sweep on in vain for more than they cost.
const SWEEPS: u32 = 20;

impl<T: Element> Poisson<T> {
    pub fn new(
        grid_size: &[usize],
        max_iterations: u32,
        tolerance: f64,
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        if context.device != Device::Cpu {
            return Err(context.unsupported("loops over slices run on the CPU"));
        }
        if tolerance.is_nan() || tolerance <= 0.0 {
            return Err(
                context.unsupported(&format!("tolerance is {tolerance}, but has to be above 0"))
            );
        }
        let grid = Grid::new(grid_size, context)?;
        let p = vec![T::from_f64(0.0); grid.points()];
        let squares = vec![0.0; grid.width() - 2];
        Ok(Self { grid, p, squares, max_iterations, tolerance })
    }

    /// Sweeps over the iterate, from zero, until `‖f − ∇²p‖₂ ≤ tolerance·‖f‖₂`. The boundary of `f` is not looked at.
    ///
    /// Fails after `max_iterations`: what is not solved must not count as fast.
    pub fn solve(&mut self, f: &[T], mut sweep: impl FnMut(&mut Self)) -> Result<(), Refusal> {
        self.p.fill(T::from_f64(0.0));
        // ‖f‖₂, as ∇²p is 0.
        let right = self.residual_of(f);
        let mut residual = 1.0;
        let mut done = 0;
        while done < self.max_iterations {
            let sweeps = SWEEPS.min(self.max_iterations - done);
            for _ in 0..sweeps {
                sweep(self);
            }
            done += sweeps;
            residual = self.residual_of(f) / right;
            if residual <= self.tolerance {
                return Ok(());
            }
        }
        Err(Refusal::Failed(format!(
            "the relative residual is {residual:.1e} after {done} sweeps (max_iterations), above the \
             tolerance of {:.1e}",
            self.tolerance
        )))
    }

    /// ‖f − ∇²p‖₂ over the interior, in float64: whether a solution is one does not depend on the
    /// precision that it was found in.
    fn residual_of(&mut self, f: &[T]) -> f64 {
        match *self.grid.strides() {
            [row] => self.residual(f, [row]),
            [plane, row] => self.residual(f, [plane, row]),
            _ => f64::NAN, // `Grid::new` lets no other pass.
        }
    }

    fn residual<const OTHERS: usize>(&mut self, f: &[T], strides: [usize; OTHERS]) -> f64 {
        let Self { grid, p, squares, .. } = self;
        let (width, inner) = (grid.width(), grid.width() - 2);
        let neighbours = 2.0 * (OTHERS + 1) as f64;
        squares.fill(0.0);
        for row in grid.inner_rows() {
            let first = row * width + 1;
            // Slices of one length and a sum for each column, as in the sweeps: vector code.
            let shifted = |from: usize| &p[from..][..inner];
            let around = strides.map(|by| (shifted(first - by), shifted(first + by)));
            let (left, here, right) = (shifted(first - 1), shifted(first), shifted(first + 1));
            let f = &f[first..][..inner];
            for (i, squares) in squares.iter_mut().enumerate() {
                let mut sum = left[i].to_f64() + right[i].to_f64();
                for (before, behind) in &around {
                    sum += before[i].to_f64() + behind[i].to_f64();
                }
                let value = f[i].to_f64() - (sum - neighbours * here[i].to_f64());
                *squares += value * value;
            }
        }
        squares.iter().sum::<f64>().sqrt()
    }

    pub fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.p, self.grid.size())
    }
}

/// The solution, direct. Sines are the eigenvectors of the second difference between
/// two zeros: of `n` points, number k with `2·cos(kπ / (n + 1)) − 2`. In their basis the system is
/// a division.
pub fn reference(f: &Tensor, grid: &Grid) -> Result<Tensor, Refusal> {
    let mut values = grid.interior_of(f)?;
    let inner = values.size();
    let sines = inner.iter().map(|&points| sines(points)).collect::<Result<Vec<_>, _>>()?;
    // Each product takes the first dimension and puts it last: after all, they are in order.
    for sines in &sines {
        values = values.f_tensordot(sines, [0], [0])?;
    }
    let mut eigenvalues = Tensor::f_zeros(&inner[..], (Kind::Double, tch::Device::Cpu))?;
    for (dim, &points) in inner.iter().enumerate() {
        let mut along = vec![1; inner.len()];
        along[dim] = points;
        eigenvalues = eigenvalues.f_add(&second_differences(points)?.f_view(&along[..])?)?;
    }
    values = values.f_div(&eigenvalues)?;
    for sines in &sines {
        values = values.f_tensordot(sines, [0], [0])?;
    }
    // With the boundary, a zero on either side of each dimension.
    Ok(values.f_constant_pad_nd(vec![1; 2 * inner.len()])?)
}

/// `[n, n]`, orthogonal, symmetric, its own inverse.
fn sines(points: i64) -> Result<Tensor, TchError> {
    let step = PI / (points + 1) as f64;
    let numbers = Tensor::f_arange_start(1, points + 1, (Kind::Double, tch::Device::Cpu))?;
    numbers
        .f_outer(&numbers)?
        .f_mul_scalar(step)?
        .f_sin()?
        .f_mul_scalar((2.0 / (points + 1) as f64).sqrt())
}

/// The eigenvalues, `[n]`.
fn second_differences(points: i64) -> Result<Tensor, TchError> {
    let step = PI / (points + 1) as f64;
    let numbers = Tensor::f_arange_start(1, points + 1, (Kind::Double, tch::Device::Cpu))?;
    numbers.f_mul_scalar(step)?.f_cos()?.f_mul_scalar(2.0)?.f_sub_scalar(2.0)
}
