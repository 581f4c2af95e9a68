//! The patterns around attention: `qk_scores`, Q·Kᵀ / √d, `qk_softmax`, softmax(Q·Kᵀ / √d), and
//! `full_attention`, softmax(Q·Kᵀ / √d)·V; the last two causal or not.
//!
//! `scaled_dot_product_attention` (SDPA), the whole pattern in one call, is in `sdpa.rs`.

use plan::{Dtype, FusionShape, FusionVariant, FusionWork};
use tch::{Kind, TchError, Tensor};

use super::{mkldnn, sdpa, torchscript};
use crate::inputs::{self, Inputs};
use crate::kernel::Gates;
use crate::kernel::{KernelContext, Operation, Step};
use crate::refusal::Refusal;

#[derive(Clone, Copy)]
pub(super) struct Attention {
    ends: Ends,
    gates: Gates,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Scores,
    Softmax,
    Product,
}

impl Attention {
    /// Lowest values measured on a CPU, in dB, of all its variants, over 15 sizes from a single score to
    /// 4096 tokens, 32 seeds each (2 of more than 300 tokens). The lowest in float32 is a single score
    /// that happens to be small.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 117.7  | 100  |
    /// | bfloat16 | 46.2   | 40   |
    /// | float16  | 61.1   | 55   |
    pub(super) const SCORES: Self =
        Self { ends: Ends::Scores, gates: Gates { float32: 100.0, bfloat16: 40.0, float16: 55.0 } };

    /// Lowest values over the same sizes and seeds, causal or not. `fused` rounds the scores once, not
    /// twice: it has 46.0 and 64.3 in the narrow dtypes.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 128.4  | 115  |
    /// | bfloat16 | 43.9   | 38   |
    /// | float16  | 61.5   | 55   |
    pub(super) const SOFTMAX: Self = Self {
        ends: Ends::Softmax,
        gates: Gates { float32: 115.0, bfloat16: 38.0, float16: 55.0 },
    };

    /// Lowest values measured on a CPU, in dB, of all its variants, causal or not, over 11 sizes from a
    /// single token to 1500, 4 seeds each. In the narrow dtypes they are those of `unfused`: the flash
    /// kernel, which keeps the scores in float32, has 52.8 and 70.7, the composite, which computes in
    /// it, 54.5 and 72.2.
    ///
    /// | dtype    | lowest | gate |
    /// |----------|--------|------|
    /// | float32  | 127.7  | 115  |
    /// | bfloat16 | 44.1   | 38   |
    /// | float16  | 62.3   | 55   |
    pub(super) const FULL: Self = Self {
        ends: Ends::Product,
        gates: Gates { float32: 115.0, bfloat16: 38.0, float16: 55.0 },
    };

    /// `operations`, then those that follow the scores.
    fn kernels(self, operations: &[&'static str]) -> Vec<&'static str> {
        let rest: &[_] = match self.ends {
            Ends::Scores => &[],
            Ends::Softmax => &["aten::softmax"],
            Ends::Product => &["aten::softmax", "aten::bmm"],
        };
        [operations, rest].concat()
    }
}

impl Operation<FusionWork> for Attention {
    /// Q, K and, where the pattern ends with it, V, each `[b, heads, s, d]` and normal; of a causal size
    /// the mask `[s, s]`, 0 where a token attends and −∞ where it does not.
    fn inputs(&self, context: &KernelContext<FusionWork>) -> Result<Inputs, Refusal> {
        let FusionShape::Attention { b, heads, s, d, causal } = context.work.size else {
            return Err(
                context.unsupported(&format!("{} is not a size of attention", context.work.size))
            );
        };
        let count = if self.ends == Ends::Product { 3 } else { 2 };
        let examples = (0..count).map(|_| context.normal(&[b, heads, s, d]));
        let examples = examples.collect::<Result<_, _>>()?;
        let parameters = if causal { vec![mask(context, s)?] } else { vec![] };
        Ok(Inputs { examples, parameters })
    }

    fn check(&self, context: &KernelContext<FusionWork>) -> Result<(), String> {
        match context.work.size {
            FusionShape::Attention { causal: true, .. } if self.ends == Ends::Scores => {
                Err("scores alone have no mask; causal is for what has a softmax".to_owned())
            }
            _ => mkldnn::check(context).and_then(|()| sdpa::check(context)),
        }
    }

    fn reference(
        &self,
        context: &KernelContext<FusionWork>,
        inputs: Inputs,
    ) -> Result<Tensor, Refusal> {
        super::unfused(self, context, inputs)
    }

    fn build(
        &self,
        context: &KernelContext<FusionWork>,
        mut inputs: Inputs,
    ) -> Result<Step, Refusal> {
        let mask = inputs.parameters.pop();
        let mut examples = inputs.examples.into_iter();
        let (Some(q), Some(k), v) = (examples.next(), examples.next(), examples.next()) else {
            return Err(context.unsupported("attention without Q and K"));
        };
        let (_, heads, _, _) = q.size4()?;
        let it = *self;
        match (context.work.variant, v) {
            (variant @ (FusionVariant::Unfused | FusionVariant::Inplace), v) => {
                let in_place = variant == FusionVariant::Inplace;
                let scores = Scores::new(q, &k, mask)?;
                let reads = scores.tensors().chain(&v).map(Tensor::shallow_clone).collect();
                let kernels = it.kernels(&scores.kernels(in_place));
                let rest = Rest { ends: it.ends, v, is_folded: false };
                let step = Step::new(&kernels, move || rest.run(scores.run(in_place)?));
                Ok(if in_place { step } else { step.reading(reads) })
            }
            (FusionVariant::Fused, v @ None) | (FusionVariant::Baddbmm, v @ Some(_)) => {
                let v = v.map(|v| sdpa::fold(&v)).transpose()?;
                let scores = FusedScores::new(&q, &k, mask)?;
                let rest = Rest { ends: it.ends, v, is_folded: true };
                Ok(Step::new(&it.kernels(&["aten::baddbmm"]), move || {
                    sdpa::unfold(&rest.run(scores.run()?)?, heads)
                }))
            }
            (FusionVariant::TorchScript, None) => {
                let source = it.source("torch.bmm", scale(&q)?, mask.is_some());
                let unfused = it.kernels(&operations(["aten::mul", "aten::add"], mask.is_some()));
                let (q, k) = (sdpa::fold(&q)?, sdpa::fold(&k)?);
                let step = match mask {
                    None => torchscript::build(context, &source, [q, k], &unfused)?,
                    Some(mask) => torchscript::build(context, &source, [q, k, mask], &unfused)?,
                };
                let kernels = step.kernels.clone();
                Ok(Step::new::<Refusal>(&kernels, move || Ok(sdpa::unfold(&step.run()?, heads)?)))
            }
            (FusionVariant::OnednnGraph, v) => {
                let source = it.source("torch.matmul", scale(&q)?, mask.is_some());
                let operands = [q, k].into_iter().chain(v).chain(mask).collect();
                let step = torchscript::build_onednn_graph(context, &source, operands)?;
                Ok(mkldnn::with_own_product(step, context.dtype))
            }
            (_, Some(v)) => sdpa::build(context, [q, k, v], mask.is_some()),
            (_, None) => Err(context.no_such_implementation()),
        }
    }

    fn min_sqnr_db(&self, _: &FusionWork, dtype: Dtype) -> f64 {
        self.gates.for_dtype(dtype)
    }
}

impl Attention {
    /// The pattern in Python. The scale, which is a number and no tensor, is a constant; upstream's
    /// functions, which these follow, have no mask.
    fn source(self, product: &str, scale: f64, has_mask: bool) -> String {
        let (v, output) = match self.ends {
            Ends::Scores => ("", "scores"),
            Ends::Softmax => ("", "torch.softmax(scores, dim=-1)"),
            Ends::Product => (", v", "torch.matmul(torch.softmax(scores, dim=-1), v)"),
        };
        let (mask, added) = if has_mask { (", mask", " + mask") } else { ("", "") };
        format!(
            "
def pattern(q, k{v}{mask}):
    scores = {product}(q, k.transpose(-2, -1)) * {scale:?}{added}
    return {output}"
        )
    }
}

fn mask(context: &KernelContext<FusionWork>, s: u64) -> Result<Tensor, TchError> {
    let s = inputs::dimension(s)?;
    Tensor::f_full([s, s], f64::NEG_INFINITY, (context.kind(), context.torch_device))?.f_triu(1)
}

/// Product, scale, and the mask if there is one.
fn operations([mul, add]: [&'static str; 2], has_mask: bool) -> Vec<&'static str> {
    ["aten::bmm", mul].into_iter().chain(has_mask.then_some(add)).collect()
}

/// The operations on the scores.
struct Rest {
    ends: Ends,
    v: Option<Tensor>,
    /// Whether scores and V have no axis of heads.
    is_folded: bool,
}

impl Rest {
    /// The scores live until the end, as in upstream's function.
    fn run(&self, scores: Tensor) -> Result<Tensor, TchError> {
        if self.ends == Ends::Scores {
            return Ok(scores);
        }
        // In the dtype of the scores.
        let weights = scores.f_softmax(-1, None::<Kind>)?;
        match &self.v {
            None => Ok(weights),
            Some(v) if self.is_folded => weights.f_bmm(v),
            Some(v) => weights.f_matmul(v),
        }
    }
}

/// The scores by operations of their own: Q·Kᵀ, the scale, and the mask if there is one.
struct Scores {
    /// `[b, heads, s, d]`
    q: Tensor,
    /// `[b, heads, d, s]`, a view of K.
    k_t: Tensor,
    mask: Option<Tensor>,
    scale: f64,
}

impl Scores {
    fn new(q: Tensor, k: &Tensor, mask: Option<Tensor>) -> Result<Self, TchError> {
        let (k_t, scale) = (k.f_transpose(-2, -1)?, scale(&q)?);
        Ok(Self { q, k_t, mask, scale })
    }

    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        [&self.q, &self.k_t].into_iter().chain(&self.mask)
    }

    fn kernels(&self, in_place: bool) -> Vec<&'static str> {
        let names =
            if in_place { ["aten::mul_", "aten::add_"] } else { ["aten::mul", "aten::add"] };
        operations(names, self.mask.is_some())
    }

    /// `[b, heads, s, s]`, in one piece of memory where `in_place`. One variable, as in Python: what it
    /// held is freed when the next result is there.
    fn run(&self, in_place: bool) -> Result<Tensor, TchError> {
        let mut scores = self.q.f_matmul(&self.k_t)?;
        scores = match in_place {
            true => scores.f_mul_scalar_(self.scale)?,
            false => scores.f_mul_scalar(self.scale)?,
        };
        match &self.mask {
            None => Ok(scores),
            Some(mask) if in_place => scores.f_add_(mask),
            Some(mask) => scores.f_add(mask),
        }
    }
}

/// The scores by one operation, `baddbmm`: the scale is its alpha, the mask its input. Without a mask
/// beta is 0, and the input is not read.
struct FusedScores {
    /// `[b·heads, s, d]`
    q: Tensor,
    /// `[b·heads, d, s]`, a view of K.
    k_t: Tensor,
    /// The summand, `[s, s]` or a single element.
    input: Tensor,
    beta: f64,
    alpha: f64,
}

impl FusedScores {
    fn new(q: &Tensor, k: &Tensor, mask: Option<Tensor>) -> Result<Self, TchError> {
        let alpha = scale(q)?;
        let (input, beta) = match mask {
            Some(mask) => (mask, 1.0),
            None => (Tensor::f_zeros([1, 1, 1], (q.kind(), q.device()))?, 0.0),
        };
        Ok(Self { q: sdpa::fold(q)?, k_t: sdpa::fold(k)?.f_transpose(-2, -1)?, input, beta, alpha })
    }

    /// `[b·heads, s, s]`
    fn run(&self) -> Result<Tensor, TchError> {
        self.input.f_baddbmm(&self.q, &self.k_t, self.beta, self.alpha)
    }
}

/// 1/√d
fn scale(q: &Tensor) -> Result<f64, TchError> {
    let (_, _, _, d) = q.size4()?;
    Ok((d as f64).sqrt().recip())
}
