//! A case's own output, its own kernels, and where ATen's output is none.

use plan::{Accuracy, Case, Device, Dtype, Implementation, OperatorWork};
use tch::{TchError, Tensor};

use super::operator_tests::work;
use super::testing::cpu_case as case;
use crate::kernel::Step;
use crate::workload::{Refusal, Workload, preflight};

/// The accuracy of a case once `change` was applied to its output.
fn changed(
    work: OperatorWork,
    dtype: Dtype,
    change: impl Fn(Tensor) -> Result<Tensor, TchError> + 'static,
) -> Result<Accuracy, String> {
    let mut workload = super::prepare(&case(work, dtype), work).unwrap();
    let kernels = workload.step.kernels.clone();
    let step =
        std::mem::replace(&mut workload.step, Step::new::<Refusal>(&[""; 0], || unreachable!()));
    workload.step = Step::new::<Refusal>(&kernels, move || Ok(change(step.run()?)?));
    workload.check().map_err(|refusal| refusal.to_string())
}

/// A row, or a part of a loss, that is too small a part of the output for its ratio of norms.
#[test]
fn a_fault_in_one_place_of_the_cases_output_is_refused() {
    for &dtype in Dtype::ALL {
        let gelu = work(plan::Operator::Gelu, Implementation::Rust, [50, 1000, 3]);
        let accuracy = changed(gelu, dtype, Ok).unwrap();
        assert_eq!(
            (&*accuracy.gates[0].inputs, &accuracy.gates[0].size),
            ("own", &vec![50, 1000, 3])
        );
        let text = changed(gelu, dtype, |y| {
            drop(y.get(7).get(12).f_zero_()?);
            y.f_contiguous()
        });
        let text = text.expect_err("a row of zeros");
        // But in bfloat16, the ratio of norms tells, too.
        let own = text.contains("of own inputs of 50x1000x3, the output at [7, 12, ");
        assert_eq!(own, dtype == Dtype::BFloat16, "{text}");
    }
    for operator in [plan::Operator::MseLoss, plan::Operator::CrossEntropy] {
        for &dtype in Dtype::ALL {
            let work = work(operator, Implementation::Rust, [8, 8, 100]);
            changed(work, dtype, Ok).unwrap();
            let text = changed(work, dtype, |y| y.f_mul_scalar(63.0 / 64.0));
            let text = text.expect_err("a part of 64 is dropped");
            assert!(text.contains("inaccurate: "), "{operator} {dtype}: {text}");
        }
    }
}

#[test]
fn an_output_of_an_earlier_step_is_not_taken_for_this_ones() {
    let work = work(plan::Operator::Gelu, Implementation::Rust, [2, 3, 48]);
    let mut workload = super::prepare(&case(work, Dtype::Float32), work).unwrap();
    let (kernels, right) = (workload.step.kernels.clone(), workload.step.run().unwrap());
    // Nothing is written, as it happens to memory that is freed and handed out again.
    workload.step = Step::new::<Refusal>(&kernels, move || Ok(right.shallow_clone()));
    let text = workload.check().expect_err("nothing is written").to_string();
    assert!(text.contains("288 of 288 outputs are NaN"), "{text}");
}

#[test]
fn a_kernel_that_no_gate_has_tried_is_refused() {
    let work = work(plan::Operator::Silu, Implementation::Aten, [2, 3, 48]);
    let mut workload = super::prepare(&case(work, Dtype::Float32), work).unwrap();
    workload.step.kernels = vec!["aten::silu".to_owned(), "aten::silu_long".to_owned()];
    let text = workload.check().expect_err("an untried kernel").to_string();
    assert!(text.contains("`aten::silu_long` runs at this size"), "{text}");
    assert!(text.contains("which `aten::silu` passed"), "{text}");
}

/// 16 384 rows of 64 classes come to more than 65 504.
#[test]
fn a_sum_of_rows_that_float16_does_not_hold_is_refused() {
    use Implementation::{Aten, AtenComposed, AtenOut, Rust};
    let of = |implementation, rows, dtype, device| {
        let work = work(plan::Operator::CrossEntropy, implementation, [1, rows, 64]);
        preflight(&Case { device, ..case(work, dtype) })
    };
    for implementation in [Aten, AtenOut] {
        let text = of(implementation, 16_384, Dtype::Float16, Device::Cpu).unwrap_err().to_string();
        assert!(text.contains("16384 rows of 64 classes come to about 76331"), "{text}");
        assert!(text.ends_with("use bfloat16, or fewer rows"), "{text}");
        assert_eq!(of(implementation, 14_060, Dtype::Float16, Device::Cpu), Ok(()));
        assert_eq!(of(implementation, 1 << 19, Dtype::BFloat16, Device::Cpu), Ok(()));
        let on_cuda = of(implementation, 16_384, Dtype::Float16, Device::Cuda);
        assert!(!matches!(on_cuda, Err(Refusal::Unsupported(_))), "{on_cuda:?}");
    }
    for implementation in [AtenComposed, Rust] {
        assert_eq!(of(implementation, 16_384, Dtype::Float16, Device::Cpu), Ok(()));
    }
    // Where it is not refused, it passes; the bound is not far from where ATen's breaks.
    let checked = |rows| {
        let work = work(plan::Operator::CrossEntropy, Aten, [1, rows, 64]);
        let case = case(work, Dtype::Float16);
        super::prepare(&case, work).and_then(|it| it.check())
    };
    checked(14_060).unwrap();
    let text = checked(14_400).unwrap_err().to_string();
    assert!(text.contains("NaN or infinite"), "{text}");
}
