//! Loads CUPTI, checks its version, and explains its error codes.

use std::ffi::c_void;

use cudarc::cupti::sys::{self, CUptiResult};

/// CUPTI's version numbers for CUDA 12.6, the first with these functions, and for the newest that cudarc supports. A
/// later CUPTI could return codes that cudarc's enumeration lacks.
const VERSIONS: (u32, u32) = (24, sys::CUPTI_API_VERSION);

/// Loads CUPTI and checks that its version is supported. Call this first: cudarc panics if the library is missing.
pub fn load() -> Result<(), String> {
    // SAFETY: CUPTI runs nothing when it is loaded.
    if !unsafe { sys::is_culib_present() } {
        return Err("hardware counters: libcupti.so is not found: add the folder of libtorch's own to \
                    LD_LIBRARY_PATH, or that of Python's package nvidia-cuda-cupti in the version of \
                    libtorch's CUDA (`pip install --target DIR …`, then DIR/nvidia/*/lib)"
            .to_owned());
    }
    has("cuptiGetVersion")?;
    let mut version = 0;
    // SAFETY: CUPTI has the function, and `version` is writable.
    let code = unsafe { sys::cuptiGetVersion(&mut version) };
    accepted("cuptiGetVersion", code)?;
    is_known(version)
}

pub fn is_known(version: u32) -> Result<(), String> {
    let (least, newest) = VERSIONS;
    match version {
        _ if version < least => Err(format!(
            "hardware counters: this CUPTI is older than CUDA 12.6 (version {version} of its interface, \
             {least} is needed): use a libtorch of a newer CUDA"
        )),
        _ if version > newest => Err(format!(
            "hardware counters: this CUPTI is newer than what this program knows (version {version} of \
             its interface, {newest} is the last): use the one of libtorch's CUDA"
        )),
        _ => Ok(()),
    }
}

/// Checks that CUPTI has the function, because cudarc panics otherwise. The library must be loaded.
pub fn has(function: &str) -> Result<(), String> {
    // SAFETY: the library is loaded.
    let library = unsafe { sys::culib() };
    // SAFETY: the symbol is not used; only its presence is checked.
    let symbol = unsafe { library.get::<*const c_void>(function.as_bytes()) };
    let missing = |error| format!("hardware counters: libcupti.so has no {function}: {error}");
    symbol.map(drop).map_err(missing)
}

pub fn accepted(function: &str, code: CUptiResult) -> Result<(), String> {
    if code == CUptiResult::CUPTI_SUCCESS { Ok(()) } else { Err(refused(function, code)) }
}

/// Why CUPTI does not count, and what to do about it.
pub fn refused(function: &str, code: CUptiResult) -> String {
    use CUptiResult::*;
    let meaning = match code {
        CUPTI_ERROR_INSUFFICIENT_PRIVILEGES => {
            "the driver lets only administrators read a GPU's counters: run as root or with the \
             capability CAP_SYS_ADMIN (`docker run --cap-add SYS_ADMIN`), or load the kernel's module \
             nvidia with NVreg_RestrictProfilingToAdminUsers=0"
        }
        CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED => {
            "a virtual GPU of this kind does not count: run on the bare machine, or with the whole GPU \
             passed through"
        }
        CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES => {
            "profiling is off for this virtual GPU: its host turns it on, with enable_profiling=1 among \
             the vGPU's parameters"
        }
        CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED => {
            "this part of a GPU shares counters with other parts: use a compute instance as large as its \
             GPU instance, or turn MIG off (`nvidia-smi -mig 0`)"
        }
        CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED => {
            "the GPU does not count while it computes confidentially: turn that off"
        }
        CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED => {
            "the GPU does not count under WSL: run on Linux itself"
        }
        CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED => "the GPU does not count in SLI: turn that off",
        CUPTI_ERROR_NOT_SUPPORTED
        | CUPTI_ERROR_NOT_COMPATIBLE
        | CUPTI_ERROR_INVALID_DEVICE
        | CUPTI_ERROR_INVALID_CHIP_NAME
        | CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED => {
            "this CUPTI does not count on this GPU, which has to be of compute capability 7.5 or higher: \
             a libtorch of a newer CUDA knows newer GPUs"
        }
        CUPTI_ERROR_INVALID_METRIC_NAME => {
            "this CUPTI does not know all of the metrics on this GPU; NVIDIA's Nsight Compute has those \
             that it knows: `ncu --query-metrics`"
        }
        CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
        | CUPTI_ERROR_HARDWARE_BUSY
        | CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED
        | CUPTI_ERROR_INVALID_OPERATION => {
            "another profiler holds the counters: end it, such as Nsight, or DCGM's profiling \
             (`dcgmi profiling --pause`)"
        }
        _ => "CUPTI refuses",
    };
    format!("hardware counters: {function}: {meaning} ({code:?})")
}

/// Calls a function of CUPTI with its structure, in which all fields but the named ones are zero, and returns the
/// structure. `$last` is the last field in CUDA 12.6. Later versions append fields but still accept the smaller
/// structure.
macro_rules! call {
    ($function:ident, $type:ident .. $last:ident $(, $field:ident: $value:expr)* $(,)?) => {{
        // SAFETY: its fields are numbers, pointers and enumerations, all of which have a zero.
        let mut structure: sys::$type = unsafe { mem::zeroed() };
        structure.structSize =
            mem::offset_of!(sys::$type, $last) + mem::size_of_val(&structure.$last);
        $(structure.$field = $value;)*
        has(stringify!($function)).and_then(|()| {
            // SAFETY: CUPTI has the function, and what the fields point to outlives its use.
            let code = unsafe { sys::$function(&mut structure) };
            accepted(stringify!($function), code)
        }).map(|()| structure)
    }};
}

pub(super) use call;
