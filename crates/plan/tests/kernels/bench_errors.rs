//! Errors in a bench.yaml or a config of kernels.

use super::errors::{listed, of_bench};
use super::package::{KERNEL, Package, sibling, with_fields};

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
    let judged = Package::new(&[
        ("a/kernel.rs", &with),
        ("a/other.rs", &sibling(without)),
        ("a/bench.yaml", bench),
    ]);
    assert_eq!(judged.plan().cases().count(), 2, "the others are judged by the baseline's");
    let unjudged = Package::new(&[
        ("a/kernel.rs", without),
        ("a/other.rs", &sibling(&with)),
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
fn a_function_is_named_that_a_file_has() {
    insta::assert_snapshot!(listed(
        &["function_name: solv", "function_name: 5", "function_name: ''"],
        |bench| of_bench("pub n: usize", bench)
    ));
}

#[test]
fn jax_is_refused_with_the_reason() {
    insta::assert_snapshot!(of_bench("pub n: usize", "backends: [cpu, jax]\n"));
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
