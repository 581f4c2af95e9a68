//! Emptying the last-level cache before a cold step.

use tch::{Device, Kind, Tensor};

use crate::workload::Refusal;

/// A buffer larger than any last-level cache, written from end to end.
///
/// 512 MiB: above the 384 MiB of L3 of the largest server processors (AMD EPYC 9684X has 1152 MiB
/// over all its dies, of which one core reaches 96), and above the 50 MB of L2 of an H100.
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
        self.buffer.f_fill_(1)?;
        Ok(())
    }
}
