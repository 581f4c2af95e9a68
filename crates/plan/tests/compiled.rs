//! Compiled siblings: which keys ask for them, which cases get them, and their ids.

use std::path::Path;

use plan::{Case, Config, Device, Dtype, MAX_ID, MAX_PART, Plan, expand};

use crate::common::{models, parse, plan_of};

fn fusion(entry: &str) -> Plan {
    plan_of(&format!("benchmark_mode: fusion\nfusion_params: {entry}"))
}

fn operators(entry: &str) -> Plan {
    plan_of(&format!("benchmark_mode: operators\noperator_params: {entry}"))
}

const SIZE: &str = "batch_sizes: [2], sequence_lengths: [3], tensor_dimensions: [8]";

fn variants_of(plan: &Plan) -> Vec<&str> {
    plan.cases().map(|case| case.id.variant.as_str()).collect()
}

/// Every group is compared with its first case, which runs eagerly.
fn one_eager_baseline_per_group(plan: &Plan) {
    for group in &plan.groups {
        let baselines: Vec<usize> = (0..group.cases.len())
            .filter(|&place| group.cases[place].role == plan::Role::Baseline)
            .collect();
        assert_eq!(baselines, [0], "{}", group.cases[0].full_id());
        assert_eq!(group.cases[0].work.compile(), None, "{}", group.cases[0].full_id());
    }
}

#[test]
fn the_spellings_of_compile_are_one_thing() {
    let modes = |keys: &str| {
        let config =
            parse(&format!("model_params: {{ {keys} }}")).unwrap_or_else(|e| panic!("{e}"));
        let modes = &models(&config)[0].compile;
        modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(" ")
    };
    for (keys, expected) in [
        ("name: x", ""),
        ("use_torch_compile: true", "default"),
        ("use_torch_compile: true, torch_compile_mode: max-autotune", "max-autotune"),
        ("use_torch_compile: yes", "default"),
        ("use_torch_compile: On, torch_compile_mode: NO", ""),
        ("use_torch_compile: off", ""),
        ("compile: YES", "default"),
        ("name: yes, use_torch_compile: TRUE", "default"),
        ("use_torch_compile: true, torch_compile_mode: true", "default"),
        // Documented upstream.
        ("use_torch_compile: true, torch_compile_mode: \"false\"", ""),
        ("use_torch_compile: true, torch_compile_mode: false", ""),
        ("use_torch_compile: false, torch_compile_mode: max-autotune", ""),
        ("torch_compile_mode: max-autotune", ""),
        ("compile: max-autotune", "max-autotune"),
        ("compile: true", "default"),
        ("compile: false", ""),
        ("compile: \"false\", torch_compile_mode: max-autotune", ""),
        ("compile: true, torch_compile_mode: max-autotune", "max-autotune"),
        ("compile: max-autotune, torch_compile_mode: max-autotune", "max-autotune"),
        ("compile: max-autotune, torch_compile_mode: true", "max-autotune"),
        ("compile: false, use_torch_compile: true, torch_compile_mode: false", ""),
        ("compile: default, use_torch_compile: true", "default"),
        ("compile: [max-autotune, default, max-autotune]", "default max-autotune"),
        (
            "compile: [default, max-autotune], torch_compile_mode: [max-autotune, default]",
            "default max-autotune",
        ),
        (
            "use_torch_compile: true, torch_compile_mode: [reduce-overhead, default]",
            "default reduce-overhead",
        ),
    ] {
        assert_eq!(modes(keys), expected, "{keys}");
    }
}

#[test]
fn each_mode_is_a_sibling_of_its_own() {
    let plan = plan_of(
        "quantization_config_recipe_names: [int8wo]\nout: true\n\
         model_params: { compile: [default, max-autotune-no-cudagraphs] }",
    );
    let variants: Vec<&str> = plan.cases().map(|case| case.id.variant.as_str()).collect();
    let expected = [
        "baseline",
        "baseline+out",
        "baseline+compile",
        "baseline+max-autotune-no-cudagraphs",
        "int8wo",
        "int8wo+packed",
        "int8wo+out",
        "int8wo+compile",
        "int8wo+max-autotune-no-cudagraphs",
    ];
    assert_eq!(variants, expected);
}

#[test]
fn the_time_limit_of_compiling_is_inherited_and_ten_minutes_by_default() {
    let limits = |text: &str| -> Vec<f64> {
        let config = parse(text).unwrap_or_else(|errors| panic!("{errors}"));
        models(&config).iter().map(|model| model.settings.compile_timeout_s).collect()
    };
    assert_eq!(limits("model_params: {}"), [600.0]);
    let text = "compile_timeout_s: 30\nmodel_params: [{}, { compile_timeout_s: 0.5 }]";
    assert_eq!(limits(text), [30.0, 0.5]);
    let twice = "model_params: [{}, { compile_timeout_s: 0.5 }]";
    let errors = expand(&[parse(twice).expect("valid")]).unwrap_err().to_string();
    assert!(errors.contains("with a different `compile_timeout_s`"), "{errors}");
}

#[test]
fn the_unfused_operations_alone_get_compiled_siblings() {
    let plan = fusion("{ patterns: [linear_bias_relu], sizes: [[64, 64, 64]], compile: true }");
    one_eager_baseline_per_group(&plan);
    let variants = variants_of(&plan);
    assert_eq!(variants[..3], ["unfused", "unfused+compile", "fused"]);
    assert_eq!(variants.iter().filter(|it| it.contains('+')).count(), 1, "{variants:?}");
    let listed = fusion(
        "{ patterns: [linear_bias], sizes: [[64, 64, 64]], variants: [fused], \
         use_torch_compile: true, torch_compile_mode: [max-autotune, default] }",
    );
    let expected = ["unfused", "unfused+compile", "unfused+max-autotune", "fused"];
    assert_eq!(variants_of(&listed), expected);
    one_eager_baseline_per_group(&listed);
}

#[test]
fn what_runs_atens_operations_gets_compiled_siblings() {
    let of = |rest: &str| {
        let plan = operators(&format!("{{ operators: [gelu], {SIZE}, {rest} }}"));
        one_eager_baseline_per_group(&plan);
        variants_of(&plan).join(" ")
    };
    assert_eq!(
        of("use_torch_compile: true"),
        "aten aten+compile aten-out aten-composed aten-composed+compile rust stream"
    );
    assert_eq!(of("compile: max-autotune, implementations: [rust]"), "aten aten+max-autotune rust");
    assert_eq!(of("torch_compile_mode: max-autotune, implementations: [rust]"), "aten rust");
}

#[test]
fn compiled_works_say_their_mode() {
    let plan = operators(&format!("{{ operators: [gelu], {SIZE}, compile: reduce-overhead }}"));
    for case in plan.cases() {
        let compiled = case.id.variant.ends_with("+reduce-overhead");
        let mode = compiled.then_some(plan::CompileMode::ReduceOverhead);
        assert_eq!(case.work.compile(), mode, "{}", case.full_id());
        assert_eq!(case.variant(), case.id.variant);
    }
}

#[test]
fn no_operation_of_a_compiled_pattern_is_known_by_formula() {
    let plan = fusion("{ patterns: [all], sizes: quick, compile: true, variants: [unfused] }");
    for group in &plan.groups {
        let [eager, compiled] = &group.cases[..] else { panic!("two cases") };
        let (eager, compiled) = (eager.work.fusion().unwrap(), compiled.work.fusion().unwrap());
        let dtype = Dtype::Float32;
        assert_eq!(compiled.operations(dtype, Device::Cpu), None);
        assert_eq!(compiled.bytes(dtype, Device::Cpu), None);
        assert_eq!(compiled.upstream_bytes(dtype), None);
        assert!(eager.bytes(dtype, Device::Cpu).is_some());
        assert_eq!(compiled.minimal_bytes(dtype), eager.minimal_bytes(dtype));
        assert_eq!(compiled.memory_bytes(dtype), eager.memory_bytes(dtype));
        assert_eq!(compiled.output_size(), eager.output_size());
    }
}

/// The longest words of every kind, at the largest sizes that can be run, in a config of a long name.
#[test]
fn ids_of_compiled_cases_are_unique_and_inside_criterions_limits() {
    let modes = "compile: [default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs]";
    let long = Path::new("microbenchmark_quantization_config_of_everything.yml");
    for text in [
        format!(
            "quantization_config_recipe_names: [float8dq-tensor, int8_dynamic_activation_intx_weight-4-128-false]\n\
             model_params: {{ {modes}, device: cuda, model_type: transformer_block, \
             matrix_shapes: [{{ name: custom, shapes: [[128000, 131072, 131072]] }}] }}"
        ),
        format!(
            "benchmark_mode: fusion\nfusion_params:\n\
             \x20 - {{ {modes}, patterns: [linear], sizes: [[131072, 131072, 131072]], dtypes: [bf16], devices: [cuda] }}\n\
             \x20 - {{ {modes}, patterns: [conv], sizes: [[128, 2048, 2048, 112]], memory_formats: [channels_last], dtypes: [bf16], devices: [cuda] }}\n\
             \x20 - {{ {modes}, patterns: [attention], sizes: [[128, 16384, 128]], heads: [128], causal: [false, true], dtypes: [bf16], devices: [cuda] }}\n"
        ),
        format!(
            "benchmark_mode: operators\noperator_params: {{ {modes}, operators: [all], dtypes: [bf16], devices: [cuda], \
             batch_sizes: [16777216], sequence_lengths: [16777216], tensor_dimensions: [16777216] }}"
        ),
    ] {
        let config = Config::parse(long, &text).unwrap_or_else(|errors| panic!("{errors}"));
        let plan = expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"));
        let ids: std::collections::HashSet<String> = plan.cases().map(Case::full_id).collect();
        assert_eq!(ids.len(), plan.cases().count());
        assert!(plan.cases().filter(|case| case.work.compile().is_some()).count() >= 8);
        for case in plan.cases() {
            assert!(case.full_id().len() <= MAX_ID, "{}", case.id);
            assert!(case.id.variant.len() <= MAX_PART, "{}", case.id);
        }
    }
}
