//! Items for the code that the build script generates from a kernel's file. Not for users.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use plan::{Device, Dtype};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tch::Tensor;

use super::{IntoTensor, Kernel, KernelContext, Step};
use crate::measurement::memory;
use crate::refusal::Refusal;

/// Fields of a problem size, by name.
pub type Fields = BTreeMap<String, Value>;

/// Builds the kernel of a file at the problem size that is given.
pub type Build = fn(&Fields, &KernelContext) -> Result<Built, Refusal>;

/// One file.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// As in [`plan::KernelWork::file`].
    pub file: &'static str,
    /// The file whose reference is the group's; its own, if it is that file.
    pub baseline: &'static str,
    /// Prepares the kernel at a problem size.
    pub build: Build,
}

/// A kernel at a problem size, prepared.
pub struct Built {
    /// [`Kernel::run`] and [`Kernel::output`]
    pub step: Step,
    /// [`Kernel::reference`]
    pub reference: Reference,
    /// [`Kernel::flops`]
    pub flops: Option<u64>,
    /// [`Kernel::bytes`]
    pub bytes: Option<u64>,
    /// Bytes that preparing it has left behind, of torch's memory and of Rust's, or why they were not
    /// counted.
    pub held_bytes: Result<u64, String>,
    /// The whole problem size, the kernel's own defaults included.
    pub problem_size: Fields,
    /// How often it has run.
    pub runs: Rc<Cell<u64>>,
}

/// Computes what an output should be, if the user says how.
pub type Reference = Box<dyn Fn() -> Result<Option<Tensor>, Refusal>>;

/// The value of a field, if it is given.
pub fn read<T: DeserializeOwned>(given: &Fields, field: &str) -> Result<Option<T>, Refusal> {
    let Some(value) = given.get(field) else { return Ok(None) };
    serde_json::from_value(value.clone())
        .map(Some)
        .map_err(|error| Refusal::Failed(format!("problem_size: `{field}: {value}`: {error}")))
}

/// The value of a field that has no default.
pub fn required<T: DeserializeOwned>(given: &Fields, field: &str) -> Result<T, Refusal> {
    read(given, field)?.ok_or_else(|| {
        let what = format!("problem_size: `{field}` is missing; give it in bench.yaml");
        Refusal::Failed(what)
    })
}

/// A field's value as a record has it; null where JSON has none for it, such as infinity.
pub fn show<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// Prepares a kernel.
pub fn built<K: Kernel>(
    size: K::ProblemSize,
    shown: Fields,
    context: &KernelContext,
) -> Result<Built, Refusal> {
    let (kernel, held_bytes) = prepared::<K>(&size, context)?;
    let (flops, bytes) = (K::flops(&size), K::bytes(&size, context.dtype));
    let (runs, held) = (Rc::new(Cell::new(0)), RefCell::new(held_bytes.clone()));
    let kernel = Rc::new(RefCell::new(kernel));
    let (running, read, replaced) = (kernel.clone(), kernel.clone(), kernel.clone());
    let (counted, context) = (runs.clone(), *context);
    let mut step = Step::leaving(
        move || {
            running.borrow_mut().run()?;
            counted.set(counted.get() + 1);
            Ok(())
        },
        move || read.borrow().output(),
    )?;
    step.again = Some(Box::new(move || {
        let (new, new_bytes) = prepared::<K>(&size, &context)?;
        let old = replaced.replace(new);
        // Memory of unknown size is not kept.
        Ok(match held.replace(new_bytes) {
            Ok(bytes) => (bytes, Box::new(old)),
            Err(_) => (0, Box::new(())),
        })
    }));
    let reference: Reference = Box::new(move || kernel.borrow().reference());
    Ok(Built { step, reference, flops, bytes, held_bytes, problem_size: shown, runs })
}

/// The kernel, and the bytes that preparing it has left behind or why they were not counted.
fn prepared<K: Kernel>(
    size: &K::ProblemSize,
    context: &KernelContext,
) -> Result<(K, Result<u64, String>), Refusal> {
    let drawing = context.seeded();
    let (kernel, held) = memory::track(context.device, || K::prepare(size, context))?;
    drop(drawing);
    Ok((kernel?, held.map(|held| u64::try_from(held.live_bytes).unwrap_or(0))))
}

/// A function of a file that computes a tensor from its problem size.
type Computes<S> = fn(&S, &KernelContext) -> Result<Tensor, Refusal>;

/// The functions of a file without a [`Kernel`].
#[derive(Debug)]
pub struct Function<S: 'static, R> {
    /// `run_benchmark`. Its arguments live forever, because an `impl IntoTensor` may borrow them.
    pub run: fn(&'static S, &'static KernelContext) -> Result<R, Refusal>,
    /// `reference`
    pub reference: Option<Computes<S>>,
    /// `flops`
    pub flops: Option<fn(&S) -> u64>,
    /// `bytes`
    pub bytes: Option<fn(&S, Dtype) -> u64>,
}

/// The result of a function's last call, made a tensor when one is needed.
enum Last<R> {
    None,
    Returned(R),
    Output(Tensor),
}

/// Prepares a function, of which there is nothing to prepare. Its size and context are never freed: a few
/// bytes a case.
pub fn function<S: 'static, R: IntoTensor + 'static>(
    size: S,
    shown: Fields,
    context: &KernelContext,
    parts: Function<S, R>,
) -> Result<Built, Refusal> {
    if R::IS_OF_HOST && context.device != Device::Cpu {
        return Err(context.unsupported(
            "`run_benchmark` returns numbers of the host, so it runs on the CPU; for another device return a `Tensor`",
        ));
    }
    let (size, context): (&'static S, &'static KernelContext) =
        (Box::leak(Box::new(size)), Box::leak(Box::new(*context)));
    let Function { run, reference, flops, bytes } = parts;
    let runs = Rc::new(Cell::new(0));
    let last = Rc::new(RefCell::new(Last::None));
    let (counted, read) = (runs.clone(), last.clone());
    let mut step = Step::leaving(
        move || {
            let mut last = last.borrow_mut();
            // Freed first, as at the end of a scope: there are never two outputs.
            *last = Last::None;
            super::context::rewind();
            *last = Last::Returned(run(size, context)?);
            counted.set(counted.get() + 1);
            Ok(())
        },
        move || {
            let output = match read.replace(Last::None) {
                Last::None => {
                    return Err(Refusal::Failed("`output()` was called before `run()`".to_owned()));
                }
                Last::Returned(returned) => returned.into_tensor()?,
                Last::Output(output) => output,
            };
            let shared = output.shallow_clone();
            read.replace(Last::Output(output));
            Ok(shared)
        },
    )?;
    step.again = Some(Box::new(|| Ok((0, Box::new(())))));
    let reference: Reference = Box::new(move || {
        super::context::rewind();
        reference.map(|reference| reference(size, context)).transpose()
    });
    Ok(Built {
        step,
        reference,
        flops: flops.map(|flops| flops(size)),
        bytes: bytes.map(|bytes| bytes(size, context.dtype)),
        held_bytes: Ok(0),
        problem_size: shown,
        runs,
    })
}

/// `$body` with `$T` the [`Element`](crate::kernel::Element) of the context's precision; unsupported where
/// Rust has none.
#[doc(hidden)]
#[macro_export]
macro_rules! in_precision {
    ($context:expr, $T:ident => $body:expr) => {{
        let context: &$crate::kernel::KernelContext = $context;
        match context.dtype {
            $crate::kernel::Dtype::Float64 => {
                type $T = f64;
                $body
            }
            $crate::kernel::Dtype::Float32 => {
                type $T = f32;
                $body
            }
            $crate::kernel::Dtype::BFloat16 => {
                type $T = $crate::kernel::bf16;
                $body
            }
            $crate::kernel::Dtype::Float16 => {
                type $T = $crate::kernel::f16;
                $body
            }
            $crate::kernel::Dtype::Float8E4M3Fn => ::core::result::Result::Err(
                context.unsupported("Rust has no number of 8 bits for a generic kernel"),
            ),
        }
    }};
}

#[cfg(test)]
#[path = "generated_tests.rs"]
mod tests;
