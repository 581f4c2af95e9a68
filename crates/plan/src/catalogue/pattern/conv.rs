//! Patterns around a convolution of `x [b, i, s, s]` with filters `[o, i, 3, 3]`, which keeps height
//! and width. How images lie in memory changes no count.

use super::FusionVariant::{self, *};
use super::KERNEL_SIZE;
use super::formulas::{Counts, Formulas, ONEDNN_GROUP, Operation};
use crate::catalogue::{product, sum};
use crate::words::{Device, Dtype};

/// Vectors of `o` elements that batch normalization reads: weight, bias, mean, variance.
const STATISTICS: u64 = 4;

pub(super) struct Conv {
    pub(super) b: u64,
    pub(super) i: u64,
    pub(super) o: u64,
    pub(super) s: u64,
    /// Without a bias, and with batch normalization after it.
    pub(super) normalized: bool,
    pub(super) relu: bool,
}

impl Conv {
    fn x(&self) -> u64 {
        product(&[self.b, self.i, self.s, self.s])
    }

    fn filters(&self) -> u64 {
        product(&[self.o, self.i, KERNEL_SIZE, KERNEL_SIZE])
    }

    fn y(&self) -> u64 {
        product(&[self.b, self.o, self.s, self.s])
    }
}

const CONV2D: &str = "aten::conv2d";
const POINTWISE: &str = "mkldnn::_convolution_pointwise";

impl Formulas for Conv {
    fn counts(&self) -> Counts {
        let (x, filters, y) = (self.x(), self.filters(), self.y());
        // 2·3²·i for each element of the output, and 2 where it is normalized; nothing for the bias.
        let convolution = product(&[2, KERNEL_SIZE, KERNEL_SIZE, self.i, y]);
        let normalization = if self.normalized { product(&[2, y]) } else { 0 };
        let after = u64::from(self.normalized) + u64::from(self.relu);
        let bias = if self.normalized { 0 } else { self.o };
        let vectors = if self.normalized { STATISTICS } else { 1 };
        Counts {
            flops: sum(&[convolution, normalization]),
            // The consistent account but for the statistics, which upstream leaves out.
            upstream_unfused: sum(&[x, filters, bias, product(&[1 + 2 * after, y])]),
            minimal: sum(&[x, filters, self.o, y]),
            inputs: vec![x],
            parameters: vec![filters, product(&[vectors, self.o])],
            // Images once for each place of a filter, as a convolution by matrix product has them, and
            // the output in a layout of the kernel's own.
            workspace: sum(&[product(&[KERNEL_SIZE, KERNEL_SIZE, x]), y]),
            parts: self.b,
            output_size: vec![self.b, self.o, self.s, self.s],
            input_shape: vec![self.b, self.i, self.s, self.s],
        }
    }

    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>> {
        let (x, filters, y) = (self.x(), self.filters(), self.y());
        let run = |name, reads: &[u64]| Operation::new(name, dtype.bytes(), reads, y);
        let with_bias = |name| run(name, &[x, filters, self.o]);
        let relu = |name| run(name, &[y]);
        // cuDNN's convolution has no bias: libtorch adds it afterwards.
        let conv2d = || match device {
            Device::Cuda => vec![run(CONV2D, &[x, filters]), run("aten::add_", &[y, self.o])],
            Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => vec![with_bias(CONV2D)],
        };
        let one_by_one = |first: Vec<Operation>, relu: Option<Operation>| {
            let statistics = product(&[STATISTICS, self.o]);
            let normalize = self.normalized.then(|| run("aten::batch_norm", &[y, statistics]));
            first.into_iter().chain(normalize).chain(relu).collect()
        };
        let unfused = |relu| match self.normalized {
            true => one_by_one(vec![run(CONV2D, &[x, filters])], relu),
            false => one_by_one(conv2d(), relu),
        };
        let last = self.relu.then(|| relu("aten::relu"));
        Some(match (variant, self.normalized, self.relu) {
            (Unfused, _, _) => unfused(last),
            // The normalization has no form in place.
            (Inplace, _, true) => unfused(Some(relu("aten::relu_"))),
            (Fused, _, false) => conv2d(),
            (Fused, _, true) => match device {
                Device::Cuda => vec![with_bias("aten::cudnn_convolution_relu")],
                Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
                    vec![with_bias(POINTWISE)]
                }
            },
            (Folded, true, true) => conv2d().into_iter().chain(last).collect(),
            (Mkldnn, _, _) => vec![with_bias(POINTWISE)],
            (MkldnnUnfused, true, _) => one_by_one(vec![run(POINTWISE, &[x, filters])], last),
            (MkldnnUnfused, false, _) => one_by_one(vec![with_bias(POINTWISE)], last),
            (OnednnGraph, _, _) => vec![with_bias(ONEDNN_GROUP)],
            (Inplace, _, false)
            | (Folded, _, _)
            | (
                Addmm | Baddbmm | TorchScript | Sdpa3d | SdpaMath | SdpaFlash | SdpaEfficient
                | SdpaCudnn,
                _,
                _,
            ) => return None,
        })
    }
}
