//! The NVIDIA driver, found without loading it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ask::ask;

/// The driver that CUDA 13.0 asks for, with which the wheel is built.
pub const OLDEST_FOR_CUDA_13: u32 = 580;

#[derive(Debug, PartialEq, Eq)]
pub struct Driver {
    /// The file that gave it away.
    pub evidence: PathBuf,
    pub version: Option<String>,
}

impl Driver {
    pub fn find() -> Option<Self> {
        Self::find_under(Path::new("/")).or_else(|| {
            let evidence = in_loader_cache()?;
            Some(Self { evidence, version: None })
        })
    }

    fn find_under(root: &Path) -> Option<Self> {
        let under = |path: &str| root.join(path);
        let version = fs::read_to_string(under(VERSION_FILE)).ok();
        if let Some(text) = version {
            return Some(Self { evidence: under(VERSION_FILE), version: parse_version(&text) });
        }
        let devices = ["dev/nvidia0".to_owned()].into_iter();
        let libraries = LIBRARY_FOLDERS.iter().map(|folder| format!("{folder}/libcuda.so.1"));
        devices
            .chain(libraries)
            .map(|path| under(&path))
            .find(|path| path.exists())
            .map(|evidence| Self { evidence, version: None })
    }

    /// "580" of "580.82.07".
    pub fn major(&self) -> Option<u32> {
        self.version.as_deref()?.split('.').next()?.parse().ok()
    }
}

const VERSION_FILE: &str = "proc/driver/nvidia/version";

/// The loader's own folders, WSL's, and where container runtimes mount the driver.
const LIBRARY_FOLDERS: [&str; 6] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/lib/wsl/lib",
    "usr/local/nvidia/lib64",
];

/// The kernel module's line ends in a build date, so the version is the first word like "580.82.07".
fn parse_version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_whitespace()
        .find(|word| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok()))
        .map(str::to_owned)
}

fn in_loader_cache() -> Option<PathBuf> {
    // /sbin is not on every user's PATH.
    let output =
        ["ldconfig", "/sbin/ldconfig"].iter().find_map(|program| ask(program, ["-p"]).ok())?;
    parse_loader_cache(&String::from_utf8_lossy(&output.stdout))
}

/// CUDA's container images carry a `compat` copy of libcuda without any driver behind it.
fn parse_loader_cache(text: &str) -> Option<PathBuf> {
    text.lines()
        .filter(|line| line.trim_start().starts_with("libcuda.so.1 "))
        .filter_map(|line| line.split(" => ").nth(1))
        .find(|path| !path.contains("/compat/"))
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kernel_modules_state_their_version() {
        for (text, version) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 \
                 UTC 2023\nGCC version:  gcc version 12.3.0\n",
                "535.104.05",
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release \
                 Build  (dvs-builder@U22)  Thu Aug 28\n",
                "580.82.07",
            ),
        ] {
            assert_eq!(parse_version(text).as_deref(), Some(version));
        }
        assert_eq!(parse_version("GCC version:  gcc version 12.3.0"), None);
    }

    #[test]
    fn the_loader_cache_is_searched_for_a_real_driver() {
        let compat = "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda-13/compat/libcuda.so.1\n";
        let real = "\tlibcuda.so.1 (libc6,x86-64) => /opt/driver/libcuda.so.1\n";
        assert_eq!(parse_loader_cache("\tlibcudart.so.13 (libc6) => /x/libcudart.so.13\n"), None);
        assert_eq!(parse_loader_cache(compat), None);
        assert_eq!(
            parse_loader_cache(&format!("{compat}{real}")),
            Some("/opt/driver/libcuda.so.1".into())
        );
    }

    #[test]
    fn each_trace_of_a_driver_is_enough() {
        let root = std::env::temp_dir().join(format!("xtask-driver-{}", std::process::id()));
        assert_eq!(Driver::find_under(&root), None);
        for (file, text, version) in [
            ("usr/lib/wsl/lib/libcuda.so.1", "elf", None),
            ("dev/nvidia0", "", None),
            (
                VERSION_FILE,
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module 580.65.06 x\n",
                Some(580),
            ),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder"))
                .expect("make a scratch folder");
            fs::write(&path, text).expect("write a scratch file");
            let driver = Driver::find_under(&root).expect("a trace is there");
            assert_eq!((&driver.evidence, driver.major()), (&path, version));
        }
        fs::remove_dir_all(&root).expect("remove the scratch folder");
    }
}
