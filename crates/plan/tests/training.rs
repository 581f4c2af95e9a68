//! Configs of training: what they expand to, and what is refused.

use std::path::Path;

use crate::common::{parse, plan_of};
use plan::cost::{flops, memory_bytes};
use plan::{Case, Config, MAX_ID, MAX_PART, Pass, Recipe, Role};

const RECIPES: &str = "float8dq-tensor, float8dq-row, float8-tensorwise, float8-rowwise, \
                       float8-rowwise_with_gw_hp, mxfp8, mxfp8-emulated-rceil, nvfp4";

fn training(text: &str) -> String {
    format!("benchmark_mode: training\n{text}\n")
}

fn variants(text: &str, pass: Pass) -> Vec<String> {
    let plan = plan_of(&training(text));
    let of_pass = |case: &&Case| case.work.model().expect("a model").pass == Some(pass);
    plan.cases().filter(of_pass).map(|case| case.id.variant.clone()).collect()
}

fn errors(text: &str) -> String {
    let text = training(text);
    let file = Path::new("configs/training/mine.yml");
    Config::parse(file, &text).expect_err("it is wrong").to_string()
}

#[test]
fn each_part_of_a_step_is_a_group_with_its_own_baseline() {
    let plan = plan_of(&training(
        "quantization_config_recipe_names: [float8-tensorwise]\nmodel_params: {}",
    ));
    let ids: Vec<String> = plan.cases().map(Case::full_id).collect();
    let expected = ["forward", "backward", "forward_backward", "step_sgd", "step_adamw", "casts"]
        .map(|pass| {
            ["baseline", "float8-tensorwise"].map(|variant| {
                format!("training/test/linear-{pass}/cpu/{variant}/bf16-1024x1024x1024")
            })
        });
    assert_eq!(ids, expected.concat());
    assert!(plan.groups.iter().all(|group| group.baseline().role == Role::Baseline));
}

#[test]
fn an_entry_says_which_parts_it_measures() {
    let passes = |text: &str| -> Vec<Pass> {
        let plan = plan_of(&training(text));
        let pass = |group: &plan::Group| group.baseline().work.model().and_then(|work| work.pass);
        plan.groups.iter().filter_map(pass).collect()
    };
    assert_eq!(
        passes("passes: [products, backward]\nmodel_params: {}"),
        [Pass::Products, Pass::Backward]
    );
    assert_eq!(passes("passes: [backward]\nmodel_params: { passes: [casts] }"), [Pass::Casts]);
}

#[test]
fn what_a_device_lacks_is_emulated_there_and_says_so() {
    let on = |device: &str, more: &str| {
        variants(
            &format!(
                "quantization_config_recipe_names: [{RECIPES}]\n{more}model_params: {{ device: {device} }}"
            ),
            Pass::Forward,
        )
    };
    let on_cpu = [
        "baseline",
        "float8dq-tensor",
        "float8dq-row+emulated",
        "float8-tensorwise",
        "float8-rowwise+emulated",
        "float8-rowwise_with_gw_hp+emulated",
        "mxfp8",
        "mxfp8-emulated-rceil",
        "nvfp4+emulated",
    ];
    assert_eq!(on("cpu", ""), on_cpu);
    for word in ["rowwise", "axiswise"] {
        let by_row = on("cpu", &format!("scaling_granularity: {word}\n"));
        assert_eq!(by_row[1], "float8dq-tensor+emulated", "{word}");
        assert_eq!(by_row[3], "float8-tensorwise", "it has its own");
    }
    let emulated = |it: &String| it.contains("emulated");
    let on_cuda = on("cuda", "").into_iter().filter(emulated).collect::<Vec<_>>();
    assert_eq!(on_cuda, ["mxfp8-emulated-rceil", "nvfp4+emulated"]);
    let types =
        ["input", "weight", "grad_output"].map(|it| format!("scaling_type_{it}: disabled\n"));
    let disabled = training(&format!(
        "quantization_config_recipe_names: [float8dq-tensor]\n{}model_params: {{}}",
        types.concat()
    ));
    assert!(plan_of(&disabled).cases().all(|case| !case.work.model().unwrap().variant.emulated));
}

#[test]
fn in_inference_weights_alone_are_never_emulated() {
    let text =
        "quantization_config_recipe_names: [mxfp8, mxfp8wo, nvfp4, float8dq-row]\nmodel_params: {}";
    let plan = plan_of(text);
    let variants: Vec<_> = plan.cases().map(|case| case.id.variant.as_str()).collect();
    assert_eq!(
        variants,
        ["baseline", "mxfp8+emulated", "mxfp8wo", "nvfp4+emulated", "float8dq-row"]
    );
}

#[test]
fn autograd_adds_a_sibling_where_there_is_one() {
    let text = "quantization_config_recipe_names: [float8-tensorwise]\nautograd: true\n\
                model_params: { compile: true }";
    let with = [
        "baseline",
        "baseline+autograd",
        "baseline+compile",
        "float8-tensorwise",
        "float8-tensorwise+autograd",
        "float8-tensorwise+compile",
    ];
    for pass in [Pass::Forward, Pass::Backward, Pass::ForwardBackward] {
        assert_eq!(variants(text, pass), with, "{pass}");
    }
    for pass in [Pass::StepSgd, Pass::StepAdamw, Pass::Casts] {
        assert_eq!(variants(text, pass).len(), 4, "{pass}");
    }
}

#[test]
fn ids_stay_inside_criterions_limits() {
    let name = "a_rather_long_name_of_a_config";
    let text = training(&format!(
        "quantization_config_recipe_names: [{RECIPES}]\nautograd: true\npasses: [forward_backward, casts]\n\
         model_params: {{ model_type: ln_linear_hardswish, device: cuda, \
         matrix_shapes: [{{ name: custom, shapes: [[128000, 131072, 131072]] }}] }}"
    ));
    let config = Config::parse(Path::new(&format!("{name}.yml")), &text).expect("valid");
    let plan = plan::expand(&[config]).unwrap_or_else(|errors| panic!("{errors}"));
    for case in plan.cases() {
        assert!(case.id.group.len() <= MAX_PART && case.full_id().len() <= MAX_ID, "{}", case.id);
    }
}

#[test]
fn mistakes_are_told_with_place_and_remedy() {
    let cases = [
        "scaling_granularity: columnwise\nmodel_params: {}",
        "scaling_type_weight: disabled\nmodel_params: {}",
        "quantization_config_recipe_names: [baseline, float8dq-row]\nscaling_type_input: disabled\n\
         scaling_type_weight: disabled\nscaling_type_grad_output: disabled\nmodel_params: {}",
        "quantization_config_recipe_names: [float8dq-tensor, int8wo]\nmodel_params: {}",
        "quantization_config_recipe_names: [mxfp4]\nmodel_params: {}",
        "sparsity_config_recipe_names: [semi-sparse]\nmodel_params: {}",
        "passes: [forwards]\nmodel_params: {}",
        "passes: []\nmodel_params: {}",
        "out: true\nmodel_params: {}",
        "model_params: { out: true }",
        "model_params: { scaling_granularity: rowwise }",
        "repeat_n: 0\nmodel_params: {}",
        "use_fast_accum: 1\nmodel_params: {}",
    ];
    let told = cases.map(|text| format!("{text}\n  -> {}\n", errors(text))).join("\n");
    let inference = [
        "passes: [forward]\nmodel_params: {}",
        "model_params: { autograd: true }",
        "quantization_config_recipe_names: [float8-rowwise]\nmodel_params: {}",
    ];
    let told_in_inference = inference
        .map(|text| format!("{text}\n  -> {}\n", parse(text).expect_err("it is wrong")))
        .join("\n");
    insta::assert_snapshot!(format!("{told}\n{told_in_inference}"));
}

#[test]
fn operations_are_those_of_the_products_that_a_part_has() {
    let plan = plan_of(&training(
        "quantization_config_recipe_names: [float8-tensorwise]\n\
         passes: [forward, backward, forward_backward, step_sgd, step_adamw, casts, products]\n\
         model_params: { model_type: transformer_block, \
         matrix_shapes: [{ name: custom, shapes: [[2, 64, 64]] }] }",
    ));
    // T = 32 tokens: 24·32·64² in linear layers, 4·2·16²·64 in attention.
    let (linear, attention) = (3_145_728, 131_072);
    let forward = linear + attention;
    for (index, baseline, candidate) in [
        (0, forward, forward),
        (1, 2 * forward, 2 * forward),
        (2, 3 * forward, 3 * forward),
        (3, 3 * forward, 3 * forward),
        (4, 3 * forward, 3 * forward),
        // The cost of casts, and the gain that has to repay it.
        (5, 3 * forward, 0),
        (6, 3 * linear, 3 * linear),
    ] {
        let [first, second] = plan.groups[index].cases.as_slice() else { panic!("two cases") };
        assert_eq!((flops(first), flops(second)), (Some(baseline), Some(candidate)), "{index}");
    }
}

#[test]
fn the_memory_estimate_counts_gradients_and_states() {
    let plan = plan_of(&training(
        "passes: [forward_backward, step_sgd, step_adamw]\n\
         model_params: { matrix_shapes: [{ name: custom, shapes: [[1, 4096, 4096]] }] }",
    ));
    let bytes: Vec<u64> = plan.cases().map(memory_bytes).collect();
    const WEIGHTS: u64 = 4096 * 4096;
    // Weight and gradient in bfloat16 and in float64, and the activations of one row.
    let row = (4096 + 4096) * 3 * (2 + 8);
    assert_eq!(bytes[0], WEIGHTS * 2 * (2 + 8) + row);
    // The weight that it starts from, and momentum.
    assert_eq!(bytes[1], bytes[0] + WEIGHTS * 2 * 2);
    assert_eq!(bytes[2], bytes[0] + WEIGHTS * 2 * 3);
}

#[test]
fn recipes_of_training_read_back() {
    for word in RECIPES.split(", ") {
        let recipe: Recipe = word.parse().expect("a recipe");
        assert!(recipe.takes(plan::Mode::Training), "{word}");
    }
}
