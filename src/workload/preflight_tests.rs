use plan::{Dtype, ModelKind, Recipe, Shape, Sparsity};

use super::*;
use crate::workload::testing::{case, work_mut};

/// Preflight of `linear` with `m = 8`, `k = n = 64` in bfloat16, changed.
fn preflight_changed(change: fn(&mut Case)) -> Result<(), Refusal> {
    let mut case =
        case(ModelKind::Linear, Recipe::Baseline, Dtype::BFloat16, Shape::new(8, 64, 64));
    change(&mut case);
    preflight(&case)
}

fn of_training(case: &mut Case, pass: Pass) {
    case.mode = Mode::Training;
    work_mut(case).pass = Some(pass);
}

#[test]
fn what_cannot_be_built_says_which_key_and_value() {
    assert_eq!(preflight_changed(|_| ()), Ok(()));
    assert_eq!(preflight_changed(|case| of_training(case, Pass::StepSgd)), Ok(()));
    for (change, reason) in [
        (
            (|case| {
                of_training(case, Pass::StepSgd);
                work_mut(case).variant.compile = Some(plan::CompileMode::Default);
            }) as fn(&mut Case),
            "`step_sgd` is not compiled: an update writes into the parameters, which are inputs of what is \
             compiled; `forward_backward` is",
        ),
        (
            |case| {
                of_training(case, Pass::Forward);
                work_mut(case).variant.compile = Some(plan::CompileMode::Default);
                work_mut(case).variant.autograd = true;
            },
            "`baseline+autograd+compile`: what is compiled are the operations themselves",
        ),
        (
            |case| work_mut(case).variant.graph = true,
            "`baseline+graph`: there are CUDA graphs on `device: cuda` alone, not on cpu; write \
             `cuda_graph: false` for this model",
        ),
        (
            |case| {
                of_training(case, Pass::Forward);
                work_mut(case).variant.graph = true;
            },
            "`baseline+graph`: a training step has no such form",
        ),
        (
            |case| {
                case.device = Device::Cuda;
                work_mut(case).variant.graph = true;
                work_mut(case).variant.compile = Some(plan::CompileMode::Default);
            },
            "`baseline+compile+graph`: only the eager step with an output of its own is captured; \
             `torch_compile_mode: reduce-overhead` is a compiled step in a graph",
        ),
        (
            |case| {
                case.device = Device::Cuda;
                work_mut(case).variant.graph = true;
                work_mut(case).variant.preallocated = true;
            },
            "`baseline+out+graph`: only the eager step with an output of its own is captured; \
             `torch_compile_mode: reduce-overhead` is a compiled step in a graph",
        ),
        (
            |case| {
                of_training(case, Pass::Forward);
                work_mut(case).variant.recipe = Recipe::INT8WO;
            },
            "`int8wo` is no recipe of training",
        ),
        (
            |case| {
                of_training(case, Pass::Forward);
                work_mut(case).variant.recipe = Recipe::Float8dqTensor;
            },
            "recipe `float8dq-tensor`, layer `linear1`: the number of rows is 8, but `_scaled_mm` takes multiples \
             of 16 (torchao's pad_inner_dim is false)",
        ),
        (
            |case| {
                work_mut(case).model = ModelKind::TransformerBlock;
                work_mut(case).shape.k = 100;
            },
            "model `transformer_block`: k = 100, but its 8 heads need a multiple of 8",
        ),
    ] {
        assert_eq!(preflight_changed(change), Err(Refusal::Unsupported(reason.to_owned())));
    }
    assert_eq!(preflight_changed(|case| work_mut(case).shape.k = 16), Ok(()));
}

#[test]
fn what_sparse_layouts_intx_and_fp6_do_not_take_is_refused() {
    for (change, reason) in [
        (
            (|case| {
                work_mut(case).variant.sparsity = Some(Sparsity::SemiSparse);
                work_mut(case).shape.k = 66;
            }) as fn(&mut Case),
            "recipe `baseline`, layer `linear1`: k = 66, but 2:4 sparsity needs a multiple of 4",
        ),
        (
            |case| {
                work_mut(case).variant.sparsity = Some(Sparsity::SemiSparse);
                case.device = Device::Cuda;
                work_mut(case).shape.n = 40;
            },
            "recipe `baseline`, layer `linear1`: n = 40, but `_cslt_sparse_mm` on cuda needs a \
             multiple of 16",
        ),
        (
            |case| {
                work_mut(case).variant.sparsity = Some(Sparsity::SemiSparse);
                case.device = Device::Cuda;
                case.dtype = Dtype::Float32;
            },
            "recipe `baseline`, layer `linear1`: weights of torch.float32, but `_cslt_sparse_mm` on \
             cuda takes bfloat16 or float16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::INT8DQ;
                work_mut(case).variant.sparsity = Some(Sparsity::SemiSparse);
                case.device = Device::Cuda;
                work_mut(case).shape.n = 80;
            },
            "recipe `int8dq`, layer `linear1`: n = 80, but `_cslt_sparse_mm` on cuda needs a \
             multiple of 32",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::Float8dqTensor;
                work_mut(case).variant.sparsity = Some(Sparsity::SemiSparse);
                case.device = Device::Cuda;
            },
            "recipe `float8dq-tensor`, layer `linear1`: device cuda, but its 2:4 sparse layout is \
             for the cpu (torchao's kernel is not libtorch's)",
        ),
        (
            |case| {
                work_mut(case).variant.sparsity = Some(Sparsity::Block);
                work_mut(case).shape = Shape::new(8, 128, 96);
            },
            "recipe `baseline`, layer `linear1`: n = 96, but block sparsity needs a multiple of 64",
        ),
        (
            |case| {
                work_mut(case).variant.recipe =
                    "int8_dynamic_activation_intx_weight-4-48-false".parse().unwrap();
            },
            "recipe `int8_dynamic_activation_intx_weight-4-48-false`, layer `linear1`: k = 64, but \
             the group of 48 must divide it",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::Fp6;
                work_mut(case).shape.n = 128;
            },
            "recipe `fp6`, layer `linear1`: n = 128, but fp6 quantizes only multiples of 256",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::Fp6;
                work_mut(case).shape = Shape::new(8, 96, 256);
            },
            "recipe `fp6`, layer `linear1`: k = 96, but fp6 quantizes only multiples of 64",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::Fp6;
                case.dtype = Dtype::Float32;
                work_mut(case).shape.n = 256;
            },
            "recipe `fp6`, layer `linear1`: activations of torch.float32, but fp6 takes bfloat16 \
             or float16",
        ),
    ] {
        let mut case =
            case(ModelKind::Linear, Recipe::Baseline, Dtype::BFloat16, Shape::new(8, 64, 64));
        change(&mut case);
        assert_eq!(preflight(&case), Err(Refusal::Unsupported(reason.to_owned())));
    }
}

#[test]
fn what_the_int8_and_float8_recipes_do_not_take_is_refused() {
    for (change, reason) in [
        (
            (|case| {
                work_mut(case).variant.recipe = Recipe::Float8dqRow;
                case.dtype = Dtype::Float32;
            }) as fn(&mut Case),
            "recipe `float8dq-row`, layer `linear1`: dtype torch.float32, but scales per row need \
             bfloat16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::Float8dqTensor;
                work_mut(case).shape.n = 40;
            },
            "recipe `float8dq-tensor`, layer `linear1`: n = 40, but float8dq quantizes only \
             weights whose sizes are multiples of 16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::INT8WO;
                work_mut(case).variant.packed = true;
                work_mut(case).shape.k = 40;
            },
            "recipe `int8wo`, layer `linear1`: k = 40, but `_weight_int8pack_mm` needs a multiple \
             of 16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::INT8DQ;
                work_mut(case).shape.k = 16;
            },
            "recipe `int8dq`, layer `linear1`: k = 16, but int8dq quantizes only weights with \
             k > 16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::INT8DQ;
                case.device = Device::Cuda;
                work_mut(case).shape.m = 16;
            },
            "recipe `int8dq`, layer `linear1`: 16 rows, but `_int_mm` on cuda needs more than 16",
        ),
        (
            |case| {
                work_mut(case).variant.recipe = Recipe::INT8DQ;
                case.device = Device::Cuda;
                work_mut(case).shape = Shape::new(17, 64, 63);
            },
            "recipe `int8dq`, layer `linear1`: n = 63, but `_int_mm` on cuda needs a multiple of 8",
        ),
    ] {
        assert_eq!(preflight_changed(change), Err(Refusal::Unsupported(reason.to_owned())));
    }
}

#[test]
fn absent_devices_are_skipped() {
    for device in [Device::Xpu, Device::Mps] {
        let mut case =
            case(ModelKind::Linear, Recipe::INT8WO, Dtype::BFloat16, Shape::new(8, 64, 64));
        case.device = device;
        assert!(matches!(preflight(&case), Err(Refusal::Skipped(_))), "{device}");
    }
}

#[test]
fn too_little_memory_is_said_in_figures() {
    let refusal = fits(3 << 30, 1 << 30).unwrap_err();
    assert_eq!(refusal, Refusal::Oom("needs about 3.0 GiB, 1.0 GiB available".to_owned()));
    assert_eq!(fits(1, 1), Ok(()));
}

#[test]
fn a_case_beyond_any_memory_is_refused_without_trying() {
    for size in [1 << 22, 1 << 40, u64::MAX / 2] {
        let huge = Shape::new(size, size, size);
        let case = case(ModelKind::TransformerBlock, Recipe::Baseline, Dtype::Float32, huge);
        let refusal = preflight(&case);
        if cfg!(target_os = "linux") && size % 8 == 0 {
            assert!(matches!(refusal, Err(Refusal::Oom(_))), "{size}: {refusal:?}");
        }
    }
}

/// oneDNN settles its instruction set at its first use, so this test runs itself again, in a process that tells oneDNN to
/// do without VNNI. Libtorch asks oneDNN only on a CPU that has AVX-512's VNNI; on others its own loops are exact.
#[cfg(target_arch = "x86_64")]
#[test]
fn where_integer_products_saturate_the_case_is_refused() {
    const CHILD: &str = "CRITERION_TORCH_WITHOUT_VNNI";
    if std::env::var_os(CHILD).is_none() {
        let name =
            "workload::preflight::tests::where_integer_products_saturate_the_case_is_refused";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .env("ONEDNN_MAX_CPU_ISA", "AVX2")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let refusal = |recipe: Recipe, rows| {
        let shape = Shape::new(rows, 64, 64);
        preflight(&case(ModelKind::Linear, recipe, Dtype::BFloat16, shape))
    };
    for recipe in ["int8dq", "int8dq-v2", "int8dq-v018", "int8dq_prefill_wo_decode"] {
        let reason = format!(
            "recipe `{recipe}`, layer `linear1`: `_int_mm` gives saturated sums on this CPU, as \
             oneDNN does without VNNI"
        );
        let by_onednn = std::arch::is_x86_feature_detected!("avx512vnni");
        let expected = if by_onednn { Err(Refusal::Unsupported(reason)) } else { Ok(()) };
        assert_eq!(refusal(recipe.parse().unwrap(), 8), expected, "{recipe}");
    }
    // It multiplies no integers.
    assert_eq!(refusal(Recipe::INT8WO, 8), Ok(()));
}
