//! The shim links, loads and keeps its exceptions to itself. Its results are tested with the safe wrappers.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use native::sys::{self, DeviceMemory, FINE, MemoryReport, OUT_OF_MEMORY, Status, TORCH};

/// Kind and message of a status, which is freed.
fn taken(status: Status) -> (i32, Option<String>) {
    let Status { kind, message } = status;
    if message.is_null() {
        return (kind, None);
    }
    // SAFETY: the shim ends its strings with NUL.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: freed once.
    unsafe { sys::ctn_string_free(message) };
    (kind, Some(text))
}

#[test]
fn no_exception_crosses() {
    let kinds: Vec<i32> = (0..=5).map(|what| taken(sys::ctn_raise(what)).0).collect();
    assert_eq!(kinds, [FINE, TORCH, OUT_OF_MEMORY, OUT_OF_MEMORY, TORCH, TORCH]);
    // Without its second line and without a backtrace.
    assert_eq!(taken(sys::ctn_raise(1)).1.as_deref(), Some("a check"));
}

#[test]
fn an_event_without_its_device_is_an_error() {
    let mut event = std::ptr::null_mut();
    // SAFETY: `event` is writable.
    let (kind, message) = taken(unsafe { sys::ctn_event_new(100, &mut event) });
    assert_eq!(kind, TORCH);
    assert!(message.is_some_and(|text| text.contains("CUDA")));
    assert!(event.is_null());
}

#[test]
fn an_empty_scope_reports_nothing() {
    let mut scope = std::ptr::null_mut();
    // SAFETY: `scope` is writable.
    assert_eq!(taken(unsafe { sys::ctn_memory_begin(&mut scope) }), (FINE, None));
    // Filled with what the shim must overwrite.
    let stale = DeviceMemory { peak_bytes: 1, live_bytes: 1, total_bytes: 1, allocations: 1 };
    let mut report = MemoryReport { cpu: stale, cuda: stale };
    // SAFETY: the scope was just begun, and `report` is writable.
    assert_eq!(taken(unsafe { sys::ctn_memory_read(scope, &mut report) }), (FINE, None));
    assert_eq!(report, MemoryReport::default());
    // SAFETY: begun on this thread and not ended yet.
    unsafe { sys::ctn_memory_end(scope) };
}

#[test]
fn the_loaded_library_is_the_wanted_one() {
    let mut facts = MaybeUninit::<sys::RuntimeFacts>::uninit();
    // SAFETY: `facts` is writable.
    let status = unsafe { sys::ctn_runtime_facts(facts.as_mut_ptr()) };
    assert_eq!(taken(status), (FINE, None));
    // SAFETY: written, because the status is fine.
    let facts = unsafe { facts.assume_init() };
    // SAFETY: the shim ends its strings with NUL.
    let version = unsafe { CStr::from_ptr(facts.torch_version) }.to_string_lossy().into_owned();
    assert!(version.starts_with("2.11."), "{version}");
    for text in [facts.torch_version, facts.cpu_capability, facts.configuration, facts.parallelism]
    {
        // SAFETY: each string is freed once.
        unsafe { sys::ctn_string_free(text) };
    }
}
