use super::*;
use tch::Device;

/// Values between −1 and 1 that follow no period of a row.
fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
}

/// Which blocks of the matrix are not zero.
fn left(weight: &Tensor) -> Vec<Vec<i64>> {
    let (n, k) = weight.size2().unwrap();
    let norms = blocks(weight).unwrap().abs().amax([1, 3], false);
    let row = |row: i64| {
        let left = |&column: &i64| norms.double_value(&[row, column]) != 0.0;
        (0..k / BLOCK).filter(left).collect()
    };
    (0..n / BLOCK).map(row).collect()
}

#[test]
fn the_blocks_of_smaller_norm_go() {
    let weight = Tensor::ones([128, 256], (Kind::Float, Device::Cpu));
    let times = |row: i64, column: i64, factor: f64| {
        let mut block = weight.narrow(0, row * BLOCK, BLOCK).narrow(1, column * BLOCK, BLOCK);
        drop(block.f_mul_scalar_(factor).unwrap());
    };
    times(0, 1, 3.0);
    times(0, 3, -2.0);
    // The earlier of two equal blocks is kept.
    times(1, 3, 0.5);
    let pruned = prune(&weight).unwrap();
    assert_eq!(left(&pruned), [vec![1, 3], vec![0, 1]]);
    let kept = pruned.not_equal(0.0);
    assert!(pruned.masked_select(&kept).equal(&weight.masked_select(&kept)));
    assert!(prune(&pruned).unwrap().equal(&pruned));
}

#[test]
fn of_an_odd_number_of_blocks_the_smaller_half_goes() {
    let pruned = prune(&wave(64, 5 * 64, Kind::Float)).unwrap();
    assert_eq!(left(&pruned)[0].len(), 3);
    assert_eq!(layer(&pruned).unwrap().density(), Some(0.6));
}

#[test]
fn compression_loses_nothing() {
    for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
        for (n, k) in [(64, 128), (192, 320), (128, 512)] {
            let pruned = prune(&wave(n, k, kind)).unwrap();
            let layer = BlockSparse::compress(&pruned).unwrap();
            let restored = Tensor::zeros([n, k], (kind, Device::Cpu));
            let (block_rows, kept) = layer.columns.size2().unwrap();
            for row in 0..block_rows {
                for place in 0..kept {
                    let column = layer.columns.int64_value(&[row, place]);
                    let block = layer.values.get(row).narrow(1, place * BLOCK, BLOCK);
                    let rows = restored.narrow(0, row * BLOCK, BLOCK);
                    rows.narrow(1, column * BLOCK, BLOCK).copy_(&block);
                }
            }
            assert!(restored.equal(&pruned), "{kind:?} {n}×{k}");
            assert_eq!(layer.values.numel() as i64, n * kept * BLOCK);
        }
    }
}

#[test]
fn the_layer_is_the_dense_one_of_the_pruned_weight() {
    for (kind, tolerance) in [(Kind::Float, 1e-6), (Kind::BFloat16, 4e-3), (Kind::Half, 5e-4)] {
        for (m, k, n) in [(1, 128, 64), (3, 320, 192), (70, 512, 128)] {
            let pruned = prune(&wave(n, k, kind)).unwrap();
            let (layer, x) = (layer(&pruned).unwrap(), wave(m, k, kind));
            let exact = x.to_kind(Kind::Double).matmul(&pruned.to_kind(Kind::Double).tr());
            let found = layer.forward(&x, None).unwrap();
            assert_eq!((found.kind(), found.size()), (kind, vec![m, n]));
            let error = (found.to_kind(Kind::Double) - &exact).norm() / exact.norm();
            let error = error.double_value(&[]);
            assert!(error < tolerance, "{kind:?} {m}×{k}×{n}: {error}");

            let out = found.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&found));
            let three = layer.forward(&x.reshape([1, m, k]), None).unwrap();
            assert!(three.equal(&found.unsqueeze(0)));
            assert!(!layer.is_quantized());
        }
    }
}

#[test]
fn a_weight_of_zeros_is_zero() {
    let weight = prune(&Tensor::zeros([64, 128], (Kind::Float, Device::Cpu))).unwrap();
    let y = layer(&weight).unwrap().forward(&wave(3, 128, Kind::Float), None).unwrap();
    assert_eq!(y.abs().max().double_value(&[]), 0.0);
}

#[test]
fn a_weight_that_is_not_pruned_is_refused() {
    let refusal = layer(&wave(64, 128, Kind::Float)).map(drop).unwrap_err();
    assert!(matches!(&refusal, Refusal::Failed(reason) if reason.contains("beyond half")));
}

#[test]
fn other_sizes_are_refused() {
    for (n, k, reason) in [
        (64, 130, "k = 130, but block sparsity needs a multiple of 64"),
        (65, 128, "n = 65, but block sparsity needs a multiple of 64"),
        (64, 64, "k = 64, but block sparsity needs two blocks of 64 to drop one"),
    ] {
        let refusal = prune(&wave(n, k, Kind::Float)).unwrap_err();
        assert_eq!(refusal, Refusal::Unsupported(reason.to_owned()));
    }
}
