//! Compiled kernels on a device, and their launch.

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use tch::{TchError, Tensor};

use super::{Capability, Source, cubin, libraries};
use native::refusal::Refusal;

/// A source's kernels on one device, loaded for the rest of the process.
#[derive(Debug)]
pub struct Module {
    name: String,
    module: sys::CUmodule,
    context: sys::CUcontext,
    device: usize,
}

// SAFETY: the driver's handles may be used from any thread, and nothing changes or unloads them.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles and loads the source for a device, once.
    ///
    /// # Errors
    /// Skipped where the driver or NVRTC is missing, unsupported where the device is older than
    /// [`Capability::LEAST`], else what the compiler or the driver says.
    pub(super) fn load(source: &Source, device: usize) -> Result<&'static Self, Refusal> {
        Self::load_cubin(source.name, device, || {
            cubin(source, Capability::for_device(device, source.name)?)
        })
    }

    /// Loads for a device, once, the cubin that the name stands for.
    ///
    /// # Errors
    /// Errors of `cubin`; skipped without the driver, else the driver's error.
    pub fn load_cubin(
        name: &str,
        device: usize,
        cubin: impl FnOnce() -> Result<Vec<u8>, Refusal>,
    ) -> Result<&'static Self, Refusal> {
        static LOADED: Mutex<BTreeMap<(String, usize), &'static Module>> =
            Mutex::new(BTreeMap::new());
        // Held while compiling, so that nothing is compiled twice; an entry is whole or absent.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), device);
        if let Some(module) = loaded.get(&key) {
            return Ok(module);
        }
        let module = Box::leak(Box::new(Self::new(name, device, &cubin()?)?));
        loaded.insert(key, module);
        Ok(module)
    }

    fn new(name: &str, device: usize, cubin: &[u8]) -> Result<Self, Refusal> {
        let context = primary_context(name, device)?;
        let module = with_context(context, || {
            // SAFETY: a whole cubin, which the driver copies.
            unsafe { result::module::load_data(cubin.as_ptr().cast()) }
        })
        .map_err(|error| driver_error(&format!("{name}, cuModuleLoadData"), error))?;
        Ok(Self { name: name.to_owned(), module, context, device })
    }

    /// An entry function of the source.
    ///
    /// # Errors
    /// Failed where it has none of this name.
    pub fn function(&'static self, name: &str) -> Result<Function, Refusal> {
        let of = format!("{}, {name}", self.name);
        let symbol =
            CString::new(name).map_err(|error| Refusal::Failed(format!("{of}: {error}")))?;
        let function = with_context(self.context, || {
            // SAFETY: the module is loaded for good, in the context that is current.
            unsafe { result::module::get_function(self.module, symbol) }
        })
        .map_err(|error| driver_error(&format!("{of}, cuModuleGetFunction"), error))?;
        Ok(Function { module: self, function, shared: 0 })
    }
}

/// The primary context, in which libtorch works. It is never released, because modules live in it. Errors start with
/// `for_what`.
///
/// # Errors
/// Skipped when the driver is missing; otherwise the driver's error.
pub fn primary_context(for_what: &str, device: usize) -> Result<sys::CUcontext, Refusal> {
    libraries::driver()?;
    let failed = |call: &str, error: DriverError| {
        Refusal::from(driver_error(&format!("{for_what}, {call}"), error))
    };
    let ordinal = i32::try_from(device)
        .map_err(|_| Refusal::Failed(format!("there is no CUDA device {device}")))?;
    let handle = result::device::get(ordinal).map_err(|it| failed("cuDeviceGet", it))?;
    // SAFETY: the handle is the driver's own.
    unsafe { result::primary_ctx::retain(handle) }
        .map_err(|it| failed("cuDevicePrimaryCtxRetain", it))
}

/// A kernel on its device.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    module: &'static Module,
    function: sys::CUfunction,
    shared: u32,
}

/// Blocks, and threads of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// In two dimensions.
    pub blocks: (u32, u32),
    /// In one.
    pub threads: u32,
}

/// A kernel's parameter.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// An address on the device.
    Pointer(*mut c_void),
    /// `int`.
    Int(i32),
    /// `long long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
}

impl Argument {
    /// The address of the tensor's first element; null without a tensor.
    pub fn pointer<'t>(tensor: impl Into<Option<&'t Tensor>>) -> Self {
        Self::Pointer(tensor.into().map_or(ptr::null_mut(), Tensor::data_ptr))
    }

    fn address(&mut self) -> *mut c_void {
        match self {
            Self::Pointer(value) => ptr::from_mut(value).cast(),
            Self::Int(value) => ptr::from_mut(value).cast(),
            Self::Long(value) => ptr::from_mut(value).cast(),
            Self::Float(value) => ptr::from_mut(value).cast(),
            Self::Double(value) => ptr::from_mut(value).cast(),
        }
    }
}

/// Bytes of shared memory that a launch may ask for without [`Function::with_shared`] having said
/// so to the driver.
const PLAIN_SHARED: u32 = 48 << 10;

impl Function {
    /// Asks for `bytes` of dynamic shared memory for each block.
    ///
    /// # Errors
    /// The driver's error, above all that the device has less.
    pub fn with_shared(self, bytes: u32) -> Result<Self, Refusal> {
        if bytes > PLAIN_SHARED {
            let attribute =
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let value = i32::try_from(bytes).unwrap_or(i32::MAX);
            with_context(self.module.context, || {
                // SAFETY: the function is loaded for good.
                unsafe { result::function::set_function_attribute(self.function, attribute, value) }
            })
            .map_err(|error| {
                let call = format!(
                    "{}, cuFuncSetAttribute, {bytes} bytes of shared memory",
                    self.module.name
                );
                driver_error(&call, error)
            })?;
        }
        Ok(Self { shared: bytes, ..self })
    }

    /// Queues the kernel on the stream that libtorch queues this thread's work on, and returns.
    /// That stream orders it with memory that libtorch frees meanwhile.
    ///
    /// # Safety
    /// The arguments are the kernel's parameters, in number, type and order, and what it reads and
    /// writes through them lies in tensors of its device.
    ///
    /// # Errors
    /// The driver's error, which may be of work queued earlier.
    pub unsafe fn launch(&self, grid: Grid, arguments: &[Argument]) -> Result<(), TchError> {
        let stream = native::cuda::current_stream(self.module.device)
            .map_err(|error| TchError::Torch(error.to_string()))?;
        let mut arguments = arguments.to_vec();
        let mut parameters: Vec<*mut c_void> =
            arguments.iter_mut().map(Argument::address).collect();
        let (x, y) = grid.blocks;
        with_context(self.module.context, || {
            // SAFETY: the function is loaded for good, the parameters outlive the call, which
            // copies them, and the caller vouches for what they are.
            unsafe {
                result::launch_kernel(
                    self.function,
                    (x, y, 1),
                    (grid.threads, 1, 1),
                    self.shared,
                    stream.cast(),
                    &mut parameters,
                )
            }
        })
        .map_err(|error| driver_error(&format!("{}, cuLaunchKernel", self.module.name), error))
    }
}

/// Runs `action` with the context current, and leaves current what was: CUDA takes the current
/// context for the current device.
fn with_context<T>(
    context: sys::CUcontext,
    action: impl FnOnce() -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    if result::ctx::get_current()? == Some(context) {
        return action();
    }
    // SAFETY: the context is retained.
    unsafe { sys::cuCtxPushCurrent_v2(context) }.result()?;
    let done = action();
    let mut popped = ptr::null_mut();
    // SAFETY: `popped` is writable, and the context was pushed above.
    unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }.result()?;
    done
}

/// `CUDA_ERROR_…`, what it means, and the call.
fn driver_error(call: &str, error: DriverError) -> TchError {
    let meaning = error.error_string().map(|text| text.to_string_lossy().into_owned());
    TchError::Torch(match meaning {
        Ok(meaning) => format!("{call}: {:?} ({meaning})", error.0),
        Err(_) => format!("{call}: {:?}", error.0),
    })
}
