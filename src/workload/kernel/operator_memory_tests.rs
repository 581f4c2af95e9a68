//! Memory that an operator's case holds while it is built and checked, and allocations of its steps.

use plan::{Dtype, Implementation, OperatorWork};

use super::super::prepare;
use super::operator_tests::{on_a_cpu, work};
use super::testing::cpu_case as case;
use crate::native::memory;
use crate::workload::Workload;

/// The most that building and checking hold, beside what was asked for; and the longest row tried.
fn peak_memory(work: OperatorWork, dtype: Dtype) -> (u64, u64, Option<u64>) {
    let (checked, report) =
        memory::track(|| prepare(&case(work, dtype))?.check()).expect("nothing else tracks");
    let OperatorWork { operator, implementation, size, .. } = work;
    let accuracy = checked
        .unwrap_or_else(|error| panic!("{operator} {implementation} {size} {dtype}: {error}"));
    let longest = accuracy.gates.iter().map(|gate| gate.size[2]).max();
    (report.cpu.peak_bytes, work.memory_bytes(dtype), longest)
}

#[test]
#[ignore = "long: builds every operator, seconds"]
fn building_and_checking_take_no_more_memory_than_was_asked_for() {
    for (operator, implementation) in on_a_cpu() {
        for (size, dtype) in [
            ([1, 1, 1], Dtype::Float32),
            ([1, 2, 70_000], Dtype::Float32),
            ([2, 64, 1024], Dtype::BFloat16),
        ] {
            let work = work(operator, implementation, size);
            let (peak, asked, longest) = peak_memory(work, dtype);
            let what = format!("{operator} {implementation} {} {dtype}", work.size);
            // 70 000 has 48 more than a multiple of 64.
            let expected = match size[2] {
                70_000 => 70_000,
                own => (own + 1).max(7),
            };
            assert_eq!(longest, Some(expected), "{what}");
            assert!(peak <= asked, "{what}: {peak} of {asked}");
        }
    }
}

/// At these sizes constants no longer decide.
#[test]
fn nor_do_large_cases() {
    use plan::Operator::{AddLayerNorm, CrossEntropy, Gelu, LayerNorm};
    for (operator, implementation, dtype) in [
        (LayerNorm, Implementation::Rust, Dtype::Float32),
        (Gelu, Implementation::AtenOut, Dtype::BFloat16),
        (AddLayerNorm, Implementation::AtenComposed, Dtype::Float32),
        (CrossEntropy, Implementation::Aten, Dtype::BFloat16),
    ] {
        let (peak, asked, _) = peak_memory(work(operator, implementation, [1, 4096, 1024]), dtype);
        assert!(peak <= asked, "{operator} {implementation} {dtype}: {peak} of {asked}");
    }
}

#[test]
fn a_preallocated_output_is_none_that_a_step_allocates() {
    for (operator, implementation) in on_a_cpu() {
        for &dtype in Dtype::ALL {
            let work = work(operator, implementation, [2, 64, 256]);
            let workload = super::prepare(&case(work, dtype), work).unwrap();
            drop(workload.step().unwrap());
            let (_output, report) =
                memory::track(|| workload.step().unwrap()).expect("nothing else tracks");
            let (x, allocated) = (2 * 64 * 256 * dtype.bytes(), report.cpu.total_bytes);
            let what = format!("{operator} {implementation} {dtype}: {allocated} of {x}");
            if implementation == Implementation::AtenOut {
                assert!(allocated < x, "{what}");
                assert!(workload.outputs_bytes() > 0, "{what}");
            } else if !operator.is_loss() {
                assert!(allocated >= x, "{what}");
            }
        }
    }
}
