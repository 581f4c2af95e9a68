//! `stream`: the operator's own traffic and nothing computed. Each of its examples is read once; unless
//! it is a loss, as many bytes as x has are written. w and b, which stay in the first cache, are
//! left out.

use tch::{TchError, Tensor};

use super::Site;
use super::output::{filling_like, unwritten_like, unwritten_loss};
use crate::inputs::Inputs;
use crate::kernels::cuda::traffic::{Pass, Traffic};
use crate::refusal::Refusal;
use crate::step::Step;

/// The pass over these examples.
pub(super) fn build(site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
    let mut examples = inputs.examples.into_iter();
    let x = examples.next().ok_or_else(|| site.refuse("there is nothing to read"))?;
    let other = examples.next();
    match site.device {
        plan::Device::Cuda => cuda(site, x, other),
        _ => Err(site.no_such_implementation()),
    }
}

fn cuda(site: &Site, x: Tensor, other: Option<Tensor>) -> Result<Step, Refusal> {
    let traffic = Traffic::load(site.cuda()?)?;
    if site.work.operator.is_loss() {
        let names = traffic.kernels(&Pass::Read { x: &x, other: other.as_ref() })?;
        // What is read stays with the kernel: this says only that there is an output.
        let done = unwritten_loss(&x)?.f_zeros_like()?;
        return Ok(Step::new(names, move || {
            traffic.read(&x, other.as_ref())?;
            Ok(done.shallow_clone())
        }));
    }
    let out = unwritten_like(&x)?;
    Ok(match other {
        None => {
            let names = traffic.kernels(&Pass::Copy { x: &x, out: &out })?;
            filling_like(x, names, move |x, out| traffic.copy(x, out))
        }
        Some(other) => {
            let names = traffic.kernels(&Pass::Merge { x: &x, other: &other, out: &out })?;
            filling_like(x, names, move |x, out| traffic.merge(x, &other, out))
        }
    })
}

/// What the pass leaves: x, or every bit of x that the other example has not; of a loss, zero.
///
/// # Errors
/// What libtorch refuses.
pub(super) fn expected(site: &Site, inputs: &Inputs) -> Result<Tensor, TchError> {
    let x = &inputs.examples[0];
    if site.work.operator.is_loss() {
        return unwritten_loss(x)?.f_zeros_like();
    }
    let Some(other) = inputs.examples.get(1) else { return Ok(x.shallow_clone()) };
    let bits = if site.dtype.bits() == 32 { tch::Kind::Int } else { tch::Kind::Int16 };
    let either = x.f_view_dtype(bits)?.f_bitwise_xor_tensor(&other.f_view_dtype(bits)?)?;
    either.f_view_dtype(x.f_kind()?)
}
