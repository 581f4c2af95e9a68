//! An error of the CUDA device that stays.
//!
//! After an illegal access or a failed assertion in a kernel, the device reports that error again at
//! each later call of the process. It is the error of one case, so the cases after it are not `failed`
//! for it: they are `skipped`, by the name of the one that caused it.

use std::cell::RefCell;

use plan::Device;

use crate::native::{self, cuda};

/// Waits for the device, and says what error it reports.
type Synchronize = fn() -> Result<(), native::Error>;

/// Whether the CUDA device has an error that stays.
pub struct Fault {
    synchronize: Synchronize,
    reason: RefCell<Option<String>>,
}

impl Default for Fault {
    fn default() -> Self {
        Self::new(|| match tch::Cuda::is_available() {
            true => cuda::synchronize(0),
            // Nothing was run on a device that is absent.
            false => Ok(()),
        })
    }
}

impl Fault {
    /// The device works so far.
    pub fn new(synchronize: Synchronize) -> Self {
        Self { synchronize, reason: RefCell::default() }
    }

    /// The case `full_id` on `device` ended with `error`: finds out whether that error stays.
    pub fn look(&self, device: Device, full_id: &str, error: &str) {
        if device == Device::Cuda && self.reason.borrow().is_none() && (self.synchronize)().is_err()
        {
            self.reason.replace(Some(format!(
                "{device}: every call has failed since `{full_id}`: {error}; run the other cases without \
                 that one"
            )));
        }
    }

    /// Why nothing more can be run on `device`; none where it works.
    pub fn reason(&self, device: Device) -> Option<String> {
        if device == Device::Cuda { self.reason.borrow().clone() } else { None }
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
