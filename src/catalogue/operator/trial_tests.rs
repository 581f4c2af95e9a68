use plan::{Dtype, Implementation, Operator};

use super::super::normalization::Normalization;
use super::super::pointwise::Pointwise;
use super::*;

fn context(operator: Operator, dtype: Dtype, tensor_dimension: u64) -> KernelContext<OperatorWork> {
    let size = OperatorShape { batch_size: 32, sequence_length: 512, tensor_dimension };
    let implementation = Implementation::Rust;
    let work =
        OperatorWork { operator, implementation, compile: None, size, max_elements: u64::MAX };
    let device = plan::Device::Cpu;
    KernelContext { work, dtype, device, torch_device: Device::Cpu, threads: 1, seed: 11 }
}

fn drawn(trial: &Small, formula: impl Formula) -> Inputs {
    let _drawing = inputs::seeded(11);
    trial.draw(formula).unwrap()
}

fn trials_with(
    context: &KernelContext<OperatorWork>,
    values: Values,
) -> impl Iterator<Item = Small> {
    trials(context).into_iter().filter(move |it| it.values == values)
}

#[test]
fn rows_are_those_of_the_case_beside_them_and_short() {
    let dimensions = |own: u64| {
        let all = trials(&context(Operator::Gelu, Dtype::Float32, own));
        assert!(all.iter().all(|it| it.context.work.size.elements() <= 2 * (LONGEST + 1)));
        assert!(all.iter().any(|it| it.context.work.size.elements() > 2 * 32_768));
        let mut dimensions: Vec<_> =
            all.iter().map(|it| it.context.work.size.tensor_dimension).collect();
        dimensions.sort_unstable();
        dimensions.dedup();
        dimensions
    };
    assert_eq!(dimensions(768), [7, 767, 768, 769]);
    assert_eq!(dimensions(1), [1, 2, 7]);
    assert_eq!(dimensions(40_000), [7, 39_999, 40_000, 40_001]);
    assert_eq!(dimensions(65_536), [7, 65_535, 65_536, 65_537]);
    assert_eq!(dimensions((1 << 40) + 3), [7, 65_474, 65_475, 65_476], "as odd");
}

#[test]
fn padded_rows_are_unaligned_views_with_nan_between_them() {
    let context = context(Operator::AddLayerNorm, Dtype::Float16, 64);
    let mut found = 0;
    for trial in trials_with(&context, Values::Normal).filter(|it| it.layout == Layout::Padded) {
        let inputs = drawn(&trial, Normalization::AddLayer);
        let row = i64::try_from(trial.context.work.size.tensor_dimension).unwrap();
        for x in &inputs.examples {
            assert_eq!(x.stride()[1..], [row + 3, 1]);
            let wider = x.as_strided([5, row + 2], [row + 3, 1], None);
            assert_eq!(wider.isnan().sum(None::<Kind>).int64_value(&[]), 10);
            assert_eq!(x.isnan().sum(None::<Kind>).int64_value(&[]), 0);
        }
        for tensor in inputs.examples.iter().chain(&inputs.parameters) {
            assert_ne!(tensor.data_ptr() as usize % 4, 0, "{tensor:?}");
        }
        found += 1;
    }
    assert_eq!(found, 2);
}

#[test]
fn values_are_as_special_as_they_say() {
    for &dtype in Dtype::ALL {
        let context = context(Operator::Silu, dtype, 96);
        let float = Float::for_dtype(dtype);
        let x = |values| {
            let trial = trials_with(&context, values).next().unwrap();
            let x = drawn(&trial, Pointwise::Silu).examples.remove(0);
            assert_eq!(x.kind(), inputs::kind(dtype));
            Vec::<f64>::try_from(x.to_kind(Kind::Double).reshape([-1])).unwrap()
        };
        let denormal = x(Values::Denormal);
        assert!(denormal.iter().all(|x| x.abs() <= float.smallest_normal()), "{dtype}");
        assert!(denormal.iter().filter(|x| **x != 0.0).count() > 450, "{dtype}");
        let huge = x(Values::Huge);
        let largest = huge.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        assert!(largest > 0.9 * float.largest() && largest <= float.largest(), "{dtype}");
        let constant = x(Values::Constant);
        assert!(constant.chunks(96).all(|row| row.iter().all(|x| *x == row[0])), "{dtype}");
        assert!(constant[0] != constant[96], "{dtype}");
        let zero = x(Values::Zero);
        assert!(zero.iter().all(|x| *x == 0.0), "{dtype}");
        assert!(zero.iter().any(|x| x.is_sign_negative()), "{dtype}");
        let offset = x(Values::Offset);
        let mean = offset.iter().sum::<f64>() / offset.len() as f64;
        assert!((mean + float.coarse()).abs() < 0.5, "{dtype}: {mean}");
        let count =
            |values, is: fn(f64) -> bool| x(values).into_iter().filter(|it| is(*it)).count();
        assert_eq!(count(Values::Nan, f64::is_nan), 1);
        assert_eq!(count(Values::Infinity, |it| it == f64::INFINITY), 1);
        assert_eq!(count(Values::MinusInfinity, |it| it == f64::NEG_INFINITY), 1);
    }
}

/// The single value stands first, last, between, and in the last of a row that is no whole vector.
#[test]
fn a_single_value_stands_in_every_part_of_a_row() {
    let context = context(Operator::Softmax, Dtype::Float32, 64);
    let places: Vec<_> = trials_with(&context, Values::Nan)
        .map(|it| (it.context.work.size.tensor_dimension, it.place))
        .collect();
    assert_eq!(places, [(64, 63), (65, 64), (7, 6), (64, 32), (63, 0)]);
}
