//! The demands on every kernel.

use criterion_torch::inputs;
use criterion_torch::kernel::prelude::*;
use criterion_torch::verify::Distance;

/// The least signal-to-noise ratio of an output, in dB.
pub fn gate(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float64 => 200.0,
        Dtype::Float32 => 100.0,
        Dtype::Float16 => 60.0,
        Dtype::BFloat16 => 45.0,
        Dtype::Float8E4M3Fn => f64::NAN,
    }
}

pub fn on_cpu(dtype: Dtype) -> KernelContext {
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    KernelContext { work: (), dtype, device, torch_device: place, threads: 1, seed: 42 }
}

/// Prepares a kernel as a case does.
pub fn prepared<K: Kernel>(size: &K::ProblemSize, context: &KernelContext) -> Result<K, Refusal> {
    let _drawing = inputs::seeded(context.seed);
    K::prepare(size, context)
}

/// Why it is not prepared.
pub fn refusal<K: Kernel>(size: &K::ProblemSize, context: &KernelContext) -> String {
    match prepared::<K>(size, context) {
        Err(refusal @ Refusal::Unsupported(_)) => refusal.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was prepared"),
    }
}

/// The reference of a kernel at this size.
pub fn reference<K: Kernel>(size: &K::ProblemSize, dtype: Dtype) -> Tensor {
    let kernel = prepared::<K>(size, &on_cpu(dtype)).unwrap_or_else(|it| panic!("{it}"));
    let reference = kernel.reference().unwrap_or_else(|it| panic!("{it}"));
    reference.expect("a reference")
}

/// The output's distance from the reference. Two steps have to leave the same bits.
pub fn distance<K: Kernel>(size: &K::ProblemSize, dtype: Dtype, reference: &Tensor) -> Distance {
    let mut kernel = prepared::<K>(size, &on_cpu(dtype)).unwrap_or_else(|it| panic!("{it}"));
    let mut step = || {
        kernel.run().unwrap_or_else(|it| panic!("{it}"));
        kernel.output().unwrap_or_else(|it| panic!("{it}")).copy()
    };
    let (first, second) = (step(), step());
    assert_eq!(first.kind(), inputs::kind(dtype));
    assert!(first.equal(&second), "{dtype}: a step changes what the next one computes");
    assert_eq!(reference.kind(), tch::Kind::Double);
    Distance::between(reference, &first).unwrap()
}

/// Demands the gate of the precision, by the reference of `Judge` at the same size.
pub fn agree_in<K: Kernel, Judge: Kernel>(
    size: &K::ProblemSize,
    judge: &Judge::ProblemSize,
    dtype: Dtype,
) {
    let found = distance::<K>(size, dtype, &reference::<Judge>(judge, dtype));
    assert!(found.sqnr_db >= gate(dtype), "{dtype}: {found:?}");
}

/// [`agree_in`] each precision of a generic kernel: by its own reference; by that of another, which is
/// generic, too; or by that of one that is not, behind `@`.
macro_rules! agree {
    ($kernel:ident::$K:ident, $size:expr) => {
        $crate::check::agree!($kernel::$K, $size, $kernel::$K, $size)
    };
    ($kernel:ident::$K:ident, $size:expr, $judge:ident::$J:ident, $of:expr) => {{
        use criterion_torch::kernel::Dtype::{BFloat16, Float16, Float32, Float64};
        $crate::check::agree_in::<$kernel::$K<f64>, $judge::$J<f64>>($size, $of, Float64);
        $crate::check::agree_in::<$kernel::$K<f32>, $judge::$J<f32>>($size, $of, Float32);
        $crate::check::agree_in::<$kernel::$K<half::bf16>, $judge::$J<half::bf16>>(
            $size, $of, BFloat16,
        );
        $crate::check::agree_in::<$kernel::$K<half::f16>, $judge::$J<half::f16>>(
            $size, $of, Float16,
        );
    }};
    ($kernel:ident::$K:ident, $size:expr, @$judge:path, $of:expr) => {{
        use criterion_torch::kernel::Dtype::{BFloat16, Float16, Float32, Float64};
        $crate::check::agree_in::<$kernel::$K<f64>, $judge>($size, $of, Float64);
        $crate::check::agree_in::<$kernel::$K<f32>, $judge>($size, $of, Float32);
        $crate::check::agree_in::<$kernel::$K<half::bf16>, $judge>($size, $of, BFloat16);
        $crate::check::agree_in::<$kernel::$K<half::f16>, $judge>($size, $of, Float16);
    }};
}
pub(crate) use agree;
