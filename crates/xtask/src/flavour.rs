//! What of libtorch is provisioned: with CUDA or without.

use std::fmt;

use crate::driver::Driver;
use crate::python::Requirement;
use ::libtorch::VERSION;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// The wheel without its CUDA kernels: they would need gigabytes of further libraries.
    Cpu,
    /// The wheel with everything that it depends on.
    Cuda,
}

impl Flavour {
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Cuda];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }

    /// CUDA where a driver can use it.
    pub fn for_machine(driver: Option<&Driver>) -> Self {
        if driver.is_some() { Self::Cuda } else { Self::Cpu }
    }

    /// What pip is asked for, of the platform that this runs on. The wheel's CPU library itself loads the CUDA runtime and its profiling
    /// interface (a few megabytes, no driver needed), so Linux needs these two in either flavour; the
    /// versions are those that the wheel's own requirements resolve to.
    pub fn requirements(self) -> Vec<Requirement> {
        self.requirements_on(std::env::consts::OS, std::env::consts::ARCH)
    }

    fn requirements_on(self, os: &str, arch: &str) -> Vec<Requirement> {
        let mut wanted = vec![format!("torch=={VERSION}")];
        if self == Self::Cpu && os == "linux" {
            wanted.push("nvidia-cuda-runtime==13.0.96".into());
            wanted.push("nvidia-cuda-cupti==13.0.85".into());
        }
        let pinned = |what: String| {
            let is_it = |it: &&(&str, &str, &str, &str)| (it.0, it.1, it.2) == (os, arch, &*what);
            let sha256 = HASHES.iter().find(is_it).map(|it| it.3);
            Requirement { what, sha256 }
        };
        wanted.into_iter().map(pinned).collect()
    }

    /// Whether pip may follow the wheel's own requirements.
    pub fn with_dependencies(self) -> bool {
        self == Self::Cuda
    }

    /// Measured on x86_64; for the line that tells people what they are about to download.
    pub fn download(self) -> &'static str {
        match self {
            Self::Cpu if cfg!(target_os = "macos") => "81 MB to download, 0.4 GB kept",
            Self::Cpu => "540 MB to download, 0.8 GB kept",
            Self::Cuda => "2.7 GB to download, 4.9 GB kept",
        }
    }

    /// What the disk must hold for a while: the wheels and all that is unpacked from them. Measured
    /// 1.8 GB and 7.6 GB.
    pub fn room(self) -> u64 {
        match self {
            Self::Cpu => 2_000_000_000,
            Self::Cuda => 8_000_000_000,
        }
    }
}

/// System, processor, what is asked for, and the SHA-256 of its wheel; of torch, that for
/// [`WHEELS_OF`](crate::python::WHEELS_OF). A new version of one has a new hash here, as
/// `pip install --dry-run --report` shows it.
const HASHES: &[(&str, &str, &str, &str)] = &[
    (
        "linux",
        "x86_64",
        "torch==2.11.0",
        "0f68f4ac6d95d12e896c3b7a912b5871619542ec54d3649cf48cc1edd4dd2756",
    ),
    (
        "linux",
        "x86_64",
        "nvidia-cuda-runtime==13.0.96",
        "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
    ),
    (
        "linux",
        "x86_64",
        "nvidia-cuda-cupti==13.0.85",
        "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
    ),
    (
        "linux",
        "aarch64",
        "torch==2.11.0",
        "f99924682ef0aa6a4ab3b1b76f40dc6e273fca09f367d15a524266db100a723f",
    ),
    (
        "linux",
        "aarch64",
        "nvidia-cuda-runtime==13.0.96",
        "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
    ),
    (
        "linux",
        "aarch64",
        "nvidia-cuda-cupti==13.0.85",
        "796bd679890ee55fb14a94629b698b6db54bcfd833d391d5e94017dd9d7d3151",
    ),
    (
        "macos",
        "aarch64",
        "torch==2.11.0",
        "4b5866312ee6e52ea625cd211dcb97d6a2cdc1131a5f15cc0d87eec948f6dd34",
    ),
];

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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

    #[test]
    fn every_flavour_starts_from_the_same_wheel() {
        for flavour in Flavour::ALL {
            assert_eq!(flavour.requirements()[0].what, "torch==2.11.0");
        }
        assert_eq!(Flavour::Cuda.requirements().len(), 1);
    }

    #[test]
    fn every_wheel_of_a_platform_with_wheels_has_its_hash() {
        for (os, arch, wheels) in
            [("linux", "x86_64", 3), ("linux", "aarch64", 3), ("macos", "aarch64", 1)]
        {
            let requirements = Flavour::Cpu.requirements_on(os, arch);
            assert_eq!(requirements.len(), wheels);
            for Requirement { what, sha256 } in requirements {
                let hash = sha256.unwrap_or_else(|| panic!("{what} on {os} {arch} has no hash"));
                assert!(
                    hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit()),
                    "{hash}"
                );
            }
        }
        let elsewhere = Flavour::Cpu.requirements_on("macos", "x86_64");
        assert!(elsewhere.iter().all(|it| it.sha256.is_none()));
    }
}
