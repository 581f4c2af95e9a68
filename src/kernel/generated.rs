//! Items for the code that the build script generates from a kernel's file. Not for users.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plan::{Device, Dtype};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tch::Tensor;

use super::{Computation, IntoTensor, Kernel, KernelContext, Step, Task};
use crate::inputs::Inputs;
use crate::measurement::memory;
use crate::refusal::Refusal;

/// Fields of a problem size, by name.
pub type Fields = BTreeMap<String, Value>;

/// The kernel of a file at the problem size that is given.
pub type Make = fn(&Fields, &KernelContext) -> Result<UserKernel, Refusal>;

/// One file.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// As in [`plan::KernelWork::file`].
    pub file: &'static str,
    /// Makes its kernel.
    pub kernel: Make,
}

/// A file's kernel at a problem size, with the inputs and the reference of its folder.
pub struct UserKernel {
    /// [`Task`] and [`Kernel`], or the functions in their places
    pub computation: Box<dyn Computation>,
    /// [`Kernel::flops`] and [`Kernel::bytes`], which are the kernel's own code.
    pub cost: Cost,
    /// The whole problem size, the kernel's own defaults included.
    pub problem_size: Fields,
}

/// Operations and bytes of a step, where the kernel says.
pub type Cost = Box<dyn Fn() -> (Option<u64>, Option<u64>)>;

/// The problem that all files of a folder solve, as `kernel.rs` states it.
pub struct Problem<S: 'static> {
    size: S,
    shown: Fields,
    inputs: fn(&S, &KernelContext) -> Result<Inputs, Refusal>,
    reference: Reference<S>,
}

/// [`Task::reference`], or a function in its place.
type Reference<S> = Box<dyn Fn(&S, &Inputs, &KernelContext) -> Result<Option<Tensor>, Refusal>>;

impl<S: Task> Problem<S> {
    /// A problem whose size implements [`Task`].
    pub fn of_task(size: S, shown: Fields) -> Self {
        Self { size, shown, inputs: S::inputs, reference: Box::new(S::reference) }
    }
}

impl<S> Problem<S> {
    /// A problem without a [`Task`]: it has no inputs. `reference` is the function of that name in
    /// `kernel.rs`.
    pub fn without_task(size: S, shown: Fields, reference: Option<Computes<S>>) -> Self {
        let inputs = |_: &S, _: &KernelContext| Ok(Inputs::default());
        let reference = move |size: &S, _: &Inputs, context: &KernelContext| {
            reference.map(|reference| reference(size, context)).transpose()
        };
        Self { size, shown, inputs, reference: Box::new(reference) }
    }

    /// A kernel whose step `build` makes. The problem and the context are never freed, a few bytes a case:
    /// what a function returns may borrow them.
    fn into_kernel(
        mut self,
        context: &KernelContext,
        cost: impl Fn(&'static S, &'static KernelContext) -> (Option<u64>, Option<u64>) + 'static,
        build: impl Fn(&'static S, &'static KernelContext, Inputs) -> Result<Step, Refusal> + 'static,
    ) -> UserKernel {
        let problem_size = std::mem::take(&mut self.shown);
        let (problem, context): (&'static Self, &'static KernelContext) =
            (Box::leak(Box::new(self)), Box::leak(Box::new(*context)));
        let build = Box::new(move |inputs| build(&problem.size, context, inputs));
        let computation = Box::new(UserComputation { problem, context, build });
        let cost = Box::new(move || cost(&problem.size, context));
        UserKernel { computation, cost, problem_size }
    }
}

/// [`Computation`] of a user's file.
struct UserComputation<S: 'static> {
    problem: &'static Problem<S>,
    context: &'static KernelContext,
    build: Box<dyn Fn(Inputs) -> Result<Step, Refusal>>,
}

impl<S> Computation for UserComputation<S> {
    fn inputs(&self) -> Result<Inputs, Refusal> {
        let _drawing = self.context.seeded();
        (self.problem.inputs)(&self.problem.size, self.context)
    }

    fn reference(&self, inputs: Inputs) -> Result<Option<Tensor>, Refusal> {
        super::context::rewind();
        (self.problem.reference)(&self.problem.size, &inputs, self.context)
    }

    fn build(&self, inputs: Inputs) -> Result<Step, Refusal> {
        (self.build)(inputs)
    }
}

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

/// The kernel of a file with a type.
pub fn kernel<K: Kernel>(problem: Problem<K::ProblemSize>, context: &KernelContext) -> UserKernel {
    let cost = |size: &_, context: &KernelContext| (K::flops(size), K::bytes(size, context.dtype));
    problem.into_kernel(context, cost, step::<K>)
}

/// The step of a kernel on these inputs.
fn step<K: Kernel>(
    size: &'static K::ProblemSize,
    context: &'static KernelContext,
    Inputs { examples, parameters }: Inputs,
) -> Result<Step, Refusal> {
    let prepare = move || prepared::<K>(size, &parameters, context);
    let (kernel, held_bytes) = prepare()?;
    let held = RefCell::new(held_bytes.clone());
    let kernel = Rc::new(RefCell::new(kernel));
    let (running, read) = (kernel.clone(), kernel.clone());
    let examples = Rc::new(RefCell::new(examples));
    let read_examples = examples.clone();
    let run = move || running.borrow_mut().run(&read_examples.borrow());
    let mut step = Step::leaving(run, move || read.borrow().output())?;
    step.output_bytes = held_bytes;
    step.examples = Some(examples);
    step.again = Some(Box::new(move || {
        let (new, new_bytes) = prepare()?;
        let old = kernel.replace(new);
        // Memory of unknown size is not kept.
        Ok(match held.replace(new_bytes) {
            Ok(bytes) => (bytes, Box::new(old)),
            Err(_) => (0, Box::new(())),
        })
    }));
    Ok(step)
}

/// The kernel, and the bytes that preparing it has left behind or why they were not counted.
fn prepared<K: Kernel>(
    size: &K::ProblemSize,
    parameters: &[Tensor],
    context: &KernelContext,
) -> Result<(K, Result<u64, String>), Refusal> {
    let drawing = context.seeded();
    let (kernel, held) = memory::track(context.device, || K::prepare(size, parameters, context))?;
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

/// The kernel of a file with a function, which prepares nothing and draws its own inputs.
pub fn function<S: 'static, R: IntoTensor + 'static>(
    problem: Problem<S>,
    context: &KernelContext,
    parts: Function<S, R>,
) -> Result<UserKernel, Refusal> {
    if R::IS_OF_HOST && context.device != Device::Cpu {
        return Err(context.unsupported(
            "`run_benchmark` returns numbers of the host, so it runs on the CPU; for another device return a `Tensor`",
        ));
    }
    let Function { run, flops, bytes } = parts;
    let cost = move |size: &S, context: &KernelContext| {
        (flops.map(|flops| flops(size)), bytes.map(|bytes| bytes(size, context.dtype)))
    };
    Ok(problem.into_kernel(context, cost, move |size, context, _| call_step(run, size, context)))
}

/// The step that is a call of a function.
fn call_step<S: 'static, R: IntoTensor + 'static>(
    run: fn(&'static S, &'static KernelContext) -> Result<R, Refusal>,
    size: &'static S,
    context: &'static KernelContext,
) -> Result<Step, Refusal> {
    let last = Rc::new(RefCell::new(Last::None));
    let read = last.clone();
    let mut step = Step::leaving(
        move || {
            let mut last = last.borrow_mut();
            // Freed first, as at the end of a scope: there are never two outputs.
            *last = Last::None;
            super::context::rewind();
            *last = Last::Returned(run(size, context)?);
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
    Ok(step)
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
