//! Where a kernel runs, and in what.

use std::cell::Cell;
use std::sync::MutexGuard;

use plan::{Device, Dtype};
use tch::Tensor;

use crate::inputs;
use crate::refusal::Refusal;

/// The circumstances of a case of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// The precision: of what a step reads and of what it leaves.
    pub dtype: Dtype,
    /// The backend, as configs name it.
    pub device: Device,
    /// The same as torch has it.
    pub place: tch::Device,
    /// Threads that a step may use.
    pub threads: usize,
    /// The case's seed, which torch's default generator has when [`super::Kernel::prepare`] starts.
    pub seed: i64,
}

thread_local! {
    /// Whether the next draw is the first of a call.
    static FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Has the next draw begin anew from the case's seed. Whoever draws pays for that, and nobody else.
pub(super) fn rewind() {
    FIRST.set(true);
}

impl Site {
    /// Seeds torch's default generator, which is the caller's alone until the guard is dropped.
    pub(super) fn seeded(&self) -> MutexGuard<'static, ()> {
        FIRST.set(false);
        inputs::seeded(self.seed)
    }

    /// Normally distributed values in the case's dtype, drawn on the host, so that every device sees the
    /// same.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn normal(&self, size: &[usize]) -> Result<Tensor, Refusal> {
        self.draws();
        Ok(inputs::normal(&as_u64(size), self.drawn(), tch::Device::Cpu)?
            .f_to_kind(inputs::kind(self.dtype))?
            .f_to_device(self.place)?)
    }

    /// Values uniform from `low` to `high` in the case's dtype, drawn on the host.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn uniform(&self, size: &[usize], (low, high): (f64, f64)) -> Result<Tensor, Refusal> {
        self.draws();
        Ok(inputs::between(&as_u64(size), (low, high), self.dtype, self.place)?)
    }

    /// Seeds torch's default generator, if it was rewound.
    fn draws(&self) {
        if FIRST.replace(false) {
            tch::manual_seed(self.seed);
        }
    }

    /// Torch draws nothing in 8 bits.
    fn drawn(&self) -> Dtype {
        if self.dtype == Dtype::Float8E4M3Fn { Dtype::Float32 } else { self.dtype }
    }

    /// The refusal of a case that breaks `constraint`, for `Err`.
    pub fn unsupported(&self, constraint: &str) -> Refusal {
        let (backend, precision) = (self.device, self.dtype.precision());
        Refusal::Unsupported(format!("{backend}, {precision}: {constraint}"))
    }
}

fn as_u64(size: &[usize]) -> Vec<u64> {
    size.iter().map(|&it| it as u64).collect()
}
