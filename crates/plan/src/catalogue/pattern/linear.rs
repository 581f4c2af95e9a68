//! Patterns around `x [m, k]` times a weight `[n, k]`, given to the product transposed as a view.

use super::FusionVariant::{self, *};
use super::formulas::{Counts, Formulas, ONEDNN_GROUP, Operation};
use crate::catalogue::{product, sum};
use crate::words::{Device, Dtype};

/// The function behind the bias.
#[derive(Clone, Copy)]
pub(super) struct Activation {
    name: &'static str,
    in_place: &'static str,
    /// Floating-point operations of an element, as upstream counts them.
    flops: u64,
}

pub(super) const RELU: Activation =
    Activation { name: "aten::relu", in_place: "aten::relu_", flops: 0 };
pub(super) const GELU: Activation =
    Activation { name: "aten::gelu", in_place: "aten::gelu_", flops: 8 };

pub(super) struct Linear {
    pub(super) m: u64,
    pub(super) k: u64,
    pub(super) n: u64,
    pub(super) activation: Option<Activation>,
}

impl Linear {
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

const POINTWISE: &str = "mkldnn::_linear_pointwise";

impl Formulas for Linear {
    fn counts(&self) -> Counts {
        let (x, weight, y) = (self.x(), self.weight(), self.y());
        // An addition for each element of the output, and the activation.
        let of_each = 1 + self.activation.map_or(0, |activation| activation.flops);
        let results = if self.activation.is_some() { 5 } else { 3 };
        Counts {
            flops: sum(&[product(&[2, self.m, self.k, self.n]), product(&[of_each, y])]),
            // Here upstream's account is the consistent one.
            upstream_unfused: sum(&[x, weight, product(&[results, y]), self.n]),
            minimal: sum(&[x, weight, self.n, y]),
            inputs: vec![x],
            parameters: vec![weight, self.n],
            workspace: 0,
            parts: self.m,
            output_size: vec![self.m, self.n],
            input_shape: vec![self.m, self.k, self.n],
        }
    }

    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>> {
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
                // `_addmm_activation` runs these two there.
                Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
                    vec![whole("aten::addmm"), activate(activation.in_place)]
                }
            },
            (Addmm, Some(activation)) => vec![whole("aten::addmm"), activate(activation.name)],
            // The executor first splits `addmm` into product and sum, for a fuser to find the sum.
            (TorchScript, Some(_)) => match device {
                // Sum and activation are taken to be one kernel, as its fuser makes them.
                Device::Cuda => vec![mm, add("prim::TensorExprGroup")],
                // There is no fuser.
                Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => unfused(),
            },
            (Addmm | TorchScript, None)
            | (Baddbmm | Folded | Sdpa3d | SdpaMath | SdpaFlash | SdpaEfficient | SdpaCudnn, _) => {
                return None;
            }
        })
    }
}
