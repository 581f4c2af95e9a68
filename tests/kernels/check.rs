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

/// The inputs of a case of this size.
pub fn inputs_of(size: &impl Task, context: &KernelContext) -> Result<Inputs, Refusal> {
    let _drawing = inputs::seeded(context.seed);
    size.inputs(context)
}

/// Prepares a kernel as a case does, and gives it with its examples.
pub fn prepared<K: Kernel<ProblemSize: Task>>(
    size: &K::ProblemSize,
    context: &KernelContext,
) -> Result<(K, Vec<Tensor>), Refusal> {
    let Inputs { examples, parameters } = inputs_of(size, context)?;
    Ok((K::prepare(size, &parameters, context)?, examples))
}

/// Why it is not prepared.
pub fn refusal<K: Kernel<ProblemSize: Task>>(
    size: &K::ProblemSize,
    context: &KernelContext,
) -> String {
    match prepared::<K>(size, context) {
        Err(refusal @ Refusal::Unsupported(_)) => refusal.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was prepared"),
    }
}

/// The reference at this size.
pub fn reference(size: &impl Task, dtype: Dtype) -> Tensor {
    let context = on_cpu(dtype);
    let inputs = inputs_of(size, &context).unwrap_or_else(|it| panic!("{it}"));
    let reference = size.reference(&inputs.all_in_float64().unwrap(), &context);
    reference.unwrap_or_else(|it| panic!("{it}")).expect("a reference")
}

/// The output's distance from the reference. Two steps have to leave the same bits.
pub fn distance<K: Kernel<ProblemSize: Task>>(
    size: &K::ProblemSize,
    dtype: Dtype,
    reference: &Tensor,
) -> Distance {
    let (mut kernel, examples) =
        prepared::<K>(size, &on_cpu(dtype)).unwrap_or_else(|it| panic!("{it}"));
    let mut step = || {
        kernel.run(&examples).unwrap_or_else(|it| panic!("{it}"));
        kernel.output().unwrap_or_else(|it| panic!("{it}")).copy()
    };
    let (first, second) = (step(), step());
    assert_eq!(first.kind(), inputs::kind(dtype));
    assert!(first.equal(&second), "{dtype}: a step changes what the next one computes");
    assert_eq!(reference.kind(), tch::Kind::Double);
    Distance::between(reference, &first).unwrap()
}

/// Demands the gate of the precision, by the reference of a size.
pub fn agree_in<K: Kernel<ProblemSize: Task>>(
    size: &K::ProblemSize,
    of: &K::ProblemSize,
    dtype: Dtype,
) {
    let found = distance::<K>(size, dtype, &reference(of, dtype));
    assert!(found.sqnr_db >= gate(dtype), "{dtype}: {found:?}");
}

/// [`agree_in`] each precision of a generic kernel, at its own size.
macro_rules! agree {
    ($kernel:ident::$K:ident, $size:expr) => {{
        use criterion_torch::kernel::Dtype::{BFloat16, Float16, Float32, Float64};
        $crate::check::agree_in::<$kernel::$K<f64>>($size, $size, Float64);
        $crate::check::agree_in::<$kernel::$K<f32>>($size, $size, Float32);
        $crate::check::agree_in::<$kernel::$K<half::bf16>>($size, $size, BFloat16);
        $crate::check::agree_in::<$kernel::$K<half::f16>>($size, $size, Float16);
    }};
}
pub(crate) use agree;
