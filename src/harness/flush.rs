//! Emptying the last-level cache: before a cold step, and of a GPU before a hot case has its turn.

use kernels::cuda::{Argument, Function, Grid, Module};
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

/// A GPU's L2 with nothing in it, as a case that runs alone finds it.
///
/// A kernel that reads with the hint `evict_first`, as reductions of Inductor's do, does not displace the data of another
/// case: it would read its weight from memory for ever, in pairs and not alone. So the lines of the other are displaced by
/// those of a buffer, and these are discarded.
#[derive(Debug)]
pub struct EmptyL2 {
    flush: Flush,
    discard: Function,
}

/// Bytes that one thread discards.
const LINE: u32 = 128;
const THREADS: u32 = 256;
/// The kernel, which the driver compiles.
const DISCARD: &str = concat!(include_str!("discard.ptx"), "\0");

impl EmptyL2 {
    /// Allocates the buffer.
    ///
    /// # Errors
    /// When the driver refuses the kernel: GPUs before Ampere cannot discard. Out of memory.
    pub fn new(device: usize) -> Result<Self, Refusal> {
        let module = Module::load_cubin("discard.ptx", device, || Ok(DISCARD.as_bytes().to_vec()))?;
        let discard = module.function("criterion_torch_discard")?;
        Ok(Self { flush: Flush::new(Device::Cuda(device))?, discard })
    }

    /// Empties it, in the order of the stream.
    pub fn run(&mut self) -> Result<(), Refusal> {
        self.flush.run()?;
        let buffer = &self.flush.buffer;
        // The buffer is smaller than 2³² lines, and the rest of its last one may stay.
        let lines = u32::try_from(buffer.numel() / LINE as usize).unwrap_or(u32::MAX);
        let grid = Grid { blocks: (lines.div_ceil(THREADS), 1), threads: THREADS };
        let arguments = [Argument::pointer(buffer), Argument::Long(lines.into())];
        // SAFETY: a 64-bit address and a 64-bit count are the kernel's parameters, and so many whole lines lie in the buffer,
        // whose first byte an allocation of libtorch's begins with: a multiple of 512.
        Ok(unsafe { self.discard.launch(grid, &arguments) }?)
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
    fn an_empty_l2_holds_what_reads_with_the_first_to_go() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let mut empty = EmptyL2::new(0).expect("the driver compiles it");
        empty.run().expect("queued");
        cuda::synchronize(0).expect("done");
    }

    #[test]
    fn without_a_gpu_it_says_why() {
        if tch::Cuda::is_available() {
            crate::skip::hardware("there is a CUDA device");
            return;
        }
        let refusal = Flush::new(Device::Cuda(0)).expect_err("no device");
        assert!(refusal.to_string().contains("CUDA"), "{refusal}");
        let refusal = EmptyL2::new(0).expect_err("no driver").to_string();
        assert!(refusal.contains("libcuda") || refusal.contains("CUDA"), "{refusal}");
    }
}
