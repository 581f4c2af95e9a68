//! The kernels of `benches/kernels`: each against its reference, at sizes that are tiny, odd and of
//! unequal sides, in all its precisions.

mod check;
mod cuda;

#[path = "../../benches/kernels/stencil/kernel.rs"]
mod stencil;
#[path = "../../benches/kernels/stencil/cuda.rs"]
mod stencil_cuda;
#[path = "../../benches/kernels/stencil/threaded.rs"]
mod stencil_threaded;

use check::{agree, on_cpu, refusal};
use criterion_torch::kernel::prelude::*;

#[test]
fn a_step_of_heat_is_that_of_whole_tensors() {
    for grid_size in [vec![3, 3], vec![5, 4], vec![17, 33], vec![3, 3, 3], vec![4, 7, 9]] {
        let size = stencil::ProblemSize { grid_size: grid_size.clone() };
        let threaded = stencil_threaded::ProblemSize { grid_size };
        agree!(stencil::Heat, &size);
        agree!(stencil_threaded::Threaded, &threaded, stencil::Heat, &size);
    }
}

#[test]
fn grids_of_another_form_are_refused() {
    for grid_size in [vec![], vec![8], vec![2, 8], vec![4, 4, 4, 4], vec![usize::MAX, usize::MAX]] {
        let size = stencil::ProblemSize { grid_size };
        let text = refusal::<stencil::Heat<f32>>(&size, &on_cpu(Dtype::Float32));
        assert!(text.contains(&format!("{:?}", size.grid_size)), "{text}");
    }
}
