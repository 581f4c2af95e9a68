//! Words of the calibration: what of a machine is measured.

use super::closed::closed_set;

closed_set! {
    /// A limit of a machine, and what reaches it.
    Probe, "probe" {
        /// Torch's product of square matrices: floating-point operations per second.
        Matmul = "matmul",
        /// The same by oneDNN, one of the matrices in its layout beforehand.
        MatmulOnednn = "matmul_onednn",
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
        /// An operation of torch on one element, called eagerly: what a call costs.
        Call = "call",
        /// The same operation as Inductor compiles it, run from its package.
        CompiledCall = "compiled_call",
    }
}

impl Probe {
    /// Whether it is a product of square matrices.
    pub const fn is_product(&self) -> bool {
        matches!(self, Self::Matmul | Self::MatmulOnednn)
    }

    /// Whether it is one of STREAM's.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Self::Copy | Self::Scale | Self::Add | Self::Triad)
    }

    /// Whether it is a call of an operation.
    pub const fn is_call(&self) -> bool {
        matches!(self, Self::Call | Self::CompiledCall)
    }

    /// Arrays that an operation of STREAM's reads and writes; none of the other probes has such.
    pub const fn arrays(self) -> u64 {
        match self {
            Self::Copy | Self::Scale => 2,
            Self::Add | Self::Triad => 3,
            Self::Matmul | Self::MatmulOnednn | Self::Launch | Self::Call | Self::CompiledCall => 0,
        }
    }

    /// The size as ids have it: `1024` of matrices, `16KiB` or `4MiB` of arrays.
    pub fn size_name(self, size: u64) -> String {
        let bytes = self.is_stream();
        match size {
            size if bytes && size.is_multiple_of(1 << 30) => format!("{}GiB", size >> 30),
            size if bytes && size.is_multiple_of(1 << 20) => format!("{}MiB", size >> 20),
            size if bytes && size.is_multiple_of(1 << 10) => format!("{}KiB", size >> 10),
            size if bytes => format!("{size}B"),
            size => size.to_string(),
        }
    }
}
