//! Work whose time is its arithmetic: a chain in which each step waits for the one before, of integers,
//! of divisions, of square roots, of sums over a table in the first cache, or of branches.

use criterion_torch::kernel::prelude::*;

const PERCENT: [u64; 3] = [100, 100, 100];

pub struct ProblemSize {
    pub case: u64,
}

impl Default for ProblemSize {
    fn default() -> Self {
        Self { case: 0 }
    }
}

fn steps(case: u64) -> u64 {
    let percent = match case {
        0..5 => PERCENT[0],
        5..10 => PERCENT[1],
        _ => PERCENT[2],
    };
    (2_000 + 500 * (case / 5)) * percent
}

pub fn run_benchmark(size: &ProblemSize) -> Result<f64, Refusal> {
    let steps = steps(size.case) / 100;
    Ok(match size.case % 5 {
        0 => {
            let mut x = 1_u64;
            for i in 0..steps * 4 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
            }
            (x >> 40) as f64
        }
        1 => (0..steps).fold(std::hint::black_box(2.0), |x: f64, _| 1.5 / (x + 0.5)),
        2 => (0..steps).fold(std::hint::black_box(2.0), |x: f64, _| (x + 1.0).sqrt()),
        3 => {
            let table: [u32; 1024] = std::array::from_fn(|i| (i as u32 * 389 + 7) % 1024);
            let mut at = 0_u32;
            for _ in 0..steps * 4 {
                at = table[std::hint::black_box(at) as usize];
            }
            f64::from(at)
        }
        _ => {
            let mut sum = 0.0_f64;
            for i in 0..steps * 4 {
                sum += i as f64;
            }
            sum
        }
    })
}
