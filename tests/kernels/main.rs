//! The kernels of `benches/kernels`: each against its reference, at sizes that are tiny, odd and of
//! unequal sides, in all its precisions.

#![allow(clippy::duplicate_mod, reason = "files of one folder share their helpers")]
#![allow(
    clippy::module_inception,
    reason = "a helper is called after what it is about, as is the kernel"
)]

mod check;
mod cuda;
mod shipped;
#[path = "../common/skip.rs"]
mod skip;
mod tolerances;

#[path = "../../configs/suites/gpu-check/faulty/a_illegal_access.rs"]
mod illegal_access;
#[path = "../../configs/suites/gpu-check/faulty/b_sound.rs"]
mod sound;

/// A folder of kernels, its files as modules of one module, as the build script makes them.
macro_rules! folder {
    ($path:literal $name:ident { $($file:ident as $short:ident),* $(,)? }) => {
        #[path = $path]
        mod $name {
            $(pub mod $file;)*
        }
        use $name::{$($file as $short),*};
    };
}

folder!("../../benches/kernels/decode_gemv" decode_gemv {
    cuda as gemv_cuda, kernel as gemv, mv as gemv_mv, slices as gemv_slices,
});
folder!("../../benches/kernels/pi" pi_folder { kernel as pi });
folder!("../../benches/kernels/pressure_poisson" pressure_poisson {
    kernel as poisson, red_black_sor as poisson_sor,
});
folder!("../../benches/kernels/reduction" reduction {
    cuda as sum_cuda, kahan as sum_kahan, kernel as sum, pairwise as sum_pairwise,
});
folder!("../../benches/kernels/stencil" stencil {
    cuda as heat_cuda, kernel as heat, threaded as heat_threaded,
});
folder!("../../benches/kernels/tensor_network" tensor_network {
    einsum as norm_einsum, kernel as norm, transfer_matrices as norm_transfer,
});

use check::{agree, agree_in, distance, on_cpu, refusal};
use criterion_torch::kernel::prelude::*;
use criterion_torch::verify::Distance;

const PRECISIONS: [Dtype; 4] = [Dtype::Float64, Dtype::Float32, Dtype::BFloat16, Dtype::Float16];

#[test]
fn a_step_of_heat_is_that_of_whole_tensors() {
    for grid_size in [vec![3, 3], vec![5, 4], vec![17, 33], vec![3, 3, 3], vec![4, 7, 9]] {
        let size = heat::ProblemSize { grid_size };
        agree!(heat::Heat, &size);
        agree!(heat_threaded::Threaded, &size);
    }
}

#[test]
fn grids_of_another_form_are_refused() {
    for grid_size in [vec![], vec![8], vec![2, 8], vec![4, 4, 4, 4], vec![usize::MAX, usize::MAX]] {
        let size = heat::ProblemSize { grid_size };
        let text = refusal::<heat::Heat<f32>>(&size, &on_cpu(Dtype::Float32));
        assert!(text.contains(&format!("{:?}", size.grid_size)), "{text}");
    }
}

/// A residual of 1e-7 of the right-hand side is an error of some (n / π)² as much.
#[test]
fn both_solvers_find_the_direct_solution() {
    let grids = [vec![3, 3], vec![4, 9], vec![24, 17], vec![3, 4, 5], vec![10, 9, 12]];
    for grid_size in grids {
        let (max_iterations, tolerance) = (10_000, 1e-6);
        let size = poisson::ProblemSize { grid_size, max_iterations, tolerance };
        let near = |dtype, found: Distance| {
            assert!(found.relative_error < 1e-4, "{dtype}, {:?}: {found:?}", size.grid_size);
        };
        let (double, float) = (Dtype::Float64, Dtype::Float32);
        let reference = check::reference(&size, double);
        near(double, distance::<poisson::Jacobi<f64>>(&size, double, &reference));
        near(double, distance::<poisson_sor::RedBlackSor<f64>>(&size, double, &reference));
        let reference = check::reference(&size, float);
        near(float, distance::<poisson::Jacobi<f32>>(&size, float, &reference));
        near(float, distance::<poisson_sor::RedBlackSor<f32>>(&size, float, &reference));
    }
}

/// The direct solution beside the equation, in three dimensions of different sizes.
#[test]
fn the_direct_solution_solves_it() {
    let grid_size = vec![5, 9, 6];
    let size = poisson::ProblemSize { grid_size, max_iterations: 1, tolerance: 1.0 };
    let context = on_cpu(Dtype::Float64);
    let p = check::reference(&size, context.dtype);
    let f = &check::inputs_of(&size, &context).unwrap().examples[0];
    let mut residual = f.zeros_like();
    for dim in 0..3 {
        residual += p.roll([1], [dim]) + p.roll([-1], [dim]) - &p * 2.0;
    }
    let inside = |it: &Tensor| it.narrow(0, 1, 3).narrow(1, 1, 7).narrow(2, 1, 4);
    let error = (inside(&residual) - inside(f)).abs().max().double_value(&[]);
    assert!(error < 1e-13, "{error}");
    let outside =
        p.abs().sum(None).double_value(&[]) - inside(&p).abs().sum(None).double_value(&[]);
    assert!(outside.abs() < 1e-12, "the boundary is not 0: {outside}");
}

#[test]
fn what_is_not_solved_is_a_failure() {
    let grid_size = vec![16, 16];
    let few =
        poisson::ProblemSize { grid_size: grid_size.clone(), max_iterations: 25, tolerance: 1e-6 };
    let (mut jacobi, examples) =
        check::prepared::<poisson::Jacobi<f64>>(&few, &on_cpu(Dtype::Float64)).unwrap();
    let text = jacobi.run(&examples).expect_err("too few").to_string();
    assert!(text.starts_with("failed: ") && text.contains("after 25 sweeps"), "{text}");
    // In 8 bits the residual stays where it is, however long it takes.
    let many = poisson::ProblemSize { grid_size, max_iterations: 5000, tolerance: 1e-3 };
    let (mut jacobi, examples) =
        check::prepared::<poisson::Jacobi<bf16>>(&many, &on_cpu(Dtype::BFloat16)).unwrap();
    let text = jacobi.run(&examples).expect_err("8 bits").to_string();
    assert!(text.contains("after 5000 sweeps") && text.contains("1.0e-3"), "{text}");
}

#[test]
fn a_tolerance_of_nothing_is_refused() {
    let size = poisson::ProblemSize { grid_size: vec![4, 4], max_iterations: 1, tolerance: 0.0 };
    let text = refusal::<poisson::Jacobi<f32>>(&size, &on_cpu(Dtype::Float32));
    assert!(text.contains("tolerance is 0"), "{text}");
}

#[test]
fn sums_are_the_exact_one() {
    for elements in [1, 2, 31, 33, 1024, 1025, 70_001] {
        let size = sum::ProblemSize { elements };
        for dtype in PRECISIONS {
            agree_in::<sum::Sum>(&size, &size, dtype);
        }
        agree!(sum_pairwise::Pairwise, &size);
        agree!(sum_kahan::Kahan, &size);
    }
}

#[test]
fn a_sum_that_is_compensated_is_nearer_than_one_that_is_not() {
    // In float64, whose reference is exact.
    let elements = 1 << 20;
    let (size, context) = (sum::ProblemSize { elements }, on_cpu(Dtype::Float64));
    let reference = check::reference(&size, context.dtype);
    let found = check::distance::<sum_kahan::Kahan<f64>>(&size, context.dtype, &reference);
    assert!(found.relative_error <= f64::EPSILON, "{found:?}");
    // These values, summed one after the other.
    let inputs = check::inputs_of(&size, &context).unwrap();
    let x = slice::<f64>(&inputs.examples[0]).unwrap();
    let plain = tensor(&[x.iter().sum::<f64>()], &[1]).unwrap();
    let plain = Distance::between(&reference, &plain).unwrap();
    assert!(plain.relative_error > 10.0 * f64::EPSILON, "{plain:?} beside {found:?}");
}

#[test]
fn an_empty_sum_is_refused() {
    let text = refusal::<sum::Sum>(&sum::ProblemSize { elements: 0 }, &on_cpu(Dtype::Float32));
    assert!(text.contains("elements is 0"), "{text}");
}

#[test]
fn products_with_one_token_are_rows_times_it() {
    for (out_features, in_features) in [(1, 1), (3, 5), (33, 31), (64, 96), (257, 130)] {
        let size = gemv::ProblemSize { out_features, in_features };
        for dtype in PRECISIONS {
            agree_in::<gemv::Linear>(&size, &size, dtype);
            agree_in::<gemv_mv::Mv>(&size, &size, dtype);
        }
        agree!(gemv_slices::Slices, &size);
    }
}

#[test]
fn a_layer_in_eight_bits_is_refused() {
    let size = gemv::ProblemSize { out_features: 4, in_features: 4 };
    let text = refusal::<gemv::Linear>(&size, &on_cpu(Dtype::Float8E4M3Fn));
    assert!(text.starts_with("unsupported: cpu, fp8: "), "{text}");
}

#[test]
fn every_order_of_contraction_gives_the_norm() {
    for (sites, bond_dimension, physical_dimension) in
        [(2, 1, 1), (2, 3, 2), (3, 4, 2), (7, 5, 3), (24, 8, 2)]
    {
        let size = norm::ProblemSize { sites, bond_dimension, physical_dimension };
        for dtype in [Dtype::Float64, Dtype::Float32] {
            agree_in::<norm::SiteBySite>(&size, &size, dtype);
            agree_in::<norm_einsum::Einsum>(&size, &size, dtype);
            agree_in::<norm_transfer::TransferMatrices>(&size, &size, dtype);
        }
    }
}

/// The reference of the contractions, which is one as well, beside all amplitudes written out.
#[test]
fn the_norm_is_that_of_all_amplitudes() {
    let size = norm::ProblemSize { sites: 5, bond_dimension: 3, physical_dimension: 2 };
    let context = on_cpu(Dtype::Float64);
    let found = check::reference(&size, context.dtype).double_value(&[0]);
    let state = check::inputs_of(&size, &context).unwrap().examples;
    let mut amplitudes = Tensor::ones([1, 1], (tch::Kind::Double, tch::Device::Cpu));
    for tensor in &state {
        amplitudes = amplitudes.tensordot(tensor, [1], [0]).flatten(0, 1);
    }
    assert_eq!(amplitudes.size(), [32, 1]);
    let expected = amplitudes.square().sum(None).double_value(&[]);
    assert!((found / expected - 1.0).abs() < 1e-14, "{found} instead of {expected}");
}

#[test]
fn a_circle_has_its_area() {
    let context = on_cpu(Dtype::Float64);
    let size = pi::ProblemSize::default();
    let reference = pi::reference(&size, &context).unwrap();
    let found = [
        pi::run_benchmark::<f64>(&size).unwrap().into_tensor().unwrap(),
        pi::run_benchmark::<f32>(&size).unwrap().into_tensor().unwrap(),
    ];
    // The rule's own error is 1 / 12 n² of an interval, far below float32's.
    for (found, decibels) in found.iter().zip([150.0, check::gate(Dtype::Float32)]) {
        let found = Distance::between(&reference, found).unwrap();
        assert!(found.sqnr_db >= decibels, "{found:?}");
    }
    assert_eq!(pi::flops(&size), 6 * 4096);
}

#[test]
fn what_a_step_takes_is_counted() {
    let flat = heat::ProblemSize { grid_size: vec![4, 5] };
    let deep = heat::ProblemSize { grid_size: vec![4, 5, 6] };
    // 6 and 24 points inside; 3 neighbours' sums, 2 products and a sum, and 5, 2 and 1.
    assert_eq!(heat::Heat::<f32>::flops(&flat), Some(6 * 6));
    assert_eq!(heat::Heat::<f32>::flops(&deep), Some(24 * 8));
    assert_eq!(heat::Heat::<f32>::bytes(&flat, Dtype::BFloat16), Some((20 + 6) * 2));
    let sum = sum::ProblemSize { elements: 10 };
    assert_eq!(sum::Sum::flops(&sum), Some(9));
    assert_eq!(sum::Sum::bytes(&sum, Dtype::Float32), Some(44));
    let layer = gemv::ProblemSize { out_features: 3, in_features: 5 };
    assert_eq!(gemv::Linear::flops(&layer), Some(30));
    assert_eq!(gemv::Linear::bytes(&layer, Dtype::Float64), Some((15 + 5 + 3) * 8));
    // Two sites of [1, 2, 3] and [3, 2, 1]: 1·1·6 + 3·2·3 and 3·3·2 + 1·6·1 products and as many sums.
    let pair = norm::ProblemSize { sites: 2, bond_dimension: 3, physical_dimension: 2 };
    assert_eq!(norm::SiteBySite::flops(&pair), Some(2 * (6 + 18 + 18 + 6)));
    assert_eq!(norm::SiteBySite::bytes(&pair, Dtype::Float32), Some((6 + 6 + 1) * 4));
}

/// That the comparison finds what differs.
#[test]
#[should_panic(expected = "float32: Distance")]
fn a_kernel_of_another_input_is_found_out() {
    let size = sum::ProblemSize { elements: 100 };
    let other = sum::ProblemSize { elements: 101 };
    agree_in::<sum::Sum>(&size, &other, Dtype::Float32);
}
