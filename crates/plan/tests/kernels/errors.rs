//! What an author reads whose file does not fit.

use crate::package::{KERNEL, Package, with_fields};

/// What is wrong with a kernel of this text, one line per error.
fn of_source(text: &str) -> String {
    Package::new(&[("mine.rs", text)]).errors()
}

/// What is wrong with this `bench.yaml` beside a kernel with these fields.
pub fn of_bench(fields: &str, bench: &str) -> String {
    Package::new(&[("mine/kernel.rs", &with_fields(fields)), ("mine/bench.yaml", bench)]).errors()
}

pub fn listed(texts: &[&str], errors: impl Fn(&str) -> String) -> String {
    let one =
        |text: &&str| format!("{}\n=> {}\n", text.trim(), errors(text).replace('\n', "\n=> "));
    texts.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn problem_sizes_that_do_not_fit() {
    let run = "pub fn run_benchmark(size: &ProblemSize) -> Result<Tensor, Refusal> { todo!() }";
    insta::assert_snapshot!(listed(
        &[
            "",
            "struct ProblemSize;",
            "pub enum ProblemSize { Small, Large }",
            "pub use helper::ProblemSize;",
            "use helper::{Other, sizes::Size as ProblemSize};",
            "pub type ProblemSize = helper::Size;",
            "pub struct ProblemSize<T> { pub n: T }",
            "pub struct ProblemSize(pub usize);",
            "pub struct ProblemSize { n: usize, pub r#type: String, r#fn: u8 }",
            "pub struct ProblemSize {\n    pub grid: (usize, usize),\n    pub size: Option<u32>,\n    pub name: &'static str,\n    pub nested: Vec<Vec<f32>>,\n    pub wide: u128,\n}",
            "pub struct ProblemSize { pub a: [u8; 33], pub b: [u8; N], pub c: [[u8; 2]; 2] }",
            "#[derive(Debug)]\npub struct ProblemSize { pub n: usize, pub m: usize }",
        ],
        |text| of_source(&format!("{text}\n{run}"))
    ));
}

#[test]
fn functions_and_implementations_that_do_not_fit() {
    let result = "Result<Tensor, Refusal> { todo!() }";
    let implementation = |of: &str| {
        format!(
            "impl{of} {{\n    type ProblemSize = ProblemSize;\n    \
             fn prepare(size: &ProblemSize, site: &Site) -> Result<Self, Refusal> {{ todo!() }}\n    \
             fn run(&mut self) -> Result<(), Refusal> {{ Ok(()) }}\n    fn output(&self) -> {result}\n}}"
        )
    };
    let [plain, other, generic] =
        [" Kernel for Mine", " Kernel for Other", "<T: Element> Kernel for Mine<T>"]
            .map(implementation);
    let texts = [
        String::new(),
        format!("fn run_benchmark(size: &ProblemSize) -> {result}"),
        format!("pub fn run_benchmark() -> {result}"),
        format!("pub fn run_benchmark(size: ProblemSize) -> {result}"),
        format!("pub fn run_benchmark(size: &mut ProblemSize) -> {result}"),
        format!("pub fn run_benchmark(site: &Site, size: &ProblemSize) -> {result}"),
        format!("pub async fn run_benchmark(size: &ProblemSize) -> {result}"),
        format!("pub fn run_benchmark<T, U>(size: &ProblemSize) -> {result}"),
        format!("pub fn run_benchmark<const N: usize>(size: &ProblemSize) -> {result}"),
        "pub fn run_benchmark(size: &ProblemSize) { todo!() }".to_owned(),
        format!(
            "pub fn run_benchmark(size: &ProblemSize) -> {result}\n\
             fn reference(size: &ProblemSize) -> {result}\n\
             pub fn flops() -> u64 {{ 0 }}\n\
             pub fn bytes(size: &ProblemSize, bits: u64) -> u64 {{ 0 }}"
        ),
        plain.clone(),
        format!("struct Mine;\n{plain}"),
        format!("pub struct Mine;\npub struct Other;\n{plain}\n{other}"),
        format!("pub struct Mine;\n{plain}\npub fn run_benchmark(size: &ProblemSize) -> {result}"),
        format!("pub struct Mine<T>(T);\n{}", generic.replace("Mine<T>", "Mine<f32>")),
        format!("pub struct Mine<T>(T);\n{}", generic.replace("Mine<T>", "Box<Mine<T>>")),
        "pub struct Mine;\nimpl Kernel for Mine {}".to_owned(),
    ];
    insta::assert_snapshot!(listed(&texts.each_ref().map(String::as_str), |text| of_source(
        &format!("{text}\npub struct ProblemSize;")
    )));
}

#[test]
fn what_the_generated_code_could_not_call() {
    let ok = "Result<Tensor, Refusal> { todo!() }";
    let run = format!("pub fn run_benchmark(size: &ProblemSize) -> {ok}");
    let implementation = |generics: &str, of: &str, rest: &str| {
        format!(
            "pub struct Mine<T>(T);\n{rest}impl<{generics}> Kernel for Mine<T> {{\n    \
             type ProblemSize = {of};\n    fn prepare() {{}}\n    fn run() {{}}\n    \
             fn output() {{}}\n}}"
        )
    };
    let texts = [
        "pub fn run_benchmark(size: &ProblemSize) -> Vec<f32> { todo!() }".to_owned(),
        "pub fn run_benchmark(size: &ProblemSize) -> impl IntoTensor { todo!() }".to_owned(),
        "pub fn run_benchmark(size: &ProblemSize) -> Result<Tensor, String> { todo!() }".to_owned(),
        "pub fn run_benchmark(size: &ProblemSize) -> anyhow::Result<Tensor> { todo!() }".to_owned(),
        format!(
            "{run}\npub fn reference(size: &ProblemSize) -> Result<Vec<f64>, Refusal> {{ todo!() }}\n\
             pub fn flops(size: &ProblemSize) -> Option<u64> {{ None }}\n\
             pub fn bytes(size: &ProblemSize) -> usize {{ 1 }}"
        ),
        format!("pub unsafe fn run_benchmark(size: &ProblemSize) -> {ok}"),
        format!("pub extern \"C\" fn run_benchmark(size: &ProblemSize) -> {ok}"),
        format!("pub(self) fn run_benchmark(size: &ProblemSize) -> {ok}"),
        format!("pub(in self) fn run_benchmark(size: &ProblemSize) -> {ok}"),
        format!("#[cfg(target_arch = \"x86_64\")]\n{run}"),
        format!("#![cfg(unix)]\n{run}"),
        format!("pub fn run_benchmark<T: Element + Copy>(size: &ProblemSize) -> {ok}"),
        format!("pub fn run_benchmark<T: Float>(size: &ProblemSize) -> {ok}"),
        "pub fn run_benchmark<T: Element>(size: &ProblemSize) -> Result<T, Refusal> \
         where Vec<T>: Clone { todo!() }"
            .to_owned(),
        implementation("T: Element + Copy", "ProblemSize", ""),
        implementation("T: Element", "Other", ""),
        implementation("T: Element", "()", "#[cfg(unix)]\n"),
    ];
    insta::assert_snapshot!(listed(&texts.each_ref().map(String::as_str), |text| of_source(
        &format!("{text}\npub struct ProblemSize;")
    )));
    insta::assert_snapshot!(
        "conditional_problem_size",
        of_source(&format!(
            "{run}\n#[cfg(unix)]\npub struct ProblemSize {{\n    #[cfg(unix)]\n    pub n: u8,\n    \
             pub(self) m: u8,\n}}"
        ))
    );
}

#[test]
fn what_only_the_compiler_knows_is_left_to_it() {
    let size = "pub struct ProblemSize;";
    for text in [
        "type Result<T> = std::result::Result<T, Refusal>;\n\
         pub fn run_benchmark(size: &ProblemSize) -> Result<Tensor> { todo!() }",
        "use _helper::Result;\n\
         pub fn run_benchmark(size: &ProblemSize) -> Result<Tensor> { todo!() }",
        "use criterion_torch::kernel::{Refusal as No, prelude::*};\n\
         pub(crate) fn run_benchmark(size: &ProblemSize) -> std::result::Result<f64, No> { todo!() }",
        "type Count = u64;\n\
         pub(super) fn run_benchmark<T>(size: &ProblemSize) -> Result<T, kernel::Refusal> \
         where T: Element + 'static { todo!() }\n\
         pub fn reference(size: &ProblemSize) -> Result<tch::Tensor, Refusal> { todo!() }\n\
         pub const fn flops(size: &ProblemSize) -> Count { 1 }\n\
         pub fn bytes(size: &ProblemSize, dtype: Dtype) -> u64 { 1 }",
        "type Own = ProblemSize;\npub struct Mine;\nimpl Kernel for Mine {\n    \
         type ProblemSize = Own;\n    fn prepare() {}\n    fn run() {}\n    fn output() {}\n}",
    ] {
        let package = Package::new(&[("mine.rs", &format!("{text}\n{size}"))]);
        assert_eq!(package.plan().cases().count(), 1, "{text}");
    }
}

#[test]
fn files_that_are_no_rust() {
    insta::assert_snapshot!(listed(
        &["pub struct ProblemSize {", "fn a() {}\n  let b = 1;", "fn a( {}"],
        of_source
    ));
    let package = Package::new(&[]);
    package.write("benches/kernels/mine.rs", b"// caf\xe9\n");
    package.write("benches/kernels/folder.rs/_", "");
    insta::assert_snapshot!("not_utf8", package.errors());
}

#[test]
fn files_of_one_folder_have_the_same_fields() {
    let package = Package::new(&[
        ("a/kernel.rs", &with_fields("pub n: usize, pub grid: [usize; 3]")),
        ("a/reordered.rs", &with_fields("pub grid: [usize; 3], pub n: usize")),
        ("a/other.rs", &with_fields("pub n: u32, pub grid: [usize; 3]")),
        ("a/fewer.rs", &with_fields("pub n: usize")),
        ("a/none.rs", KERNEL),
    ]);
    insta::assert_snapshot!(package.errors());
}

#[test]
fn all_errors_of_all_files_come_at_once() {
    let package = Package::new(&[
        ("a/kernel.rs", "pub struct ProblemSize;"),
        ("b.rs", "fn"),
        ("c/kernel.rs", KERNEL),
        ("c/bench.yaml", "problem_size: { n: 1 }\nprecision: fp32\n"),
    ]);
    insta::assert_snapshot!(package.errors_with("thread: 2\nkernel_paths: [benches/kernels]"));
}

#[test]
fn a_kernel_without_fields_has_no_problem_size() {
    let package =
        Package::new(&[("a/kernel.rs", KERNEL), ("a/bench.yaml", "problem_size: { n: 1 }")]);
    insta::assert_snapshot!(package.errors());
}

#[test]
fn fields_without_a_default_have_to_be_given() {
    let text = with_fields("pub n: usize, pub m: usize").replace("#[derive(Default)]", "");
    let alone = Package::new(&[("a/kernel.rs", &text)]);
    let nothing = Package::new(&[("a/kernel.rs", &text), ("a/bench.yaml", "seed: 1")]);
    let one = Package::new(&[
        ("a/kernel.rs", &text),
        ("a/bench.yaml", "problem_size: [{ n: 1 }, { n: 1, m: 2 }]"),
    ]);
    insta::assert_snapshot!([alone, nothing, one].map(|it| it.errors()).join("\n"));
    let both = Package::new(&[
        ("a/kernel.rs", &text),
        // Another implementation is made of the baseline's problem, and needs no default.
        ("a/other.rs", &text),
        ("a/bench.yaml", "problem_size: { n: 1, m: 2 }"),
    ]);
    assert_eq!(both.plan().cases().count(), 2);
}

#[test]
fn kernels_of_one_bench_yaml_have_its_fields() {
    let package = Package::new(&[
        ("both/one.rs", &with_fields("pub n: usize, pub tolerance: f64")),
        ("both/two.rs", &with_fields("pub m: usize, pub tolerance: f32")),
        ("both/bench.yaml", "problem_size: { n: 1, tolerance: 1e-3 }"),
    ]);
    insta::assert_snapshot!(package.errors());
}
