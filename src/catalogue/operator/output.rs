//! Outputs: allocated beforehand, or anew by every step as an operation of ATen's allocates its own;
//! and our own kernels, which write to them.

use plan::{Implementation, Operator, OperatorWork};
use tch::{TchError, Tensor};

use super::row;
use crate::inputs::Inputs;
use crate::kernel::{KernelContext, Step};
use crate::refusal::Refusal;
use kernels::operands::Operands;
use kernels::{cpu, cuda, triton};

/// A tensor like `x` for a step to write into. It holds NaN, so that an element that is not written
/// fails the check, and its pages are mapped before anything is timed.
pub(super) fn unwritten_like(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_full_like(f64::NAN)
}

/// The unwritten output for a loss of x, which is one number.
pub(super) fn unwritten_loss(x: &Tensor) -> Result<Tensor, TchError> {
    Tensor::f_full([0_i64; 0], f64::NAN, (x.f_kind()?, x.device()))
}

/// A step in which the kernels fill a new tensor: like x, or the one number of a loss of x.
pub(super) fn filling(
    x: Tensor,
    is_loss: bool,
    kernels: &[impl AsRef<str>],
    fill: impl Fn(&Tensor, &mut Tensor) -> Result<(), TchError> + 'static,
) -> Step {
    Step::new(kernels, move || {
        let mut out = match is_loss {
            true => Tensor::f_empty([0_i64; 0], (x.f_kind()?, x.device()))?,
            false => x.f_empty_like()?,
        };
        fill(&x, &mut out)?;
        Ok::<_, TchError>(out)
    })
}

/// Further tensors that our kernels read beside x.
struct Further {
    other: Option<Tensor>,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
}

impl Further {
    fn operands<'t>(&'t self, x: &'t Tensor) -> Operands<'t> {
        let Self { other, weight, bias } = self;
        Operands { x, other: other.as_ref(), weight: weight.as_ref(), bias: bias.as_ref() }
    }
}

/// Our own kernels on a CPU, in CUDA C++ or in Triton.
pub(super) fn ours(context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
    let OperatorWork { operator, implementation, .. } = context.work;
    let Inputs { mut examples, mut parameters } = inputs;
    let x = examples.remove(0);
    let other = examples.pop();
    let has_weight = operator != Operator::BiasGelu && !parameters.is_empty();
    let weight = has_weight.then(|| parameters.remove(0));
    let further = Further { other, weight, bias: parameters.pop() };
    let (kind, is_loss) = (x.f_kind()?, operator.is_loss());
    Ok(match implementation {
        Implementation::Rust => filling(x, is_loss, &[cpu::kernel(operator)], move |x, out| {
            cpu::compute(operator, &further.operands(x), out)
        }),
        Implementation::Cuda => {
            let kernels = cuda::OperatorKernels::load(operator, kind, context.cuda()?)?;
            let out = if is_loss { unwritten_loss(&x)? } else { unwritten_like(&x)? };
            let names = kernels.kernels(&further.operands(&x), &out)?;
            filling(x, is_loss, &names, move |x, out| kernels.run(&further.operands(x), out))
        }
        Implementation::Triton => {
            let (dim, device) = (row(&x)?, x.device());
            let kernels = triton::OperatorKernels::load(operator, dim, kind, device)?;
            let names = kernels.kernels();
            filling(x, is_loss, &names, move |x, out| kernels.run(&further.operands(x), out))
        }
        _ => return Err(context.no_such_implementation()),
    })
}
