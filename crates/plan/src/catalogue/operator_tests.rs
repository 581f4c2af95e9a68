use super::*;

fn operator_work(operator: Operator) -> OperatorWork {
    let size = OperatorShape { batch_size: 32, sequence_length: 512, tensor_dimension: 768 };
    OperatorWork {
        operator,
        implementation: Implementation::Aten,
        compile: None,
        size,
        max_elements: 50_000_000,
    }
}

#[test]
fn each_input_and_the_output_move_once() {
    let (n, rows, row) = (32 * 512 * 768, 32 * 512, 768);
    for (operator, elements, classes, flops) in [
        (Operator::LayerNorm, 2 * n + 2 * row, 0, 8),
        (Operator::LayerNormNoAffine, 2 * n, 0, 6),
        (Operator::RmsNorm, 2 * n + row, 0, 4),
        (Operator::Gelu, 2 * n, 0, 5),
        (Operator::GeluTanh, 2 * n, 0, 9),
        (Operator::Silu, 2 * n, 0, 4),
        (Operator::Softmax, 2 * n, 0, 5),
        (Operator::MseLoss, 2 * n + 1, 0, 3),
        (Operator::CrossEntropy, n + 1, rows, 4),
        (Operator::BiasGelu, 2 * n + row, 0, 6),
        (Operator::AddLayerNorm, 3 * n + 2 * row, 0, 9),
    ] {
        let work = operator_work(operator);
        assert_eq!(work.bytes(Dtype::Float32), 4 * elements + 8 * classes, "{operator}");
        assert_eq!(work.bytes(Dtype::BFloat16), 2 * elements + 8 * classes, "{operator}");
        assert_eq!(work.flops(), flops * n, "{operator}");
    }
}

#[test]
fn every_implementation_moves_the_same() {
    for operator in Operator::ALL {
        for implementation in Implementation::ALL {
            let work = OperatorWork { implementation: *implementation, ..operator_work(*operator) };
            assert_eq!(
                work.traffic(),
                operator_work(*operator).traffic(),
                "{operator} {implementation}"
            );
        }
    }
}

#[test]
fn absurd_sizes_saturate() {
    let size = OperatorShape {
        batch_size: u64::MAX,
        sequence_length: u64::MAX,
        tensor_dimension: u64::MAX,
    };
    let work = OperatorWork { size, ..operator_work(Operator::AddLayerNorm) };
    for bytes in [
        work.bytes(Dtype::Float32),
        work.memory_bytes(Dtype::Float32),
        work.host_bytes(Dtype::Float32),
    ] {
        assert_eq!(bytes, u64::MAX);
    }
}
