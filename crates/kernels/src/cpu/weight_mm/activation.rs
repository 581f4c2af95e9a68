//! Sums and an order of the activation, prepared once for all rows of the weight.

use tch::{Device, Kind, TchError, Tensor};

use super::floats::Floats;
use super::lanes::QUARTER;
use crate::cpu::memory::slice_mut;
use crate::cpu::parallel;

/// Sums of `groups` groups in each of `m` rows, float32 `[m, groups]`.
pub fn sums(x: Floats<'_>, m: usize, groups: usize, group: usize) -> Result<Tensor, TchError> {
    fill(m, groups, |row, sums| {
        let mut part = [0.0; QUARTER];
        for (index, sum) in sums.iter_mut().enumerate() {
            let mut lanes = [0.0; QUARTER];
            for at in (0..group).step_by(QUARTER) {
                x.read((row * groups + index) * group + at, &mut part);
                for (lane, value) in lanes.iter_mut().zip(part) {
                    *lane += value;
                }
            }
            *sum = lanes.iter().sum();
        }
    })
}

/// The activation `[m, k]` in float32, 16 elements of even index before 16 of odd index if it
/// `splits` pairs.
pub fn numbers(x: Floats<'_>, m: usize, k: usize, splits: bool) -> Result<Tensor, TchError> {
    fill(m, k, |row, numbers| {
        x.read(row * k, numbers);
        if splits {
            for quarter in numbers.as_chunks_mut::<QUARTER>().0 {
                let ordered = *quarter;
                for pair in 0..QUARTER / 2 {
                    quarter[pair] = ordered[2 * pair];
                    quarter[pair + QUARTER / 2] = ordered[2 * pair + 1];
                }
            }
        }
    })
}

/// A float32 `[m, width]` whose rows are written one by one, on torch's number of threads.
fn fill(
    m: usize,
    width: usize,
    write: impl Fn(usize, &mut [f32]) + Sync,
) -> Result<Tensor, TchError> {
    // A tensor, so that it counts among the memory that the step takes.
    let mut filled = Tensor::f_empty([m as i64, width as i64], (Kind::Float, Device::Cpu))?;
    parallel::for_each_row(slice_mut(&mut filled)?, width, write)?;
    Ok(filled)
}
