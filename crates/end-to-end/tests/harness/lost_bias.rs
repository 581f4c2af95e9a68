//! A pattern that one of its variants computes wrong: the bias is lost on the way to it. Reference,
//! gate and operations are the library's, and the same for the variants that have their bias.

use criterion_torch::kernel::{Computation, KernelContext, Step};
use criterion_torch::refusal::Refusal;
use criterion_torch::verify::{Judge, Reference};
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, FusionVariant, FusionWork};
use tch::{Device, Kind, Tensor};

/// The variant that lacks it.
const WITHOUT: FusionVariant = FusionVariant::Addmm;

pub const CONFIG: &str = "
benchmark_mode: fusion
sampling: { samples: 10, warm_up_s: 0.01, target: 0.5, measurement_s: 10 }
energy: false
fusion_params:
  patterns: [linear_bias_relu]
  sizes: [[16, 32, 32]]
  variants: [fused, addmm, inplace]
";

/// Criterion's id of a variant, of a config called `bias`.
pub fn id(variant: &str) -> String {
    format!("fusion/bias/linear_bias_relu/cpu/{variant}/f32-16x32x32")
}

struct Pattern {
    step: Step,
    judge: Judge,
}

pub fn prepare(case: &Case, work: &FusionWork) -> Result<Box<dyn Workload>, Refusal> {
    let context = KernelContext {
        work: *work,
        dtype: case.dtype,
        device: case.device,
        torch_device: Device::Cpu,
        threads: 1,
        seed: case.settings.seed,
    };
    let mut inputs = context.inputs()?;
    let all = Tensor::f_arange(inputs.examples[0].size()[0], (Kind::Int64, Device::Cpu))?;
    let whole = context.reference(inputs.in_float64(&all, Device::Cpu)?)?.expect("a pattern's");
    let judge = Judge::new(case, Reference::new(all, whole), context.min_sqnr_db());
    if work.variant == WITHOUT {
        let bias = inputs.parameters.last_mut().expect("weight and bias");
        drop(bias.f_zero_()?);
    }
    Ok(Box::new(Pattern { step: context.build(inputs)?, judge }))
}

impl Workload for Pattern {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.judge.accuracy_of(&self.step()?)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        0
    }

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }
}
