//! How the checks of a GPU judge what they have measured.

use criterion_torch::harness::self_test::StepTimes;
use criterion_torch::native::memory::DeviceMemory;
use criterion_torch::refusal::Refusal;
use plan::Energy;

use crate::check::Finding;
use crate::gpu::{device_copy, device_memory, energy, fault, flush, launches};

const MIB: i64 = 1 << 20;

fn failures(findings: impl IntoIterator<Item = Finding>) -> Vec<bool> {
    findings.into_iter().map(|finding| finding.is_failure()).collect()
}

#[test]
fn an_open_step_takes_as_long_as_the_slower_side() {
    let failures = |queue_ns, open_ns, hidden_ns, late| {
        let times = StepTimes { queue_ns, open_ns, hidden_ns, steps: 200, samples: 15, late };
        failures(launches::judge(&times))
    };
    assert_eq!(failures(4000.0, 4300.0, 1500.0, 0), [false, false, false]);
    // The device is the slower one.
    assert_eq!(failures(1500.0, 4300.0, 4000.0, 0), [false, false, false]);
    assert_eq!(failures(4000.0, 1400.0, 1500.0, 1), [true, true, true]);
    assert_eq!(failures(4000.0, 9000.0, 1500.0, 0), [false, false, true]);
}

#[test]
fn a_flush_that_does_nothing_shows() {
    // 10 MiB, 2000 GB/s from memory and 5000 from the L2.
    let failures = |cold_ns| {
        let (l2, bytes) = (40 << 20, 10 << 20);
        let times = flush::Times { l2, bytes, cold_ns, hot_ns: 4200.0, gib_ns: 1_073_742.0 };
        failures(flush::judge(&times))
    };
    assert_eq!(failures(11_000.0), [false, false]);
    assert_eq!(failures(4200.0), [true, true]);
    assert_eq!(failures(5500.0), [false, true]);
}

#[test]
fn a_count_of_memory_that_is_off_shows() {
    let bytes = 1_049_088;
    let found =
        DeviceMemory { peak_bytes: bytes, live_bytes: 0, total_bytes: bytes, allocations: 1 };
    let fails = |found, bytes, allocations| {
        device_memory::judge("it", &found, bytes, allocations).is_failure()
    };
    assert!(!fails(found, bytes, 1));
    assert!(fails(found, bytes - 412, 1), "not rounded up");
    assert!(fails(found, bytes, 2));
    assert!(fails(DeviceMemory { total_bytes: 0, ..found }, bytes, 1));
}

#[test]
fn memory_that_is_not_taken_or_not_given_back_shows() {
    let failures =
        |during, after| failures(device_memory::driver([1000 * MIB, during * MIB, after * MIB]));
    assert_eq!(failures(740, 1000), [false, false]);
    assert_eq!(failures(1000, 1000), [true, false]);
    assert_eq!(failures(744, 744), [false, true]);
}

#[test]
fn windows_that_disagree_show() {
    let energy = |watts| Energy {
        joules: 1.0,
        watts,
        idle_watts: None,
        idle_subtracted: false,
        window_s: 1.0,
        iters: 100,
        method: "a counter".to_owned(),
    };
    let fails = |short, long| energy::judge(&energy(short), &energy(long), "").is_failure();
    assert!(!fails(310.0, 300.0));
    assert!(fails(280.0, 300.0));
    assert!(fails(f64::NAN, 300.0));
    assert!(fails(0.0, 0.0));
}

#[test]
fn only_out_of_memory_with_its_sizes_passes() {
    let fails = |refusal| device_memory::judge_refusal(170_000_000_000, refusal).is_failure();
    let text = "CUDA out of memory. Tried to allocate 158.32 GiB. GPU 0 has a total capacity of \
                79.11 GiB of which 78.60 GiB is free.";
    assert!(!fails(Some(Refusal::Oom(text.to_owned()))));
    assert!(fails(Some(Refusal::Failed(text.to_owned()))));
    assert!(fails(Some(Refusal::Oom("CUDA error: out of memory".to_owned()))));
    assert!(fails(None));
}

#[test]
fn only_an_illegal_access_is_the_fault_that_was_provoked() {
    let fails = |result| fault::refused("it", &result).is_failure();
    let failed = |text: &str| Err(Refusal::Failed(text.to_owned()));
    assert!(!fails(failed("CUDA error: an illegal memory access was encountered")));
    assert!(fails(failed("CUDA error: invalid configuration argument")));
    assert!(fails(Ok(())));
    assert!(fault::lasting(None).is_failure());
    assert!(!fault::lasting(Some("cuda: every call has failed".to_owned())).is_failure());
}

#[test]
fn a_kernel_is_held_against_a_copy_of_its_own_bytes() {
    use device_copy::{moved, share};
    assert_eq!([0, 50 << 20, 126 << 20].map(moved), [256 * MIB, 256 * MIB, 504 * MIB]);
    assert_eq!(share(96.0, 1024, 64.0, 1024), 1.5);
    assert_eq!(share(96.0, 512, 64.0, 1024), 3.0);
}
