//! `stream`: the operator's pass-through limit, which is its own traffic with nothing computed. Each
//! of its examples is read once; unless it is a loss, as many bytes as x has are written. w and b,
//! which stay in the first cache, are skipped. For a loss, a CPU leaves what shows that all was read:
//! a number, as the loss is one.

use plan::OperatorWork;
use tch::{Kind, TchError, Tensor};

use super::output::{filling, unwritten_like, unwritten_loss};
use crate::inputs::Inputs;
use crate::kernel::{KernelContext, Step};
use crate::refusal::Refusal;
use kernels::cpu::{Capability, pass_through};
use kernels::cuda::pass_through::{PassThrough, Read};

pub(super) fn build(
    context: &KernelContext<OperatorWork>,
    inputs: Inputs,
) -> Result<Step, Refusal> {
    let mut examples = inputs.examples.into_iter();
    let x = examples.next().ok_or_else(|| context.unsupported("there is nothing to read"))?;
    let other = examples.next();
    let step = match context.device {
        plan::Device::Cpu => cpu(context, x, other)?,
        plan::Device::Cuda => cuda(context, x, other)?,
        _ => return Err(context.no_such_implementation()),
    };
    // w and b are not read.
    Ok(step.storing(0).reading(vec![]))
}

fn cpu(
    context: &KernelContext<OperatorWork>,
    x: Tensor,
    other: Option<Tensor>,
) -> Result<Step, Refusal> {
    let names = |pass| [Capability::best().kernel(pass)];
    if context.work.operator.is_loss() {
        return Ok(Step::new(&names("read"), move || match &other {
            Some(other) if is_apart(&x, other) => {
                let folded = [pass_through::read(&[&x])?, pass_through::read(&[other])?];
                Tensor::f_from_slice(&folded.map(u64::cast_signed))
            }
            Some(other) => Tensor::f_from_slice(&[pass_through::read(&[&x, other])?.cast_signed()]),
            None => Tensor::f_from_slice(&[pass_through::read(&[&x])?.cast_signed()]),
        }));
    }
    Ok(match other {
        None => filling(x, false, &names("copy"), pass_through::copy),
        Some(other) => {
            filling(x, false, &names("merge"), move |x, out| pass_through::merge(x, &other, out))
        }
    })
}

/// Whether the two are read one after the other: classes are of another size than x.
fn is_apart(x: &Tensor, other: &Tensor) -> bool {
    other.size() != x.size()
}

fn cuda(
    context: &KernelContext<OperatorWork>,
    x: Tensor,
    other: Option<Tensor>,
) -> Result<Step, Refusal> {
    let limit = PassThrough::load(context.cuda()?)?;
    if context.work.operator.is_loss() {
        let names = limit.kernels(Read { x: &x, other: other.as_ref() }, None)?;
        let done = unwritten_loss(&x)?.f_zeros_like()?;
        return Ok(Step::new(&names, move || {
            limit.run(Read { x: &x, other: other.as_ref() }, None)?;
            Ok::<_, TchError>(done.shallow_clone())
        }));
    }
    let names = limit.kernels(Read { x: &x, other: other.as_ref() }, Some(&unwritten_like(&x)?))?;
    Ok(filling(x, false, &names, move |x, out| {
        limit.run(Read { x, other: other.as_ref() }, Some(out))
    }))
}

/// The output of `stream` for these inputs: x, or every bit of x that the other example lacks. A
/// loss only reads: on a CPU the output is the exclusive or of all groups of eight bytes; on a
/// device, whose blocks keep theirs, nothing can be compared.
pub fn passed(
    context: &KernelContext<OperatorWork>,
    inputs: &Inputs,
) -> Result<Option<Tensor>, TchError> {
    let (x, other) = (&inputs.examples[0], inputs.examples.get(1));
    if !context.work.operator.is_loss() {
        let Some(other) = other else { return Ok(Some(x.shallow_clone())) };
        let either = bits(x)?.f_bitwise_xor_tensor(&bits(other)?)?;
        return Ok(Some(either.f_view_dtype(x.f_kind()?)?));
    }
    if context.device != plan::Device::Cpu {
        return Ok(None);
    }
    let folded = match other {
        Some(other) if is_apart(x, other) => vec![folded(&bits(x)?)?, folded(&bits(other)?)?],
        Some(other) => vec![folded(&bits(x)?.f_bitwise_xor_tensor(&bits(other)?)?)?],
        None => vec![folded(&bits(x)?)?],
    };
    Ok(Some(Tensor::f_from_slice(&folded)?))
}

/// The elements as whole numbers.
pub fn bits(tensor: &Tensor) -> Result<Tensor, TchError> {
    match tensor.f_kind()?.elt_size_in_bytes() {
        8 => Ok(tensor.shallow_clone()),
        4 => tensor.f_view_dtype(Kind::Int),
        _ => tensor.f_view_dtype(Kind::Int16),
    }
}

/// The exclusive or of all groups of eight bytes, the last filled up with zeros: halves upon each
/// other, until one is left.
fn folded(bits: &Tensor) -> Result<i64, TchError> {
    let flat = bits.f_reshape([-1])?;
    let group = 8 / flat.f_kind()?.elt_size_in_bytes() as i64;
    let missing = (group - flat.size1()? % group) % group;
    let mut groups = flat.f_constant_pad_nd([0, missing])?.f_view_dtype(Kind::Int64)?;
    while groups.size1()? > 1 {
        let (count, half) = (groups.size1()?, groups.size1()? / 2);
        let rest = groups.f_narrow(0, 2 * half, count % 2)?;
        let upon = groups.f_narrow(0, 0, half)?;
        let upon = upon.f_bitwise_xor_tensor(&groups.f_narrow(0, half, half)?)?;
        groups = Tensor::f_cat(&[upon, rest], 0)?;
    }
    groups.f_int64_value(&[0])
}
