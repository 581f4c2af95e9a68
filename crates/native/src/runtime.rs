//! Facts about the libtorch that is loaded: circumstances without which a number means nothing.

use super::border::{self, Status, TextOut};
use super::error::Error;

unsafe extern "C" {
    fn ctn_runtime_version(out: TextOut) -> Status;
    fn ctn_runtime_cpu_capability(out: TextOut) -> Status;
    fn ctn_runtime_configuration(out: TextOut) -> Status;
    fn ctn_runtime_has_hip(out: *mut bool) -> Status;
}

/// libtorch's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Such as `2.11.0`; of the loaded library, not of the headers.
    pub torch_version: String,
    /// The instruction set that ATen's kernels were chosen for: `DEFAULT`, `AVX2`, `AVX512`, …
    pub cpu_capability: String,
    /// How libtorch was built; several lines.
    pub configuration: String,
}

/// Asks libtorch for its facts.
pub fn facts() -> Result<Runtime, Error> {
    Ok(Runtime {
        // SAFETY: `out` is writable.
        torch_version: border::text(|out| unsafe { ctn_runtime_version(out) })?,
        // SAFETY: as above.
        cpu_capability: border::text(|out| unsafe { ctn_runtime_cpu_capability(out) })?,
        // SAFETY: as above.
        configuration: border::text(|out| unsafe { ctn_runtime_configuration(out) })?,
    })
}

/// Whether libtorch was built for AMD's GPUs, with HIP.
pub fn has_hip() -> Result<bool, Error> {
    let mut out = false;
    // SAFETY: `out` is writable.
    border::check(unsafe { ctn_runtime_has_hip(&raw mut out) })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_those_of_this_libtorch() {
        let facts = facts().expect("always answers");
        println!("{facts:#?}");
        assert_eq!(libtorch::release(&facts.torch_version), libtorch::VERSION);
        assert!(facts.configuration.contains("PyTorch built with"), "{}", facts.configuration);
        assert!(facts.configuration.contains(&facts.cpu_capability), "{}", facts.cpu_capability);
    }

    #[test]
    fn hip_is_what_libtorch_was_built_with() {
        let is_built_with = facts().expect("always answers").configuration.contains("HIP Runtime");
        assert_eq!(has_hip(), Ok(is_built_with));
    }
}
