//! The device and the work of a kernel.

use std::cell::Cell;
use std::sync::MutexGuard;

use plan::{Device, Dtype};
use tch::{Kind, Tensor};

use crate::inputs;
use crate::refusal::Refusal;

/// The circumstances of a case of a kernel.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// fn weights(context: &KernelContext) -> Result<Tensor, Refusal> {
///     if context.device != Device::Cpu {
///         return Err(context.unsupported("a loop over slices runs on the CPU"));
///     }
///     context.uniform(&[64, 64], (-1.0, 1.0))
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct KernelContext<W = ()> {
    /// Kernel, implementation and size, of one that ships with the library. Your kernel has its own.
    #[doc(hidden)]
    pub work: W,
    /// The precision: of what a step reads and of what it leaves.
    pub dtype: Dtype,
    /// The backend, as configs name it.
    pub device: Device,
    /// The backend as a device of torch.
    pub torch_device: tch::Device,
    /// Threads that a step may use.
    pub threads: usize,
    /// The case's seed, which torch's default generator has when [`super::Task::inputs`] starts.
    pub seed: i64,
}

/// The names of the kernel and its implementation in messages.
pub trait Named: Sized {
    /// The words in front of what is refused.
    fn name(context: &KernelContext<Self>) -> String;
}

impl Named for () {
    fn name(context: &KernelContext) -> String {
        format!("{}, {}", context.device, context.dtype.precision())
    }
}

thread_local! {
    /// Whether the next draw is the first of a call.
    static FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Has the next draw begin anew from the case's seed. Whoever draws pays for that, and nobody else.
pub(super) fn rewind() {
    FIRST.set(true);
}

impl<W> KernelContext<W> {
    /// Seeds torch's default generator, which is the caller's alone until the guard is dropped.
    pub(super) fn seeded(&self) -> MutexGuard<'static, ()> {
        FIRST.set(false);
        inputs::seeded(self.seed)
    }

    /// Normally distributed values in the case's dtype, drawn on the host, so that every device sees the
    /// same.
    pub fn normal<D: Copy + TryInto<u64>>(&self, size: &[D]) -> Result<Tensor, Refusal> {
        self.draws();
        Ok(inputs::normal(&dimensions(size)?, self.drawn(), tch::Device::Cpu)?
            .f_to_kind(self.kind())?
            .f_to_device(self.torch_device)?)
    }

    /// Values uniform from `low` to `high` in the case's dtype, drawn on the host: float64 as such, the
    /// others in float32 and rounded.
    pub fn uniform<D: Copy + TryInto<u64>>(
        &self,
        size: &[D],
        range: (f64, f64),
    ) -> Result<Tensor, Refusal> {
        self.draws();
        Ok(inputs::uniform(&dimensions(size)?, range, self.dtype, self.torch_device)?)
    }

    /// The case's dtype as torch has it.
    pub fn kind(&self) -> Kind {
        inputs::kind(self.dtype)
    }

    /// Seeds torch's default generator, if it was rewound.
    fn draws(&self) {
        if FIRST.replace(false) {
            inputs::reseed(self.seed);
        }
    }

    /// Torch draws nothing in 8 bits.
    fn drawn(&self) -> Dtype {
        if self.dtype == Dtype::Float8E4M3Fn { Dtype::Float32 } else { self.dtype }
    }
}

impl<W: Named> KernelContext<W> {
    /// The refusal of a case that breaks `constraint`, for `Err`.
    pub fn unsupported(&self, constraint: &str) -> Refusal {
        Refusal::Unsupported(format!("{}: {constraint}", W::name(self)))
    }
}

fn dimensions<D: Copy + TryInto<u64>>(size: &[D]) -> Result<Vec<u64>, Refusal> {
    let dimension = |&it: &D| it.try_into().ok();
    let all: Option<Vec<u64>> = size.iter().map(dimension).collect();
    all.ok_or_else(|| Refusal::Failed("a size to draw has a negative dimension".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Element, bf16, f16, slice};

    /// The values in `dtype` from one seed, and whether none has more bits than a float32.
    fn drawn<T: Element>() -> (Vec<f64>, bool) {
        let (device, place) = (Device::Cpu, tch::Device::Cpu);
        let context = KernelContext {
            work: (),
            dtype: T::DTYPE,
            device,
            torch_device: place,
            threads: 1,
            seed: 7,
        };
        let _drawing = context.seeded();
        let drawn = context.uniform(&[1000], (-3.0, 5.0)).unwrap();
        let drawn: Vec<f64> = slice(&drawn).unwrap().iter().copied().map(T::to_f64).collect();
        let are_float32 = drawn.iter().all(|&it| f64::from(it as f32) == it);
        (drawn, are_float32)
    }

    #[test]
    fn float64_is_drawn_with_all_its_bits() {
        let (double, are_float32) = drawn::<f64>();
        assert!(!are_float32);
        assert!(double.iter().all(|it| (-3.0..5.0).contains(it)));
        assert!(double.iter().any(|it| *it < -2.0) && double.iter().any(|it| *it > 4.0));
    }

    #[test]
    fn the_others_are_roundings_of_the_same_values() {
        let (single, are_float32) = drawn::<f32>();
        assert!(are_float32);
        let half: Vec<f64> = single.iter().map(|&it| f16::from_f64(it).to_f64()).collect();
        assert_eq!(drawn::<f16>().0, half);
        let brain: Vec<f64> = single.iter().map(|&it| bf16::from_f64(it).to_f64()).collect();
        assert_eq!(drawn::<bf16>().0, brain);
    }
}
