//! The CUDA of `benches/kernels`, executed thread by thread on the CPU.

use tch::{Kind, Tensor};

use super::*;
use kernels::cuda::Grid as Blocks;
use kernels::cuda::emulation::{Argument, Emulation};

/// Builds a shipped source.
macro_rules! shipped {
    ($path:literal) => {{
        let text =
            Source { name: $path, text: include_str!(concat!("../../benches/kernels/", $path)) }
                .whole();
        Emulation::build(&machinery::Source { name: $path, text: &text })
    }};
}

fn blocks(grid: Grid) -> Blocks {
    Blocks { blocks: (grid.blocks, 1), threads: grid.threads }
}

const KINDS: [(&str, Kind, f64); 4] = [
    ("f64", Kind::Double, 1e-15),
    ("f32", Kind::Float, 1e-6),
    ("bf16", Kind::BFloat16, 4e-3),
    ("f16", Kind::Half, 5e-4),
];

/// Numbers from −1 to 1, in no generator's order.
fn values(size: &[i64]) -> Tensor {
    let count: i64 = size.iter().product();
    let places = Tensor::arange(count, (Kind::Double, Device::Cpu));
    ((places * 12.9898).sin() * 43758.5453).frac().reshape(size)
}

/// Demands `found` within so much of the largest expected value.
fn assert_near(found: &Tensor, expected: &Tensor, allowed: f64, what: &str) {
    let error = (found.to_kind(Kind::Double) - expected).abs().max().double_value(&[]);
    let largest = expected.abs().max().double_value(&[]);
    assert!(error <= allowed * largest, "{what}: {error} of {largest}");
}

#[test]
fn a_grid_covers_its_items() {
    let over = |items, threads| Grid::covering(items, threads).unwrap();
    assert_eq!(over(1, 256), Grid { blocks: 1, threads: 256 });
    assert_eq!(over(257, 256), Grid { blocks: 2, threads: 256 });
    for (items, threads) in [(0, 256), (1, 0), (1, 1025), (usize::MAX, 1)] {
        let refusal = Grid::covering(items, threads).expect_err("CUDA has none such");
        assert!(matches!(&refusal, Refusal::Unsupported(text) if text.contains("1024")));
    }
}

#[test]
fn heat_flows_to_every_point() {
    let emulation = shipped!("stencil/heat.cu");
    for size in [&[5_i64, 7][..], &[4, 5, 19]] {
        for (dtype, kind, allowed) in KINDS {
            let u = values(size).to_kind(kind);
            let wide = u.to_kind(Kind::Double);
            let mut change = wide.zeros_like();
            for dim in 0..size.len() as i64 {
                change += wide.roll([1], [dim]) + wide.roll([-1], [dim]) - &wide * 2.0;
            }
            let mut inside = Tensor::zeros_like(&wide);
            let mut view = inside.shallow_clone();
            for (dim, points) in size.iter().enumerate() {
                view = view.narrow(dim as i64, 1, points - 2);
            }
            drop(view.fill_(0.125));
            inside *= change;
            let mut next = u.zeros_like();
            let [planes, rows, width] = match *size {
                [rows, width] => [1, rows, width],
                _ => [size[0], size[1], size[2]],
            };
            let mut arguments = vec![Argument::In(&u), Argument::Out(&mut next)];
            arguments.extend([planes, rows, width].map(Argument::Int));
            let grid = Grid::covering(u.numel(), 64).unwrap();
            emulation.run(&format!("heat_{dtype}"), blocks(grid), &mut arguments);
            drop(arguments);
            assert_near(&next, &(wide + inside), allowed, dtype);
        }
    }
}

#[test]
fn sums_are_of_every_value() {
    let emulation = shipped!("reduction/sum.cu");
    for (count, of_blocks) in [(1, 1), (1023, 2), (6001, 3)] {
        for (dtype, kind, allowed) in KINDS {
            let x = (values(&[count]) + 1.5).to_kind(kind);
            let wide = if kind == Kind::Double { kind } else { Kind::Float };
            let mut partial = Tensor::zeros([of_blocks], (wide, Device::Cpu));
            let mut sum = Tensor::zeros([1], (kind, Device::Cpu));
            emulation.run(
                &format!("sum_blocks_{dtype}"),
                blocks(Grid::new(of_blocks as usize, 256).unwrap()),
                &mut [Argument::In(&x), Argument::Int(count), Argument::Out(&mut partial)],
            );
            emulation.run(
                &format!("sum_partials_{dtype}"),
                blocks(Grid::new(1, 256).unwrap()),
                &mut [Argument::In(&partial), Argument::Int(of_blocks), Argument::Out(&mut sum)],
            );
            let exact = x.to_kind(Kind::Double).sum(None).view([1]);
            assert_near(&sum, &exact, 4.0 * allowed, &format!("{count}, {dtype}"));
        }
    }
}

#[test]
fn products_are_of_every_row() {
    let emulation = shipped!("decode_gemv/gemv.cu");
    for (rows, features) in [(1, 8), (13, 264), (9, 1024)] {
        for (dtype, kind, allowed) in &KINDS[1..] {
            let weight = values(&[rows, features]).to_kind(*kind);
            let x = values(&[features + 1]).narrow(0, 1, features).to_kind(*kind);
            let mut y = Tensor::zeros([rows], (*kind, Device::Cpu));
            let mut arguments = [
                Argument::In(&weight),
                Argument::In(&x),
                Argument::Out(&mut y),
                Argument::Int(rows),
                Argument::Int(features),
            ];
            let grid = Grid::covering(rows as usize * 32, 256).unwrap();
            emulation.run(&format!("gemv_{dtype}"), blocks(grid), &mut arguments);
            let exact = weight.to_kind(Kind::Double).mv(&x.to_kind(Kind::Double));
            assert_near(&y, &exact, *allowed, &format!("{rows}×{features}, {dtype}"));
        }
    }
}
