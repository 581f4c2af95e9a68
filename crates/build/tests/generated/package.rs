//! A package with benchmarks in a folder of its own.

use std::ffi::OsStr;
use std::path::PathBuf;

use plan::{Diagnostics, Library};

/// It is gone when it is dropped.
pub struct Package {
    folder: tempfile::TempDir,
    pub libraries: Vec<Library>,
}

impl Package {
    /// One with `kernels`, by their paths inside `benches/kernels`.
    pub fn new(kernels: &[(&str, &str)]) -> Self {
        let package = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            libraries: Vec::new(),
        };
        package.write("Cargo.toml", "");
        for (file, text) in kernels {
            package.write(&format!("benches/kernels/{file}"), text);
        }
        package
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        // A temporary folder may be a link.
        self.folder.path().canonicalize().expect("it is there").join(inside)
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// Has the sources written into `out`, as the build script does.
    pub fn generate(&self, bench_config: Option<&str>) -> Result<(), Diagnostics> {
        let out = self.path("out");
        std::fs::create_dir_all(&out).expect("made");
        let folder = self.path("");
        let built = plan::Package { folder: &folder, libraries: &self.libraries };
        criterion_torch_build::generate(built, bench_config.map(OsStr::new), &out)
    }

    /// A file that is written for the default suite.
    pub fn generated(&self, file: &str) -> String {
        self.generate(None).unwrap_or_else(|errors| panic!("{errors}"));
        self.read(file)
    }

    /// A file of `out`.
    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path("out").join(file)).expect("written")
    }

    /// `text` without the package's folder.
    pub fn without_folder(&self, text: &str) -> String {
        text.replace(self.path("").to_str().expect("plain"), "")
    }
}

/// A kernel that fits, without a problem size.
pub const KERNEL: &str = "
use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark(_size: &ProblemSize, context: &KernelContext) -> Result<Tensor, Refusal> {
    context.zeros(&[1])
}
";
