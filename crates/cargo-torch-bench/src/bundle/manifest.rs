//! The manifest of a bundle: what is in it, and what it needs of a host.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::version::Version;
use crate::error::{Error, Result};
use crate::files;

/// Its name in the bundle.
pub const FILE: &str = "manifest.json";
/// The plan's, as `criterion-report plan --format json` writes it.
pub const PLAN: &str = "plan.json";
/// The checksums', in the form of sha256sum.
pub const CHECKSUMS: &str = "SHA256SUMS";
/// The program that starts everything: a shell script, as it has to say why a program cannot be started.
pub const LAUNCHER: &str = "torch-bench-run";
/// The program that the launcher starts.
pub const RUNNER: &str = "bin/torch-bench-run";
/// Libraries of the compiler that a host may lack.
pub const SYSTEM: &str = "lib/system";
/// The folder in the place of the cache, with compiled packages.
pub const CACHE: &str = "cache";
/// A stand-in that tells the version of the compiler by which the packages were compiled.
pub const COMPILER: &str = "cache/c++";

/// The word of `bundle` by which it has the programs of gpu-check.
pub const GPU_CHECK: &str = "--gpu-check";

/// The form of the manifest. A runner reads its own only.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// The version of cargo-torch-bench that made it.
    pub version: String,
    /// The commit of the benchmarks, and `-dirty` if tracked files differed from it.
    pub revision: Option<String>,
    /// The compiler's name for the system, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// The oldest glibc that has what everything in the bundle needs; none if nothing needs any.
    pub glibc: Option<Version>,
    pub cpu: Cpu,
    pub torch: Torch,
    pub compiled: Option<Compiled>,
    /// The words of `bundle` by which it was made, but for the output's name.
    pub made_by: Vec<String>,
    /// The cases that were asked for when it was made: a regular expression.
    pub filter: Option<String>,
    pub benches: Vec<Bench>,
    /// Names of libraries that the host has to have.
    pub host_libraries: Vec<String>,
    pub parts: Vec<PartSize>,
    pub files: Vec<File>,
}

/// The processor that the benchmarks were built for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The value of `--target-cpu`.
    pub target_cpu: Option<String>,
    /// Features that every instruction may use, by the compiler's names; none if they are not known.
    pub features: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torch {
    /// As libtorch states it, with its build suffix.
    pub version: String,
    /// The release that a host's libtorch has to be.
    pub release: String,
    /// The CUDA that libtorch was built with; none without CUDA.
    pub cuda: Option<String>,
    /// The folder of libtorch in the bundle; none without it.
    pub folder: Option<String>,
}

/// Packages of compiled variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    pub packages: usize,
    /// The compiler, as it names itself.
    pub compiler: String,
}

/// A bench target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    pub name: String,
    pub file: String,
    /// The first parts of its ids.
    pub modes: Vec<String>,
    pub cases: usize,
}

/// The size of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSize {
    pub name: String,
    pub files: usize,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub path: String,
    pub bytes: u64,
}

impl Manifest {
    pub const FORMAT: u32 = FORMAT;

    /// Whether the bench targets are those of gpu-check, built with its configs.
    pub fn is_of_gpu_check(&self) -> bool {
        self.made_by.iter().any(|word| word == GPU_CHECK)
    }

    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("strings, numbers and lists of them always serialise") + "\n"
    }

    /// Reads that of the bundle in a folder.
    pub fn read(bundle: &Path) -> Result<Self> {
        let path = bundle.join(FILE);
        let unpack = "unpack the bundle again: tar -xf BUNDLE.tar.zst";
        let text = files::read(&path).map_err(|error| error.remedy(unpack))?;
        #[derive(Deserialize)]
        struct Header {
            format: u32,
        }
        let other = |error: serde_json::Error| {
            Error::new(format!("{}: {error}", path.display())).remedy(unpack)
        };
        let Header { format } = serde_json::from_str(&text).map_err(other)?;
        if format != FORMAT {
            return Err(Error::new(format!(
                "{}: `format` is {format}, and this runner reads {FORMAT}",
                path.display()
            ))
            .remedy("start the bundle's own torch-bench-run"));
        }
        let manifest: Self = serde_json::from_str(&text).map_err(other)?;
        let is_inside = |it: &&str| {
            let mut parts = Path::new(it).components();
            !it.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(place) = manifest.places().find(|it| !is_inside(it)) {
            let what =
                format!("{}: {place:?} is not the path of something in the bundle", path.display());
            return Err(
                Error::new(what).remedy("make the bundle again, or take it from whom you trust")
            );
        }
        Ok(manifest)
    }

    /// All paths in it, relative to the bundle.
    fn places(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().map(|file| &file.path);
        let benches = self.benches.iter().map(|bench| &bench.file);
        files.chain(benches).chain(&self.torch.folder).map(String::as_str)
    }
}

/// The CUDA in the suffix of a version: 13.0 of `2.11.0+cu130`.
pub fn cuda(version: &str) -> Option<String> {
    let digits = version.split_once("+cu")?.1;
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    let is_number = !major.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| format!("{major}.{minor}"))
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
pub mod tests;
