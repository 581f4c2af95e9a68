use std::mem::MaybeUninit;
use std::process::Command;

use tch::{Device, Kind, Tensor};

use super::*;

/// Tells the copy of the test program that `faulting_in` starts which behaviour to measure.
const CHILD: &str = "CRITERION_TORCH_TEST_RETENTION";
const CALLS: usize = 10;
/// 50 MB.
const ELEMENTS: i64 = 12_500_000;
const PAGES: u64 = 4 * ELEMENTS as u64 / 4096;

/// How many of `CALLS` calls with a fresh output each had to fault it in. In the retained heap a small block may
/// come to lie where the output was, and the heap then grows once more: that is one call and not all.
fn faulting_calls() -> usize {
    let input = Tensor::rand([ELEMENTS], (Kind::Float, Device::Cpu));
    let faults = || {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` is writable.
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) }, 0);
        // SAFETY: getrusage filled it.
        unsafe { usage.assume_init() }.ru_minflt.unsigned_abs()
    };
    let faulting = |_: &usize| {
        let before = faults();
        drop(input.gelu("none"));
        faults() - before > PAGES / 10
    };
    for call in 0..3 {
        faulting(&call);
    }
    (0..CALLS).filter(faulting).count()
}

fn measure_as(retention: &str) {
    // Huge pages would hide most faults on the machines that have them switched on.
    // SAFETY: changes nothing but the kernel's choice of page size for this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }, 0);
    if retention == Retention::Retained.as_str() {
        retain().expect("glibc");
    }
    assert_eq!(super::retention().as_str(), retention);
    println!("faulting {}", faulting_calls());
    if retention == Retention::Retained.as_str() {
        assert!(release().expect("glibc"), "50 MB of freed output were there to be given back");
    }
}

/// Runs this very test in a process of its own: `retain` cannot be undone.
fn faulting_in(retention: Retention) -> usize {
    let test = "allocator::tests::retained_memory_stops_page_faults";
    let output = Command::new(std::env::current_exe().expect("the test program has a path"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, retention.as_str())
        // Test threads get their arenas before the test runs; a program calls `retain` before it has threads.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .expect("the test program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines()
        .find_map(|line| line.split_once("faulting ")?.1.parse().ok())
        .unwrap_or_else(|| panic!("no count in:\n{text}"))
}

/// Replaces one of the functions that tensors' memory comes from, as mimalloc and jemalloc replace all of them.
const REPLACEMENT: &str = "\
#include <errno.h>
#include <stdlib.h>
int posix_memalign(void **out, size_t align, size_t bytes) {
  *out = aligned_alloc(align, bytes);
  return *out ? 0 : ENOMEM;
}
";

#[test]
fn another_allocator_is_found_and_not_set() {
    if std::env::var_os(CHILD).is_some() {
        let error = retain().expect_err("it is not glibc's").to_string();
        assert_eq!(super::retention(), Retention::System);
        println!("replaced by {:?}; {error}", replaced_by());
        return;
    }
    assert_eq!(replaced_by(), None);
    let folder = tempfile::tempdir().expect("a folder");
    let (source, library) = (folder.path().join("x.c"), folder.path().join("libother.so.1"));
    std::fs::write(&source, REPLACEMENT).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().expect("torch-sys was compiled by one").success());
    let test = "allocator::tests::another_allocator_is_found_and_not_set";
    let output = Command::new(std::env::current_exe().expect("the test program has a path"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "replaced")
        .env("LD_PRELOAD", &library)
        .output()
        .expect("the test program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("replaced by Some(\"libother.so.1\")"), "{text}");
    assert!(text.contains("; libother.so.1 serves `malloc` in place of the C library"), "{text}");
}

#[test]
fn retained_memory_stops_page_faults() {
    if let Ok(retention) = std::env::var(CHILD) {
        return measure_as(&retention);
    }
    let system = faulting_in(Retention::System);
    let retained = faulting_in(Retention::Retained);
    println!("of {CALLS} calls, system {system}, retained {retained}");
    assert_eq!(system, CALLS);
    assert!(retained <= 2, "{retained}");
}
