//! The operators on the host and the kernels on a device that a step runs, as libtorch's Kineto profiler records them.
//!
//! Never in a process that times anything. The profiler slows down what it records, and after a session CUDA's part of it
//! (CUPTI) may stay attached and slow down every later launch. Profile in a child process.
//!
//! The first session of a process may complain on standard error about an "external init callback" and about the number
//! of GPUs. Neither matters here.

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::slice;

use tch::Device;

use super::border::{Handle, Status, Step, Text, check};
use super::cuda::device_index;
use super::error::Error;

unsafe extern "C" {
    /// `device_index` is that of a CUDA device, negative for the host alone. Neither call may unwind.
    fn ctn_profile_record(
        device_index: i32,
        details: bool,
        trace: Text,
        step: unsafe extern "C" fn(context: *mut c_void),
        show: unsafe extern "C" fn(context: *mut c_void, event: *const RawEvent),
        context: *mut c_void,
    ) -> Status;
    fn ctn_profile_range(name: Text, out: *mut Handle) -> Status;
}

/// `ProfileEvent` of `shim/profile.cpp`.
#[repr(C)]
struct RawEvent {
    /// All pointers of this struct are valid only during the callback.
    name: Text,
    activity: ActivityType,
    /// The number of a CUDA device; negative for the host.
    device_index: i32,
    start_ns: u64,
    duration_ns: u64,
    thread: u64,
    correlation: u64,
    launched_by: u64,
    flops: u64,
    bytes: i64,
    /// The sizes of all arguments, one after the other.
    sizes: *const i64,
    /// The number of sizes of each argument.
    dimensions: *const usize,
    dtypes: *const Text,
    arguments: usize,
}

/// The kind of an event's work: Kineto's `ActivityType`, as far as it matters here.
// As `Activity` of `shim/profile.cpp`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityType {
    /// An operator on the host, such as `aten::addmm`. It may call others, which have events of their own.
    CpuOp,
    /// A call of CUDA's runtime or driver on the host, such as `cudaLaunchKernel`.
    CudaRuntime,
    /// A kernel on a device; its name is demangled.
    Kernel,
    /// A copy on or to a device.
    GpuMemcpy,
    /// Memory of a device that is filled.
    GpuMemset,
    /// Anything else, such as a function of TorchScript, or what the profiler itself costs.
    Other,
    /// A [`range`].
    UserAnnotation,
    /// An allocation or a release of memory, at one moment.
    Memory,
}

/// An argument of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Argument {
    /// Its sizes; empty for a scalar and for an argument that is not a tensor.
    pub shape: Vec<i64>,
    /// Its dtype as C++ names it, such as `float` or `c10::BFloat16`; for other arguments another word or an empty
    /// text.
    pub dtype: String,
}

/// Something that ran during a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KinetoEvent {
    /// Its name.
    pub name: String,
    /// The kind of work.
    pub activity: ActivityType,
    /// The device that ran it.
    pub device: Device,
    /// When it began, in nanoseconds; only differences mean anything.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// The host thread that it began on.
    pub thread: u64,
    /// An operator's own number; 0 without one.
    pub correlation: u64,
    /// For work on a device, the number of the operator that launched it; 0 where that is not known.
    pub launched_by: u64,
    /// Floating-point operations, where torch has a formula for them; else 0.
    pub flops: u64,
    /// For memory events, the allocated bytes, negative for a release; 0 for other events.
    pub bytes: i64,
    /// The arguments of an operator.
    pub arguments: Vec<Argument>,
}

/// Runs `step` once under libtorch's profiler and returns what ran on this thread and on those that inherit its state, in
/// order of start. On a CUDA device, all that the device ran meanwhile is there, too: it is waited for before the step and
/// after it. Warm the step up first, or what it does only once is among the events.
///
/// Do not time anything in this process (see the [module](self)).
///
/// On a CUDA device whose profiling is not permitted, or without CUPTI, Kineto says so on standard error alone, and there
/// are no events of the device.
///
/// # Errors
/// The step's error; when there is no such device, when the device fails, or when a step is being profiled in this
/// process already, on whatever thread.
///
/// # Panics
/// When the step does: with its panic. Nothing is being profiled any more then.
pub fn profile<T, E: From<Error>, F: FnOnce() -> Result<T, E>>(
    device: Device,
    step: F,
) -> Result<Vec<KinetoEvent>, E> {
    run_once(device, false, None, step)
}

/// As [`profile`], but with all details that libtorch records: arguments, flops, and every allocation and release. If a
/// trace file is given, the events are also written there as a Chrome trace, with stacks where there are any.
///
/// # Errors
/// As [`profile`]; also when the trace cannot be written.
///
/// # Panics
/// As [`profile`].
pub fn record<T, E: From<Error>, F: FnOnce() -> Result<T, E>>(
    device: Device,
    trace: Option<&Path>,
    step: F,
) -> Result<Vec<KinetoEvent>, E> {
    let Some(path) = trace else { return run_once(device, true, None, step) };
    let failed = |why: String| Error::Torch(format!("the trace {}: {why}", path.display()));
    // Kineto only logs that it cannot write, so this checks the path first. It also empties an older file, which could
    // be taken for the new one.
    fs::write(path, "").map_err(|error| failed(error.to_string()))?;
    let events = run_once(device, true, Some(path), step)?;
    let written = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !written.is_file() || written.len() == 0 {
        let why = "Kineto wrote nothing: check the free space and the permissions of its folder; with \
                   KINETO_LOG_LEVEL=4 in the environment Kineto says why on standard error";
        return Err(failed(why.to_owned()).into());
    }
    Ok(events)
}

fn run_once<T, E: From<Error>, F: FnOnce() -> Result<T, E>>(
    device: Device,
    details: bool,
    trace: Option<&Path>,
    step: F,
) -> Result<Vec<KinetoEvent>, E> {
    let index = match device {
        Device::Cuda(index) => device_index(index)?,
        _ => -1,
    };
    let mut call = Call { step: Step::new(step), events: vec![] };
    let context = (&raw mut call).cast::<c_void>();
    let (run, show) = (run::<F, T, E>, show::<F, T, E>);
    let trace = trace.map_or_else(|| "".into(), Text::from);
    // SAFETY: both functions are made for a context of this type, which lives until the call has ended and is nobody
    // else's meanwhile; the path lives as long.
    let status = unsafe { ctn_profile_record(index, details, trace, run, show, context) };
    let recorded = check(status);
    // The step's output is freed here, after the session.
    call.step.end(recorded)?;
    Ok(call.events)
}

/// A range in the events of a profiling session; it ends when it is dropped.
#[derive(Debug)]
pub struct Range {
    _function: Handle,
}

/// Begins a range on this thread, which has to end on it, too. It costs next to nothing without a profiling session.
///
/// # Errors
/// When libtorch cannot begin one.
pub fn range(name: &str) -> Result<Range, Error> {
    // SAFETY: the name lives during the call, and `out` is writable.
    Handle::new(|out| unsafe { ctn_profile_range(name.into(), out) })
        .map(|function| Range { _function: function })
}

struct Call<F, T, E> {
    step: Step<F, T, E>,
    events: Vec<KinetoEvent>,
}

/// # Safety
/// `context` points to a live `Call<F, T, E>` that nobody else uses.
unsafe extern "C" fn run<F: FnOnce() -> Result<T, E>, T, E: From<Error>>(context: *mut c_void) {
    // SAFETY: the caller's promise.
    let call = unsafe { &mut *context.cast::<Call<F, T, E>>() };
    call.step.run();
}

/// # Safety
/// `context` is as in [`run`]; `event` is live, and so is its name.
unsafe extern "C" fn show<F, T, E>(context: *mut c_void, event: *const RawEvent) {
    // SAFETY: the caller's promise.
    let call = unsafe { &mut *context.cast::<Call<F, T, E>>() };
    // SAFETY: the caller's promise.
    let event = unsafe { &*event };
    // SAFETY: the event is live with all that it points to.
    let name = unsafe { text(event.name) };
    // SAFETY: the same.
    let arguments = unsafe { arguments(event) };
    call.events.push(KinetoEvent {
        name,
        arguments,
        activity: event.activity,
        device: usize::try_from(event.device_index).map_or(Device::Cpu, Device::Cuda),
        start_ns: event.start_ns,
        duration_ns: event.duration_ns,
        thread: event.thread,
        correlation: event.correlation,
        launched_by: event.launched_by,
        flops: event.flops,
        bytes: event.bytes,
    });
}

/// # Safety
/// The text is live.
unsafe fn text(text: Text) -> String {
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { text.as_bytes() }).into_owned()
}

/// # Safety
/// The event is as the shim made it, and live.
unsafe fn arguments(event: &RawEvent) -> Vec<Argument> {
    if event.arguments == 0 {
        return vec![];
    }
    // SAFETY: `arguments` is the length of both arrays.
    let dimensions = unsafe { slice::from_raw_parts(event.dimensions, event.arguments) };
    // SAFETY: the same.
    let dtypes = unsafe { slice::from_raw_parts(event.dtypes, event.arguments) };
    let mut sizes = &[][..];
    let count = dimensions.iter().sum();
    if count > 0 {
        // SAFETY: the sum of `dimensions` is the length of `sizes`, which is null only when that is 0.
        sizes = unsafe { slice::from_raw_parts(event.sizes, count) };
    }
    let argument = |(dimensions, dtype): (&usize, &Text)| {
        let (shape, rest) = sizes.split_at(*dimensions);
        sizes = rest;
        // SAFETY: the text is live.
        Argument { shape: shape.to_vec(), dtype: unsafe { text(*dtype) } }
    };
    dimensions.iter().zip(dtypes).map(argument).collect()
}

/// The operators of the step itself, without those that they call. All of them have to be of one thread.
pub fn outermost(events: &[KinetoEvent]) -> Vec<&KinetoEvent> {
    let mut end = 0;
    let operators = events.iter().filter(|event| event.activity == ActivityType::CpuOp);
    operators
        .filter(|event| {
            let outer = event.start_ns >= end;
            if outer {
                end = event.start_ns + event.duration_ns;
            }
            outer
        })
        .collect()
}

/// Has tests that profile take turns: a process has one session.
#[cfg(test)]
fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic;

    use tch::{Kind, TchError, Tensor};

    use super::*;
    use crate::border::tests::wave;
    use crate::script::Script;

    fn float(size: &[i64]) -> Tensor {
        wave(size, Kind::Float)
    }

    fn profiled(step: impl FnOnce() -> Result<Tensor, TchError>) -> Vec<KinetoEvent> {
        profile(Device::Cpu, step).expect("profiled")
    }

    fn names(events: &[KinetoEvent]) -> Vec<&str> {
        outermost(events).into_iter().map(|event| event.name.as_str()).collect()
    }

    #[test]
    fn operators_come_in_order_with_their_durations() {
        let _turn = turn();
        let (x, weight, bias) = (float(&[4, 8]), float(&[8, 6]), float(&[6]));
        drop(x.f_exp().expect("outside of the session"));
        let events = profiled(|| bias.f_addmm(&x, &weight)?.f_relu()?.f_sum(None::<Kind>));
        drop(x.f_tanh().expect("outside of the session"));
        assert_eq!(names(&events), ["aten::addmm", "aten::relu", "aten::sum"]);
        // An operator comes before those that it calls.
        let place = |name: &str| events.iter().position(|event| event.name == name);
        assert!(place("aten::relu") < place("aten::clamp_min"), "{events:?}");
        assert!(place("aten::clamp_min") < place("aten::sum"), "{events:?}");
        for event in &events {
            assert!(event.duration_ns > 0, "{event:?}");
            assert_eq!((event.activity, event.device), (ActivityType::CpuOp, Device::Cpu));
        }
        assert!(events.is_sorted_by_key(|event| event.start_ns));
    }

    #[test]
    fn a_record_has_arguments_flops_and_memory_within_its_ranges() {
        let _turn = turn();
        let (x, weight, bias) = (float(&[4, 8]), float(&[8, 6]), float(&[6]));
        let step = || {
            let _range = range("a step").expect("a range");
            bias.f_addmm(&x, &weight)
        };
        drop(range("outside of a session").expect("nothing"));
        drop(step().expect("warmed up"));
        let events = record(Device::Cpu, None, step).expect("recorded");
        let found = |name: &str| events.iter().find(|event| event.name == name).expect(name);
        let (range, product) = (found("a step"), found("aten::addmm"));
        assert_eq!(range.activity, ActivityType::UserAnnotation);
        assert_eq!(range.thread, product.thread);
        let end = |event: &KinetoEvent| event.start_ns + event.duration_ns;
        assert!(range.start_ns <= product.start_ns && end(product) <= end(range));
        assert_eq!(product.flops, 2 * 4 * 8 * 6);
        let arguments: Vec<(&[i64], &str)> =
            product.arguments.iter().map(|it| (&*it.shape, &*it.dtype)).collect();
        let tensors = [(&[6][..], "float"), (&[4, 8], "float"), (&[8, 6], "float")];
        assert_eq!(arguments[..3], tensors);
        assert_eq!(arguments[3..], [(&[][..], "Scalar"), (&[], "Scalar")]);
        let allocated: i64 = events.iter().map(|event| event.bytes.max(0)).sum();
        assert_eq!(allocated, 4 * 6 * 4, "{events:?}");
        assert!(events.iter().all(|event| event.name != "outside of a session"));
    }

    #[test]
    fn a_trace_is_written_and_what_cannot_be_written_is_named() {
        let _turn = turn();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a trace.json");
        let x = float(&[4, 8]);
        record(Device::Cpu, Some(&path), || x.f_exp()).expect("recorded");
        let text = fs::read_to_string(&path).expect("written");
        let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let exp = events.iter().find(|event| event["name"] == "aten::exp").expect("the operator");
        assert_eq!(exp["args"]["Input Dims"][0], serde_json::json!([4, 8]));
        assert!(exp["ts"].is_number() && exp["dur"].is_number() && exp["ph"] == "X", "{exp}");
        let missing = folder.path().join("no such folder/trace.json");
        let ran = std::cell::Cell::new(false);
        let step = || {
            ran.set(true);
            x.f_exp()
        };
        let error = record(Device::Cpu, Some(&missing), step).expect_err("no folder").to_string();
        assert!(error.contains("no such folder/trace.json: No such file"), "{error}");
        assert!(!ran.get(), "it is known before anything runs");
    }

    #[test]
    fn a_second_session_has_its_own_events_alone() {
        let _turn = turn();
        let x = float(&[4, 8]);
        assert_eq!(names(&profiled(|| x.f_exp())), ["aten::exp"]);
        assert_eq!(names(&profiled(|| x.f_tanh())), ["aten::tanh"]);
    }

    #[test]
    fn a_script_is_the_operators_that_it_runs() {
        let _turn = turn();
        let source = "def both(x):\n    return torch.tanh(torch.exp(x))";
        let both = Script::compile(source).and_then(|it| it.function("both")).expect("compiled");
        let x = float(&[4, 8]);
        let run = || Ok::<_, TchError>(both.run(&[&x])?);
        drop(run().expect("warmed up"));
        let events = profiled(run);
        assert_eq!(names(&events), ["aten::exp", "aten::tanh"]);
        let kind = |name: &str| events.iter().find(|it| it.name == name).map(|it| it.activity);
        assert_eq!(kind("both"), Some(ActivityType::Other), "{events:?}");
    }

    #[test]
    fn operators_of_a_script_have_their_stack_in_the_trace() {
        let _turn = turn();
        let source = "def both(x):\n    return torch.tanh(torch.exp(x))";
        let both = Script::compile(source).and_then(|it| it.function("both")).expect("compiled");
        let x = float(&[4, 8]);
        let run = || Ok::<_, TchError>(both.run(&[&x])?);
        drop(run().expect("warmed up"));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.json");
        record(Device::Cpu, Some(&path), run).expect("recorded");
        let text = fs::read_to_string(&path).expect("written");
        let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let exp = events.iter().find(|event| event["name"] == "aten::exp").expect("the operator");
        let stack = exp["args"]["Call stack"].as_str().unwrap_or_default();
        assert!(!stack.is_empty(), "no stack: {exp}");
    }

    #[test]
    fn a_trace_that_kineto_cannot_write_has_a_remedy() {
        let _turn = turn();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.json");
        let x = float(&[4, 8]);
        // Kineto writes the file when the step has ended. It can replace an empty folder, but not one that holds something.
        let step = || {
            fs::remove_file(&path).expect("it was there before the step");
            fs::create_dir(&path).expect("created");
            fs::write(path.join("other"), "").expect("written");
            x.f_exp()
        };
        let error = record(Device::Cpu, Some(&path), step).expect_err("a folder").to_string();
        assert!(error.contains("trace.json") && error.contains("KINETO_LOG_LEVEL=4"), "{error}");
    }

    #[test]
    fn a_step_that_fails_gives_its_own_error() {
        let _turn = turn();
        let x = float(&[4, 8]);
        let failed: Result<_, TchError> = profile(Device::Cpu, || x.f_mm(&x));
        let error = failed.expect_err("the inner sizes differ").to_string();
        assert!(
            error.contains("mat1 and mat2 shapes cannot be multiplied (4x8 and 4x8)"),
            "{error}"
        );
        assert_eq!(names(&profiled(|| x.f_exp())), ["aten::exp"]);
    }

    #[test]
    fn a_panic_passes_through() {
        let _turn = turn();
        let step = || -> Result<Tensor, TchError> { panic!("a bug of the step") };
        let payload = panic::catch_unwind(|| profile(Device::Cpu, step)).expect_err("panicked");
        assert_eq!(payload.downcast_ref(), Some(&"a bug of the step"));
        let x = float(&[4, 8]);
        assert_eq!(names(&profiled(|| x.f_exp())), ["aten::exp"]);
    }

    #[test]
    fn a_session_within_a_session_is_refused() {
        let _turn = turn();
        let x = float(&[4, 8]);
        let inner = || -> Result<_, TchError> { profile(Device::Cpu, || float(&[2]).f_tanh()) };
        let elsewhere = || std::thread::scope(|scope| scope.spawn(inner).join()).expect("no panic");
        let events = profiled(|| {
            for refused in [inner(), elsewhere()] {
                let error = refused.expect_err("refused").to_string();
                let said = "a step is being profiled in this process already; profile one step \
                            after the other";
                assert!(error.contains(said), "{error}");
            }
            x.f_exp()
        });
        assert_eq!(names(&events), ["aten::exp"]);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let _turn = turn();
        let devices = usize::try_from(tch::Cuda::device_count()).expect("a count");
        let step = || -> Result<Tensor, TchError> { panic!("the step must not run") };
        let error = profile(Device::Cuda(devices), step).expect_err("one past the last device");
        assert!(error.to_string().contains("CUDA"), "{error}");
    }

    #[test]
    fn kernels_of_a_device_are_in_it() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let _turn = turn();
        let device = Device::Cuda(0);
        let x = Tensor::rand([256, 256], (Kind::Float, device));
        let step = || x.f_mm(&x)?.f_exp();
        drop(step().expect("warmed up"));
        let events: Vec<_> = profile(device, step).expect("profiled");
        assert_eq!(names(&events), ["aten::mm", "aten::exp"]);
        let kernels: Vec<_> =
            events.iter().filter(|event| event.activity == ActivityType::Kernel).collect();
        assert!(kernels.len() >= 2, "{events:?}");
        assert!(kernels.last().is_some_and(|event| event.name.contains("exp")), "{kernels:?}");
        assert!(kernels.iter().all(|event| event.device == device && event.duration_ns > 0));
    }
}
