//! Packages of AOTInductor, `.pt2`: machine code for one graph, compiled beforehand, called from here without Python.
//!
//! A package is bound to its inputs once. A call allocates what the compiled code allocates, its output among it, and a
//! reference to each input.
//!
//! Compiled code does not look at what it is given. So a package has to say what it was compiled for: `inputs` in its
//! metadata (Inductor's option `aot_inductor.metadata`), a line for each input with its dtype, sizes and strides, such
//! as `bfloat16 [64, 1024] [1024, 1]`.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

use tch::{Device, TchError, Tensor};

use super::border::{self, Handle, In, Out, Status, Tensors, Text, TextOut, pointers};
use super::constants;
use super::error::Error;

unsafe extern "C" {
    fn ctn_package_metadata(path: Text, out: TextOut) -> Status;
    fn ctn_package_form(tensor: In, out: TextOut) -> Status;
    fn ctn_package_load(path: Text, device_index: i32, inputs: Tensors, out: *mut Handle)
    -> Status;
    fn ctn_package_library(package: *const c_void, out: TextOut) -> Status;
    fn ctn_package_outputs(package: *const c_void, out: *mut usize) -> Status;
    /// `out` has a place for each output.
    fn ctn_package_run(package: *mut c_void, out: Out) -> Status;
}

/// A package, loaded and bound to its inputs.
#[derive(Debug)]
pub struct Package {
    handle: Handle,
    /// How many a run makes.
    outputs: usize,
}

impl Package {
    /// Loads a package that was compiled for these inputs, which lie on `device`.
    ///
    /// # Errors
    /// When the file is no package, was compiled for another device or for other inputs, or cannot be loaded.
    pub fn load(path: &Path, device: Device, inputs: Vec<Tensor>) -> Result<Self, Error> {
        fits(path, device, &inputs).map_err(|error| with_path(path, error))?;
        let device_index = match device {
            Device::Cuda(index) => i32::try_from(index).unwrap_or(i32::MAX),
            _ => -1,
        };
        let pointers = pointers(&inputs);
        // SAFETY: the path and the tensors live during the call, which makes holders of its own.
        let load =
            |out| unsafe { ctn_package_load(path.into(), device_index, (&pointers).into(), out) };
        let handle = Handle::new(load).map_err(|error| with_path(path, error))?;
        // SAFETY: the package lives, and the result is writable.
        let outputs = border::value(|out| unsafe { ctn_package_outputs(handle.as_ptr(), out) })?;
        let package = Self { handle, outputs };
        // It was not there when those of libtorch were mapped, and has vector loops of its own.
        constants::map_library(&package.library()?);
        Ok(package)
    }

    /// The name that its library was loaded by.
    fn library(&self) -> Result<PathBuf, Error> {
        // SAFETY: the package lives.
        let name = border::text(|out| unsafe { ctn_package_library(self.handle.as_ptr(), out) })?;
        Ok(PathBuf::from(name))
    }

    /// Runs the compiled code on the inputs as they are now; on CUDA, on the device's current stream. Of several
    /// outputs it is the first one.
    ///
    /// # Errors
    /// When the compiled code fails: it writes why to standard error.
    pub fn run(&self) -> Result<Tensor, TchError> {
        if self.outputs > 1 {
            return Ok(self.run_all()?.swap_remove(0));
        }
        // SAFETY: the package lives, is bound to this thread, and has one output.
        Ok(border::tensor(|out| unsafe { ctn_package_run(self.handle.as_ptr(), out) })?)
    }

    /// [`Self::run`] with all outputs.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_all(&self) -> Result<Vec<Tensor>, TchError> {
        let mut out = vec![std::ptr::null_mut(); self.outputs];
        // SAFETY: the package lives, is bound to this thread, and there is a place for each output.
        border::check(unsafe { ctn_package_run(self.handle.as_ptr(), out.as_mut_ptr()) })?;
        // SAFETY: each was just handed over, from the same `new` that tch's own come from.
        Ok(out.into_iter().map(|it| unsafe { Tensor::from_ptr(it) }).collect())
    }
}

/// Adds the path of this package to an error.
fn with_path(path: &Path, error: Error) -> Error {
    match error {
        Error::OutOfMemory(_) => error,
        other => Error::Package(format!("{}: {other}", path.display())),
    }
}

/// Whether the package was compiled for these inputs on this device.
fn fits(path: &Path, device: Device, inputs: &[Tensor]) -> Result<(), Error> {
    // SAFETY: the path lives during the call.
    let metadata = border::text(|out| unsafe { ctn_package_metadata(path.into(), out) })?;
    let metadata: BTreeMap<String, String> = serde_json::from_str(&metadata)
        .map_err(|error| Error::Package(format!("its metadata cannot be read: {error}")))?;
    let value = |key: &str| {
        metadata.get(key).ok_or_else(|| Error::Package(format!("its metadata has no `{key}`")))
    };
    let compiled_for = value("AOTI_DEVICE_KEY")?;
    let place = match device {
        Device::Cpu => "cpu",
        Device::Cuda(_) => "cuda",
        other => return Err(Error::Package(format!("packages are not run on {other:?}"))),
    };
    if compiled_for != place {
        return Err(Error::Package(format!("it was compiled for {compiled_for}, not {place}")));
    }
    let forms: Vec<_> = value("inputs")?.lines().collect();
    if forms.len() != inputs.len() {
        let (takes, found) = (forms.len(), inputs.len());
        return Err(Error::Package(format!("it takes {takes} inputs, not {found}")));
    }
    for (index, (input, &expected)) in inputs.iter().zip(&forms).enumerate() {
        if input.device() != device {
            let there = input.device();
            return Err(Error::Package(format!("input {index} is on {there:?}, not {device:?}")));
        }
        let found = form(input)?;
        if found != expected {
            return Err(Error::Package(format!(
                "input {index} is {found}, and it was compiled for {expected}"
            )));
        }
    }
    Ok(())
}

/// The dtype, sizes and strides of a tensor, as PyTorch writes them in Python: `bfloat16 [2, 3] [3, 1]`.
fn form(tensor: &Tensor) -> Result<String, Error> {
    // SAFETY: the tensor lives during the call.
    border::text(|out| unsafe { ctn_package_form(tensor.as_ptr(), out) })
}

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;
