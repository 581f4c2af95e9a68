use super::*;
use crate::recipes::scheme;
use plan::Recipe;
use tch::Device;

fn row(values: &[f32]) -> Tensor {
    Tensor::from_slice(values).reshape([1, -1])
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).reshape([-1])).unwrap()
}

/// Values between −1 and 1 that follow no period of a row.
fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
    let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
    (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
}

const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

#[test]
fn the_two_largest_of_each_four_stay_and_of_equals_the_earlier() {
    for (four, kept) in [
        ([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.0, 4.0]),
        ([-4.0, 2.0, 3.0, -1.0], [-4.0, 0.0, 3.0, 0.0]),
        ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]),
        ([1.0, -2.0, 2.0, -2.0], [0.0, -2.0, 2.0, 0.0]),
        ([2.0, 1.0, -1.0, 1.0], [2.0, 1.0, 0.0, 0.0]),
        ([0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 5.0]),
        ([0.0; 4], [0.0; 4]),
    ] {
        assert_eq!(values(&prune(&row(&four)).unwrap()), kept, "{four:?}");
    }
    // Each four by itself, whatever is in the others.
    let two = prune(&row(&[1.0, 2.0, 3.0, 4.0, 100.0, 200.0, 300.0, 400.0])).unwrap();
    assert_eq!(values(&two), [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 300.0, 400.0]);
}

#[test]
fn what_is_pruned_is_half_zero_and_stays_as_it_is() {
    for kind in KINDS {
        let weight = wave(7, 52, kind);
        let pruned = prune(&weight).unwrap();
        let fours = pruned.reshape([-1, 4]).not_equal(0.0).sum_dim_intlist(
            [-1].as_slice(),
            false,
            Kind::Int64,
        );
        assert_eq!((fours.min().int64_value(&[]), fours.max().int64_value(&[])), (2, 2));
        let left = pruned.not_equal(0.0);
        assert!(weight.masked_select(&left).equal(&pruned.masked_select(&left)));
        assert!(prune(&pruned).unwrap().equal(&pruned));
    }
}

#[test]
fn compression_loses_nothing() {
    // Odd numbers of fours too, and fours that hold fewer than two values.
    for (n, k) in [(1, 4), (3, 4), (5, 12), (8, 64), (33, 100)] {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half, Kind::Int8, Kind::Float8e4m3fn] {
            let dense = wave(n, k, Kind::Float) * 100.0;
            let pruned = prune(&dense.relu()).unwrap().to_kind(kind);
            let compressed = Stored::compress(&pruned).unwrap();
            let expanded = compressed.dense().unwrap();
            assert_eq!((expanded.size(), expanded.kind()), (vec![n, k], kind));
            assert_eq!(values(&expanded), values(&pruned), "{kind:?} {n}×{k}");

            let bytes = |tensor: &Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
            let stored: usize = compressed.tensors().into_iter().map(bytes).sum();
            let all = usize::try_from(n * k).unwrap();
            assert_eq!(stored, all / 2 * kind.elt_size_in_bytes() + all.div_ceil(8));
        }
    }
}

#[test]
fn a_weight_that_is_not_pruned_is_refused() {
    let refusal = Stored::compress(&row(&[1.0, 2.0, 3.0, 0.0])).unwrap_err();
    let reason = "1 weights beyond two of each four are not zero".to_owned();
    assert_eq!(refusal, Refusal::Failed(reason));
}

#[test]
fn the_layer_is_the_dense_one_of_the_pruned_weight() {
    for kind in KINDS {
        for (m, k, n) in [(1, 4, 1), (3, 20, 7), (16, 256, 64)] {
            let pruned = prune(&wave(n, k, kind)).unwrap();
            let baseline = scheme(Recipe::Baseline).unwrap();
            let layer = baseline.semi_sparse(pruned.shallow_clone()).unwrap();
            let x = wave(m, k, kind);
            let expected = x.linear(&pruned, None::<&Tensor>);
            assert!(layer.forward(&x, None).unwrap().equal(&expected), "{kind:?}");
            let out = expected.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&expected), "{kind:?}");
            assert_eq!((layer.is_quantized(), layer.density()), (false, Some(0.5)));
        }
    }
}

#[test]
fn a_row_that_is_not_of_fours_is_refused() {
    let refusal = prune(&wave(4, 6, Kind::Float)).unwrap_err();
    let reason = "k = 6, but 2:4 sparsity needs a multiple of 4".to_owned();
    assert_eq!(refusal, Refusal::Unsupported(reason));
}
