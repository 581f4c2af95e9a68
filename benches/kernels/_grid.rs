//! Grids of points in two or three dimensions, for kernels that walk over them. A file whose name
//! begins with `_` is no kernel.

#![allow(dead_code, reason = "every kernel uses its own part")]

use criterion_torch::kernel::prelude::*;

/// A grid, row-major. Its outermost points are the boundary, the others its interior.
#[derive(Debug, Clone)]
pub struct Grid {
    size: Vec<usize>,
    strides: Vec<usize>,
}

impl Grid {
    /// A grid of so many points in each dimension.
    pub fn new(size: &[usize], context: &KernelContext) -> Result<Self, Refusal> {
        let fits = matches!(size.len(), 2 | 3) && size.iter().all(|&points| points >= 3);
        if !fits || size.iter().try_fold(1_usize, |all, &it| all.checked_mul(it)).is_none() {
            return Err(context.unsupported(&format!(
                "grid_size is {size:?}, but has to be two or three numbers of 3 or more"
            )));
        }
        let strides = (1..size.len()).map(|d| size[d..].iter().product()).collect();
        Ok(Self { size: size.to_vec(), strides })
    }

    pub fn size(&self) -> &[usize] {
        &self.size
    }

    /// As torch takes it.
    pub fn shape(&self) -> Vec<i64> {
        self.size.iter().map(|&points| points as i64).collect()
    }

    pub fn points(&self) -> usize {
        self.size.iter().product()
    }

    /// Points of a row, those at its two ends included.
    pub fn width(&self) -> usize {
        self.size[self.size.len() - 1]
    }

    /// How far apart neighbours in every dimension but the last are in memory; in that they are side
    /// by side. Kept, as a step asks for them on the clock.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The rows that have an interior, by their place among all rows.
    pub fn inner_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.points() / self.width()).filter(|&row| self.is_inner(row))
    }

    /// Whether a row has an interior.
    pub fn is_inner(&self, row: usize) -> bool {
        let mut place = row;
        self.size[..self.size.len() - 1].iter().rev().all(|&points| {
            let here = place % points;
            place /= points;
            0 < here && here < points - 1
        })
    }

    /// The sum of the row's indices but the last, by which a point is red or black.
    pub fn index_sum(&self, row: usize) -> usize {
        match self.size[..] {
            [_, middle, _] => row / middle + row % middle,
            _ => row,
        }
    }

    /// The interior of a tensor of the grid's size, sharing its memory.
    pub fn interior_of(&self, tensor: &Tensor) -> Result<Tensor, TchError> {
        let mut view = tensor.shallow_clone();
        for (dim, points) in self.shape().into_iter().enumerate() {
            view = view.f_narrow(dim as i64, 1, points - 2)?;
        }
        Ok(view)
    }
}

/// Points of the interior of such a grid.
pub fn interior(size: &[usize]) -> u64 {
    size.iter().map(|&points| points.saturating_sub(2) as u64).product()
}
