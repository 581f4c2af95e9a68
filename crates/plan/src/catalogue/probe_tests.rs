use super::*;

fn probe_work(probe: Probe, size: u64) -> ProbeWork {
    ProbeWork::new(probe, size, Threads::Count(1), Device::Cpu)
}

#[test]
fn a_product_as_upstream_counts_it() {
    let work = probe_work(Probe::Matmul, 1024);
    assert_eq!(work.flops(Dtype::Float32), 2_147_483_648);
    assert_eq!(work.bytes(Dtype::Float32), 3 * 1024 * 1024 * 4);
}

#[test]
fn stream_counts_two_arrays_or_three() {
    for (probe, arrays, flops) in
        [(Probe::Copy, 2, 0), (Probe::Scale, 2, 1), (Probe::Add, 3, 1), (Probe::Triad, 3, 2)]
    {
        let work = probe_work(probe, 64 << 20);
        assert_eq!(work.passes, 1);
        assert_eq!(work.bytes(Dtype::Float32), arrays * (64 << 20), "{probe}");
        assert_eq!(work.flops(Dtype::Float32), flops * (16 << 20), "{probe}");
    }
    // 16 KiB go 32768 times into 512 MiB.
    let small = probe_work(Probe::Copy, 16 << 10);
    assert_eq!(small.passes, 32_768);
    assert_eq!(small.bytes(Dtype::Float32), 1 << 30);
    let device = ProbeWork::new(Probe::Copy, 16 << 10, Threads::Count(1), Device::Cuda);
    assert_eq!(device.bytes(Dtype::Float32), 32 << 10);
}

#[test]
fn absurd_sizes_saturate() {
    let work = probe_work(Probe::Matmul, u64::MAX);
    assert_eq!(work.flops(Dtype::Float32), u64::MAX);
    assert_eq!(probe_work(Probe::Add, u64::MAX).bytes(Dtype::Float32), u64::MAX);
}
