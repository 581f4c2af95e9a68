//! The squared norm ⟨ψ|ψ⟩ of a matrix product state: a ladder of tensors, contracted site by site. The
//! environment `E [bond, bond]` takes in one tensor and then its conjugate, for 4·d·D³ operations a
//! site. By products of matrices, on every backend.

#[path = "_state.rs"]
pub mod state;

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    pub sites: usize,
    /// D: how much the two sides of a cut may be entangled.
    pub bond_dimension: usize,
    /// d: states of a site.
    pub physical_dimension: usize,
}

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let &Self { sites, bond_dimension, physical_dimension } = self;
        let examples = state::draw(sites, bond_dimension, physical_dimension, context)?;
        Ok(Inputs { examples, parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        state::reference(&inputs.examples).map(Some)
    }
}

pub struct SiteBySite {
    norm: Tensor,
}

impl Kernel for SiteBySite {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        Ok(Self { norm: Tensor::f_full([1, 1], f64::NAN, options)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut environment = state::start(examples)?;
        for tensor in examples {
            let (left, physical, right) = tensor.size3()?;
            // [left, left]·[left, d·right], whose memory is also that of [left·d, right].
            let half = environment.f_mm(&tensor.f_view([left, physical * right])?)?;
            let half = half.f_view([left * physical, right])?;
            environment =
                tensor.f_view([left * physical, right])?.f_transpose(0, 1)?.f_mm(&half)?;
        }
        self.norm = environment;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.norm.f_view([1])?)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(state::flops(size.sites, size.bond_dimension, size.physical_dimension))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(state::bytes(size.sites, size.bond_dimension, size.physical_dimension, dtype))
    }
}
