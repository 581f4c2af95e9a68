//! From a `bench.yaml` to cases.

use plan::{
    Case, Device, Dtype, Judge, KernelTolerances, KernelWork, LatencyPass, Plan, Role, Threads,
};
use serde_json::json;

use super::package::{KERNEL, Package, sibling, with_fields};

pub const FIELDS: &str = "pub grid_size: [usize; 3], pub max_iterations: u32, pub tolerance: f64";

pub fn package(fields: &str, bench: &str) -> Package {
    Package::new(&[("poisson/kernel.rs", &with_fields(fields)), ("poisson/bench.yaml", bench)])
}

pub fn ids(plan: &Plan) -> Vec<String> {
    plan.cases().map(Case::full_id).collect()
}

/// Parameters of the cases of a package's only kernel, which has one implementation.
pub fn parameters(fields: &str, problem_size: &str) -> Vec<String> {
    let plan = package(fields, &format!("problem_size: {problem_size}")).plan();
    plan.cases().map(|case| case.id.parameter.clone()).collect()
}

pub fn work(case: &Case) -> &KernelWork {
    case.work.kernel().expect("a kernel")
}

#[test]
fn the_document_s_example_is_read_as_it_stands() {
    // The example of the documentation, word for word.
    let bench = r#"problem_size:
  grid_size: [64, 64, 64]
  max_iterations: 50
  tolerance: 1.0e-5

precisions:
  - fp32
  - fp16

backends:
  - cpu
  - cuda

tolerances:
  rmse: 1.0e-3
  relative_error: 1.0e-2

skip_conditions:
  - backend: cuda
    reason: "CUDA not available"
    check: "not torch.cuda.is_available()"
"#;
    let plan = package(FIELDS, bench).plan();
    let size = "64x64x64-50-1e-5";
    assert_eq!(
        ids(&plan),
        [
            format!("kernels/test/poisson/cpu/kernel/f32-{size}"),
            format!("kernels/test/poisson/cpu/kernel/f16-{size}"),
            format!("kernels/test/poisson/cuda/kernel/f32-{size}"),
            format!("kernels/test/poisson/cuda/kernel/f16-{size}"),
        ]
    );
    for case in plan.cases() {
        let work = work(case);
        assert_eq!(work.file, "benches/kernels/poisson/kernel.rs");
        assert_eq!(work.problem_size["grid_size"], json!([64, 64, 64]));
        assert_eq!(work.problem_size["max_iterations"], json!(50));
        assert_eq!(work.problem_size["tolerance"], json!(1e-5));
        assert_eq!(work.tolerances.rmse, Some(1e-3));
        assert_eq!(work.tolerances.relative_error, Some(1e-2));
        assert_eq!(work.tolerances.max_error, None);
        let on_cuda = case.device == Device::Cuda;
        assert_eq!(work.skip_conditions.len(), usize::from(on_cuda), "{}", case.full_id());
    }
    let skip = &work(plan.cases().last().expect("four")).skip_conditions[0];
    assert_eq!(skip.check.as_deref(), Some("not torch.cuda.is_available()"));
    assert_eq!(skip.reason, "CUDA not available");
}

/// The block of YAML in the book's page on kernels, of such a kind.
fn documented(kind: &str) -> &'static str {
    let text = include_str!("../../../../docs/book/src/configs/kernels.md");
    let (_, block) = text.split_once(&format!("```yaml,{kind}\n")).expect("a block");
    block.split_once("```").expect("its end").0
}

#[test]
fn our_own_documentation_s_examples_hold() {
    let package = package(FIELDS, documented("part"));
    let plan = package.plan();
    assert_eq!(plan.groups.len(), 4 * 2 * 2, "four problem sizes in all");
    package.write("configs/kernels/test.yml", documented("kernels"));
    let plan = plan::load(&[package.path("configs/kernels/test.yml")]);
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.groups.len(), 4, "one precision and one backend");
    assert!(plan.cases().all(|case| case.settings.seed == 1337));
}

#[test]
fn files_of_one_folder_are_one_group_and_other_files_their_own() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("solver/kernel.rs", &text),
        ("solver/sor.rs", &sibling(&text)),
        ("solver/cg.rs", &sibling(&text)),
        ("solver/bench.yaml", "problem_size: { n: [8, 16] }\nprecisions: [fp64, bf16]"),
        ("one.rs", KERNEL),
        ("two.rs", KERNEL),
    ]);
    let plan = package.plan();
    let members: Vec<Vec<String>> =
        plan.groups.iter().map(|group| group.cases.iter().map(Case::full_id).collect()).collect();
    let group = |parameter: &str| {
        ["kernel", "cg", "sor"]
            .map(|it| format!("kernels/test/solver/cpu/{it}/{parameter}"))
            .to_vec()
    };
    let alone = |name: &str| vec![format!("kernels/test/{name}/cpu/kernel/f32-default")];
    assert_eq!(
        members,
        [
            alone("one"),
            alone("two"),
            group("f64-8"),
            group("f64-16"),
            group("bf16-8"),
            group("bf16-16"),
        ]
    );
    for group in &plan.groups {
        for (place, case) in group.cases.iter().enumerate() {
            assert_eq!(case.role == Role::Baseline, place == 0, "{}", case.full_id());
            assert_eq!(work(case).implementation, case.id.variant);
        }
    }
}

#[test]
fn lists_are_sweeps_and_the_last_field_changes_fastest() {
    assert_eq!(
        parameters(FIELDS, "{ tolerance: [1e-3, 1e-6], max_iterations: [10, 20] }"),
        ["f32-10-1e-3", "f32-10-1e-6", "f32-20-1e-3", "f32-20-1e-6"]
    );
    assert_eq!(
        parameters(FIELDS, "{ grid_size: [[8, 8, 8], [16, 16, 1]] }"),
        ["f32-8x8x8", "f32-16x16x1"]
    );
    assert_eq!(
        parameters(FIELDS, "[{ max_iterations: [1, 2] }, {}, { max_iterations: 2 }]"),
        ["f32-1", "f32-2", "f32-default"],
        "each size once"
    );
}

#[test]
fn values_are_carried_in_their_fields_types() {
    let fields = "pub real: f64, pub single: f32, pub whole: u64, pub name: String";
    let bench = "problem_size: { real: 2, single: 1, whole: 18446744073709551615, name: '5' }";
    let plan = package(fields, bench).plan();
    let size = &work(plan.cases().next().expect("one")).problem_size;
    assert_eq!(size["real"], json!(2.0));
    assert_eq!(size["single"], json!(1.0));
    assert_eq!(size["whole"], json!(u64::MAX));
    assert_eq!(size["name"], json!("5"));
}

#[test]
fn a_kernel_s_own_settings_win_over_the_config_s_and_override_over_both() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("a/kernel.rs", &text),
        (
            "a/bench.yaml",
            "iterations: { warmup: 5, timed: 50 }\nseed: 7\nbackends: [cuda, cpu]\n\
                          precisions: [fp64, fp16]\nenergy: false\ncache: cold\n",
        ),
        ("b/kernel.rs", &text),
    ]);
    let outer = "threads: 3\nseed: 5\nsampling: { target: 0.1 }\n";
    let plan = package.plan_with(outer);
    let cases: Vec<&Case> = plan.cases().collect();
    let (a, b) = (&cases[0].settings, &cases[4].settings);
    assert_eq!((a.threads, b.threads), (Threads::Count(3), Threads::Count(3)));
    assert_eq!((a.seed, b.seed), (7, 5));
    assert_eq!(a.latency, LatencyPass { calls: None, fewest: Some(50), warm_up: Some(5) });
    assert_eq!(b.latency, LatencyPass::default());
    assert_eq!((a.sampling.samples, a.sampling.target), (Some(50), Some(0.1)));
    assert!(!a.energy.enabled && b.energy.enabled);
    assert_eq!((cases[0].device, cases[0].dtype), (Device::Cuda, Dtype::Float64));
    let over = "override: { precisions: [fp16], backends: [cpu], iterations: { timed: 10 }, \
                seed: 1337 }\n";
    let plan = package.plan_with(&format!("{outer}{over}"));
    for case in plan.cases() {
        assert_eq!((case.device, case.dtype), (Device::Cpu, Dtype::Float16));
        assert_eq!(case.settings.seed, 1337);
        assert_eq!(case.settings.latency.fewest, Some(10));
        assert_eq!(case.settings.sampling.samples, Some(10));
    }
    let a = plan.cases().next().expect("two");
    assert_eq!(a.settings.latency.warm_up, Some(5), "what is not overridden stays");
}

#[test]
fn kernels_are_judged_unless_the_config_or_their_bench_yaml_says_off() {
    let files = |bench: &'static str| [("a/kernel.rs", KERNEL), ("a/bench.yaml", bench)];
    let judge = |config: &str, bench| {
        let plan = Package::new(&files(bench)).plan_with(config);
        plan.cases().next().expect("one").settings.judge
    };
    assert_eq!(judge("", "seed: 1"), Judge::On);
    for (word, expected) in [
        ("on", Judge::On),
        ("\"on\"", Judge::On),
        ("true", Judge::On),
        ("off", Judge::Off),
        ("'off'", Judge::Off),
        ("Off", Judge::Off),
        ("false", Judge::Off),
    ] {
        assert_eq!(judge(&format!("judge: {word}"), "seed: 1"), expected, "{word}");
    }
    assert_eq!(judge("judge: off", "judge: on"), Judge::On);
    assert_eq!(judge("judge: on", "judge: off"), Judge::Off);
    let said = Package::new(&files("judge: maybe")).errors_with("judge: 1\n");
    for wrong in ["judge: unknown judge `1`", "judge: unknown judge `maybe`; use one of: on, off"] {
        assert!(said.contains(wrong), "{said}");
    }
}

#[test]
fn skips_are_carried_by_the_cases_that_they_are_about() {
    let bench = "problem_size: { n: 9 }\nprecisions: [fp32, fp16]\nbackends: [cpu, cuda]\nskip_conditions:\n\
                 - { reason: everywhere }\n\
                 - { backend: cpu, reason: on cpu }\n\
                 - { precision: half, reason: in half, check: 'problem.n > 8' }\n\
                 - { backend: cuda, precision: fp32, reason: both }\n";
    let plan = package("pub n: usize", bench).plan();
    let reasons: Vec<Vec<&str>> = plan
        .cases()
        .map(|case| work(case).skip_conditions.iter().map(|it| it.reason.as_str()).collect())
        .collect();
    assert_eq!(
        reasons,
        [
            vec!["everywhere", "on cpu"],
            vec!["everywhere", "on cpu", "in half"],
            vec!["everywhere", "both"],
            vec!["everywhere", "in half"],
        ]
    );
}

#[test]
fn metadata_is_carried_as_it_is() {
    let bench = "metadata: { author: me, tags: [a, 1, 2.5, null, true], 7: { deep: -1 } }";
    let plan = package("pub n: usize", bench).plan();
    let metadata = &work(plan.cases().next().expect("one")).metadata;
    assert_eq!(
        json!(metadata),
        json!({ "author": "me", "tags": ["a", 1, 2.5, null, true], "7": { "deep": -1 } })
    );
}

#[test]
fn a_record_s_work_is_read_back_as_it_was_written() {
    let bench = "problem_size: { max_iterations: 5 }\ntolerances: { max_error: 0.5 }\n\
                 skip_conditions: [{ reason: none }]\nmetadata: { a: 1 }\n";
    for case in package(FIELDS, bench).plan().cases() {
        let text = serde_json::to_string(case).expect("written");
        assert_eq!(&serde_json::from_str::<Case>(&text).expect("read"), case);
    }
}

#[test]
fn tolerances_may_differ_by_precision() {
    let bench = "precisions: [fp64, fp32, bf16]\n\
                 tolerances: { rmse: 0, relative_error: { float32: 1e-6, bf16: 4e-3 }, \
                 max_error: { fp64: 0.0, fp16: 1 } }\n";
    let plan = package("pub n: usize", bench).plan();
    let found: Vec<_> = plan
        .cases()
        .map(|case| {
            let KernelTolerances { rmse, relative_error, max_error } = work(case).tolerances;
            (case.dtype, rmse, relative_error, max_error)
        })
        .collect();
    assert_eq!(
        found,
        [
            (Dtype::Float64, Some(0.0), None, Some(0.0)),
            (Dtype::Float32, Some(0.0), Some(1e-6), None),
            (Dtype::BFloat16, Some(0.0), Some(4e-3), None),
        ]
    );
}

#[test]
fn override_selects_of_what_is_listed() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("listed/kernel.rs", &text),
        ("listed/bench.yaml", "precisions: [bf16, fp32, fp64]\nbackends: [cuda, cpu]"),
        ("other/kernel.rs", &text),
        ("other/bench.yaml", "precisions: [fp16]"),
        ("unlisted/kernel.rs", &text),
    ]);
    let parts = |rest: &str| -> Vec<String> {
        let plan = package.plan_with(&format!("override: {{ {rest} }}"));
        let id = |case: &Case| case.full_id().replace("kernels/test/", "").replace("/kernel/", "/");
        plan.cases().map(id).collect()
    };
    assert_eq!(
        parts("precisions: [fp32, bf16]"),
        [
            "listed/cuda/bf16-default",
            "listed/cuda/f32-default",
            "listed/cpu/bf16-default",
            "listed/cpu/f32-default",
            "other/cpu/f32-default",
            "other/cpu/bf16-default",
            "unlisted/cpu/f32-default",
            "unlisted/cpu/bf16-default",
        ]
    );
    assert_eq!(
        parts("precisions: [fp16], backends: [cuda]"),
        ["listed/cuda/f16-default", "other/cuda/f16-default", "unlisted/cuda/f16-default"]
    );
}

/// The reasons for which the cases of a plan are not measured, by what distinguishes the cases.
fn reasons(plan: &Plan) -> Vec<String> {
    let one = |case: &Case| {
        let reasons = work(case).skip_conditions.iter().map(|skip| {
            assert_eq!(skip.check, None, "always");
            skip.reason.as_str()
        });
        let reasons: Vec<&str> = reasons.collect();
        let id = case.full_id().replace("kernels/test/", "");
        format!("{id}: {}", reasons.join("; "))
    };
    plan.cases().map(one).collect()
}

#[test]
fn what_a_selection_names_and_no_kernel_lists_is_skipped_in_writing() {
    let text = with_fields("pub n: usize");
    let package = Package::new(&[
        ("a/kernel.rs", &text),
        ("a/bench.yaml", "precisions: [fp64, fp32]\nbackends: [cpu]"),
        ("b/kernel.rs", &text),
    ]);
    let with = |rest: &str| {
        let config = package.config(&format!("override: {{ {rest} }}")).expect("fine");
        let plan::Suite::Kernels(suite) = &config.suite else { panic!("of kernels") };
        (reasons(&plan::expand(std::slice::from_ref(&config)).expect("fine")), suite.unlisted())
    };
    let fp8 = "`fp8` is not among the precisions listed: fp64, fp32";
    assert_eq!(
        with("precisions: [fp32, fp8]"),
        (
            vec![
                "a/cpu/kernel/f32-default: ".to_owned(),
                format!("a/cpu/kernel/f8-default: {fp8}"),
                "b/cpu/kernel/f32-default: ".to_owned(),
                "b/cpu/kernel/f8-default: ".to_owned(),
            ],
            Vec::new(),
        ),
        "where no precision is listed, the selection lists them"
    );
    package.write("benches/kernels/b/bench.yaml", "precisions: [fp32]\n");
    let (skipped, unlisted) = with("precisions: [fp8], backends: [cuda]");
    assert_eq!(skipped[0], format!("a/cuda/kernel/f8-default: {fp8}"));
    assert!(skipped[1].ends_with("listed: fp32"), "{skipped:?}");
    assert_eq!(unlisted, [fp8], "no kernel lists it; that b lists no backend is no matter");
    let (skipped, _) = with("backends: [cuda]");
    let cuda = "`cuda` is not among the backends listed: cpu";
    assert!(skipped[0].ends_with(cuda), "{skipped:?}");
}

#[test]
fn pytorch_means_an_implementation_with_tch() {
    let by_torch = sibling(KERNEL).replace("context.zeros(&[1])", "context.zeros(&[1])?.f_relu()");
    let package = Package::new(&[
        ("a/kernel.rs", KERNEL),
        ("a/torch.rs", &by_torch),
        ("a/bench.yaml", "backends: [cpu, cuda]"),
    ]);
    let found = |rest: &str| reasons(&package.plan_with(rest));
    let refused = "`pytorch` selects implementations with tch, and what is timed of \
                   benches/kernels/a/kernel.rs calls none of its operations";
    assert_eq!(
        found("override: { backends: [pytorch] }"),
        [
            format!("a/cpu/kernel/f32-default: {refused}"),
            "a/cpu/torch/f32-default: ".to_owned(),
            format!("a/cuda/kernel/f32-default: {refused}"),
            "a/cuda/torch/f32-default: ".to_owned(),
        ]
    );
    assert_eq!(
        found("override: { backends: [cpu, pytorch] }"),
        [
            "a/cpu/kernel/f32-default: ".to_owned(),
            "a/cpu/torch/f32-default: ".to_owned(),
            format!("a/cuda/kernel/f32-default: {refused}"),
            "a/cuda/torch/f32-default: ".to_owned(),
        ]
    );
    package.write("benches/kernels/a/bench.yaml", "backends: [pytorch]\n");
    assert_eq!(
        found(""),
        [format!("a/cpu/kernel/f32-default: {refused}"), "a/cpu/torch/f32-default: ".to_owned()]
    );
    let uses: Vec<bool> = package.plan().cases().map(|case| work(case).uses_torch).collect();
    assert_eq!(uses, [false, true]);
}

#[test]
fn rocm_is_a_backend_of_kernels_alone() {
    let plan = package("pub n: usize", "backends: [rocm]\nproblem_size: { n: 1 }").plan();
    assert_eq!(ids(&plan), ["kernels/test/poisson/rocm/kernel/f32-1"]);
    let file = std::path::Path::new("configs/fusion/mine.yml");
    let text = "benchmark_mode: fusion\nfusion_params:\n  - patterns: [linear_bias_relu]\n    devices: [rocm]\n";
    let error = plan::Config::parse(file, text).expect_err("refused").to_string();
    assert!(error.contains("only kernels run on rocm; use cpu or cuda"), "{error}");
}
