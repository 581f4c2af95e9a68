//! The CUDA of the kernels: compiled by NVRTC, which needs no GPU. Without NVRTC the test says so and
//! checks nothing, or fails where it is said to be there.

use criterion_torch::kernel::cuda::Source;
use criterion_torch::kernel::prelude::*;

use super::{check, gemv, gemv_cuda, heat, heat_cuda, illegal_access, sound, sum, sum_cuda};

impl Task for illegal_access::ProblemSize {}

impl Task for sound::ProblemSize {}

/// Each source, with its entry functions but for their precision, and the precisions.
fn sources() -> [(Source, &'static [&'static str], &'static [Dtype]); 4] {
    use Dtype::{BFloat16, Float16, Float32, Float64};
    [
        (gemv_cuda::SOURCE, &["gemv"], &[Float32, BFloat16, Float16]),
        (heat_cuda::SOURCE, &["heat"], &[Float64, Float32, BFloat16, Float16]),
        (illegal_access::SOURCE, &["illegal_access"], &[Float32]),
        (sum_cuda::SOURCE, &["sum_blocks", "sum_partials"], &[Float64, Float32, BFloat16, Float16]),
    ]
}

#[test]
fn every_source_compiles_to_its_entry_functions() {
    for (source, entries, dtypes) in sources() {
        for capability in [(8, 0), (9, 0), (10, 0)] {
            let cubin = match source.compile(capability) {
                Ok(cubin) => cubin,
                Err(Refusal::Skipped(reason)) => {
                    return crate::skip::tool(reason);
                }
                Err(other) => panic!("{other}"),
            };
            for entry in entries {
                for dtype in dtypes {
                    // The section of the function's code, up to its NUL.
                    let section = format!(".text.{entry}_{}\0", dtype.short());
                    let found = cubin.windows(section.len()).any(|it| it == section.as_bytes());
                    assert!(found, "{capability:?}: no {section} in {}", source.name);
                }
            }
        }
    }
}

#[test]
fn they_are_refused_on_a_cpu() {
    let context = check::on_cpu(Dtype::Float32);
    let texts = [
        check::refusal::<gemv_cuda::Cuda>(
            &gemv::ProblemSize { out_features: 8, in_features: 8 },
            &context,
        ),
        check::refusal::<heat_cuda::Cuda>(&heat::ProblemSize { grid_size: vec![4, 4] }, &context),
        check::refusal::<illegal_access::IllegalAccess>(&illegal_access::ProblemSize {}, &context),
        check::refusal::<sum_cuda::Cuda>(&sum::ProblemSize { elements: 8 }, &context),
    ];
    assert_eq!(texts.len(), sources().len());
    for text in texts {
        assert!(text.starts_with("unsupported: cpu, fp32: CUDA runs on backend cuda"), "{text}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_place() {
    let source = Source { name: "wrong.cu", text: "\nint f() { return g(); }" };
    match source.compile((8, 0)) {
        Err(Refusal::Failed(text)) => assert!(text.contains("wrong.cu(2): error"), "{text}"),
        Err(Refusal::Skipped(reason)) => crate::skip::tool(reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn behind_the_faulty_kernel_stands_a_sound_one() {
    let size = sound::ProblemSize {};
    let twos = Tensor::full([4], 2.0, (tch::Kind::Double, tch::Device::Cpu));
    let distance = check::distance::<sound::Sound>(&size, Dtype::Float32, &twos);
    assert_eq!(distance.accuracy(0.0, 1).max_abs_error.0, 0.0);
}
