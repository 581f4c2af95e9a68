//! Costs of cases: worked examples of the formulas.

use std::path::Path;

use plan::cost::{flops, host_bytes_of, memory_bytes, moved_bytes};
use plan::{Case, Config, Device, Dtype, ModelWork, Probe, ProbeWork, Role, Threads, Work, expand};

fn cases(text: &str) -> Vec<Case> {
    let config = Config::parse(Path::new("test.yml"), text).expect("a valid config");
    expand(&[config]).expect("a valid plan").groups.remove(0).cases
}

fn first_case(model: &str, shape: &str) -> Case {
    cases(&format!(
        "model_params:\n  - model_type: {model}\n    matrix_shapes:\n      - name: custom\n        shapes: [{shape}]\n"
    ))
    .remove(0)
}

fn model(case: &Case) -> &ModelWork {
    case.work.model().expect("a model")
}

fn host_bytes(case: &Case) -> u64 {
    host_bytes_of(case, case.work.model().and_then(ModelWork::sizes).as_ref())
}

#[test]
fn flops_of_the_worked_examples() {
    assert_eq!(flops(&first_case("linear", "[10, 64, 32]")), Some(2 * 10 * 64 * 32));
    // T = 32 tokens: 24·32·64² + 4·2·16²·64.
    assert_eq!(flops(&first_case("transformer_block", "[2, 64, 64]")), Some(3_145_728 + 131_072));
    // 2 sequences of 6 tokens, k = 64, n = 96: queries are 4·8 wide, keys and values 2·8. A token attends to those up to itself.
    let linear = 64 * 32 + 2 * 64 * 16 + 32 * 64 + 3 * 64 * 96;
    let decoder = |word| flops(&first_case(word, "[2, 64, 96]"));
    assert_eq!(decoder("decoder-4-2-8-6-0"), Some(2 * 12 * linear + 4 * 2 * 32 * 21));
    let decoded = Some(2 * 2 * linear + 4 * 2 * 32 * 6);
    assert_eq!(decoder("decoder-4-2-8-1-5"), decoded);
    assert_eq!(decoder("decoder_fused-4-2-8-1-5"), decoded);
    let enormous = first_case("linear", "[16777216, 16777216, 16777216]");
    assert_eq!(flops(&enormous), Some(u64::MAX));
}

#[test]
fn the_memory_estimate_covers_what_is_surely_needed() {
    let text = "quantization_config_recipe_names: [int8wo]\nmodel_params: { matrix_shapes: [{ name: custom, shapes: [[1024, 8192, 8192]] }] }";
    let cases = cases(text);
    let (baseline, int8wo) = (memory_bytes(&cases[0]), memory_bytes(&cases[1]));
    let weight = 8192 * 8192 * 2;
    assert!(baseline > 3 * weight, "float32 and bfloat16 at once");
    assert!(baseline < 8 * weight, "but not without measure");
    assert!(int8wo > 3 * weight + weight / 2, "original, int8, two temporaries");
}

/// The part that a case's own recipe decides, for m = 1, k = n = 4096 in bfloat16: 2^24 weights.
fn beyond_the_fixed_part(recipe: &str, sparsity: &str) -> u64 {
    let text = format!(
        "quantization_config_recipe_names: [{recipe}]\n\
         sparsity_config_recipe_names: [{sparsity}]\n\
         model_params: {{ matrix_shapes: [{{ name: custom, shapes: [[1, 4096, 4096]] }}] }}"
    );
    let cases = cases(&text);
    let case =
        cases.iter().find(|case| !model(case).variant.packed && case.role == Role::Candidate);
    // The input's 8192 bytes, and the bounds of the reference: 16 bytes per weight and activation.
    memory_bytes(case.expect("a candidate")) - 8192 - 16 * (4096 * 4096 + 2 * 4096)
}

#[test]
fn memory_of_the_worked_examples() {
    const WEIGHTS: u64 = 4096 * 4096;
    const ROWS: u64 = 4096;
    for (recipe, bytes) in [
        // A step: int8, scale and zero point of each row, the weight in float32 twice and in
        // bfloat16, and 4 + 2·2 bytes for each element that goes in or comes out.
        ("int8wo", (1 + 8 + 2) * WEIGHTS + 10 * ROWS + 8 * 2 * ROWS),
        // Original, half a byte and 10 for each 32 weights, two copies in float32.
        ("int4wo-32", (2 + 8) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 32),
        // Six copies in float32.
        ("int4wo-128-hqq", (2 + 24) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 128),
        ("gemlitewo-4-64", (2 + 24) * WEIGHTS + WEIGHTS / 2 + 10 * WEIGHTS / 64),
        // HQQ's integers take a byte each.
        ("uintx-2-64-hqq", (2 + 1 + 24) * WEIGHTS + 10 * WEIGHTS / 64),
        ("float8wo", (2 + 1 + 16) * WEIGHTS + 10 * ROWS),
        ("fp6", (2 + 16) * WEIGHTS + WEIGHTS * 6 / 8 + 10 * ROWS),
    ] {
        assert_eq!(beyond_the_fixed_part(recipe, "null"), bytes, "{recipe}");
    }
    // Original, stored as dense at the most, and what sorting by magnitude takes.
    assert_eq!(beyond_the_fixed_part("baseline", "semi-sparse"), (2 + 2 + 20) * WEIGHTS);
}

#[test]
fn the_kernel_on_cuda_takes_padded_weights() {
    let memory = |recipe: &str, device: &str, k: u64| {
        let text = format!(
            "quantization_config_recipe_names: [{recipe}]\n\
             model_params: {{ device: {device}, matrix_shapes: [{{ name: custom, shapes: [[1, {k}, 4096]] }}] }}"
        );
        memory_bytes(&cases(&text)[1])
    };
    let input = |k: u64| 2 * k;
    let padded = memory("int4wo-64", "cuda", 1280) - input(1280);
    assert_eq!(padded, memory("int4wo-64", "cuda", 2048) - input(2048));
    assert!(memory("int4wo-64", "cpu", 1280) < padded);
    assert!(memory("int8wo", "cuda", 1280) < memory("int8wo", "cuda", 2048));
}

#[test]
fn a_step_may_take_more_than_building() {
    // 2^24 rows: 128 elements of each go in or come out, with 16 bytes against 4 + 2·2.
    let text = "quantization_config_recipe_names: [float8dq-row]\n\
                model_params: { matrix_shapes: [{ name: custom, shapes: [[16777216, 64, 64]] }] }";
    let cases = cases(text);
    let activations = (1 << 24) * (64 + 64);
    let float8 = memory_bytes(&cases[1]) - memory_bytes(&cases[0]);
    let bfloat16_weights = 64 * 64 * 2;
    let float8_weights = 64 * 64 + 64 * 10;
    let dequantized = 64 * 64 * (8 + 2);
    let temporaries = activations * (16 - 8);
    assert_eq!(float8, temporaries + float8_weights + dequantized - bfloat16_weights);
}

#[test]
fn drawing_takes_one_weight_at_a_time() {
    // 64·32 weights in float32 and bfloat16; of the block the largest is 64·256.
    assert_eq!(host_bytes(&first_case("linear", "[10, 64, 32]")), 64 * 32 * 6);
    assert_eq!(host_bytes(&first_case("transformer_block", "[2, 64, 64]")), 64 * 256 * 6);
    // Or the input: 10 000 rows of 64.
    assert_eq!(host_bytes(&first_case("linear", "[10000, 64, 32]")), 10_000 * 64 * 2);
}

fn on_cuda(probe: Probe, size: u64) -> Case {
    let (device, dtype) = (Device::Cuda, Dtype::Float32);
    let work = Work::Probe(ProbeWork::new(probe, size, Threads::Count(1), device));
    Case { work, device, dtype, ..first_case("linear", "[1, 1, 1]") }
}

#[test]
fn of_stream_on_a_device_the_host_has_what_is_compared() {
    // A thousand elements are all compared.
    assert_eq!(host_bytes(&on_cuda(Probe::Triad, 4000)), 1000 * 28);
    // The device holds the arrays of 64 GiB; 2²⁴ elements of each are compared.
    let large = on_cuda(Probe::Copy, 64 << 30);
    assert_eq!(host_bytes(&large), (1 << 24) * 28);
    assert_eq!(memory_bytes(&large), 3 * (64 << 30));
}

#[test]
fn a_call_has_its_element_and_the_results() {
    for probe in [Probe::Call, Probe::CompiledCall] {
        assert_eq!((memory_bytes(&on_cuda(probe, 1)), host_bytes(&on_cuda(probe, 1))), (12, 4));
    }
}

#[test]
fn of_a_product_on_a_device_the_host_has_one_matrix_and_some_rows() {
    assert_eq!(host_bytes(&on_cuda(Probe::Matmul, 100)), 100 * 100 * (4 + 8 + 16));
    let large = host_bytes(&on_cuda(Probe::Matmul, 32768));
    assert_eq!(large, 32768 * 32768 * (4 + 8) + (1 << 24) * 16);
}

#[test]
fn a_preallocated_output_is_held_beside_the_rest() {
    for (model, output) in [("linear", 10 * 32 * 2), ("transformer_block", 10 * 16 * 64 * 2)] {
        let eager = first_case(model, "[10, 64, 32]");
        let mut out = eager.clone();
        let Work::Model(work) = &mut out.work else { panic!("a model") };
        work.variant.preallocated = true;
        assert_eq!(memory_bytes(&out) - memory_bytes(&eager), output, "{model}");
        assert_eq!(flops(&out), flops(&eager), "{model}");
    }
}

#[test]
fn a_compiled_case_costs_what_its_eager_twin_does_and_an_output() {
    for (text, output) in [
        (
            "quantization_config_recipe_names: [int8wo]\npacked: false\nmodel_params: { compile: \
             true, matrix_shapes: [{ name: custom, shapes: [[10, 64, 32]] }] }",
            10 * 32 * 2,
        ),
        (
            "benchmark_mode: fusion\nfusion_params: { compile: true, patterns: [linear_bias], \
             sizes: [[10, 64, 32]], variants: [unfused] }",
            10 * 32 * 4,
        ),
        (
            "benchmark_mode: operators\noperator_params: { compile: true, operators: [gelu], \
             batch_sizes: [2], sequence_lengths: [3], tensor_dimensions: [8], implementations: \
             [aten-composed], dtypes: [f16] }",
            2 * 3 * 8 * 2,
        ),
        (
            "benchmark_mode: operators\noperator_params: { compile: true, operators: [mse_loss], \
             batch_sizes: [2], sequence_lengths: [3], tensor_dimensions: [8], implementations: [aten] }",
            4,
        ),
    ] {
        let cases = cases(text);
        for pair in cases.chunks_exact(2) {
            let [eager, compiled] = pair else { unreachable!("chunks of two") };
            let id = compiled.full_id();
            assert!(eager.work.compile().is_none() && compiled.work.compile().is_some(), "{id}");
            assert_eq!(memory_bytes(compiled) - memory_bytes(eager), output, "{id}");
            assert_eq!(host_bytes(compiled), host_bytes(eager), "{id}");
            assert_eq!(flops(compiled), flops(eager), "{id}");
            assert_eq!(moved_bytes(compiled), moved_bytes(eager), "{id}");
        }
        assert!(cases.len() > 1 && cases.len().is_multiple_of(2), "{}", cases.len());
    }
}
