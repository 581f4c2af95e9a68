//! Exact memory of a piece of work, as libtorch's own allocators report it.
//!
//! Counted is every allocation that libtorch's CPU and CUDA allocators make while the work runs, on
//! the calling thread and on threads that inherit its state (autograd's device threads). Sizes are
//! the allocator's: exact on the CPU, rounded up to blocks of 512 bytes on CUDA. Several CUDA
//! devices are summed.
//!
//! Not counted:
//! - scratch memory that kernels and libraries (oneDNN, MKL) take from `malloc` themselves;
//! - memory that the CUDA allocator caches but no tensor holds;
//! - allocations of threads that do not inherit the caller's state: those that the work starts itself, and libtorch's
//!   intra-op workers. The latter work on memory that the calling thread allocates for them (a sum over two threads
//!   shows a scratch buffer of two elements), because operators may not be called from them. Of thirty operators
//!   tried on 2.11, one breaks that rule: the backward pass of the CPU's flash attention, by 256 bytes.
//!
//! Counting costs a lock and a map entry per allocation: never time what is tracked. libtorch would warn that it does
//! not know the size of a block that was allocated outside and freed inside; such blocks do not count, so that one
//! message is dropped while something is tracked.

use std::ffi::c_void;

use tch::Device;

use super::border::{self, Handle, Status, Text, check};
use super::error::Error;

unsafe extern "C" {
    fn ctn_memory_begin(over_time: bool, out: *mut Handle) -> Status;
    fn ctn_memory_read(scope: *const c_void, out: *mut MemoryReport) -> Status;
    /// `show` must not unwind and must not use libtorch.
    fn ctn_memory_events(
        scope: *const c_void,
        show: unsafe extern "C" fn(context: *mut c_void, event: *const RawEvent),
        context: *mut c_void,
    ) -> Status;
}

/// `MemoryEvent` of `shim/memory_timeline.h`.
#[repr(C)]
struct RawEvent {
    address: u64,
    bytes: i64,
    time_ns: u64,
    /// The number of a CUDA device; negative for the host.
    device_index: i32,
    /// Lives during the call that shows it.
    operations: Text,
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

/// The memory that a piece of work took.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Host memory.
    pub cpu: DeviceMemory,
    /// Memory of all CUDA devices together.
    pub cuda: DeviceMemory,
}

/// An allocation or a release of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEvent {
    /// The block's address.
    pub address: u64,
    /// Its size; negative for a release.
    pub bytes: i64,
    /// Time since the work began. For device memory it is the time of the host's call.
    pub time_ns: u64,
    /// The device whose memory it is.
    pub device: Device,
    /// The operations that the thread was in, such as `aten::linear` and `aten::empty`, the outermost first. Empty
    /// outside of operations, for example when a tensor is dropped.
    pub operations: Vec<String>,
}

/// Runs `f` and reports the memory that it allocated.
///
/// Only blocks allocated inside count: a tensor made before and freed inside changes nothing, and tensors that `f`
/// returns are in `live_bytes`, which is therefore never negative. Scopes nest: an inner one reports its own part, the
/// outer one everything. A panic of `f` ends the scope and goes on. libtorch's profiler refuses to start inside `f`.
///
/// # Errors
/// When libtorch's profiler already runs on this thread (both need the same slot), or when memory does not even suffice
/// for the count.
pub fn track<T>(f: impl FnOnce() -> T) -> Result<(T, MemoryReport), Error> {
    let (value, scope) = in_scope(false, f)?;
    Ok((value, report(&scope)?))
}

/// As [`track`], and also returns every allocation and release in order. When the release of a block was not seen, it
/// is listed just before the allocation that reuses its address.
///
/// # Errors
/// Errors of [`track`]; also when this thread is already recording a timeline.
pub fn timeline<T>(f: impl FnOnce() -> T) -> Result<(T, MemoryReport, Vec<MemoryEvent>), Error> {
    let (value, scope) = in_scope(true, f)?;
    let report = report(&scope)?;
    let mut events: Vec<MemoryEvent> = vec![];
    let context = (&raw mut events).cast::<c_void>();
    // SAFETY: the scope lives; `show` takes a context of this type, and nobody else uses it during the call.
    check(unsafe { ctn_memory_events(scope.as_ptr(), show, context) })?;
    Ok((value, report, events))
}

/// The scope counts on this thread until it is dropped; scopes end in the reverse order.
fn in_scope<T>(over_time: bool, f: impl FnOnce() -> T) -> Result<(T, Handle), Error> {
    // SAFETY: `out` is writable.
    let scope = Handle::new(|out| unsafe { ctn_memory_begin(over_time, out) })?;
    Ok((f(), scope))
}

fn report(scope: &Handle) -> Result<MemoryReport, Error> {
    // SAFETY: the scope lives, and `out` is writable.
    border::value(|out| unsafe { ctn_memory_read(scope.as_ptr(), out) })
}

/// # Safety
/// `context` points to a live `Vec<MemoryEvent>` that nobody else uses; `event` is live, and so is its text.
unsafe extern "C" fn show(context: *mut c_void, event: *const RawEvent) {
    // SAFETY: the caller's promise.
    let events = unsafe { &mut *context.cast::<Vec<MemoryEvent>>() };
    // SAFETY: the caller's promise.
    let event = unsafe { &*event };
    // SAFETY: the caller's promise.
    let operations = String::from_utf8_lossy(unsafe { event.operations.as_bytes() });
    events.push(MemoryEvent {
        address: event.address,
        bytes: event.bytes,
        time_ns: event.time_ns,
        device: usize::try_from(event.device_index).map_or(Device::Cpu, Device::Cuda),
        operations: operations.lines().map(str::to_owned).collect(),
    });
}

#[cfg(test)]
#[path = "memory_timeline_tests.rs"]
mod timeline_tests;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Command;

    use tch::{Device, Kind, Tensor};

    use super::*;

    const FLOATS: (Kind, Device) = (Kind::Float, Device::Cpu);

    fn tracked<T>(f: impl FnOnce() -> T) -> (T, DeviceMemory) {
        let (value, report) = track(f).expect("no profiler runs in these tests");
        assert_eq!(report.cuda, DeviceMemory::default());
        (value, report.cpu)
    }

    #[test]
    fn nothing_takes_nothing() {
        let ((), report) = track(|| ()).expect("nothing else tracks");
        assert_eq!(report, MemoryReport::default());
    }

    #[test]
    fn one_tensor_is_its_bytes() {
        for elements in [1, 3, 1000, 1 << 20] {
            let (tensor, memory) = tracked(|| Tensor::empty([elements], FLOATS));
            let bytes = 4 * elements as u64;
            let expected = DeviceMemory {
                peak_bytes: bytes,
                live_bytes: bytes as i64,
                total_bytes: bytes,
                allocations: 1,
            };
            assert_eq!(memory, expected, "{tensor:?}");
        }
    }

    #[test]
    fn linear_with_relu_in_bf16() {
        let bf16 = |shape: &[i64]| Tensor::rand(shape, FLOATS).to_kind(Kind::BFloat16);
        let (x, w, b) = (bf16(&[1024, 1024]), bf16(&[1024, 1024]), bf16(&[1024]));
        let (outputs, memory) = tracked(|| {
            let product = x.matmul(&w);
            let sum = &product + &b;
            let output = sum.relu();
            (product, sum, output)
        });
        // The three outputs. A fourth allocation, oneDNN's scratch, depends on the instruction set and is gone by the
        // time of the peak.
        assert_eq!(memory.peak_bytes, 6_291_456, "{outputs:?}");
        assert_eq!(memory.live_bytes, 6_291_456);
        assert!(memory.allocations >= 3, "{memory:?}");
    }

    #[test]
    fn a_free_inside_lowers_live_but_not_peak() {
        let (kept, memory) = tracked(|| {
            drop(Tensor::empty([1000], FLOATS));
            Tensor::empty([10], FLOATS)
        });
        assert_eq!(kept.numel(), 10);
        assert_eq!(memory.live_bytes, 40);
        assert_eq!(memory.peak_bytes, 4000);
        assert_eq!(memory.total_bytes, 4040);
        assert_eq!(memory.allocations, 2);
    }

    #[test]
    fn blocks_of_others_do_not_count() {
        let before = Tensor::empty([1000], FLOATS);
        let ((), memory) = tracked(|| drop(before));
        assert_eq!(memory, DeviceMemory::default());

        // libtorch remembers the size of a block that a scope saw and whose free no scope saw. Whatever comes to lie at
        // that address later is freed under the old size; it must not be booked.
        let (seen, _) = tracked(|| Tensor::empty([1 << 20], FLOATS));
        drop(seen);
        let unseen = Tensor::empty([1 << 20], FLOATS);
        let (kept, memory) = tracked(|| {
            drop(unseen);
            Tensor::empty([8], FLOATS)
        });
        assert_eq!(memory.live_bytes, 32, "{kept:?}");
    }

    /// Tells the copy of the test program that the test starts what to do.
    const CHILD: &str = "CRITERION_TORCH_TEST_MEMORY";

    #[test]
    fn blocks_of_others_cause_no_warning_and_other_warnings_come_through() {
        if std::env::var_os(CHILD).is_some() {
            // libtorch warns at the first such block of the process.
            let before = Tensor::empty([1000], FLOATS);
            tracked(|| {
                drop(before);
                // With one element there are no degrees of freedom.
                drop(Tensor::ones([1], FLOATS).std(true));
            });
            return;
        }
        let test = "blocks_of_others_cause_no_warning_and_other_warnings_come_through";
        let output = Command::new(std::env::current_exe().expect("the test program has a path"))
            .args(["--exact", &format!("memory::tests::{test}"), "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("the test program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("unknown size"), "{said}");
        assert!(said.contains("degrees of freedom"), "a warning is lost: {said}");
    }

    #[test]
    fn an_address_reused_after_an_unseen_free_counts_once() {
        const ELEMENTS: i64 = 1 << 20;
        const ROUNDS: usize = 64;
        let address = |tensor: &Tensor| tensor.data_ptr() as usize;
        let (rounds, memory) = tracked(|| {
            let round = |_| {
                let tensor = Tensor::empty([ELEMENTS], FLOATS);
                let unseen = address(&tensor);
                // Another thread does not inherit the scope, so its free goes unseen.
                std::thread::scope(|threads| threads.spawn(move || drop(tensor)).join())
                    .expect("dropping a tensor does not panic");
                (unseen, address(&Tensor::empty([ELEMENTS], FLOATS)))
            };
            (0..ROUNDS).map(round).collect::<Vec<_>>()
        });
        // The scope has to believe that it saw each address handed out, and the second one of each
        // round given back. An address counts once, however often it was handed out.
        let (mut live, mut peak, mut reused) = (HashSet::new(), 0, 0);
        for (unseen, seen) in rounds {
            reused += usize::from(!live.insert(unseen)) + usize::from(unseen == seen);
            peak = peak.max(live.len());
            live.insert(seen);
            peak = peak.max(live.len());
            live.remove(&seen);
        }
        assert!(reused > 0, "no address came again: there was nothing to be counted twice");
        let bytes = |blocks: usize| 4 * ELEMENTS as u64 * blocks as u64;
        let expected = DeviceMemory {
            peak_bytes: bytes(peak),
            live_bytes: bytes(live.len()) as i64,
            total_bytes: bytes(2 * ROUNDS),
            allocations: 2 * ROUNDS as u64,
        };
        assert_eq!(memory, expected, "{reused} times an address came again");
    }

    #[test]
    fn nested_scopes_report_to_the_outer_too() {
        let ((inner, kept), outer) = tracked(|| {
            let first = Tensor::empty([100], FLOATS);
            let (second, inner) = tracked(|| Tensor::empty([10], FLOATS));
            // After the inner scope the outer one is told again.
            drop(first);
            (inner, second)
        });
        assert_eq!((inner.peak_bytes, inner.allocations), (40, 1));
        assert_eq!((outer.peak_bytes, outer.allocations), (440, 2));
        assert_eq!(outer.live_bytes, 40, "{kept:?}");
    }

    #[test]
    fn a_panic_ends_the_scope() {
        let panicked = catch_unwind(AssertUnwindSafe(|| track(|| panic!("on purpose"))));
        assert!(panicked.is_err());
        // Had it stayed, this scope would be nested in a dead one.
        let (_, memory) = tracked(|| Tensor::empty([10], FLOATS));
        assert_eq!(memory.total_bytes, 40);
    }

    /// Memory of `work` with a number of intra-op threads.
    fn with_threads<T>(threads: i32, work: impl Fn() -> T) -> DeviceMemory {
        let before = tch::get_num_threads();
        tch::set_num_threads(threads);
        // The first call fills caches.
        drop(work());
        let (_, memory) = tracked(work);
        tch::set_num_threads(before);
        memory
    }

    #[test]
    fn work_on_several_threads_is_seen() {
        let x = Tensor::rand([512, 512], FLOATS);
        let image = Tensor::rand([4, 8, 64, 64], FLOATS);
        let kernel = Tensor::rand([16, 8, 3, 3], FLOATS);
        let none: Option<&Tensor> = None;
        let outputs = || {
            let wide = x.matmul(&x).gelu("none").softmax(-1, Kind::Float);
            let convolved = image.conv2d(&kernel, none, [1, 1], [1, 1], [1, 1], 1);
            (wide.sort(-1, true), convolved, wide.cumsum(0, Kind::Float))
        };
        assert_eq!(with_threads(1, outputs), with_threads(2, outputs));

        // The calling thread allocates what each worker writes its part of the sum to.
        let sum = || x.sum(Kind::Float);
        assert_eq!(with_threads(1, sum).total_bytes, 4);
        assert_eq!(with_threads(2, sum).total_bytes, 4 + 2 * 4);
    }

    #[test]
    fn threads_that_the_work_starts_are_not_seen() {
        let ((), memory) = tracked(|| {
            std::thread::spawn(|| drop(Tensor::empty([1000], FLOATS)))
                .join()
                .expect("an allocation of 4000 bytes does not fail");
        });
        assert_eq!(memory, DeviceMemory::default());
    }

    #[test]
    fn a_backward_pass_is_seen() {
        let weight = Tensor::rand([64, 64], FLOATS).set_requires_grad(true);
        let ((), memory) = tracked(|| (&weight * &weight).sum(Kind::Float).backward());
        // The gradient stays.
        assert_eq!(memory.live_bytes, 4 * 64 * 64);
    }
}
