//! Time on a CUDA device between two points of its current stream.

use crate::sys as shim;

use super::cuda::device_index;
use super::error::{Error, check};

/// A point in the order of a device's work.
///
/// Stays on its thread, because libtorch's events are not thread-safe (the pointer makes it neither `Send` nor `Sync`).
#[derive(Debug)]
pub struct Event(*mut shim::DeviceEvent);

impl Event {
    /// An event of a CUDA device, not recorded yet.
    ///
    /// # Errors
    /// When libtorch has no CUDA, or no such device.
    pub fn new(device: usize) -> Result<Self, Error> {
        let index = device_index(device)?;
        let mut event = std::ptr::null_mut();
        // SAFETY: `event` is writable.
        check(unsafe { shim::ctn_event_new(index, &mut event) })?;
        Ok(Self(event))
    }

    /// Puts the event behind everything queued on the device's current stream. Again: moves it there.
    ///
    /// # Errors
    /// When CUDA reports one, possibly of work queued earlier.
    pub fn record(&mut self) -> Result<(), Error> {
        // SAFETY: the event lives until `self` is dropped.
        check(unsafe { shim::ctn_event_record(self.0) })
    }

    /// Waits until the device has reached the event.
    ///
    /// # Errors
    /// When the event was never recorded, or when CUDA reports an error of work queued earlier.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the event lives until `self` is dropped.
        check(unsafe { shim::ctn_event_synchronize(self.0) })
    }

    /// Nanoseconds of device time from this event to a later one; CUDA resolves about half a microsecond.
    ///
    /// # Errors
    /// When one was not recorded or not reached yet (`synchronize` the later one first), or when they are of different
    /// devices.
    pub fn elapsed_ns(&self, later: &Self) -> Result<f64, Error> {
        let mut milliseconds = 0.0;
        // SAFETY: both events live until they are dropped, and `milliseconds` is writable.
        check(unsafe { shim::ctn_event_elapsed_ms(self.0, later.0, &mut milliseconds) })?;
        Ok(milliseconds * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the pointer.
        unsafe { shim::ctn_event_free(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::*;

    #[test]
    fn without_a_device_it_says_why() {
        let devices = usize::try_from(tch::Cuda::device_count()).expect("a count");
        let error = Event::new(devices).expect_err("one past the last device");
        let message = error.to_string();
        assert!(message.contains("CUDA"), "{message}");
        assert!(Event::new(usize::MAX).is_err());
    }

    #[test]
    fn longer_work_takes_longer() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let x = Tensor::rand([2048, 2048], (Kind::Float, Device::Cuda(0)));
        let elapsed = |rounds: usize| {
            let mut start = Event::new(0).expect("device 0 is there");
            let mut stop = Event::new(0).expect("device 0 is there");
            assert!(start.synchronize().is_err(), "not recorded yet");
            start.record().expect("recorded");
            for _ in 0..rounds {
                drop(x.matmul(&x));
            }
            stop.record().expect("recorded");
            stop.synchronize().expect("reached");
            start.elapsed_ns(&stop).expect("both reached")
        };
        // The first call also loads cuBLAS.
        elapsed(1);
        assert!(elapsed(100) > elapsed(1));
    }
}
