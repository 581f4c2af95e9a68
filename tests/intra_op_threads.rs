//! Our kernels run on the threads that torch's operators run on, and start none of their own. One
//! test: the threads that are counted are the process's.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Barrier, Mutex};

use criterion_torch::kernels::cpu::parallel::for_each_part;
use tch::{Device, Kind, Tensor};

/// More than this machine may have CPUs: threads that were not there before would show.
const THREADS: usize = 5;

fn tasks() -> BTreeSet<i32> {
    let entries = fs::read_dir("/proc/self/task").expect("Linux has it");
    let name = |entry: fs::DirEntry| entry.file_name().to_str().and_then(|it| it.parse().ok());
    entries.map(|entry| name(entry.expect("readable")).expect("a number")).collect()
}

/// The OpenMP runtimes that are loaded.
fn runtimes() -> BTreeSet<String> {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let is_openmp = |path: &&str| {
        let name = Path::new(path).file_name().and_then(|it| it.to_str()).unwrap_or_default();
        ["libgomp", "libomp", "libiomp"].iter().any(|it| name.starts_with(it))
    };
    files.filter(is_openmp).map(str::to_owned).collect()
}

#[test]
fn they_are_torchs() {
    tch::set_num_threads(THREADS as i32);
    let before = tasks();
    // Large enough for torch to use all threads.
    let values = Tensor::ones([1 << 22], (Kind::Float, Device::Cpu));
    assert_eq!((&values + 1.0).double_value(&[0]), 2.0);
    let torch = tasks();
    assert_eq!(torch.len(), before.len() + THREADS - 1, "torch starts all but the caller's");

    let ours = Mutex::new(BTreeSet::new());
    // All parts at once: no thread can have taken two.
    let barrier = Barrier::new(THREADS);
    for_each_part(THREADS, 1, |part| {
        assert_eq!(part.len(), 1);
        barrier.wait();
        // SAFETY: no arguments, no failure.
        ours.lock().expect("not poisoned").insert(unsafe { libc::gettid() });
    })
    .expect("nothing throws");
    let ours = ours.into_inner().expect("not poisoned");
    assert_eq!(ours.len(), THREADS);
    assert!(ours.is_subset(&torch), "{ours:?} are none of torch's {torch:?}");
    assert_eq!(tasks(), torch, "no thread came and none went");

    assert_eq!(runtimes().len(), 1, "{:?}", runtimes());
}
