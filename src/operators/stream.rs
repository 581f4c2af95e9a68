//! `stream`: the operator's own traffic and nothing computed. Each of its examples is read once; unless
//! it is a loss, as many bytes as x has are written. w and b, which stay in the first cache, are
//! left out.

use std::hint::black_box;

use tch::{TchError, Tensor};

use super::Site;
use super::output::{filling_like, unwritten_like, unwritten_loss};
use crate::inputs::Inputs;
use crate::kernels::cpu::vector::Names;
use crate::kernels::cpu::{Capability, traffic};
use crate::kernels::cuda::traffic::{Pass, Traffic};
use crate::refusal::Refusal;
use crate::step::Step;

/// The pass over these examples.
pub(super) fn build(site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
    let mut examples = inputs.examples.into_iter();
    let x = examples.next().ok_or_else(|| site.refuse("there is nothing to read"))?;
    let other = examples.next();
    match site.device {
        plan::Device::Cpu => cpu(site, x, other),
        plan::Device::Cuda => cuda(site, x, other),
        _ => Err(site.no_such_implementation()),
    }
}

fn cpu(site: &Site, x: Tensor, other: Option<Tensor>) -> Result<Step, Refusal> {
    let names = |names: Names| names.of(Capability::best());
    if site.work.operator.is_loss() {
        let done = done(&x)?;
        return Ok(Step::new(names(traffic::READ), move || {
            match &other {
                // Classes are of another size than x.
                Some(other) if other.size() != x.size() => {
                    black_box((traffic::read(&[&x])?, traffic::read(&[other])?));
                }
                Some(other) => {
                    black_box(traffic::read(&[&x, other])?);
                }
                None => {
                    black_box(traffic::read(&[&x])?);
                }
            }
            Ok(done.shallow_clone())
        }));
    }
    Ok(match other {
        None => filling_like(x, names(traffic::COPY), traffic::copy),
        Some(other) => {
            filling_like(x, names(traffic::MERGE), move |x, out| traffic::merge(x, &other, out))
        }
    })
}

/// What a pass that writes nothing has for an output: zero. What it has read stays with it.
fn done(x: &Tensor) -> Result<Tensor, TchError> {
    unwritten_loss(x)?.f_zeros_like()
}

fn cuda(site: &Site, x: Tensor, other: Option<Tensor>) -> Result<Step, Refusal> {
    let traffic = Traffic::load(site.cuda()?)?;
    if site.work.operator.is_loss() {
        let names = traffic.kernels(&Pass::Read { x: &x, other: other.as_ref() })?;
        let done = done(&x)?;
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

/// See [`super::passed`].
pub(super) fn passed(site: &Site, inputs: &Inputs) -> Result<Tensor, TchError> {
    let x = &inputs.examples[0];
    if site.work.operator.is_loss() {
        return done(x);
    }
    let Some(other) = inputs.examples.get(1) else { return Ok(x.shallow_clone()) };
    let bits = if site.dtype.bits() == 32 { tch::Kind::Int } else { tch::Kind::Int16 };
    let either = x.f_view_dtype(bits)?.f_bitwise_xor_tensor(&other.f_view_dtype(bits)?)?;
    either.f_view_dtype(x.f_kind()?)
}
