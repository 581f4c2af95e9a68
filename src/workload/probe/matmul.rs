//! The product of two square matrices: torch's own, or oneDNN's.

use plan::{Accuracy, Case, Dtype, Probe, ProbeWork};
use tch::{Device, Kind, TchError, Tensor};

use super::min_sqnr_db;
use crate::inputs;
use crate::native::onednn::{self, PostOp};
use crate::refusal::Refusal;
use crate::verify::{self, Reference};
use crate::workload::Workload;

/// A product of two square matrices of normally distributed values.
pub(super) struct Matmul {
    a: Tensor,
    b: Tensor,
    /// `b`, transposed and in oneDNN's layout, where oneDNN is called by name.
    reordered: Option<Tensor>,
    reference: Reference,
    min_sqnr_db: f64,
}

impl Matmul {
    /// Matrices of `size` rows, drawn on the host from the case's seed.
    pub(super) fn prepare(case: &Case, work: &ProbeWork, place: Device) -> Result<Self, Refusal> {
        let size = work.size;
        let n = inputs::dimension(size)?;
        let draw =
            || Tensor::f_randn([n, n], (inputs::kind(case.dtype), Device::Cpu))?.f_to_device(place);
        let (a, b) = {
            let _drawing = inputs::seeded(case.settings.seed);
            (draw()?, draw()?)
        };
        let rows = verify::rows(size, 2 * size * size, size);
        let rows = Tensor::f_from_slice(&rows)?.f_to_device(place)?;
        let double = |tensor: &Tensor| tensor.f_to_device(Device::Cpu)?.f_to_kind(Kind::Double);
        let output = double(&a.f_index_select(0, &rows)?)?.f_mm(&double(&b)?)?;
        let min_sqnr_db = min_sqnr_db(case, gate(case.dtype));
        let reordered = match work.probe {
            Probe::MatmulOnednn => {
                Some(onednn::reorder_linear_weight(&b.f_tr()?.f_contiguous()?, n)?)
            }
            _ => None,
        };
        Ok(Self { a, b, reordered, reference: Reference::new(rows, output), min_sqnr_db })
    }

    /// Whose product it is where it is not oneDNN's, to which torch leaves those in half precision
    /// where it can, and none in float32.
    fn whose(&self) -> Option<String> {
        let kind = self.a.kind();
        match (self.a.device(), &self.reordered) {
            (Device::Cpu, None) if kind == Kind::Float => Some(
                "the product is that of the BLAS library which libtorch was built with; \
                 `matmul_onednn` is oneDNN's"
                    .to_owned(),
            ),
            (Device::Cpu, None) => {
                let note = |reason| format!("the product is ATen's own, not oneDNN's: {reason}");
                onednn::supports(kind).err().map(note)
            }
            _ => None,
        }
    }
}

/// Smallest signal-to-noise ratio in dB. The lowest over seeds, on a CPU:
///
/// | dtype    | 1×1   | 2×2   | 4×4   | 16×16 to 1024×1024 | gate |
/// |----------|-------|-------|-------|--------------------|------|
/// | float32  | 145.2 | 133.1 | 141.3 | 132.1              | 100  |
/// | bfloat16 | 48.5  | 48.9  | 51.4  | 54.5               | 40   |
/// | float16  | 60.0  | 67.7  | 69.6  | 72.4               | 55   |
///
/// Of 1×1 in float16 a product may be subnormal.
fn gate(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float64 | Dtype::Float32 => 100.0,
        Dtype::BFloat16 | Dtype::Float8E4M3Fn => 40.0,
        Dtype::Float16 => 55.0,
    }
}

impl Workload for Matmul {
    fn step(&self) -> Result<Tensor, TchError> {
        match &self.reordered {
            Some(weight) => Ok(onednn::linear_pointwise(&self.a, weight, None, PostOp::None)?),
            None => self.a.f_mm(&self.b),
        }
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.reference.judge(&tch::no_grad(|| self.step())?, self.min_sqnr_db)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        inputs::bytes(&self.a) + inputs::bytes(&self.b)
    }

    fn kernels(&self) -> Vec<String> {
        let kernel = match self.reordered {
            Some(_) => "mkldnn::_linear_pointwise",
            None => "aten::mm",
        };
        vec![kernel.to_owned()]
    }

    fn notes(&self) -> Vec<String> {
        self.whose().into_iter().collect()
    }
}
