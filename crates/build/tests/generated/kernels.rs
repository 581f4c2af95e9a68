//! The code generated for kernel files: its text is as expected, and rustc compiles it.

use plan::{Brings, Library};

use crate::package::{KERNEL, Package};

/// A kernel by the trait, one type per precision, every kind of field.
const JACOBI: &str = r#"
use criterion_torch::kernel::prelude::*;

#[derive(Debug, Clone, Default)]
pub struct ProblemSize {
    pub grid: [usize; 3],
    pub steps: u32,
    pub r#type: String,
    pub weights: Vec<f32>,
}

impl Task for ProblemSize {
    fn inputs(&self, _context: &KernelContext) -> Result<Inputs, Refusal> {
        Ok(Inputs)
    }
}

pub struct Jacobi<T>(std::marker::PhantomData<T>);

impl<T: Element> Kernel for Jacobi<T> {
    type ProblemSize = ProblemSize;
    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self(std::marker::PhantomData))
    }
    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        Ok(())
    }
    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(Tensor)
    }
}
"#;

/// A second implementation of the kernel, not generic.
const SOR: &str = r#"
use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;

pub struct Sor;

impl Kernel for Sor {
    type ProblemSize = ProblemSize;
    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self)
    }
    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        Ok(())
    }
    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(Tensor)
    }
}
"#;

/// A function with everything beside it.
const SUM: &str = r#"
use criterion_torch::kernel::prelude::*;

#[path = "_helper.rs"]
mod helper;

pub struct ProblemSize {
    pub n: usize,
}

pub fn run_benchmark(size: &ProblemSize, _context: &KernelContext) -> Result<impl IntoTensor, Refusal> {
    Ok(helper::ones(size.n))
}

pub fn reference(size: &ProblemSize) -> Result<Tensor, Refusal> {
    Ok(helper::tensor(size.n))
}

pub fn flops(size: &ProblemSize) -> u64 {
    size.n as u64
}

pub fn bytes(size: &ProblemSize, dtype: Dtype) -> u64 {
    size.n as u64 * dtype.bytes()
}
"#;

const HELPER: &str = r#"
use criterion_torch::kernel::prelude::*;

pub fn ones(n: usize) -> Vec<f32> {
    vec![1.0; n]
}

pub fn tensor(_n: usize) -> Tensor {
    Tensor
}
"#;

/// A generic function of one argument, of a problem without a size.
const NOOP: &str = r#"
use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

pub fn run_benchmark<T: Element>(_size: &ProblemSize) -> Result<impl IntoTensor, Refusal> {
    Ok(Vec::<T>::new())
}
"#;

fn package() -> Package {
    Package::new(&[
        ("jacobi/kernel.rs", JACOBI),
        ("jacobi/sor.rs", SOR),
        ("sum/sum.rs", SUM),
        ("sum/_helper.rs", HELPER),
        ("sum/bench.yaml", "problem_size: { n: 100 }\n"),
        ("noop.rs", NOOP),
    ])
}

#[test]
fn every_form_has_its_module_and_its_builder() {
    let package = package();
    let source = package.generated("kernels.rs");
    insta::assert_snapshot!(package.without_folder(&source));
}

#[test]
fn files_of_one_name_in_two_packages_are_an_error() {
    let package = Package::new(&[("one.rs", KERNEL)]);
    package.write("inner/Cargo.toml", "");
    package.write("inner/benches/kernels/one.rs", KERNEL);
    package.write("inner/b.yml", "benchmark_mode: kernels\n");
    package.write("a.yml", "benchmark_mode: kernels\n");
    let errors = package.generate(Some("a.yml:inner/b.yml")).unwrap_err();
    insta::assert_snapshot!(package.without_folder(&errors.to_string()));
}

/// Stands for `criterion_torch`: what the generated source calls, with the signatures that it has
/// there.
const LIBRARY: &str = include_str!("library.rs");

#[test]
fn rustc_takes_it_without_a_warning() {
    let errors = compiled(&package());
    assert!(errors.is_empty(), "{errors}");
}

/// Functions that cannot be called as the generated source calls them, and the signature that rustc's
/// error shows.
#[test]
fn a_function_of_another_signature_is_shown_the_right_one() {
    let run = "pub fn run_benchmark(_: &ProblemSize) -> Result<Tensor, Refusal> { Ok(Tensor) }\n";
    let wanted = "fn(&ProblemSize, &KernelContext) -> Result<impl IntoTensor, Refusal>";
    let cases = [
        ("pub fn run_benchmark(_: ProblemSize) -> Result<Tensor, Refusal> { Ok(Tensor) }", wanted),
        ("pub fn run_benchmark(_: &ProblemSize) -> Vec<f32> { Vec::new() }", wanted),
        ("fn run_benchmark(_: &ProblemSize) -> Result<Tensor, Refusal> { Ok(Tensor) }", wanted),
        (
            &format!(
                "{run}fn reference(_: &ProblemSize) -> Result<Vec<f64>, Refusal> {{ todo!() }}"
            ),
            "fn(&ProblemSize, &KernelContext) -> Result<Tensor, Refusal>",
        ),
        (&format!("{run}pub fn flops() -> u64 {{ 0 }}"), "fn(&ProblemSize) -> u64"),
        (
            &format!("{run}pub fn bytes(_: &ProblemSize, _: u64) -> u64 {{ 0 }}"),
            "fn(&ProblemSize, Dtype) -> u64",
        ),
    ];
    for (text, wanted) in cases {
        let size = "use criterion_torch::kernel::prelude::*;\npub struct ProblemSize;";
        let errors = compiled(&Package::new(&[("mine.rs", &format!("{size}\n{text}\n"))]));
        assert!(errors.contains(&format!("// {wanted}\n")), "{text}: {errors}");
    }
}

/// A crate that brings the same files as modules of its own, under another name than it has there.
#[test]
fn rustc_takes_the_modules_of_another_crate() {
    let mut package = Package::new(&[("one.rs", NOOP)]);
    for (file, text) in [
        ("fast/lib.rs", "pub mod kernels;\n"),
        ("fast/kernels/mod.rs", "pub mod jacobi;\npub mod noop;\npub mod sum;\n"),
        ("fast/kernels/jacobi.rs", "pub mod kernel;\npub mod sor;\n"),
        ("fast/kernels/jacobi/kernel.rs", JACOBI),
        ("fast/kernels/jacobi/sor.rs", SOR),
        ("fast/kernels/sum/mod.rs", "pub mod sum;\n"),
        ("fast/kernels/sum/sum.rs", SUM),
        ("fast/kernels/sum/_helper.rs", HELPER),
        ("fast/kernels/sum/bench.yaml", "problem_size: { n: 100 }\n"),
        ("fast/kernels/noop.rs", NOOP),
    ] {
        package.write(file, text);
    }
    package.libraries.push(Library {
        package: "fast-kernels".to_owned(),
        manifest: package.path("fast/Cargo.toml"),
        brings: Brings::Kernels,
        folder: package.path("fast/kernels"),
        module: "::fast::kernels".to_owned(),
    });
    let errors = compiled_with(&package, &["fast"]);
    assert!(errors.is_empty(), "{errors}");
    let source = package.read("kernels.rs");
    assert_eq!(source.matches("#[path").count(), 1, "the package's own alone is a module here");
    assert!(source.contains("::fast::kernels::jacobi::sor::Sor"), "{source}");
    assert_eq!(source.matches("file: \"fast-kernels/kernels/").count(), 4);
}

/// Compiles the generated source; returns rustc's messages.
pub fn compiled(package: &Package) -> String {
    compiled_with(package, &[])
}

/// Like [`compiled`], with kernel crates, each with its `lib.rs` in a folder of its name.
pub fn compiled_with(package: &Package, crates: &[&str]) -> String {
    package.generated("all.rs");
    package.write("library.rs", LIBRARY);
    let main = "use criterion_torch::{Criterion, GroupFn, Session, kernel::generated};\n\
                include!(\"out/all.rs\");\n\
                fn main() {\n    assert!(UNSEEN.is_some());\n    \
                 generated::register(RECIPES, MODELS);\n    \
                criterion_torch::main(GROUPS, prepare);\n}\n";
    package.write("main.rs", main);
    let errors =
        rustc(package, &["--crate-type=lib", "--crate-name=criterion_torch", "library.rs"]);
    assert!(errors.is_empty(), "{errors}");
    let made = |name: &str| {
        format!("--extern={name}={}", package.path(&format!("lib{name}.rlib")).display())
    };
    let mut externs = vec![made("criterion_torch")];
    for name in crates {
        let (named, file) = (format!("--crate-name={name}"), format!("{name}/lib.rs"));
        let errors = rustc(package, &["--crate-type=lib", &named, &externs[0], &file]);
        assert!(errors.is_empty(), "{errors}");
        externs.push(made(name));
    }
    let externs = externs.iter().map(String::as_str);
    let arguments = ["--deny=warnings", "--emit=metadata", "main.rs"].into_iter().chain(externs);
    rustc(package, &arguments.collect::<Vec<_>>())
}

fn rustc(package: &Package, arguments: &[&str]) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = std::process::Command::new(rustc);
    let command = command.current_dir(package.path("")).arg("--edition=2024").args(arguments);
    let output = command.output().expect("rustc runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), errors.is_empty(), "{errors}");
    errors
}
