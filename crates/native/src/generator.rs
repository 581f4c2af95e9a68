//! The generator of random numbers that libtorch uses on the host.

use super::border::{Status, check};
use super::error::Error;

unsafe extern "C" {
    safe fn ctn_generator_seed(seed: u64) -> Status;
}

/// Seeds the host's default generator, and no other; the same seed gives the values that `torch.manual_seed` gives.
///
/// `tch::manual_seed` also seeds the generator of each CUDA device. On a device whose context an earlier case broke that
/// throws, and tch does not catch it, so that the process aborts.
///
/// # Errors
/// When libtorch has no such generator.
///
/// # Examples
/// ```
/// use tch::{Device, Kind, Tensor};
///
/// let drawn = || Tensor::randn([4], (Kind::Float, Device::Cpu));
/// native::generator::seed(7)?;
/// let first = drawn();
/// native::generator::seed(7)?;
/// assert_eq!(drawn(), first);
/// # Ok::<(), native::Error>(())
/// ```
pub fn seed(seed: i64) -> Result<(), Error> {
    check(ctn_generator_seed(seed.cast_unsigned()))
}
