//! Errors in a kernel's source file.

use super::package::{KERNEL, Package, sibling, with_fields};

/// Errors of a kernel of this text, one per line.
fn of_source(text: &str) -> String {
    Package::new(&[("mine.rs", text)]).errors()
}

/// Errors of this `bench.yaml` beside a kernel with these fields.
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
            "pub enum ProblemSize { Small, Large }",
            "pub use helper::ProblemSize;",
            "use helper::{Other, sizes::Size as ProblemSize};",
            "pub type ProblemSize = helper::Size;",
            "pub struct ProblemSize(pub usize);",
            "pub struct ProblemSize {\n    pub grid: (usize, usize),\n    pub size: Option<u32>,\n    pub name: &'static str,\n    pub nested: Vec<Vec<f32>>,\n    pub wide: u128,\n}",
            "pub struct ProblemSize { pub a: [u8; 33], pub b: [u8; N], pub c: [[u8; 2]; 2] }",
            "#[derive(Debug)]\npub struct ProblemSize { pub n: usize, pub m: usize }",
        ],
        |text| of_source(&format!("{text}\n{run}"))
    ));
}

#[test]
fn a_file_has_one_thing_to_measure() {
    let run = "pub fn run_benchmark(size: &ProblemSize) -> Result<Tensor, Refusal> { todo!() }";
    let texts = [
        "".to_owned(),
        "impl Kernel for Mine {}\nimpl Kernel for Other {}".to_owned(),
        format!("impl Kernel for Mine {{}}\n{run}"),
        "impl<T: Element> Kernel for Mine<f32> {}".to_owned(),
        "impl<T: Element> Kernel for Box<Mine<T>> {}".to_owned(),
    ];
    insta::assert_snapshot!(listed(&texts.each_ref().map(String::as_str), |text| of_source(
        &format!("{text}\npub struct ProblemSize;")
    )));
    // A private function of that name is the file's own.
    let text = format!("pub struct ProblemSize;\nimpl Kernel for Mine {{}}\n{}", &run[4..]);
    assert_eq!(Package::new(&[("mine.rs", &text)]).plan().cases().count(), 1);
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
fn the_files_of_one_folder_have_one_problem_size() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("a/kernel.rs", &text),
        ("a/own.rs", &text),
        ("a/shared.rs", &sibling(&text)),
    ]);
    insta::assert_snapshot!(package.errors());
}

#[test]
fn the_files_of_one_folder_have_one_task() {
    let (kernel, run) =
        ("pub struct ProblemSize;\nimpl Kernel for Mine {}\n", "pub fn run_benchmark() {}\n");
    let (task, reference) = ("impl Task for ProblemSize {}\n", "pub fn reference() {}\n");
    let package = Package::new(&[
        ("a/kernel.rs", &format!("{kernel}{task}")),
        ("a/function.rs", &format!("{run}{reference}")),
        ("a/task.rs", &format!("{}{task}", sibling(kernel))),
        ("both.rs", &format!("pub struct ProblemSize;\n{task}{run}{reference}")),
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
        ("a/other.rs", &sibling(&text)),
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
