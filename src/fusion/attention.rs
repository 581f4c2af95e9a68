//! What the patterns around attention have in common: their operands, and the ways to the scores.

use plan::{FusionShape, FusionVariant, Pattern};
use tch::{Kind, TchError, Tensor};

use super::{Inputs, Site, Step, mkldnn};
use crate::inputs;
use crate::refusal::Refusal;

/// Q, K and, where the pattern ends with it, V, each `[b, heads, s, d]` and normal; of a causal size
/// the mask `[s, s]`, 0 where a token attends and −∞ where it does not.
pub(super) fn draw(site: &Site) -> Result<Inputs, TchError> {
    let FusionShape::Attention { b, heads, s, d, causal } = site.work.size else {
        return Err(TchError::Shape(format!("{} is no size of attention", site.work.size)));
    };
    let count = if site.work.pattern == Pattern::FullAttention { 3 } else { 2 };
    let examples = (0..count).map(|_| site.normal(&[b, heads, s, d])).collect::<Result<_, _>>()?;
    let parameters = if causal { vec![mask(site, s)?] } else { vec![] };
    Ok(Inputs { examples, parameters })
}

fn mask(site: &Site, s: u64) -> Result<Tensor, TchError> {
    let s = inputs::dimension(s)?;
    Tensor::f_full([s, s], f64::NEG_INFINITY, (inputs::kind(site.dtype), site.place))?.f_triu(1)
}

/// What [`draw`] has drawn: so many examples, and the mask.
pub(super) fn operands<const N: usize>(
    mut inputs: Inputs,
) -> Result<([Tensor; N], Option<Tensor>), TchError> {
    let mask = inputs.parameters.pop();
    let (examples, []) = inputs.into_parts()?;
    Ok((examples, mask))
}

/// The scores by operations of their own: Q·Kᵀ, the scale, and the mask if there is one.
pub(super) struct Scores {
    /// `[b, heads, s, d]`
    q: Tensor,
    /// `[b, heads, d, s]`, a view of K.
    k_t: Tensor,
    mask: Option<Tensor>,
    scale: f64,
}

impl Scores {
    pub(super) fn new(q: Tensor, k: &Tensor, mask: Option<Tensor>) -> Result<Self, TchError> {
        let (k_t, scale) = (k.f_transpose(-2, -1)?, scale(&q)?);
        Ok(Self { q, k_t, mask, scale })
    }

    /// What it reads.
    pub(super) fn tensors(&self) -> Vec<Tensor> {
        [&self.q, &self.k_t].into_iter().chain(&self.mask).map(Tensor::shallow_clone).collect()
    }

    /// The operations of [`Self::run`], then `rest`.
    pub(super) fn kernels(&self, rest: &[&'static str]) -> Vec<&'static str> {
        self.named(["aten::mul", "aten::add"], rest)
    }

    /// The operations of [`Self::run_in_place`], then `rest`.
    pub(super) fn kernels_in_place(&self, rest: &[&'static str]) -> Vec<&'static str> {
        self.named(["aten::mul_", "aten::add_"], rest)
    }

    fn named(&self, [mul, add]: [&'static str; 2], rest: &[&'static str]) -> Vec<&'static str> {
        let add = self.mask.is_some().then_some(add);
        ["aten::bmm", mul].into_iter().chain(add).chain(rest.iter().copied()).collect()
    }

    /// `[b, heads, s, s]`. One variable, as in Python: what it held is freed when the next result is
    /// there.
    pub(super) fn run(&self) -> Result<Tensor, TchError> {
        let mut scores = self.q.f_matmul(&self.k_t)?;
        scores = scores.f_mul_scalar(self.scale)?;
        if let Some(mask) = &self.mask {
            scores = scores.f_add(mask)?;
        }
        Ok(scores)
    }

    /// The same in one piece of memory.
    pub(super) fn run_in_place(&self) -> Result<Tensor, TchError> {
        let mut scores = self.q.f_matmul(&self.k_t)?;
        scores = scores.f_mul_scalar_(self.scale)?;
        if let Some(mask) = &self.mask {
            scores = scores.f_add_(mask)?;
        }
        Ok(scores)
    }
}

/// The scores by one operation, `baddbmm`: the scale is its alpha, the mask its input. Without a mask
/// beta is 0, and the input is not read.
pub(super) struct FusedScores {
    /// `[b·heads, s, d]`
    q: Tensor,
    /// `[b·heads, d, s]`, a view of K.
    k_t: Tensor,
    /// What is added, `[s, s]` or a single element.
    input: Tensor,
    beta: f64,
    alpha: f64,
}

impl FusedScores {
    pub(super) fn new(q: &Tensor, k: &Tensor, mask: Option<Tensor>) -> Result<Self, TchError> {
        let alpha = scale(q)?;
        let (input, beta) = match mask {
            Some(mask) => (mask, 1.0),
            None => (Tensor::f_zeros([1, 1, 1], (q.kind(), q.device()))?, 0.0),
        };
        Ok(Self { q: fold(q)?, k_t: fold(k)?.f_transpose(-2, -1)?, input, beta, alpha })
    }

    /// `[b·heads, s, s]`
    pub(super) fn run(&self) -> Result<Tensor, TchError> {
        self.input.f_baddbmm(&self.q, &self.k_t, self.beta, self.alpha)
    }
}

/// A TorchScript function of the folded operands, which ends with what belongs to `[b·heads, s, s]`.
pub(super) fn torchscript<const N: usize>(
    site: &Site,
    source: &str,
    operands: [Tensor; N],
    unfused: &[&str],
    heads: i64,
) -> Result<Step, Refusal> {
    let step = super::torchscript::build(site, source, operands, unfused)?;
    let kernels = step.kernels.clone();
    Ok(Step::new(&kernels, move || unfold(&step.run()?, heads)))
}

/// The pattern on `[b, heads, s, d]`, fused by oneDNN Graph; `output` is what is done to the `scores`,
/// which are masked where there is a mask.
pub(super) fn onednn_graph<const N: usize>(
    site: &Site,
    names: [&str; N],
    operands: [Tensor; N],
    mask: Option<Tensor>,
    output: &str,
) -> Result<Step, Refusal> {
    let (scale, names) = (scale(&operands[0])?, names.join(", "));
    let (argument, added) = if mask.is_some() { (", mask", " + mask") } else { ("", "") };
    let source = format!(
        "
def pattern({names}{argument}):
    scores = torch.matmul(q, k.transpose(-2, -1)) * {scale:?}{added}
    return {output}"
    );
    let arguments = operands.into_iter().chain(mask).collect();
    let step = super::torchscript::build_onednn_graph(site, &source, arguments)?;
    Ok(mkldnn::with_own_product(step, site.dtype))
}

/// Whether a variant can run here: oneDNN Graph wants oneDNN's kernels, the others nothing.
pub(super) fn check(site: &Site) -> Result<(), String> {
    match site.work.variant {
        FusionVariant::OnednnGraph => mkldnn::check(site),
        _ => Ok(()),
    }
}

/// 1/√d
pub(super) fn scale(q: &Tensor) -> Result<f64, TchError> {
    let (_, _, _, d) = q.size4()?;
    Ok((d as f64).sqrt().recip())
}

/// `[b·heads, s, d]` of `[b, heads, s, d]`, a view: every head of a sequence is an example.
pub(super) fn fold(tensor: &Tensor) -> Result<Tensor, TchError> {
    let (b, heads, s, d) = tensor.size4()?;
    tensor.f_view([b * heads, s, d])
}

/// The heads of `[b·heads, s, ·]` as an axis of their own again, a view.
pub(super) fn unfold(tensor: &Tensor, heads: i64) -> Result<Tensor, TchError> {
    let (all, s, last) = tensor.size3()?;
    tensor.f_view([all / heads, heads, s, last])
}

/// `softmax` over the last dimension, in the dtype of the scores.
pub(super) fn softmax(scores: &Tensor) -> Result<Tensor, TchError> {
    scores.f_softmax(-1, None::<Kind>)
}
