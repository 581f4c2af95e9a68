//! The counted memory of plain Rust. Alone in its process, because all threads count.

use std::process::ExitCode;

use criterion_torch::measurement::{memory, rust_memory};
use criterion_torch::native::memory::DeviceMemory;
use plan::Device;
use tch::{Kind, Tensor};

#[global_allocator]
static ALLOCATOR: rust_memory::Counting = rust_memory::Counting;

fn main() -> ExitCode {
    plain_rust_is_its_bytes();
    what_was_there_before_does_not_count();
    other_threads_count();
    a_tensor_is_counted_once();
    a_panic_ends_the_count();
    too_many_blocks_are_no_count();
    println!("test result: ok. 6 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
    ExitCode::SUCCESS
}

fn tracked<T>(work: impl FnOnce() -> T) -> (T, DeviceMemory) {
    let (value, counted) = memory::track(Device::Cpu, work).expect("nothing else tracks");
    (value, counted.expect("few blocks"))
}

fn memory(peak_bytes: u64, live_bytes: i64, total_bytes: u64, allocations: u64) -> DeviceMemory {
    DeviceMemory { peak_bytes, live_bytes, total_bytes, allocations }
}

/// The work is done all the same.
fn too_many_blocks_are_no_count() {
    const BLOCKS: u64 = 200_000;
    let many = || (0..BLOCKS).map(Box::new).collect::<Vec<_>>();
    let (kept, counted) = memory::track(Device::Cpu, many).expect("nothing else tracks");
    assert_eq!(kept.len() as u64, BLOCKS);
    let reason = counted.expect_err("more than there is room for");
    assert!(reason.contains("196608 blocks"), "{reason}");
    drop(kept);
    let (kept, found) = tracked(|| Box::new(7_u64));
    assert_eq!(found, memory(8, 8, 8, 1), "{kept}: the next one counts");
}

fn plain_rust_is_its_bytes() {
    let (kept, found) = tracked(|| {
        drop(std::hint::black_box(vec![0_u8; 1000]));
        (vec![1.5_f64; 100], Box::new(7_u32))
    });
    assert_eq!(found, memory(1000, 804, 1804, 3), "{kept:?}");
    let (kept, found) = tracked(|| {
        let mut grows: Vec<u8> = Vec::with_capacity(100);
        grows.push(1);
        grows.reserve_exact(299);
        grows
    });
    assert_eq!(found, memory(300, 300, 400, 2), "{kept:?}");
    let ((), nothing) = tracked(|| ());
    assert_eq!(nothing, DeviceMemory::default());
    drop(std::hint::black_box(vec![0_u8; 1000]));
    let ((), nothing) = tracked(|| ());
    assert_eq!(nothing, DeviceMemory::default(), "between two counts");
}

fn what_was_there_before_does_not_count() {
    let mut before = vec![1_u8; 500];
    let mut output = vec![0_u8; 300];
    let (kept, found) = tracked(|| {
        drop(std::mem::take(&mut before));
        // Another output for the one before, as a function's step has.
        output = std::hint::black_box(vec![2_u8; 300]);
        output.len()
    });
    assert_eq!(found, memory(300, 300, 300, 1), "{kept}");
}

fn other_threads_count() {
    let (kept, found) = tracked(|| {
        std::thread::scope(|threads| {
            threads.spawn(|| vec![0_u8; 100_000]).join().expect("it does not panic")
        })
    });
    // A thread's own memory counts, too.
    assert!(found.live_bytes >= 100_000 && found.peak_bytes < 110_000, "{found:?}, {}", kept.len());
}

fn a_tensor_is_counted_once() {
    let (kept, found) = tracked(|| Tensor::f_zeros([1000], (Kind::Float, tch::Device::Cpu)));
    assert_eq!(found, memory(4000, 4000, 4000, 1), "{kept:?}");
    let (kept, found) = tracked(|| {
        let values = vec![1.0_f32; 1000];
        Tensor::f_from_slice(&values)
    });
    assert_eq!((found.live_bytes, found.allocations), (4000, 2), "{kept:?}");
}

fn a_panic_ends_the_count() {
    std::panic::set_hook(Box::new(|_| ()));
    let panicked = std::panic::catch_unwind(|| tracked(|| panic!("on purpose")));
    assert!(panicked.is_err());
    let (kept, found) = tracked(|| vec![0_u8; 10]);
    assert_eq!(found, memory(10, 10, 10, 1), "{kept:?}");
}
