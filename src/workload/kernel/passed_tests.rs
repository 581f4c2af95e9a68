use plan::{Dtype, Implementation, OperatorShape};

use super::super::testing::cpu_case;
use super::*;
use crate::kernel::Computation;
use crate::workload::{Workload, prepare};

fn case(operator: plan::Operator, dtype: Dtype) -> (Case, OperatorWork) {
    let size = OperatorShape { batch_size: 3, sequence_length: 5, tensor_dimension: 1001 };
    let implementation = Implementation::Stream;
    let work =
        OperatorWork { operator, implementation, compile: None, size, max_elements: u64::MAX };
    (cpu_case(work, dtype), work)
}

/// Every operator's, in every dtype.
fn all() -> impl Iterator<Item = (plan::Operator, Dtype)> {
    plan::Operator::ALL.iter().flat_map(|&it| Dtype::ALL.iter().map(move |&dtype| (it, dtype)))
}

#[test]
fn every_byte_arrives() {
    for (operator, dtype) in all() {
        let (case, _) = case(operator, dtype);
        let workload = prepare(&case).unwrap();
        let accuracy =
            workload.check().unwrap_or_else(|error| panic!("{operator} {dtype}: {error}"));
        assert_eq!((accuracy.sqnr_db.0, accuracy.rows_checked), (f64::INFINITY, 15), "{operator}");
        assert_eq!(workload.weights_bytes(), 0, "w and b are not read");
    }
}

/// A pass that leaves out the last byte, or reads a group of eight twice.
#[test]
fn a_byte_too_few_is_refused() {
    for (operator, dtype) in all() {
        let (case, work) = case(operator, dtype);
        let mut traffic = super::prepare(&case, &work).unwrap();
        let context = super::super::context(&case, work, tch::Device::Cpu);
        let inputs = context.inputs().unwrap();
        let x = inputs.examples[0].shallow_clone();
        let last = x.view([-1]).get(-1);
        let flipped = bits(&last).unwrap().bitwise_not();
        bits(&x).unwrap().view([-1]).get(-1).copy_(&flipped);
        traffic.step = context.build(inputs).unwrap();
        let text = Workload::check(&traffic).expect_err("another byte").to_string();
        let expected = match operator.is_loss() {
            true => "not every byte was read once",
            false => "1 of 15015 values are not passed on",
        };
        assert!(text.contains(expected), "{operator} {dtype}: {text}");
    }
}

#[test]
fn an_output_of_an_earlier_step_is_not_taken_for_this_ones() {
    for operator in [plan::Operator::Silu, plan::Operator::AddLayerNorm] {
        let (case, work) = case(operator, Dtype::BFloat16);
        let mut traffic = super::prepare(&case, &work).unwrap();
        let right = traffic.step.run().unwrap();
        traffic.step = Step::new::<Refusal>(&["nothing"], move || Ok(right.shallow_clone()));
        let text = Workload::check(&traffic).expect_err("nothing is written").to_string();
        assert!(text.contains("of 15015 values are not passed on"), "{text}");
    }
}
