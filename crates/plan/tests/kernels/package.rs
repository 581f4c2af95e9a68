//! A package of kernels in a folder of its own.

use std::path::PathBuf;

use plan::{Config, Diagnostics, Plan, expand};

/// A package without kernels, gone when it is dropped.
pub struct Package {
    folder: tempfile::TempDir,
}

impl Package {
    /// One with `files`, by their paths inside `benches/kernels`.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let package = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        package.write("Cargo.toml", "");
        std::fs::create_dir_all(package.path("benches/kernels")).expect("made");
        for (file, text) in files {
            package.write(&format!("benches/kernels/{file}"), text);
        }
        package
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        // A temporary folder may be a link.
        self.folder.path().canonicalize().expect("it is there").join(inside)
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// The config that says nothing but `rest`.
    pub fn config(&self, rest: &str) -> Result<Config, Diagnostics> {
        let file = self.path("configs/kernels/test.yml");
        Config::parse(&file, &format!("benchmark_mode: kernels\n{rest}"))
    }

    pub fn plan(&self) -> Plan {
        self.plan_with("")
    }

    pub fn plan_with(&self, rest: &str) -> Plan {
        let config = self.config(rest).unwrap_or_else(|errors| panic!("{errors}"));
        expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// The package's error messages, without the path of its folder.
    pub fn errors(&self) -> String {
        self.errors_with("")
    }

    pub fn errors_with(&self, rest: &str) -> String {
        let errors = match self.config(rest) {
            Ok(config) => expand(&[config]).expect_err("something is wrong"),
            Err(errors) => errors,
        };
        self.without_folder(&errors.to_string())
    }

    /// `text` without the package's folder.
    pub fn without_folder(&self, text: &str) -> String {
        let folder = self.path("");
        text.replace(folder.to_str().expect("plain"), "")
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

/// One with the given fields and a default for each, and a reference.
pub fn with_fields(fields: &str) -> String {
    format!(
        "use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {{ {fields} }}

pub fn run_benchmark(size: &ProblemSize, context: &KernelContext) -> Result<Tensor, Refusal> {{
    context.zeros(&[1])
}}

pub fn reference(size: &ProblemSize) -> Result<Tensor, Refusal> {{
    Ok(Tensor::zeros(&[1]))
}}
"
    )
}

/// This kernel as another file of its folder, which imports the problem size and has no reference.
pub fn sibling(text: &str) -> String {
    let is_kept =
        |line: &&str| !line.contains("struct ProblemSize") && !line.starts_with("#[derive");
    let text = text.split("pub fn reference").next().unwrap_or_default();
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    format!("use super::kernel::ProblemSize;\n{}\n", kept.join("\n"))
}
