//! What the code that the build script generates of a kernel's file is written with. Not for authors.

use std::cell::RefCell;
use std::collections::BTreeMap;

use plan::Dtype;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tch::Tensor;

use super::{IntoTensor, Kernel, Site};
use crate::measurement::memory;
use crate::refusal::Refusal;

/// Fields of a problem size, by name.
pub type Fields = BTreeMap<String, Value>;

/// Builds the kernel of a file at the problem size that is given.
pub type Build = fn(&Fields, &Site) -> Result<Box<dyn Built>, Refusal>;

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
pub trait Built {
    /// [`Kernel::run`]
    ///
    /// # Errors
    /// The author's.
    fn run(&mut self) -> Result<(), Refusal>;

    /// [`Kernel::output`]
    ///
    /// # Errors
    /// The author's; that nothing has run.
    fn output(&self) -> Result<Tensor, Refusal>;

    /// [`Kernel::reference`]
    ///
    /// # Errors
    /// The author's.
    fn reference(&self) -> Result<Option<Tensor>, Refusal>;

    /// [`Kernel::flops`]
    fn flops(&self) -> Option<u64>;

    /// [`Kernel::bytes`]
    fn bytes(&self) -> Option<u64>;

    /// Bytes that preparing it has left behind, of torch's memory and of Rust's.
    ///
    /// # Errors
    /// Why they were not counted.
    fn held_bytes(&self) -> Result<u64, String>;

    /// The whole problem size, the kernel's own defaults included.
    fn problem_size(&self) -> &Fields;
}

/// The value of a field, if it is given.
///
/// # Errors
/// A value of another type.
pub fn read<T: DeserializeOwned>(given: &Fields, field: &str) -> Result<Option<T>, Refusal> {
    let Some(value) = given.get(field) else { return Ok(None) };
    serde_json::from_value(value.clone())
        .map(Some)
        .map_err(|error| Refusal::Failed(format!("problem_size: `{field}: {value}`: {error}")))
}

/// The value of a field that has no default.
///
/// # Errors
/// As [`read`]; a field that is not given.
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
///
/// # Errors
/// The author's.
pub fn built<K: Kernel>(
    size: K::ProblemSize,
    shown: Fields,
    site: &Site,
) -> Result<Box<dyn Built>, Refusal> {
    let drawing = site.seeded();
    let (kernel, held) = memory::track(site.device, || K::prepare(&size, site))?;
    drop(drawing);
    let kernel = kernel?;
    let held_bytes = held.map(|held| u64::try_from(held.live_bytes).unwrap_or(0));
    Ok(Box::new(Instance { kernel, size, shown, dtype: site.dtype, held_bytes }))
}

struct Instance<K: Kernel> {
    kernel: K,
    size: K::ProblemSize,
    shown: Fields,
    dtype: Dtype,
    held_bytes: Result<u64, String>,
}

impl<K: Kernel> Built for Instance<K> {
    fn run(&mut self) -> Result<(), Refusal> {
        self.kernel.run()
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.kernel.output()
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        self.kernel.reference()
    }

    fn flops(&self) -> Option<u64> {
        K::flops(&self.size)
    }

    fn bytes(&self) -> Option<u64> {
        K::bytes(&self.size, self.dtype)
    }

    fn held_bytes(&self) -> Result<u64, String> {
        self.held_bytes.clone()
    }

    fn problem_size(&self) -> &Fields {
        &self.shown
    }
}

/// `reference` of a file without a [`Kernel`].
pub type Reference<S> = fn(&S, &Site) -> Result<Tensor, Refusal>;

/// The functions of a file without a [`Kernel`].
#[derive(Debug)]
pub struct Function<S: 'static, R> {
    /// `run_benchmark`. What it borrows lives forever, because an `impl IntoTensor` may borrow it.
    pub run: fn(&'static S, &'static Site) -> Result<R, Refusal>,
    /// `reference`
    pub reference: Option<Reference<S>>,
    /// `flops`
    pub flops: Option<fn(&S) -> u64>,
    /// `bytes`
    pub bytes: Option<fn(&S, Dtype) -> u64>,
}

/// Prepares a function, of which there is nothing to prepare. Its size and site are never freed: a few
/// bytes a case.
///
/// # Errors
/// None.
pub fn function<S: 'static, R: IntoTensor + 'static>(
    size: S,
    shown: Fields,
    site: &Site,
    parts: Function<S, R>,
) -> Result<Box<dyn Built>, Refusal> {
    let (size, site) = (Box::leak(Box::new(size)), Box::leak(Box::new(*site)));
    Ok(Box::new(Call { size, site, shown, parts, last: RefCell::new(Last::None) }))
}

struct Call<S: 'static, R> {
    size: &'static S,
    site: &'static Site,
    shown: Fields,
    parts: Function<S, R>,
    last: RefCell<Last<R>>,
}

/// What the last call has returned; a tensor as soon as somebody wants one.
enum Last<R> {
    None,
    Returned(R),
    Output(Tensor),
}

impl<S, R: IntoTensor> Built for Call<S, R> {
    fn run(&mut self) -> Result<(), Refusal> {
        let last = self.last.get_mut();
        // Freed first, as at the end of a scope: there are never two outputs.
        *last = Last::None;
        super::site::rewind();
        *last = Last::Returned((self.parts.run)(self.size, self.site)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let output = match self.last.replace(Last::None) {
            Last::None => return Err(Refusal::Failed("an output was asked of no run".to_owned())),
            Last::Returned(returned) => returned.into_tensor()?,
            Last::Output(output) => output,
        };
        let shared = output.shallow_clone();
        self.last.replace(Last::Output(output));
        Ok(shared)
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        super::site::rewind();
        self.parts.reference.map(|reference| reference(self.size, self.site)).transpose()
    }

    fn flops(&self) -> Option<u64> {
        self.parts.flops.map(|flops| flops(self.size))
    }

    fn bytes(&self) -> Option<u64> {
        self.parts.bytes.map(|bytes| bytes(self.size, self.site.dtype))
    }

    fn held_bytes(&self) -> Result<u64, String> {
        Ok(0)
    }

    fn problem_size(&self) -> &Fields {
        &self.shown
    }
}

/// `$body` with `$T` the [`Element`](crate::kernel::Element) of the site's precision; unsupported where
/// Rust has none.
#[doc(hidden)]
#[macro_export]
macro_rules! in_precision {
    ($site:expr, $T:ident => $body:expr) => {{
        let site: &$crate::kernel::Site = $site;
        match site.dtype {
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
                site.unsupported("Rust has no number of 8 bits for a generic kernel"),
            ),
        }
    }};
}

#[cfg(test)]
#[path = "generated_tests.rs"]
mod tests;
