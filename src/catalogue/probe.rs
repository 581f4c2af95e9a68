//! Probes: limits of a machine. STREAM on the host, which is no function of tensors, is measured by the
//! workload itself.

use plan::{Device, Dtype, Probe, ProbeKind, ProbeWork};
use tch::{Kind, TchError, Tensor};

use crate::inputs::{self, Inputs};
use crate::kernel::Gates;
use crate::kernel::{KernelContext, Named, Operation, Parts, Shipped, Step};
use crate::native::onednn::{self, PostOp};
use crate::native::triad::triad;
use crate::refusal::Refusal;
use kernels::cpu::stream::SCALAR;

impl Named for ProbeWork {
    fn name(context: &KernelContext<Self>) -> String {
        format!("probe `{}`", context.work.probe)
    }
}

impl Shipped for ProbeWork {
    fn operation(&self) -> Box<dyn Operation<Self>> {
        match self.probe.kind() {
            ProbeKind::Product => Box::new(Matmul),
            ProbeKind::Stream => Box::new(Stream),
            ProbeKind::Launch | ProbeKind::Call => Box::new(Sign),
        }
    }

    /// Rows of a product; elements of STREAM's arrays; one element otherwise.
    fn parts(context: &KernelContext<Self>) -> Parts {
        let size = context.work.size;
        let (all, flops, elements) = match context.work.probe.kind() {
            ProbeKind::Product => (size, 2 * size * size, size),
            ProbeKind::Stream => (size / context.dtype.bytes(), 2, 1),
            ProbeKind::Launch | ProbeKind::Call => (1, 1, 1),
        };
        Parts { all, flops, elements, are_averaged: false }
    }
}

/// Probes other than products are measured in float32 only.
fn in_float32(context: &KernelContext<ProbeWork>) -> Result<(), String> {
    match context.dtype {
        Dtype::Float32 => Ok(()),
        dtype => Err(format!("it is measured in float32, and dtype is {dtype}")),
    }
}

/// The gate where a single rounding to float32 leaves 150 dB, and the values need none.
const EXACT_DB: f64 = 120.0;

/// The product of two square matrices of normally distributed values: torch's own, or oneDNN's. The second one lies in
/// memory as the weight of a linear layer does, transposed: on a CPU without instructions for bfloat16 or float16, ATen's
/// product of both as they are takes 10 to 28 times as long in these (0.3 and 8.7 GFLOP/s at 1024, torch 2.11, AVX2).
struct Matmul;

impl Operation<ProbeWork> for Matmul {
    fn inputs(&self, context: &KernelContext<ProbeWork>) -> Result<Inputs, Refusal> {
        let draw = || context.normal(&[context.work.size; 2]);
        Ok(Inputs { examples: vec![draw()?], parameters: vec![draw()?] })
    }

    fn check(&self, context: &KernelContext<ProbeWork>) -> Result<(), String> {
        match (context.work.probe, context.device) {
            (Probe::MatmulOnednn, Device::Cpu) => onednn::supports(context.kind()),
            (Probe::MatmulOnednn, device) => {
                Err(format!("oneDNN is called by name only on cpu, not on {device}"))
            }
            _ => Ok(()),
        }
    }

    fn reference(&self, _: &KernelContext<ProbeWork>, inputs: Inputs) -> Result<Tensor, Refusal> {
        let ([a], [b]) = inputs.into_parts()?;
        Ok(a.f_mm(&b)?)
    }

    fn build(&self, context: &KernelContext<ProbeWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([a], [b]) = inputs.into_parts()?;
        let bytes = inputs::bytes(&a) + inputs::bytes(&b);
        let weight = b.f_tr()?.f_contiguous()?;
        let step = match context.work.probe {
            Probe::MatmulOnednn => {
                let (rows, _) = a.size2()?;
                let weight = onednn::reorder_linear_weight(&weight, rows)?;
                Step::new(&["mkldnn::_linear_pointwise"], move || {
                    onednn::linear_pointwise(&a, &weight, None, PostOp::None)
                })
            }
            Probe::Matmul => {
                let b = weight.f_tr()?;
                let step = Step::new(&["aten::mm"], move || a.f_mm(&b));
                product_note(context).into_iter().fold(step, Step::noting)
            }
            _ => return Err(context.no_such_implementation()),
        };
        Ok(step.of_inputs_alone(bytes).reading(vec![]))
    }

    /// The lowest over seeds, on a CPU:
    ///
    /// | dtype    | 1×1   | 2×2   | 4×4   | 16×16 to 1024×1024 | gate |
    /// |----------|-------|-------|-------|--------------------|------|
    /// | float32  | 145.2 | 133.1 | 141.3 | 132.1              | 100  |
    /// | bfloat16 | 48.5  | 48.9  | 51.4  | 54.5               | 40   |
    /// | float16  | 60.0  | 67.7  | 69.6  | 72.4               | 55   |
    ///
    /// In float16 a product of 1×1 may be subnormal.
    fn min_sqnr_db(&self, _: &ProbeWork, dtype: Dtype) -> f64 {
        Gates { float32: 100.0, bfloat16: 40.0, float16: 55.0 }.for_dtype(dtype)
    }
}

/// Whose product torch's is on a CPU where it is not oneDNN's, to which torch leaves those in half
/// precision where it can, and none in float32.
fn product_note(context: &KernelContext<ProbeWork>) -> Option<String> {
    match (context.device, context.dtype) {
        (Device::Cpu, Dtype::Float32) => Some(
            "the product is that of the BLAS library which libtorch was built with; \
             `matmul_onednn` is oneDNN's"
                .to_owned(),
        ),
        (Device::Cpu, _) => onednn::supports(context.kind())
            .err()
            .map(|reason| format!("the product is ATen's own, not oneDNN's: {reason}")),
        _ => None,
    }
}

/// STREAM's operations on a device, by the operation of torch that makes one pass over the arrays.
struct Stream;

impl Operation<ProbeWork> for Stream {
    /// Drawn where they lie.
    fn inputs(&self, context: &KernelContext<ProbeWork>) -> Result<Inputs, Refusal> {
        let size = [inputs::dimension(context.work.size / context.dtype.bytes())?];
        let draw = || Tensor::f_rand(size, (context.kind(), context.torch_device));
        Ok(Inputs { examples: vec![draw()?, draw()?], parameters: vec![] })
    }

    fn check(&self, context: &KernelContext<ProbeWork>) -> Result<(), String> {
        in_float32(context)?;
        let (size, dtype) = (context.work.size, context.dtype);
        if size >= dtype.bytes() && size.is_multiple_of(dtype.bytes()) {
            return Ok(());
        }
        Err(format!("an array of {size} bytes holds no whole number of {dtype}"))
    }

    fn reference(
        &self,
        context: &KernelContext<ProbeWork>,
        inputs: Inputs,
    ) -> Result<Tensor, Refusal> {
        let ([mut x, mut y], []) = inputs.into_parts()?;
        let scalar = f64::from(SCALAR);
        Ok(match context.work.probe {
            Probe::Scale => x.f_mul_scalar_(scalar)?,
            Probe::Add => x.f_add_(&y)?,
            Probe::Triad => x.f_add_(&y.f_mul_scalar_(scalar)?)?,
            Probe::Copy => x,
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn build(&self, context: &KernelContext<ProbeWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x, y], []) = inputs.into_parts()?;
        // An element that is not written fails the check.
        let output = x.f_full_like(f64::NAN)?;
        let bytes = [&x, &y, &output].map(inputs::bytes).iter().sum();
        let step = match context.work.probe {
            Probe::Scale => {
                // On the host: torch hands it to the kernel as an argument.
                let options = (Kind::Float, tch::Device::Cpu);
                let scalar = Tensor::f_scalar_tensor(f64::from(SCALAR), options)?;
                Step::new(&["aten::mul"], move || x.f_mul_out(&output, &scalar))
            }
            Probe::Add => Step::new(&["aten::add"], move || x.f_add_out(&output, &y)),
            Probe::Triad => Step::new::<Refusal>(&["aten::add"], move || {
                let mut output = output.shallow_clone();
                triad(&mut output, &x, &y, SCALAR.into())?;
                Ok(output)
            }),
            Probe::Copy => Step::new::<TchError>(&["aten::copy_"], move || {
                let mut output = output.shallow_clone();
                output.f_copy_(&x)?;
                Ok(output)
            }),
            _ => return Err(context.no_such_implementation()),
        };
        Ok(step.of_inputs_alone(bytes).reading(vec![]))
    }

    fn min_sqnr_db(&self, _: &ProbeWork, _: Dtype) -> f64 {
        EXACT_DB
    }
}

/// An operation of torch on one element, which changes its sign: next to nothing to compute.
///
/// A call makes a result of its own, so that a step is the way there: from Rust that is the border to
/// C++, the dispatcher and one small allocation, which is released again. A launch works in place, on a
/// device with a queue. By the device's clock a step is a kernel that does next to nothing, one after
/// the other; what the host takes to start it is the queueing time of the record's two clocks.
struct Sign;

impl Operation<ProbeWork> for Sign {
    fn inputs(&self, context: &KernelContext<ProbeWork>) -> Result<Inputs, Refusal> {
        let value = Tensor::f_ones([1], (context.kind(), context.torch_device))?;
        Ok(Inputs { examples: vec![value], parameters: vec![] })
    }

    fn check(&self, context: &KernelContext<ProbeWork>) -> Result<(), String> {
        in_float32(context)?;
        if context.work.probe == Probe::Launch && context.device == Device::Cpu {
            return Err("the host starts no kernels, it calls functions; `devices: [cuda]` has a \
                        queue for them"
                .to_owned());
        }
        Ok(())
    }

    fn reference(&self, _: &KernelContext<ProbeWork>, inputs: Inputs) -> Result<Tensor, Refusal> {
        Ok(inputs.examples[0].f_mul_scalar(-1.0)?)
    }

    fn build(&self, context: &KernelContext<ProbeWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let ([value], []) = inputs.into_parts()?;
        if context.work.probe != Probe::Launch {
            return Ok(Step::new(&["aten::neg"], move || value.f_neg()));
        }
        let start = value.shallow_clone();
        // Nothing to allocate, and no number of steps overflows.
        let step = Step::new(&["aten::neg_"], move || value.shallow_clone().f_neg_());
        Ok(step.starting_from(move || start.shallow_clone().f_fill_(1.0)).reading(vec![]))
    }

    fn min_sqnr_db(&self, _: &ProbeWork, _: Dtype) -> f64 {
        EXACT_DB
    }
}
