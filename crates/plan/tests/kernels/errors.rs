//! What an author reads whose file or bench.yaml does not fit.

use crate::package::{KERNEL, Package, with_fields};

/// What is wrong with a kernel of this text, one line per error.
fn of_source(text: &str) -> String {
    Package::new(&[("mine.rs", text)]).errors()
}

/// What is wrong with this `bench.yaml` beside a kernel with these fields.
fn of_bench(fields: &str, bench: &str) -> String {
    Package::new(&[("mine/kernel.rs", &with_fields(fields)), ("mine/bench.yaml", bench)]).errors()
}

fn listed(texts: &[&str], errors: impl Fn(&str) -> String) -> String {
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
fn values_are_checked_against_the_types_of_their_fields() {
    let fields = "pub small: u8, pub signed: i8, pub size: usize, pub big: u64, pub single: f32, \
                  pub double: f64, pub flag: bool, pub name: String, pub grid: [usize; 3], \
                  pub weights: Vec<f64>";
    insta::assert_snapshot!(listed(
        &[
            "small: 300",
            "small: -1",
            "signed: -129",
            "size: 1.5",
            "size: 1e3",
            "size: '5'",
            "big: 18446744073709551616",
            "single: 1e39",
            "double: .nan",
            "double: .inf",
            "double: fast",
            "flag: 1",
            "name: 5",
            "name: true",
            "grid: [1, 2]",
            "grid: 64",
            "grid: [[1, 2, 3], [1, 2]]",
            "grid: [[1, 2, 3], 4]",
            "weights: [1, two]",
            "small: []",
            "small: [1, 256, [2]]",
            "gird: [1, 2, 3]",
            "zzz: 1",
            "small: null",
        ],
        |text| of_bench(fields, &format!("problem_size: {{ {text} }}"))
    ));
}

#[test]
fn bench_yaml_says_where_it_is_wrong() {
    insta::assert_snapshot!(of_bench(
        "pub n: usize",
        "problem_size:
  - n: 1
  - n: -1
  - m: 2
precisions: [fp32, fp15, tf32]
backends: [cpu, gpu, jax]
tolerances: { rmse: 0, max_error: -1, relative_error: .inf, rsme: 1 }
iterations: { warmup: -1, timed: 9, count: 3 }
seed: -4
metadata: [1, 2]
kernel_paths: [here]
sampling: { samples: 3 }
skip_conditions:
  - { backend: gpu, reason: none }
  - { precision: fp15, reason: none }
  - { backend: cuda }
  - { reason: odd, check: 'memory_gb < ' }
  - { reason: odd, check: 'memory_gb < problem.m' }
  - { reason: odd, when: always }
"
    ));
}

#[test]
fn one_mistake_in_bench_yaml_is_one_line() {
    insta::assert_snapshot!(listed(
        &[
            "",
            "# nothing",
            "- a list",
            "problem_size: [",
            "problem_size: []",
            "problem_size: 5",
            "precisions: fp32",
            "precisions: []",
            "iterations: { timed: 30 }\nsampling: { samples: 20 }",
            "iterations: { warmup: 3 }\nlatency: { warm_up: 4 }",
            "iterations: 30",
            "compile_timeout_s: 5",
            "metadata: { 1: one, when: .nan }",
            "skip_conditions: { reason: all }",
            "skip_conditions: [{ reason: all, check: true }]",
        ],
        |bench| of_bench("pub n: usize", bench)
    ));
}

#[test]
fn conditions_ask_for_fields_that_are_given() {
    let fields = "pub n: usize, pub fast: bool, pub grid: [usize; 2]";
    let skips = "skip_conditions: [{ reason: no, check: 'problem.n > 8 and problem.fast' }]";
    let bench = |size: &str| format!("problem_size: {size}\n{skips}");
    let both = Package::new(&[
        ("a/kernel.rs", &with_fields(fields)),
        ("a/bench.yaml", &bench("{ n: [1, 2], fast: true }")),
    ]);
    assert_eq!(both.plan().cases().count(), 2);
    insta::assert_snapshot!(listed(
        &["{ n: 1 }", "[{ n: 1, fast: true }, { fast: true }]"],
        |size| { of_bench(fields, &bench(size)) }
    ));
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
        // What is measured beside it is made of the baseline's problem, and needs no default.
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

#[test]
fn problem_sizes_of_one_id() {
    insta::assert_snapshot!(listed(
        &[
            "[{ rows: 64 }, { cols: 64 }]",
            "[{ name: a-b, other: c }, { name: a, other: b-c }]",
            "{ name: [a, A] }",
        ],
        |size| of_bench(
            "pub rows: usize, pub cols: usize, pub name: String, pub other: String",
            &format!("problem_size: {size}")
        )
    ));
}

#[test]
fn problem_sizes_beyond_counting() {
    let numbers: Vec<String> = (0..101).map(|it| it.to_string()).collect();
    let (long, half) = (numbers.join(", "), numbers[..50].join(", "));
    let fields = "pub a: u64, pub b: u64, pub c: u64";
    let one = format!("problem_size: {{ a: [{long}], b: [{long}] }}");
    let product = format!("{{ a: [{half}], b: [{half}], c: [1, 2] }}");
    let several = format!("problem_size: [{product}, {product}, {product}]");
    insta::assert_snapshot!([one, several].map(|bench| of_bench(fields, &bench)).join("\n"));
    let package = Package::new(&[
        ("a/kernel.rs", &with_fields(fields)),
        ("a/bench.yaml", &format!("problem_size: [{product}, {product}]")),
    ]);
    assert_eq!(package.plan().cases().count(), 5000, "each once");
}

#[test]
fn tolerances_need_a_reference() {
    let (with, without) = (with_fields("").replace("{  }", ";"), KERNEL);
    let bench = "tolerances: { rmse: 1e-3 }";
    let judged =
        Package::new(&[("a/kernel.rs", &with), ("a/other.rs", without), ("a/bench.yaml", bench)]);
    assert_eq!(judged.plan().cases().count(), 2, "the others are judged by the baseline's");
    let unjudged = Package::new(&[
        ("a/kernel.rs", without),
        ("a/other.rs", &with),
        ("a/bench.yaml", bench),
        ("b/one.rs", without),
        ("b/two.rs", &with),
        ("b/bench.yaml", bench),
    ]);
    insta::assert_snapshot!(unjudged.errors());
}

#[test]
fn tolerances_that_do_not_fit() {
    insta::assert_snapshot!(listed(
        &[
            "rmse: -1e-9",
            "rmse: {}",
            "rmse: [1]",
            "rmse: { fp32: 1, f32: 2 }",
            "rmse: { fp23: 1, bf16: -1 }",
            "max_error: .inf",
            "relative_error: { fp32: null }"
        ],
        |text| of_bench("pub n: usize", &format!("tolerances: {{ {text} }}"))
    ));
}

#[test]
fn an_override_that_leaves_nothing() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("a/kernel.rs", &text),
        ("a/bench.yaml", "precisions: [fp32, fp64]\nbackends: [cuda]"),
        ("b/kernel.rs", &text),
        ("b/bench.yaml", "precisions: [fp64]\nbackends: [cpu]"),
    ]);
    assert_eq!(package.plan_with("override: { backends: [cpu] }").cases().count(), 1);
    insta::assert_snapshot!(
        package.errors_with("override: { precisions: [fp32], backends: [cpu] }")
    );
}

#[test]
fn a_configs_own_keys_are_checked_too() {
    let package = Package::new(&[("a/kernel.rs", KERNEL)]);
    insta::assert_snapshot!(package.errors_with(
        "kernel_paths: [benches/kernel, Cargo.toml]\n\
         override: { precision: [fp32], backends: [xpu], iterations: { timed: 5 }, seed: x }\n\
         precisions: [fp32]\nproblem_size: { n: 1 }\nthreads: 0\n"
    ));
}
