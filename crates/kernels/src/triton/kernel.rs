//! A compiled kernel on a device, and its launch.

use std::ffi::c_void;
use std::ptr;

use tch::{Device, TchError};

use super::compile::{self, HIDDEN, Specification, Type};
use crate::cuda::{Argument, Capability, Function, Grid, Module};
use native::refusal::Refusal;

/// Threads of a warp.
const WARP: u32 = 32;
/// Triton takes it that this divides a parameter that is said to be aligned.
const ALIGNMENT: i64 = 16;

/// A kernel on its device, in one form or two.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Takes any address and size.
    general: Function,
    /// For addresses, sizes and strides that 16 divides: it moves 16 bytes at once.
    aligned: Option<Function>,
    /// The positions of those parameters.
    promised: Vec<usize>,
    types: Vec<Type>,
    threads: u32,
    /// For messages.
    name: &'static str,
}

/// The compiled forms of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    /// The general one: sizes rule the other out.
    General,
    Both,
}

/// One launch of a kernel.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub programs: i64,
    pub arguments: Vec<Argument>,
}

impl Forms {
    /// For rows of this length, which in a contiguous tensor is their stride.
    pub fn for_columns(columns: i64) -> Self {
        if columns % ALIGNMENT == 0 { Self::Both } else { Self::General }
    }
}

impl Kernel {
    /// Compiles and loads `specification`: both forms where a launch may be aligned, else the one
    /// that promises nothing.
    pub fn new(
        specification: &Specification,
        forms: Forms,
        device: Device,
    ) -> Result<Self, Refusal> {
        let Device::Cuda(device) = device else {
            return Err(Refusal::Unsupported(format!("a Triton kernel on {device:?}")));
        };
        let capability = Capability::for_device(device, specification.kernel)?;
        let plain = Specification { aligned: Vec::new(), ..specification.clone() };
        // Each is compiled by a Python of its own: side by side.
        let (general, aligned_form) = std::thread::scope(|scope| {
            let aligned = (forms == Forms::Both)
                .then(|| scope.spawn(|| compile::compiled(specification, capability)));
            let general = compile::compiled(&plain, capability);
            (general, aligned.map(|it| it.join().expect("compiling does not panic")))
        });
        let load = |compiled| load(compiled, device);
        let Specification { parameters, aligned, .. } = specification;
        let position = |name: &&str| parameters.iter().position(|(it, _)| it == name);
        Ok(Self {
            general: load(general?)?,
            aligned: aligned_form.transpose()?.map(load).transpose()?,
            promised: aligned.iter().filter_map(position).collect(),
            types: parameters.iter().map(|(_, it)| *it).collect(),
            threads: specification.warps * WARP,
            name: specification.kernel,
        })
    }

    /// Queues the kernel on libtorch's current stream.
    ///
    /// # Safety
    /// All memory that the kernel reads and writes through the arguments is in tensors of its device.
    pub unsafe fn launch(&self, launch: &Launch) -> Result<(), TchError> {
        let Launch { programs, arguments } = launch;
        let fits = arguments.len() == self.types.len()
            && arguments.iter().zip(&self.types).all(|(argument, it)| is_of(*argument, *it));
        let blocks = i32::try_from(*programs).ok().and_then(|it| u32::try_from(it).ok());
        let Some(blocks) = blocks.filter(|_| fits) else {
            return Err(TchError::Shape(format!(
                "{programs} programs of {} with {arguments:?} for {:?}",
                self.name, self.types
            )));
        };
        if blocks == 0 {
            return Ok(());
        }
        let function = match self.aligned {
            Some(aligned) if are_aligned(arguments, &self.promised) => aligned,
            _ => self.general,
        };
        let arguments = with_hidden(arguments);
        let grid = Grid { blocks: (blocks, 1), threads: self.threads };
        // SAFETY: the parameters in number, type and order, as compared above and, when it was
        // compiled, with the kernel's own; the caller vouches for what they point to.
        unsafe { function.launch(grid, &arguments) }
    }
}

fn load(compiled: compile::Compiled, device: usize) -> Result<Function, Refusal> {
    let compile::Compiled { name, metadata, cubin } = compiled;
    let module = Module::load_cubin(&name, device, || Ok(cubin))?;
    module.function(&metadata.name)?.with_shared(metadata.shared)
}

fn is_of(argument: Argument, it: Type) -> bool {
    matches!(
        (argument, it),
        (Argument::Pointer(_), Type::Pointer(_))
            | (Argument::Int(_), Type::Int)
            | (Argument::Long(_), Type::Long)
    )
}

/// Whether the promise holds for this launch.
fn are_aligned(arguments: &[Argument], promised: &[usize]) -> bool {
    promised.iter().all(|position| {
        let value = match arguments[*position] {
            Argument::Pointer(address) => address as i64,
            Argument::Int(value) => value.into(),
            Argument::Long(value) => value,
            // Nothing is ever promised of these.
            Argument::Float(_) | Argument::Double(_) => return false,
        };
        value % ALIGNMENT == 0
    })
}

/// The arguments, and null for the scratch memory that no kernel here has: `Metadata::check`.
fn with_hidden(arguments: &[Argument]) -> Vec<Argument> {
    let hidden = [Argument::Pointer(ptr::null_mut::<c_void>()); HIDDEN];
    arguments.iter().copied().chain(hidden).collect()
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod tests;
