//! What the solvers share: the system, when it is solved, and its solution by another way.

#![allow(dead_code, reason = "every kernel uses its own part")]

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
    /// On every point; that of the boundary is not looked at.
    pub f: Vec<T>,
    /// The iterate, `f`'s size.
    pub p: Vec<T>,
    max_iterations: u32,
    tolerance: f64,
}

/// Sweeps from one look at the residual to the next, as it takes about as long as a sweep.
const SWEEPS: u32 = 10;

impl<T: Element> Poisson<T> {
    /// A right-hand side of normally distributed values.
    pub fn draw(
        grid_size: &[usize],
        max_iterations: u32,
        tolerance: f64,
        site: &Site,
    ) -> Result<Self, Refusal> {
        if site.device != Device::Cpu {
            return Err(site.unsupported("loops over slices run on the CPU"));
        }
        if tolerance.is_nan() || tolerance <= 0.0 {
            return Err(site.unsupported(&format!("tolerance is {tolerance}, but has to be above 0")));
        }
        let grid = Grid::new(grid_size, site)?;
        let f = site.host_values(&site.normal(grid.size())?)?;
        let p = vec![T::from_f64(0.0); grid.points()];
        Ok(Self { grid, f, p, max_iterations, tolerance })
    }

    /// Sweeps over the iterate, from zero, until `‖f − ∇²p‖₂ ≤ tolerance·‖f‖₂`.
    ///
    /// Fails after `max_iterations`: what is not solved must not count as fast.
    pub fn solve(&mut self, mut sweep: impl FnMut(&mut Self)) -> Result<(), Refusal> {
        self.p.fill(T::from_f64(0.0));
        let right = self.norm(|_, f| f);
        let mut residual = 1.0;
        let mut done = 0;
        while done < self.max_iterations {
            let sweeps = SWEEPS.min(self.max_iterations - done);
            for _ in 0..sweeps {
                sweep(self);
            }
            done += sweeps;
            residual = self.norm(|around, f| f - around) / right;
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

    /// The norm, over the interior, of what `of` makes of ∇²p and f at a point.
    fn norm(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let width = self.grid.width();
        let mut squares = 0.0;
        for row in self.grid.inner_rows() {
            for at in row * width + 1..(row + 1) * width - 1 {
                let value = of(self.laplacian(at), self.f[at].to_f64());
                squares += value * value;
            }
        }
        squares.sqrt()
    }

    /// ∇²p at an interior point, in float64: whether a solution is one does not depend on the
    /// precision that it was found in.
    fn laplacian(&self, at: usize) -> f64 {
        let p = |at: usize| self.p[at].to_f64();
        let mut sum = p(at - 1) + p(at + 1) - 2.0 * p(at);
        for by in self.grid.strides() {
            sum += p(at - by) + p(at + by) - 2.0 * p(at);
        }
        sum
    }

    pub fn output(&self) -> Result<Tensor, Refusal> {
        Ok(Tensor::f_from_slice(&self.p)?.f_view(&self.grid.shape()[..])?)
    }

    /// The solution, direct, in float64. Sines are the eigenvectors of the second difference between
    /// two zeros: of `n` points, number k with `2·cos(kπ / (n + 1)) − 2`. In their basis the system is
    /// a division.
    pub fn reference(&self) -> Result<Tensor, Refusal> {
        let f = Tensor::f_from_slice(&self.f)?.f_view(&self.grid.shape()[..])?;
        let mut values = self.grid.interior_of(&f)?.f_to_kind(Kind::Double)?;
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
