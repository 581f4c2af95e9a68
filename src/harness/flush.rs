//! Emptying the last-level cache before a cold step.

use plan::cost;
use tch::{Device, Kind, Tensor};

use crate::workload::Refusal;

/// A buffer of [`cost::FLUSH_BYTES`], written from end to end.
#[derive(Debug)]
pub struct Flush {
    buffer: Tensor,
}

impl Flush {
    /// Allocates the buffer.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn new(device: Device) -> Result<Self, Refusal> {
        let bytes = i64::try_from(cost::FLUSH_BYTES).expect("a small constant");
        let buffer = Tensor::f_zeros([bytes], (Kind::Uint8, device))?;
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
