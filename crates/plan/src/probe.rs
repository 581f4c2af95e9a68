//! A probe of the machine: at a size, on so many threads; and what it does, by formula.

use serde::{Deserialize, Serialize};

use crate::settings::Threads;
use crate::words::{CompileMode, Device, Dtype, Probe, SizeSet};

/// What a calibration case runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeWork {
    /// What is measured.
    pub probe: Probe,
    /// Rows and columns of the square matrices of products; bytes of one array of STREAM's; elements
    /// of the tensor of `launch` and of calls.
    pub size: u64,
    /// What distinguishes siblings; the settings have the same.
    #[serde(rename = "thread_count")]
    pub threads: Threads,
    /// How often one step of STREAM's goes over its arrays; 1 for the others.
    pub passes: u64,
}

impl ProbeWork {
    /// The probe at a size. Of STREAM's, on the CPU, a step goes over an array that fits a cache for
    /// 512 MiB, which takes a first cache some milliseconds, so that the work is long against waking
    /// threads and waiting for them, and over a larger one for 64 MiB; on a device, once.
    pub fn new(probe: Probe, size: u64, threads: Threads, device: Device) -> Self {
        const CACHED: u64 = 8 << 20;
        let step: u64 = if size <= CACHED { 512 << 20 } else { 64 << 20 };
        let passes = match (probe, device) {
            (probe, Device::Cpu) if probe.is_stream() => step.div_ceil(size.max(1)),
            _ => 1,
        };
        Self { probe, size, threads, passes }
    }

    /// The sizes of a set: of products upstream's; of STREAM's from the first cache to memory, as
    /// one thread sees them. Two or three arrays of 8 KiB fit a first cache of 32 KiB, of 128 KiB a
    /// second one of 512 KiB and more, of 4 MiB a third one of 16 MiB; 256 MiB is four times a third
    /// one of 64 MiB, as STREAM asks of memory, and 1 GiB of 256 MiB. Several threads share an array,
    /// so that each of them works on a part only, in a nearer cache.
    pub fn sizes(probe: Probe, set: SizeSet) -> Vec<u64> {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        match (probe, set) {
            (Probe::Matmul | Probe::MatmulOnednn, SizeSet::Full) => vec![512, 1024, 2048, 4096],
            (Probe::Matmul | Probe::MatmulOnednn, SizeSet::Quick) => vec![1024, 2048],
            (Probe::Launch | Probe::Call | Probe::CompiledCall, _) => vec![1],
            (_, SizeSet::Full) => {
                vec![
                    8 * KIB,
                    32 * KIB,
                    128 * KIB,
                    512 * KIB,
                    2 * MIB,
                    8 * MIB,
                    32 * MIB,
                    256 * MIB,
                    1024 * MIB,
                ]
            }
            (_, SizeSet::Quick) => vec![8 * KIB, 128 * KIB, 4 * MIB, 256 * MIB],
        }
    }

    /// The mode of `torch.compile` of what runs compiled.
    pub const fn compile(&self) -> Option<CompileMode> {
        match self.probe {
            Probe::CompiledCall => Some(CompileMode::Default),
            Probe::Matmul
            | Probe::MatmulOnednn
            | Probe::Copy
            | Probe::Scale
            | Probe::Add
            | Probe::Triad
            | Probe::Launch
            | Probe::Call => None,
        }
    }

    /// Floating-point operations of one step: 2N³ for `matmul`; for STREAM none, one, one and two
    /// for each element.
    pub fn flops(&self, dtype: Dtype) -> u64 {
        let per_element = match self.probe {
            Probe::Matmul | Probe::MatmulOnednn => {
                return self.size.saturating_pow(3).saturating_mul(2);
            }
            Probe::Copy => 0,
            Probe::Scale | Probe::Add | Probe::Launch | Probe::Call | Probe::CompiledCall => 1,
            Probe::Triad => 2,
        };
        let elements = match self.probe {
            Probe::Launch | Probe::Call | Probe::CompiledCall => self.size,
            _ => (self.size / dtype.bytes()).saturating_mul(self.passes),
        };
        elements.saturating_mul(per_element)
    }

    /// Bytes that one step reads and writes, each operand once: 3N² elements for `matmul`; STREAM's
    /// own count, two arrays for copy and scale, three for add and triad, in every pass; the
    /// tensor twice for `launch`, and for calls it and its result.
    pub fn bytes(&self, dtype: Dtype) -> u64 {
        match self.probe {
            Probe::Matmul | Probe::MatmulOnednn => {
                self.size.saturating_pow(2).saturating_mul(3).saturating_mul(dtype.bytes())
            }
            Probe::Copy | Probe::Scale | Probe::Add | Probe::Triad => {
                self.size.saturating_mul(self.probe.arrays()).saturating_mul(self.passes)
            }
            Probe::Launch | Probe::Call | Probe::CompiledCall => {
                self.size.saturating_mul(2 * dtype.bytes())
            }
        }
    }

    /// Bytes that it holds: all arrays of STREAM, or three matrices; and, of matrices, their
    /// reference in float64; of calls the tensor, its result and, beside a compiled one, the eager
    /// result.
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        let matrix = self.size.saturating_pow(2);
        match self.probe {
            Probe::Matmul | Probe::MatmulOnednn => matrix.saturating_mul(3 * dtype.bytes() + 24),
            Probe::Copy | Probe::Scale | Probe::Add | Probe::Triad => self.size.saturating_mul(3),
            Probe::Launch => self.size.saturating_mul(dtype.bytes()),
            Probe::Call | Probe::CompiledCall => self.size.saturating_mul(3 * dtype.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(probe: Probe, size: u64) -> ProbeWork {
        ProbeWork::new(probe, size, Threads::Count(1), Device::Cpu)
    }

    #[test]
    fn a_product_as_upstream_counts_it() {
        let work = of(Probe::Matmul, 1024);
        assert_eq!(work.flops(Dtype::Float32), 2_147_483_648);
        assert_eq!(work.bytes(Dtype::Float32), 3 * 1024 * 1024 * 4);
    }

    #[test]
    fn stream_counts_two_arrays_or_three() {
        for (probe, arrays, flops) in
            [(Probe::Copy, 2, 0), (Probe::Scale, 2, 1), (Probe::Add, 3, 1), (Probe::Triad, 3, 2)]
        {
            let work = of(probe, 64 << 20);
            assert_eq!(work.passes, 1);
            assert_eq!(work.bytes(Dtype::Float32), arrays * (64 << 20), "{probe}");
            assert_eq!(work.flops(Dtype::Float32), flops * (16 << 20), "{probe}");
        }
        // 16 KiB go 32768 times into 512 MiB.
        let small = of(Probe::Copy, 16 << 10);
        assert_eq!(small.passes, 32_768);
        assert_eq!(small.bytes(Dtype::Float32), 1 << 30);
        let device = ProbeWork::new(Probe::Copy, 16 << 10, Threads::Count(1), Device::Cuda);
        assert_eq!(device.bytes(Dtype::Float32), 32 << 10);
    }

    #[test]
    fn absurd_sizes_saturate() {
        let work = of(Probe::Matmul, u64::MAX);
        assert_eq!(work.flops(Dtype::Float32), u64::MAX);
        assert_eq!(of(Probe::Add, u64::MAX).bytes(Dtype::Float32), u64::MAX);
    }
}
