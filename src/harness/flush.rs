//! Emptying the last-level cache before a cold step.

use tch::{Device, Kind, Tensor};

use crate::workload::Refusal;

/// A buffer larger than any cache that one device reaches, written from end to end.
///
/// 512 MiB: the largest L3 of a server processor is 504 MB (Intel Xeon 6980P; on AMD's, one core
/// reaches at most 96 MB of its own die), the L2 of an NVIDIA B200 126 MB.
#[derive(Debug)]
pub struct Flush {
    buffer: Tensor,
}

const BYTES: i64 = 512 << 20;

impl Flush {
    /// Allocates the buffer.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn new(device: Device) -> Result<Self, Refusal> {
        let buffer = Tensor::f_zeros([BYTES], (Kind::Uint8, device))?;
        Ok(Self { buffer })
    }

    /// Writes the whole buffer; on a GPU, in the order of the stream, before what is queued next.
    ///
    /// # Errors
    /// The device's.
    pub fn run(&mut self) -> Result<(), Refusal> {
        drop(self.buffer.f_fill_(1)?);
        Ok(())
    }
}
