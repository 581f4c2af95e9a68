//! Declarations of the C++ shim, which is in `shim/`, one file per noun.
//!
//! Rules that hold for every function here:
//! - A function that returns [`Status`] never lets a C++ exception through, and writes its out parameters only when
//!   the status is fine.
//! - A `*const C_tensor` that goes in stays the caller's, and must point to a live tensor; null is fine only where said.
//!   A `*mut C_tensor` that comes out is the caller's, to be handed to tch.
//! - Every `*mut c_char` that comes out, [`Status::message`] too, is given back once to [`ctn_string_free`].

mod onednn;
mod profile;

use std::ffi::{c_char, c_void};

pub use onednn::{
    Convolution, OnednnDtypes, POST_OP_GELU, POST_OP_NONE, POST_OP_RELU, ctn_onednn_convolution,
    ctn_onednn_dtypes, ctn_onednn_linear, ctn_onednn_reorder_convolution,
    ctn_onednn_reorder_linear,
};
pub use profile::{
    PROFILE_KERNEL, PROFILE_MEMCPY, PROFILE_MEMSET, PROFILE_OPERATOR, PROFILE_OTHER,
    PROFILE_RUNTIME, ProfileEvent, ctn_profile_record,
};

/// tch's handle: a pointer to it is a C++ `at::Tensor*`. The crate also brings libtorch's link flags along.
pub use torch_sys::C_tensor;

/// [`Status::kind`]: nothing went wrong.
pub const FINE: i32 = 0;
/// [`Status::kind`]: libtorch or C++ said by the type of its exception that memory ran out.
pub const OUT_OF_MEMORY: i32 = 1;
/// [`Status::kind`]: any other exception. The CPU allocator's out-of-memory comes this way: only its text shows it.
pub const TORCH: i32 = 2;

/// How a call ended.
#[repr(C)]
#[derive(Debug)]
#[must_use]
pub struct Status {
    /// [`FINE`], [`OUT_OF_MEMORY`] or [`TORCH`].
    pub kind: i32,
    /// The first line of the exception's message. Null when fine, or when memory did not suffice for a copy.
    pub message: *mut c_char,
}

/// Bytes and blocks of one kind of device, as libtorch's allocators report them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Most bytes that were live at once.
    pub peak_bytes: u64,
    /// Bytes live at the end.
    pub live_bytes: i64,
    /// Bytes of all allocations together.
    pub total_bytes: u64,
    /// Number of allocations.
    pub allocations: u64,
}

/// The counts of a [`MemoryScope`].
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Host memory.
    pub cpu: DeviceMemory,
    /// Memory of all CUDA devices together.
    pub cuda: DeviceMemory,
}

/// Facts about the libtorch that is loaded.
#[repr(C)]
#[derive(Debug)]
pub struct RuntimeFacts {
    /// Such as `2.11.0`.
    pub torch_version: *mut c_char,
    /// The instruction set that ATen's kernels were chosen for, such as `AVX2`.
    pub cpu_capability: *mut c_char,
    /// How libtorch was built; several lines.
    pub configuration: *mut c_char,
    /// Threading layers and their settings; several lines.
    pub parallelism: *mut c_char,
    /// Threads inside one operator.
    pub threads: i32,
    /// Threads between operators.
    pub interop_threads: i32,
}

/// The CUDA that libtorch was built with.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct CudaBuild {
    /// 1000 · major + 10 · minor.
    pub toolkit: i64,
    /// cuDNN's own number; negative without cuDNN.
    pub cudnn: i64,
    /// Usable devices.
    pub devices: i32,
}

/// One CUDA device.
#[repr(C)]
#[derive(Debug)]
pub struct CudaDevice {
    /// The driver's name for it.
    pub name: *mut c_char,
    /// Its place, as domain:bus:device.function.
    pub pci_bus: *mut c_char,
    /// Memory that nobody holds.
    pub free_bytes: u64,
    /// Memory of the device.
    pub total_bytes: u64,
    /// Compute capability, left of the dot.
    pub capability_major: i32,
    /// Compute capability, right of the dot.
    pub capability_minor: i32,
    /// The newest CUDA that the driver supports: 1000 · major + 10 · minor.
    pub driver: i32,
    /// Peak frequency of the multiprocessors.
    pub clock_khz: i32,
    /// Size of the L2 cache.
    pub l2_bytes: i32,
}

/// Switches that trade exactness or repeatability for speed; 0 is off.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct NumericsState {
    /// TF32 in cuBLAS.
    pub tf32_cublas: i32,
    /// TF32 in cuDNN.
    pub tf32_cudnn: i32,
    /// cuDNN tries algorithms and keeps the fastest.
    pub cudnn_benchmark: i32,
    /// cuDNN only takes repeatable algorithms.
    pub cudnn_deterministic: i32,
    /// Every operator is repeatable or throws.
    pub deterministic_algorithms: i32,
    /// 0 highest, 1 high, 2 medium.
    pub float32_matmul_precision: i32,
}

/// Compiled TorchScript; opaque.
#[repr(C)]
pub struct Script {
    _opaque: [u8; 0],
    /// Nothing asks it of another thread.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// A function of compiled TorchScript, which it keeps alive; opaque.
#[repr(C)]
pub struct ScriptFunction {
    _opaque: [u8; 0],
    /// Nothing asks it of another thread.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// A recorded step, as a graph of TorchScript; opaque.
#[repr(C)]
pub struct Trace {
    _opaque: [u8; 0],
    /// Nothing asks it of another thread.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// A package of AOTInductor, loaded and bound to its inputs; opaque.
#[repr(C)]
pub struct Package {
    _opaque: [u8; 0],
    /// A call uses room that the package keeps.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// Blocks of memory that storages had before; opaque.
#[repr(C)]
pub struct Blocks {
    _opaque: [u8; 0],
    /// Allocators of devices free on the thread that allocated.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// A scope that counts allocations; opaque.
#[repr(C)]
pub struct MemoryScope {
    _opaque: [u8; 0],
    /// Bound to the thread that began it.
    _not_send: std::marker::PhantomData<*mut u8>,
}

/// An event on a device's stream; opaque.
#[repr(C)]
pub struct DeviceEvent {
    _opaque: [u8; 0],
    /// libtorch's events are not thread-safe.
    _not_send: std::marker::PhantomData<*mut u8>,
}

unsafe extern "C" {
    /// Frees a string of the shim; null is fine.
    pub fn ctn_string_free(text: *mut c_char);
    /// For tests: throws what `what` says (see `shim/raise.cpp`), 0 nothing.
    pub safe fn ctn_raise(what: i32) -> Status;

    /// Begins to count on this thread and on those that inherit its state. `out` must be writable.
    pub fn ctn_memory_begin(out: *mut *mut MemoryScope) -> Status;
    /// The scope's counts so far. `out` must be writable.
    pub fn ctn_memory_read(scope: *const MemoryScope, out: *mut MemoryReport) -> Status;
    /// Ends and frees a scope. Same thread as `begin`, innermost first.
    pub fn ctn_memory_end(scope: *mut MemoryScope);

    /// A timing event of a CUDA device. `out` must be writable.
    pub fn ctn_event_new(device_index: i32, out: *mut *mut DeviceEvent) -> Status;
    /// Puts the event at the end of the device's current stream.
    pub fn ctn_event_record(event: *mut DeviceEvent) -> Status;
    /// Waits until the stream has passed the event.
    pub fn ctn_event_synchronize(event: *const DeviceEvent) -> Status;
    /// Milliseconds of device time; both events must have been passed.
    pub fn ctn_event_elapsed_ms(
        earlier: *const DeviceEvent,
        later: *const DeviceEvent,
        out: *mut f64,
    ) -> Status;
    /// Frees an event; null is fine.
    pub fn ctn_event_free(event: *mut DeviceEvent);

    /// Reads the facts. `out` must be writable; its strings are the caller's.
    pub fn ctn_runtime_facts(out: *mut RuntimeFacts) -> Status;

    /// Writes 1 to `linked` and fills `out` when libtorch_cuda is in the program, else writes 0.
    pub fn ctn_cuda_build(linked: *mut i32, out: *mut CudaBuild) -> Status;
    /// Describes a device. `out` must be writable; its strings are the caller's.
    pub fn ctn_cuda_device(index: i32, out: *mut CudaDevice) -> Status;
    /// Waits until the device has nothing left to do.
    pub safe fn ctn_cuda_synchronize(index: i32) -> Status;
    /// Queues a kernel of so many cycles of the multiprocessors' clock on the device's current stream.
    pub safe fn ctn_cuda_sleep(index: i32, cycles: i64) -> Status;
    /// The `CUstream` that this thread's work on the device is queued on. `out` must be writable.
    pub fn ctn_cuda_current_stream(index: i32, out: *mut *mut c_void) -> Status;
    /// Gives cached device memory back to the driver.
    pub safe fn ctn_cuda_empty_cache() -> Status;

    /// Sets the switches to exact and repeatable where that costs no operator.
    pub safe fn ctn_numerics_pin() -> Status;
    /// Reads the switches. `out` must be writable.
    pub fn ctn_numerics_read(out: *mut NumericsState) -> Status;

    /// A kernel of scaled dot-product attention, an `at::SDPBackend`; causal when not 0. `out` must be writable.
    pub fn ctn_sdpa_attend(
        backend: i64,
        query: *const C_tensor,
        key: *const C_tensor,
        value: *const C_tensor,
        causal: i32,
        out: *mut *mut C_tensor,
    ) -> Status;

    /// Compiles `length` bytes of TorchScript. `out` must be writable.
    pub fn ctn_script_compile(
        source: *const c_char,
        length: usize,
        out: *mut *mut Script,
    ) -> Status;
    /// The function whose name is `length` bytes. `out` must be writable.
    pub fn ctn_script_function(
        script: *const Script,
        name: *const c_char,
        length: usize,
        out: *mut *mut ScriptFunction,
    ) -> Status;
    /// Calls a function with `count` tensors. `out` must be writable.
    pub fn ctn_script_run(
        function: *const ScriptFunction,
        inputs: *const *const C_tensor,
        count: usize,
        out: *mut *mut C_tensor,
    ) -> Status;
    /// Calls a function with `count` tensors until it is optimized, with oneDNN Graph when `onednn` is not 0.
    pub fn ctn_script_optimize(
        function: *const ScriptFunction,
        inputs: *const *const C_tensor,
        count: usize,
        onednn: i32,
    ) -> Status;
    /// The nodes of an optimized function, one per line. `out` must be writable.
    pub fn ctn_script_optimized_graph(
        function: *const ScriptFunction,
        out: *mut *mut c_char,
    ) -> Status;
    /// Frees a function; null is fine.
    pub fn ctn_script_function_free(function: *mut ScriptFunction);
    /// Frees a script; null is fine. Its functions live on.
    pub fn ctn_script_free(script: *mut Script);

    /// Calls `step` with `context` once under libtorch's tracer; `count` tensors become the graph's inputs. `step`
    /// returns its output, alive until this returns, or null when it failed, and must not unwind. `out` must be
    /// writable.
    pub fn ctn_trace_record(
        inputs: *const *const C_tensor,
        count: usize,
        step: unsafe extern "C" fn(context: *mut c_void) -> *const C_tensor,
        context: *mut c_void,
        out: *mut *mut Trace,
    ) -> Status;
    /// The graph in writing. `out` must be writable.
    pub fn ctn_trace_text(trace: *const Trace, out: *mut *mut c_char) -> Status;
    /// The tensors of more than one element that the graph holds, one per line. `out` must be writable.
    pub fn ctn_trace_constants(trace: *const Trace, out: *mut *mut c_char) -> Status;
    /// Why the graph is not what the step did; empty when it is. `out` must be writable.
    pub fn ctn_trace_untraceable(trace: *const Trace, out: *mut *mut c_char) -> Status;
    /// Writes a module whose `forward` is the graph to the file whose path is `length` bytes.
    pub fn ctn_trace_save(trace: *const Trace, path: *const c_char, length: usize) -> Status;
    /// Frees a trace; null is fine.
    pub fn ctn_trace_free(trace: *mut Trace);

    /// The metadata of the package whose path is `length` bytes, as JSON. `out` must be writable.
    pub fn ctn_package_metadata(
        path: *const c_char,
        length: usize,
        out: *mut *mut c_char,
    ) -> Status;
    /// A tensor's dtype, sizes and strides, such as `int8 [2, 3] [3, 1]`. `out` must be writable.
    pub fn ctn_package_form(tensor: *const C_tensor, out: *mut *mut c_char) -> Status;
    /// Loads a package and binds `count` tensors to its inputs, which have to be of the form that it was compiled for.
    /// `device_index` is that of a CUDA device, negative for the CPU. `out` must be writable.
    pub fn ctn_package_load(
        path: *const c_char,
        length: usize,
        device_index: i32,
        inputs: *const *const C_tensor,
        count: usize,
        out: *mut *mut Package,
    ) -> Status;
    /// The name that the dynamic linker has a package's library by. `out` must be writable.
    pub fn ctn_package_library(package: *const Package, out: *mut *mut c_char) -> Status;
    /// Calls a package. `out` must be writable.
    pub fn ctn_package_run(package: *mut Package, out: *mut *mut C_tensor) -> Status;
    /// Unloads a package; null is fine.
    pub fn ctn_package_free(package: *mut Package);

    /// activation(a · b + bias), GELU or else ReLU.
    pub fn ctn_addmm_activation(
        bias: *const C_tensor,
        a: *const C_tensor,
        b: *const C_tensor,
        use_gelu: i32,
        out: *mut *mut C_tensor,
    ) -> Status;

    /// Calls `work` with `context` and each number below `parts`, on torch's intra-op threads, and returns when all
    /// calls have. `work` must not unwind.
    pub fn ctn_parallel_for(
        parts: i64,
        work: unsafe extern "C" fn(context: *mut c_void, part: i64),
        context: *mut c_void,
    ) -> Status;

    /// Copies the block of every storage of these tensors to a new one and exchanges the two. `bytes` is how many were
    /// copied, `out` holds the old blocks; both must be writable. Tensors without storage stay where they are.
    pub fn ctn_storage_relocate(
        tensors: *const *const C_tensor,
        count: usize,
        bytes: *mut u64,
        out: *mut *mut Blocks,
    ) -> Status;
    /// Frees old blocks; null is fine.
    pub fn ctn_storage_free(blocks: *mut Blocks);

    /// Writes b + scale · c into the tensor `a`.
    pub fn ctn_triad(
        a: *const C_tensor,
        b: *const C_tensor,
        c: *const C_tensor,
        scale: f64,
    ) -> Status;
}
