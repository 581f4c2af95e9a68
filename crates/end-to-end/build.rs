//! From the configs of this package to the sources of its programs.

use plan::Mode::{Calibration, Fusion, Inference, Kernels, Operators};

fn main() {
    plan::build::main(&[Inference, Fusion, Operators, Calibration, Kernels]);
}
