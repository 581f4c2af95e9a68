//! Patterns around `Q·Kᵀ` of `[b, heads, s, d]`. A head of a sequence is a matrix of a batch of
//! b·heads.
//!
//! A causal mask is a tensor `[s, s]` of 0 and −∞ in the dtype of the scores, made beforehand and
//! added after the scale, in every pattern; `scaled_dot_product_attention` needs none and is told
//! by a flag. Its floating-point operations are half of those without a mask, as FlashAttention counts
//! them: nothing has to be computed for a score that is masked.

use super::FusionVariant::{self, *};
use super::formulas::{Counts, Formulas, ONEDNN_GROUP, Operation};
use crate::catalogue::{product, sum};
use crate::words::{Device, Dtype};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Scores,
    Softmax,
    Output,
}

pub(super) struct Attention {
    pub(super) b: u64,
    pub(super) heads: u64,
    pub(super) s: u64,
    pub(super) d: u64,
    pub(super) causal: bool,
    pub(super) end: End,
}

impl Attention {
    /// Elements of Q, and as many of K, of V and of the output of full attention.
    fn q(&self) -> u64 {
        product(&[self.b, self.heads, self.s, self.d])
    }

    fn scores(&self) -> u64 {
        product(&[self.b, self.heads, self.s, self.s])
    }

    /// A mask of every score of a head, if there is one.
    fn mask(&self) -> Option<u64> {
        self.causal.then(|| product(&[self.s, self.s]))
    }

    /// From the scaled scores to the end of the pattern.
    fn after_scores(&self, dtype: Dtype) -> Vec<Operation> {
        let (scores, element) = (self.scores(), dtype.bytes());
        let softmax = Operation::new("aten::softmax", element, &[scores], scores);
        let bmm = Operation::new("aten::bmm", element, &[scores, self.q()], self.q());
        match self.end {
            End::Scores => vec![],
            End::Softmax => vec![softmax],
            End::Output => vec![softmax, bmm],
        }
    }

    /// Scale and mask as operations of their own.
    fn unfused(&self, dtype: Dtype, [mul, add]: [&'static str; 2]) -> Vec<Operation> {
        let (scores, element) = (self.scores(), dtype.bytes());
        let bmm = Operation::new("aten::bmm", element, &[self.q(), self.q()], scores);
        let scale = Operation::new(mul, element, &[scores], scores);
        let masking = self.mask().map(|mask| Operation::new(add, element, &[scores, mask], scores));
        [bmm, scale].into_iter().chain(masking).chain(self.after_scores(dtype)).collect()
    }

    /// Scale and mask in the product. Without a mask beta is 0, and nothing is read for it.
    fn baddbmm(&self, dtype: Dtype) -> Vec<Operation> {
        let operands = [self.q(), self.q(), self.mask().unwrap_or(0)];
        let product = Operation::new("aten::baddbmm", dtype.bytes(), &operands, self.scores());
        [product].into_iter().chain(self.after_scores(dtype)).collect()
    }

    /// The operations of a TorchScript function. Only scale and mask are neighbours that a fuser on
    /// CUDA joins, and they are taken to be one kernel.
    fn torchscript(&self, dtype: Dtype, device: Device) -> Vec<Operation> {
        let mut operations = self.unfused(dtype, ["aten::mul", "aten::add"]);
        if let (Device::Cuda, Some(mask)) = (device, self.mask()) {
            let (scores, element) = (self.scores(), dtype.bytes());
            let joined = Operation::new("prim::TensorExprGroup", element, &[scores, mask], scores);
            operations.splice(1..=2, [joined]);
        }
        operations
    }

    /// Everything is one group; but a softmax that nothing follows stays outside.
    fn onednn_graph(&self, dtype: Dtype) -> Vec<Operation> {
        let (element, q, scores) = (dtype.bytes(), self.q(), self.scores());
        let mask = self.mask().unwrap_or(0);
        let group = |reads: &[u64], writes| Operation::new(ONEDNN_GROUP, element, reads, writes);
        match self.end {
            End::Scores => vec![group(&[q, q, mask], scores)],
            End::Softmax => vec![
                group(&[q, q, mask], scores),
                Operation::new("aten::softmax", element, &[scores], scores),
            ],
            End::Output => vec![group(&[q, q, q, mask], q)],
        }
    }

    /// A kernel that reads Q, K and V and writes the output. K and V come again for each block of
    /// queries, but from the cache. The logarithm of each row's sum, which some kernels write for a
    /// backward pass, is not counted.
    fn one_pass(&self, name: &'static str, dtype: Dtype) -> Vec<Operation> {
        let q = self.q();
        vec![Operation::new(name, dtype.bytes(), &[q, q, q], q)]
    }

    /// `_scaled_dot_product_attention_math`: computes in float32, scales Q and K by the root of the
    /// scale each, makes its mask afresh, turns rows of −∞ alone into zeros after the softmax, and
    /// rounds the weights, too, to the dtype of the input, to return them.
    fn composite(&self, dtype: Dtype) -> Vec<Operation> {
        const BOOL: u64 = 1;
        let wide = Dtype::Float32.bytes();
        let (q, scores) = (self.q(), self.scores());
        let rows = product(&[self.b, self.heads, self.s]);
        let run = |name, reads: &[u64], writes| Operation::new(name, wide, reads, writes);
        let convert = |elements: u64, from: u64, to: u64| Operation {
            name: "aten::_to_copy",
            reads: product(&[from, elements]),
            writes: product(&[to, elements]),
        };
        let mut operations = Vec::new();
        let narrow = dtype.bytes();
        let converts = narrow != wide;
        if converts {
            operations.extend([convert(q, narrow, wide); 3]);
        }
        let scale = run("aten::mul", &[q], q);
        operations.push(scale);
        if let Some(mask) = self.mask() {
            operations.extend([
                Operation::new("aten::ones", BOOL, &[], mask),
                Operation::new("aten::tril", BOOL, &[mask], mask),
                Operation { reads: mask, ..run("aten::where", &[], mask) },
            ]);
        }
        operations.extend([scale, run("aten::bmm", &[q, q], scores)]);
        operations.extend(self.mask().map(|mask| run("aten::add_", &[scores, mask], scores)));
        operations.extend([
            run("aten::softmax", &[scores], scores),
            Operation { writes: scores, ..run("aten::isneginf", &[scores], 0) },
            Operation::new("aten::all", BOOL, &[scores], rows),
            Operation {
                reads: sum(&[rows, product(&[wide, scores])]),
                ..run("aten::where", &[], scores)
            },
        ]);
        if converts {
            operations.push(convert(scores, wide, narrow));
        }
        operations.push(run("aten::bmm", &[scores, q], q));
        if converts {
            operations.push(convert(q, wide, narrow));
        }
        operations
    }
}

impl Formulas for Attention {
    fn counts(&self) -> Counts {
        let (q, scores) = (self.q(), self.scores());
        let computed = if self.causal { scores / 2 } else { scores };
        let products = product(&[2, self.d, computed]);
        // For each score 2d, 1 for the scale, 5 for the softmax, and 2d again for the product with V.
        let (products, of_each) = match self.end {
            End::Scores => (products, 1),
            End::Softmax => (products, 6),
            End::Output => (product(&[2, products]), 6),
        };
        // Upstream's account is neither consistent nor alike: of the softmax it leaves out that the
        // scale reads the scores; of full attention, everything that is read between the operations.
        let (tensors, results) = match self.end {
            End::Scores => (2, 3),
            End::Softmax => (2, 4),
            End::Output => (4, 3),
        };
        let is_whole = self.end == End::Output;
        Counts {
            flops: sum(&[products, product(&[of_each, computed])]),
            upstream_unfused: sum(&[product(&[tensors, q]), product(&[results, scores])]),
            minimal: match is_whole {
                true => product(&[4, q]),
                false => sum(&[product(&[2, q]), scores]),
            },
            inputs: vec![q; if is_whole { 3 } else { 2 }],
            parameters: self.mask().into_iter().collect(),
            workspace: 0,
            parts: product(&[self.b, self.heads]),
            output_size: vec![self.b, self.heads, self.s, if is_whole { self.d } else { self.s }],
            input_shape: vec![self.b, self.heads, self.s, self.d],
        }
    }

    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>> {
        let flash = match device {
            Device::Cuda => "aten::_scaled_dot_product_flash_attention",
            Device::Cpu | Device::Rocm | Device::Xpu | Device::Mps => {
                "aten::_scaled_dot_product_flash_attention_for_cpu"
            }
        };
        Some(match (variant, self.end) {
            (Unfused, _) => self.unfused(dtype, ["aten::mul", "aten::add"]),
            (Inplace, End::Scores | End::Softmax) => {
                self.unfused(dtype, ["aten::mul_", "aten::add_"])
            }
            (OnednnGraph, _) => self.onednn_graph(dtype),
            (TorchScript, End::Scores | End::Softmax) => self.torchscript(dtype, device),
            (Fused, End::Scores | End::Softmax) | (Baddbmm, End::Output) => self.baddbmm(dtype),
            // Whichever kernel is chosen; all that are no composite have the same traffic.
            (Fused, End::Output) => self.one_pass("aten::scaled_dot_product_attention", dtype),
            (Sdpa3d | SdpaMath, End::Output) => self.composite(dtype),
            (SdpaFlash, End::Output) => self.one_pass(flash, dtype),
            (SdpaEfficient, End::Output) => {
                self.one_pass("aten::_scaled_dot_product_efficient_attention", dtype)
            }
            (SdpaCudnn, End::Output) => {
                self.one_pass("aten::_scaled_dot_product_cudnn_attention", dtype)
            }
            (Inplace | TorchScript, End::Output)
            | (
                Baddbmm | Sdpa3d | SdpaMath | SdpaFlash | SdpaEfficient | SdpaCudnn,
                End::Scores | End::Softmax,
            )
            | (Addmm | Folded | Mkldnn | MkldnnUnfused, _) => return None,
        })
    }
}
