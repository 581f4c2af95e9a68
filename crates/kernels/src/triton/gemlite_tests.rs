use super::super::tests::interpreter::{Guarded, Interpreter, interpreter};
use super::*;
use crate::cuda::gemlite::tests::Product;

const HOPPER: Capability = Capability { major: 9, minor: 0 };

/// Every kernel of a dtype for a capability: of groups of 64, and of 8 bits.
pub(in super::super) fn specifications(kind: Kind, capability: Capability) -> Vec<Specification> {
    let mut all: Vec<Specification> = Vec::new();
    for group in [Some(64), None] {
        let format = Format { kind, n: 4096, k: 4096, group };
        for tile in 0..format.tiles().len() {
            all.extend(format.specifications(tile, capability).into_iter().map(|(it, _)| it));
        }
    }
    all
}

#[test]
fn a_gpu_is_filled_by_the_largest_tile_that_can() {
    for (group, m, n, tile) in [
        (Some(64), 4096, 4096, (128, 64)),
        (Some(64), 1024, 1024, (64, 64)),
        (Some(64), 1000, 960, (64, 64)),
        (Some(64), 512, 1024, (32, 64)),
        (Some(64), 17, 4096, (16, 64)),
        (Some(64), 64, 1024, (16, 64)),
        (Some(32), 9, 64, (16, 64)),
        (None, 4096, 4096, (128, 128)),
        (None, 17, 4096, (16, 64)),
    ] {
        let format = Format { kind: Kind::Half, n, k: 4096, group };
        let Tile { m: rows, n: columns, .. } = format.tiles()[format.tile(m)];
        assert_eq!((rows, columns), tile, "{m} rows, {n} columns");
    }
}

#[test]
fn a_step_is_a_part_of_every_group() {
    for (group, k, step) in
        [(Some(32), 96, 32), (Some(128), 256, 64), (None, 4096, 128), (None, 96, 32)]
    {
        let format = Format { kind: Kind::Half, n: 64, k, group };
        let (product, _) = format.specifications(2, HOPPER).pop().unwrap();
        assert!(product.constants.contains(&("K", Constant::Integer(step))), "{group:?} of {k}");
    }
}

/// The bound is that of the kernels of CUDA C++.
#[test]
fn interpreted_products_are_right() {
    let Some(python) = interpreter() else { return };
    let mut interpreter = Interpreter::default();
    let mut cases = Vec::new();
    for kind in [Kind::BFloat16, Kind::Half] {
        for (bits, tile, sizes) in [
            // Parts of blocks, one group and several, and more groups than are taken at once.
            (4, 0, [130, 70, 128, 64]),
            (4, 0, [3, 33, 1088, 64]),
            (4, 0, [9, 64, 256, 128]),
            (4, 1, [65, 66, 64, 32]),
            (4, 2, [33, 40, 192, 64]),
            (4, 3, [17, 1, 512, 256]),
            (8, 0, [9, 130, 96, 96]),
            (8, 1, [66, 3, 64, 64]),
            (8, 2, [33, 40, 256, 256]),
            (8, 3, [17, 33, 32, 32]),
        ] {
            let [m, n, k, group] = sizes;
            let mut product = Product::new(bits, kind, sizes);
            if m == 9 {
                product = product.of_one_sign();
            }
            let tensors = product.tensors();
            let (x, out) = (Guarded::new(&product.x, 0), Guarded::for_output(&[m, n], kind));
            interpreter.add(&[&x, &out]);
            tensors.iter().for_each(|it| interpreter.add_tensor(it));
            let operands = Operands {
                x: &x.tensor,
                packed: &tensors[0],
                scale: &tensors[1],
                zero: tensors.get(2),
                out: &out.tensor,
            };
            let format = Format { kind, n, k, group: (bits == 4).then_some(group) };
            let (launches, sums) = format.launches(tile, &operands).unwrap();
            sums.iter().for_each(|it| interpreter.add_tensor(it));
            let specifications = format.specifications(tile, HOPPER);
            assert_eq!(specifications.len(), launches.len());
            for ((specification, _), launch) in specifications.iter().zip(&launches) {
                interpreter.launch(specification, launch);
            }
            cases.push((
                product,
                out,
                tensors,
                sums,
                format!("{bits} bits, tile {tile}, {sizes:?}"),
            ));
        }
    }
    interpreter.run(python);
    for (product, out, .., name) in cases {
        out.check_guard();
        product.check(&out.tensor, &name);
    }
}
