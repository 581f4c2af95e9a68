//! What is asked of every kernel.

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

pub fn on_cpu(dtype: Dtype) -> Site {
    Site { dtype, device: Device::Cpu, place: tch::Device::Cpu, threads: 1, seed: 42 }
}

/// Prepares a kernel as a case does.
pub fn prepared<K: Kernel>(size: &K::ProblemSize, site: &Site) -> Result<K, Refusal> {
    let _drawing = inputs::seeded(site.seed);
    K::prepare(size, site)
}

/// Why it is not prepared.
pub fn refusal<K: Kernel>(size: &K::ProblemSize, site: &Site) -> String {
    match prepared::<K>(size, site) {
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

/// Demands the gate of each precision of a generic kernel, by its own reference or by that of another
/// at the same size.
macro_rules! agree {
    ($kernel:path, $size:expr) => {
        $crate::check::agree!($kernel, $size, $kernel, $size)
    };
    ($kernel:path, $size:expr, $judge:path, $judge_size:expr) => {{
        use half::{bf16, f16};
        use $kernel as Kernel;
        use $judge as Judge;
        $crate::check::agree!(@each Kernel, $size, Judge, $judge_size, f64 f32 bf16 f16)
    }};
    (@each $kernel:ident, $size:expr, $judge:ident, $judge_size:expr, $($T:ident)*) => {$({
        let dtype = <$T as criterion_torch::kernel::Element>::DTYPE;
        let reference = $crate::check::reference::<$judge<$T>>($judge_size, dtype);
        let found = $crate::check::distance::<$kernel<$T>>($size, dtype, &reference);
        assert!(found.sqnr_db >= $crate::check::gate(dtype), "{dtype}: {found:?}");
    })*};
}
pub(crate) use agree;
