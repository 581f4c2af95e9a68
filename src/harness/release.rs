//! Memory of one case, given back before the next.

use plan::Device;

use crate::native::allocator::{self, Retention};
use crate::native::cuda;

/// The case's tensors are gone; gives their memory back, so that the next case does not inherit it.
pub fn release(device: Device) {
    let on_host = match allocator::retention() {
        Retention::Retained => allocator::release().map(drop),
        Retention::System => Ok(()),
    };
    let on_device = match device {
        Device::Cuda if tch::Cuda::is_available() => cuda::empty_cache(),
        _ => Ok(()),
    };
    for error in [on_host, on_device].into_iter().filter_map(Result::err) {
        eprintln!("note: freed memory was not given back: {error}");
    }
}
