//! Time on a CUDA device between two points of its current stream.

use std::ffi::c_void;

use super::border::{self, Handle, Status, check};
use super::cuda::device_index;
use super::error::Error;

unsafe extern "C" {
    fn ctn_event_new(device_index: i32, out: *mut Handle) -> Status;
    fn ctn_event_record(event: *mut c_void) -> Status;
    fn ctn_event_synchronize(event: *const c_void) -> Status;
    fn ctn_event_elapsed_ms(earlier: *const c_void, later: *const c_void, out: *mut f64) -> Status;
}

/// A point in the order of a device's work. It stays on its thread, because libtorch's events are not thread-safe.
#[derive(Debug)]
pub struct Event(Handle);

impl Event {
    /// An event of a CUDA device, not recorded yet.
    pub fn new(device: usize) -> Result<Self, Error> {
        let index = device_index(device)?;
        // SAFETY: `out` is writable.
        Handle::new(|out| unsafe { ctn_event_new(index, out) }).map(Self)
    }

    /// Puts the event behind everything queued on the device's current stream. Again: moves it there.
    pub fn record(&mut self) -> Result<(), Error> {
        // SAFETY: the event lives.
        check(unsafe { ctn_event_record(self.0.as_ptr()) })
    }

    /// Waits until the device has reached the event.
    ///
    /// # Errors
    /// When the event was never recorded, or when CUDA reports an error of work queued earlier.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the event lives.
        check(unsafe { ctn_event_synchronize(self.0.as_ptr()) })
    }

    /// Nanoseconds of device time from this event to a later one; CUDA resolves about half a microsecond.
    ///
    /// # Errors
    /// When one was not recorded or not reached yet (`synchronize` the later one first), or when they are of different
    /// devices.
    pub fn elapsed_ns(&self, later: &Self) -> Result<f64, Error> {
        let (earlier, later) = (self.0.as_ptr(), later.0.as_ptr());
        // SAFETY: both events live, and `out` is writable.
        let milliseconds =
            border::value(|out| unsafe { ctn_event_elapsed_ms(earlier, later, out) })?;
        Ok(milliseconds * 1e6)
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
