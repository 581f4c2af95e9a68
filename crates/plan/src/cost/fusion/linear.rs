//! Patterns around `x [m, k]` times a weight `[n, k]`, given to the product transposed as a view.

use super::formulas::{Formulas, ONEDNN_GROUP, Operation, sum};
use crate::cost::product;
use crate::words::{Device, Dtype, FusionVariant, Pattern};

/// What follows the bias.
#[derive(Clone, Copy)]
struct Activation {
    name: &'static str,
    in_place: &'static str,
    /// Floating-point operations of an element, as upstream counts them.
    flops: u64,
}

const RELU: Activation = Activation { name: "aten::relu", in_place: "aten::relu_", flops: 0 };
const GELU: Activation = Activation { name: "aten::gelu", in_place: "aten::gelu_", flops: 8 };

pub(super) struct Linear {
    m: u64,
    k: u64,
    n: u64,
    activation: Option<Activation>,
}

impl Linear {
    /// `None` of a pattern of another family.
    pub(super) fn new(pattern: Pattern, m: u64, k: u64, n: u64) -> Option<Self> {
        let activation = match pattern {
            Pattern::LinearBias => None,
            Pattern::LinearBiasRelu => Some(RELU),
            Pattern::LinearBiasGelu => Some(GELU),
            Pattern::Conv2dRelu
            | Pattern::Conv2dBn
            | Pattern::Conv2dBnRelu
            | Pattern::QkScores
            | Pattern::QkSoftmax
            | Pattern::FullAttention => return None,
        };
        Some(Self { m, k, n, activation })
    }

    fn x(&self) -> u64 {
        product(&[self.m, self.k])
    }

    fn weight(&self) -> u64 {
        product(&[self.n, self.k])
    }

    fn y(&self) -> u64 {
        product(&[self.m, self.n])
    }
}

/// oneDNN's linear layer.
const POINTWISE: &str = "mkldnn::_linear_pointwise";

impl Formulas for Linear {
    /// 2mkn, an addition for each element of the output, and the activation.
    fn flops(&self) -> u64 {
        let of_each = 1 + self.activation.map_or(0, |activation| activation.flops);
        sum(&[product(&[2, self.m, self.k, self.n]), product(&[of_each, self.y()])])
    }

    /// Here upstream's account is the consistent one.
    fn upstream_unfused(&self) -> u64 {
        let results = if self.activation.is_some() { 5 } else { 3 };
        sum(&[self.x(), self.weight(), product(&[results, self.y()]), self.n])
    }

    fn minimal(&self) -> u64 {
        sum(&[self.x(), self.weight(), self.n, self.y()])
    }

    fn inputs(&self) -> Vec<u64> {
        vec![self.x()]
    }

    fn parameters(&self) -> Vec<u64> {
        vec![self.weight(), self.n]
    }

    fn parts(&self) -> u64 {
        self.m
    }

    fn output_size(&self) -> Vec<u64> {
        vec![self.m, self.n]
    }

    fn input_shape(&self) -> Vec<u64> {
        vec![self.m, self.k, self.n]
    }

    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>> {
        use FusionVariant::{
            Addmm, Baddbmm, Folded, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, Sdpa3d,
            SdpaCudnn, SdpaEfficient, SdpaFlash, SdpaMath, TorchScript, Unfused,
        };
        let (x, weight, bias, y) = (self.x(), self.weight(), self.n, self.y());
        let run = |name, reads: &[u64]| Operation::new(name, dtype.bytes(), reads, y);
        let mm = run("aten::mm", &[x, weight]);
        let whole = |name| run(name, &[x, weight, bias]);
        let add = |name| run(name, &[y, bias]);
        let activate = |name| run(name, &[y]);
        let activation = self.activation;
        let one_by_one = |product| {
            let activated = activation.map(|it| activate(it.name));
            [product, add("aten::add")].into_iter().chain(activated).collect()
        };
        let unfused = || one_by_one(mm);
        Some(match (variant, activation) {
            (Unfused, _) => unfused(),
            (Inplace, _) => {
                let activated = activation.map(|it| activate(it.in_place));
                [mm, add("aten::add_")].into_iter().chain(activated).collect()
            }
            (Mkldnn, _) => vec![whole(POINTWISE)],
            (MkldnnUnfused, _) => one_by_one(run(POINTWISE, &[x, weight])),
            (OnednnGraph, _) => vec![whole(ONEDNN_GROUP)],
            (Fused, None) => vec![whole("aten::addmm")],
            (Fused, Some(activation)) => match device {
                // The epilogue of cuBLASLt.
                Device::Cuda => vec![whole("aten::_addmm_activation")],
                // The same name runs these two.
                Device::Cpu | Device::Xpu | Device::Mps => {
                    vec![whole("aten::addmm"), activate(activation.in_place)]
                }
            },
            (Addmm, Some(activation)) => vec![whole("aten::addmm"), activate(activation.name)],
            // The executor first splits `addmm` into product and sum, for a fuser to find the sum.
            (TorchScript, Some(_)) => match device {
                // Sum and activation are taken to be one kernel, as its fuser makes them.
                Device::Cuda => vec![mm, add("prim::TensorExprGroup")],
                // There is no fuser.
                Device::Cpu | Device::Xpu | Device::Mps => unfused(),
            },
            (Addmm | TorchScript, None)
            | (Baddbmm | Folded | Sdpa3d | SdpaMath | SdpaFlash | SdpaEfficient | SdpaCudnn, _) => {
                return None;
            }
        })
    }
}
