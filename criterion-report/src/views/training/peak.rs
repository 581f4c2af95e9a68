//! The rate of a training step against what the machine was measured to reach, and upstream's peaks.

use plan::{Dtype, Pass};

use super::result::TrainingResult;
use crate::views::calibration::Skyline;

/// How fast the three products of a step are done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// 10⁹ floating-point operations per second.
    pub gflop_per_s: f64,
    /// Of the peak that this machine was measured to reach in the dtype before quantization, on as many
    /// threads.
    pub peak_share: Option<f64>,
}

impl Rate {
    /// The rate of the forward and backward pass. `None` of a result without its time, or emulated.
    pub fn of(result: &TrainingResult<'_>, skylines: &[Skyline]) -> Option<Self> {
        let row = result.part(Pass::ForwardBackward)?.row;
        let gflop_per_s = row.gflop_per_s()?;
        let roof = skylines.iter().find_map(|skyline| skyline.over(row));
        Some(Self { gflop_per_s, peak_share: roof.map(|it| gflop_per_s / it.peak_gflops.value) })
    }
}

/// The operations per second that upstream divides by on every device: an H100 SXM's, with sparsity but
/// for float32. `None` of dtypes that it has no constant for.
pub const fn upstream_peak(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::Float32 => Some(67e12),
        Dtype::BFloat16 | Dtype::Float16 => Some(1979e12),
        Dtype::Float8E4M3Fn => Some(3958e12),
        Dtype::Float64 => None,
    }
}
