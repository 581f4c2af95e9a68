//! Emptying the last-level cache before a cold step.

use plan::cost;
use tch::{Device, Kind, Tensor};

use crate::native::cuda;
use crate::refusal::Refusal;

/// Bytes written per byte of a GPU's L2. Once its size is enough for a cache that replaces what was
/// used longest ago; L2 caches hash addresses and keep lines by rules of their own.
const PER_L2: u64 = 2;

/// A buffer larger than the cache, written from end to end.
#[derive(Debug)]
pub struct Flush {
    buffer: Tensor,
    device: Device,
}

impl Flush {
    /// Allocates the buffer: [`cost::FLUSH_BYTES`] on the host, on a GPU what its L2 takes.
    pub fn new(device: Device) -> Result<Self, Refusal> {
        let bytes = match device {
            Device::Cuda(index) => gpu_bytes(cuda::device(index)?.l2_bytes),
            _ => cost::FLUSH_BYTES,
        };
        let bytes = i64::try_from(bytes).expect("a cache is not that large");
        let buffer = Tensor::f_zeros([bytes], (Kind::Uint8, device))?;
        Ok(Self { buffer, device })
    }

    /// Writes the whole buffer; on a GPU, in the order of the stream, before what is queued next.
    pub fn run(&mut self) -> Result<(), Refusal> {
        if let Device::Cuda(index) = self.device {
            cuda::reset_persisting_l2(index)?;
        }
        drop(self.buffer.f_fill_(1)?);
        Ok(())
    }
}

/// A driver that does not tell the size of the L2 says 0; every GPU that libtorch runs on has one.
fn gpu_bytes(l2_bytes: u64) -> u64 {
    if l2_bytes == 0 { cost::FLUSH_BYTES } else { PER_L2 * l2_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_writes_twice_its_l2() {
        // An H200's 50 MiB.
        assert_eq!(gpu_bytes(50 << 20), 100 << 20);
        assert_eq!(gpu_bytes(0), cost::FLUSH_BYTES);
    }

    #[test]
    fn the_whole_buffer_is_written() {
        let buffer = Tensor::zeros([4096], (Kind::Uint8, Device::Cpu));
        let mut flush = Flush { buffer, device: Device::Cpu };
        flush.run().expect("a fill");
        assert_eq!(flush.buffer.sum(Kind::Int64).int64_value(&[]), 4096);
    }

    #[test]
    fn without_a_gpu_it_says_why() {
        if tch::Cuda::is_available() {
            crate::skip::hardware("there is a CUDA device");
            return;
        }
        let refusal = Flush::new(Device::Cuda(0)).expect_err("no device");
        assert!(refusal.to_string().contains("CUDA"), "{refusal}");
    }
}
