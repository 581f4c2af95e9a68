//! Words of the calibration: what of a machine is measured.

use super::closed::closed_set;

closed_set! {
    /// A limit of a machine, and what reaches it.
    Probe, "probe" {
        /// Torch's product of square matrices: floating-point operations per second.
        Matmul = "matmul",
        /// STREAM's c = a: bytes per second, as the three below.
        Copy = "copy",
        /// STREAM's b = s·c
        Scale = "scale",
        /// STREAM's c = a + b
        Add = "add",
        /// STREAM's a = b + s·c
        Triad = "triad",
        /// A kernel that does next to nothing: what starting one costs.
        Launch = "launch",
    }
}

impl Probe {
    /// Whether it is one of STREAM's.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Self::Copy | Self::Scale | Self::Add | Self::Triad)
    }
}
