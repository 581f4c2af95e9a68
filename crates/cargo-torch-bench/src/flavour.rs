//! The two kinds of libtorch that are provisioned: with CUDA or without.

use std::fmt;

use serde::Serialize;

use crate::driver::Driver;
use ::libtorch::Libtorch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// The wheel without its CUDA kernels: they would need gigabytes of further libraries.
    Cpu,
    /// The wheel with everything that it depends on.
    Cuda,
}

impl Flavour {
    pub fn from_libtorch(libtorch: &Libtorch) -> Self {
        if libtorch.has_cuda { Self::Cuda } else { Self::Cpu }
    }

    /// CUDA where a driver can use it.
    pub fn for_machine(driver: Option<&Driver>) -> Self {
        if driver.is_some() { Self::Cuda } else { Self::Cpu }
    }

    /// The wheels with their hashes. CONTRIBUTING.md says how the files are made.
    pub fn requirements(self) -> &'static str {
        match self {
            Self::Cpu => include_str!("../requirements/cpu.txt"),
            Self::Cuda => include_str!("../requirements/cuda.txt"),
        }
    }

    /// Measured on x86_64; for the line that tells people what they are about to download.
    pub fn download(self) -> &'static str {
        match self {
            Self::Cpu if cfg!(target_os = "macos") => "81 MB to download, 0.4 GB kept",
            Self::Cpu => "540 MB to download, 0.8 GB kept",
            Self::Cuda => "2.7 GB to download, 4.9 GB kept",
        }
    }

    /// The room that an installation takes for a while: the wheels and all that is unpacked from them. Measured
    /// 1.8 GB and 7.6 GB.
    pub fn room(self) -> u64 {
        match self {
            Self::Cpu => 2_000_000_000,
            Self::Cuda => 8_000_000_000,
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_decides() {
        let driver = Driver { evidence: "/dev/nvidia0".into(), version: None };
        assert_eq!(Flavour::for_machine(Some(&driver)), Flavour::Cuda);
        assert_eq!(Flavour::for_machine(None), Flavour::Cpu);
    }
}
