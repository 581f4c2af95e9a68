//! The tolerances of each `bench.yaml`, at the sizes that it names: they let pass what the kernels
//! compute, and not what a mistake that is easily made computes.

use criterion_torch::inputs;
use criterion_torch::kernel::prelude::*;
use criterion_torch::verify::Distance;

use super::check::{distance, inputs_of, on_cpu, reference};
use super::shipped::Shipped;
use super::{
    gemv, gemv_mv, gemv_slices, heat, heat_threaded, norm, norm_einsum, norm_transfer, pi, poisson,
    poisson_sor, sum, sum_kahan, sum_pairwise,
};

/// Demands that an implementation's output is near enough.
fn passes(shipped: &Shipped, dtype: Dtype, found: &Distance, what: &str) {
    println!("{what}, {dtype}: {:.1e}, {:.1e}", found.relative_error, found.max_abs_error);
    let exceeded = shipped.exceeded(dtype, found);
    assert!(exceeded.is_empty(), "{what}: {exceeded:?}");
}

/// Demands that a wrong output, in the case's precision, is beyond a tolerance, and a merely
/// rounded one is not.
fn fails(shipped: &Shipped, dtype: Dtype, right: &Tensor, wrong: &Tensor, what: &str) {
    let between = |it: &Tensor| Distance::between(right, &it.to_kind(inputs::kind(dtype))).unwrap();
    passes(shipped, dtype, &between(right), "rounded");
    let found = between(wrong);
    println!("{what}, {dtype}: {:.1e}, {:.1e}", found.relative_error, found.max_abs_error);
    assert!(!shipped.exceeded(dtype, &found).is_empty(), "{what}: {dtype} lets pass {found:?}");
}

/// The generic kernel in the precision, by a reference.
macro_rules! found {
    ($kernel:ident::$K:ident, $size:expr, $dtype:expr, $reference:expr) => {
        match $dtype {
            Dtype::Float64 => distance::<$kernel::$K<f64>>($size, $dtype, $reference),
            Dtype::Float32 => distance::<$kernel::$K<f32>>($size, $dtype, $reference),
            Dtype::BFloat16 => distance::<$kernel::$K<bf16>>($size, $dtype, $reference),
            Dtype::Float16 => distance::<$kernel::$K<f16>>($size, $dtype, $reference),
            Dtype::Float8E4M3Fn => panic!("not in 8 bits"),
        }
    };
}

/// The inputs of a size in float64.
fn drawn(size: &impl Task, dtype: Dtype) -> Inputs {
    inputs_of(size, &on_cpu(dtype)).unwrap().all_in_float64().unwrap()
}

#[test]
fn a_sum_without_a_block_of_its_values_fails() {
    let shipped = Shipped::read("reduction");
    for elements in shipped.numbers("elements") {
        for dtype in shipped.precisions() {
            let size = sum::ProblemSize { elements };
            let right = reference(&size, dtype);
            passes(&shipped, dtype, &distance::<sum::Sum>(&size, dtype, &right), "sum");
            let found = found!(sum_pairwise::Pairwise, &size, dtype, &right);
            passes(&shipped, dtype, &found, "pairwise");
            let found = found!(sum_kahan::Kahan, &size, dtype, &right);
            passes(&shipped, dtype, &found, "kahan");
            // With 2²⁴ values no output in 8 bits shows 1024.
            if dtype == Dtype::BFloat16 && elements > 1 << 18 {
                continue;
            }
            let wrong = &right - drawn(&size, dtype).examples[0].narrow(0, 0, 1024).sum(None);
            fails(&shipped, dtype, &right, &wrong, "1024 values left out");
        }
    }
}

#[test]
#[ignore = "long: a quarter of a minute without optimization"]
fn a_step_of_heat_without_a_row_or_a_point_fails() {
    let shipped = Shipped::read("stencil");
    for grid_size in shipped.lists("grid_size") {
        for dtype in shipped.precisions() {
            let size = heat::ProblemSize { grid_size: grid_size.clone() };
            let right = reference(&size, dtype);
            passes(&shipped, dtype, &found!(heat::Heat, &size, dtype, &right), "heat");
            let found = found!(heat_threaded::Threaded, &size, dtype, &right);
            passes(&shipped, dtype, &found, "threaded");
            let before = &drawn(&size, dtype).examples[0];
            // The first row inside, and a point of it.
            let row = |grid: &Tensor| {
                let dims = grid_size.len() as i64 - 1;
                (0..dims).fold(grid.shallow_clone(), |view, dim| view.narrow(dim, 1, 1))
            };
            let point = |grid: &Tensor| row(grid).flatten(0, -1).narrow(0, 7, 1);
            for (what, part) in [("row", &row as &dyn Fn(&Tensor) -> Tensor), ("point", &point)] {
                let wrong = right.copy();
                part(&wrong).copy_(&part(before));
                fails(&shipped, dtype, &right, &wrong, &format!("a {what} that is left as it was"));
            }
        }
    }
}

#[test]
fn a_solution_without_a_row_or_of_too_few_sweeps_fails() {
    let shipped = Shipped::read("pressure_poisson");
    let sizes = shipped.lists("grid_size").into_iter().zip(shipped.numbers("max_iterations"));
    let tolerances =
        shipped.field("tolerance").into_iter().map(|it| it.as_f64().expect("a number"));
    for ((grid_size, max_iterations), tolerance) in sizes.zip(tolerances) {
        let max_iterations = max_iterations as u32;
        for dtype in shipped.precisions() {
            let of = |tolerance| {
                let grid_size = grid_size.clone();
                poisson::ProblemSize { grid_size, max_iterations, tolerance }
            };
            let (size, early) = (of(tolerance), of(1000.0 * tolerance));
            let right = reference(&size, dtype);
            passes(&shipped, dtype, &found!(poisson::Jacobi, &size, dtype, &right), "jacobi");
            passes(&shipped, dtype, &found!(poisson_sor::RedBlackSor, &size, dtype, &right), "sor");
            let found = found!(poisson::Jacobi, &early, dtype, &right);
            println!("early, {dtype}: {:.1e}", found.relative_error);
            assert!(!shipped.exceeded(dtype, &found).is_empty(), "{dtype}: {found:?}");
            let wrong = right.copy();
            let dims = size.grid_size.len() as i64 - 1;
            let row = (0..dims).fold(wrong.shallow_clone(), |view, dim| view.narrow(dim, 1, 1));
            drop(row.shallow_clone().zero_());
            fails(&shipped, dtype, &right, &wrong, "a row beside the boundary left out");
        }
    }
}

#[test]
fn a_contraction_without_one_state_of_a_bond_fails() {
    let shipped = Shipped::read("tensor_network");
    let (sites, physical_dimension) =
        (shipped.numbers("sites")[0], shipped.numbers("physical_dimension")[0]);
    for bond_dimension in shipped.numbers("bond_dimension") {
        for dtype in shipped.precisions() {
            let size = norm::ProblemSize { sites, bond_dimension, physical_dimension };
            let right = reference(&size, dtype);
            let found = distance::<norm::SiteBySite>(&size, dtype, &right);
            passes(&shipped, dtype, &found, "site by site");
            let found = distance::<norm_einsum::Einsum>(&size, dtype, &right);
            passes(&shipped, dtype, &found, "einsum");
            let found = distance::<norm_transfer::TransferMatrices>(&size, dtype, &right);
            passes(&shipped, dtype, &found, "transfer matrices");
            let state = drawn(&size, dtype).examples;
            drop(state[sites / 2].narrow(2, bond_dimension as i64 - 1, 1).zero_());
            let wrong = norm::state::reference(&state).unwrap();
            fails(&shipped, dtype, &right, &wrong, "a state left out");
            if dtype == Dtype::Float64 {
                let rounded = right.to_kind(tch::Kind::Float);
                fails(&shipped, dtype, &right, &rounded, "computed in fp32");
            }
        }
    }
}

#[test]
fn a_product_without_a_feature_or_an_output_fails() {
    let shipped = Shipped::read("decode_gemv");
    let sizes = shipped.numbers("out_features").into_iter().zip(shipped.numbers("in_features"));
    for (out_features, in_features) in sizes {
        for dtype in shipped.precisions() {
            let size = gemv::ProblemSize { out_features, in_features };
            let right = reference(&size, dtype);
            passes(&shipped, dtype, &distance::<gemv::Linear>(&size, dtype, &right), "linear");
            passes(&shipped, dtype, &distance::<gemv_mv::Mv>(&size, dtype, &right), "mv");
            passes(&shipped, dtype, &found!(gemv_slices::Slices, &size, dtype, &right), "slices");
            let Inputs { examples, parameters } = drawn(&size, dtype);
            let last = |it: &Tensor, dim| it.narrow(dim, in_features as i64 - 8, 8);
            let wrong = &right - last(&parameters[0], 1).mv(&last(&examples[0], 0));
            fails(&shipped, dtype, &right, &wrong, "the last 8 features left out");
            let wrong = right.copy();
            drop(wrong.narrow(0, out_features as i64 - 1, 1).zero_());
            fails(&shipped, dtype, &right, &wrong, "the last output left out");
        }
    }
}

#[test]
fn a_circle_without_some_intervals_fails() {
    let (shipped, size) = (Shipped::read("pi"), pi::ProblemSize::default());
    for dtype in shipped.precisions() {
        let right = pi::reference(&size, &on_cpu(dtype)).unwrap();
        let found = match dtype {
            Dtype::Float64 => pi::run_benchmark::<f64>(&size).unwrap().into_tensor(),
            Dtype::Float32 => pi::run_benchmark::<f32>(&size).unwrap().into_tensor(),
            _ => pi::run_benchmark::<f16>(&size).unwrap().into_tensor(),
        };
        passes(&shipped, dtype, &Distance::between(&right, &found.unwrap()).unwrap(), "pi");
        // 4 / 4096 each, at the left.
        let left_out = if dtype == Dtype::Float16 { 4.0 } else { 1.0 };
        let wrong = &right - left_out * 4.0 / f64::from(size.intervals);
        fails(&shipped, dtype, &right, &wrong, "intervals left out");
    }
}
