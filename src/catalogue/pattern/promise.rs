//! The promise of a variant about the kernels that a CUDA device runs for it, and whether the names of those that ran keep
//! it. Names are as Kineto gives them (`native::profile`), demangled.

use plan::{FusionShape, FusionVariant, FusionWork, Pattern};

use crate::native::sdpa::SdpaBackend;

/// A promise about the kernels of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    count: Count,
    /// Elementwise kernels of ATen's, at most: what follows the product and is not part of it.
    elementwise: Option<usize>,
    /// In the name of one kernel at least.
    shows: Option<&'static str>,
    /// Whether no kernel normalizes.
    folded: bool,
}

/// How many kernels, [helpers](is_helper) aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Several,
    LikeUnfused,
    FewerThanUnfused,
    AtMostUnfused,
}

const fn counting(count: Count) -> Promise {
    Promise { count, elementwise: None, shows: None, folded: false }
}

/// Nothing elementwise is left.
const FUSED: Promise = Promise { elementwise: Some(0), ..counting(Count::FewerThanUnfused) };
/// All of it is the product.
const PRODUCT: Promise = Promise { count: Count::One, ..FUSED };
/// The normalization is gone, but cuDNN's convolution has no bias: that is a kernel as the normalization was.
const FOLDED: Promise = Promise { folded: true, ..counting(Count::AtMostUnfused) };

/// The promise of a variant whose step consists of the operations `kernels` (`Step::kernels`). This is the only table.
pub fn promise(work: &FusionWork, kernels: &[String]) -> Promise {
    match work.variant {
        FusionVariant::Unfused | FusionVariant::MkldnnUnfused => counting(Count::Several),
        FusionVariant::Inplace => counting(Count::LikeUnfused),
        FusionVariant::Fused => match work.pattern {
            // Bias and ReLU are an epilogue of cuBLASLt.
            Pattern::LinearBias | Pattern::LinearBiasRelu | Pattern::LinearBiasGelu => PRODUCT,
            // The scale is the product's alpha.
            Pattern::QkScores => PRODUCT,
            Pattern::Conv2dRelu | Pattern::Conv2dBnRelu => Promise { folded: true, ..FUSED },
            Pattern::Conv2dBn => Promise { elementwise: Some(1), ..FOLDED },
            Pattern::QkSoftmax => scaled(work),
            Pattern::FullAttention => attention(kernels),
        },
        // The activation is not fused.
        FusionVariant::Addmm => Promise { elementwise: Some(1), ..FUSED },
        FusionVariant::Baddbmm => scaled(work),
        // Bias and ReLU.
        FusionVariant::Folded => Promise { elementwise: Some(2), ..FOLDED },
        FusionVariant::Sdpa3d
        | FusionVariant::SdpaMath
        | FusionVariant::SdpaFlash
        | FusionVariant::SdpaEfficient
        | FusionVariant::SdpaCudnn => attention(kernels),
        // The fuser chooses the operations; when the step is built, it is refused if there are none.
        FusionVariant::TorchScript | FusionVariant::OnednnGraph | FusionVariant::Mkldnn => {
            counting(Count::FewerThanUnfused)
        }
    }
}

/// A product with the scale as its alpha. A mask is its input, which `baddbmm` copies into the output first.
fn scaled(work: &FusionWork) -> Promise {
    let masked = matches!(work.size, FusionShape::Attention { causal: true, .. });
    Promise { elementwise: Some(usize::from(masked)), ..FUSED }
}

/// The promise of SDPA, by the operation that it is.
fn attention(kernels: &[String]) -> Promise {
    let is = |backend: SdpaBackend| {
        let operation = backend.operation(tch::Device::Cuda(0));
        kernels.iter().any(|kernel| kernel == operation)
    };
    let shown_by = |shows| Promise { shows: Some(shows), ..counting(Count::FewerThanUnfused) };
    if is(SdpaBackend::Flash) {
        // cuDNN's are called `flash_fprop`.
        shown_by("flash_fwd")
    } else if is(SdpaBackend::Efficient) {
        shown_by("fmha")
    } else if is(SdpaBackend::CudnnAttention) {
        shown_by("cudnn")
    } else if is(SdpaBackend::Math) {
        counting(Count::Several)
    } else {
        counting(Count::FewerThanUnfused)
    }
}

impl Promise {
    /// Whether the kernels that ran keep the promise; `unfused` are those of the same pattern, size and dtype.
    pub fn holds(&self, ran: &[String], unfused: &[String]) -> bool {
        let count = |names: &[String]| names.iter().filter(|name| !is_helper(name)).count();
        let (ours, theirs) = (count(ran), count(unfused));
        let counted = match self.count {
            Count::One => ours == 1,
            Count::Several => ours > 1,
            Count::LikeUnfused => ours == theirs,
            Count::FewerThanUnfused => ours < theirs,
            Count::AtMostUnfused => ours <= theirs,
        };
        let elementwise = ran.iter().filter(|name| is_elementwise(name)).count();
        ours > 0
            && counted
            && self.elementwise.is_none_or(|most| elementwise <= most)
            && self.shows.is_none_or(|shows| ran.iter().any(|name| name.contains(shows)))
            && !(self.folded && ran.iter().any(|name| is_normalization(name)))
    }

    /// The promise in words; `unfused` as in [`Self::holds`].
    pub fn describe(&self, unfused: &[String]) -> String {
        let theirs = unfused.iter().filter(|name| !is_helper(name)).count();
        let count = match self.count {
            Count::One => "exactly 1".to_owned(),
            Count::Several => "more than 1".to_owned(),
            Count::LikeUnfused => format!("as many as `unfused`, {theirs}"),
            Count::FewerThanUnfused => format!("fewer than `unfused`, {theirs}"),
            Count::AtMostUnfused => format!("no more than `unfused`, {theirs}"),
        };
        let elementwise = self.elementwise.map(|most| match most {
            0 => "none of them elementwise".to_owned(),
            most => format!("at most {most} of them elementwise"),
        });
        let shows = self.shows.map(|shows| format!("one named `{shows}`"));
        let folded = self.folded.then(|| "none that normalizes".to_owned());
        [Some(count), elementwise, shows, folded]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// A kernel that belongs to a product or a convolution: the sum of its parts, or the change of its layout.
pub fn is_helper(name: &str) -> bool {
    const HELPERS: [&str; 6] = [
        "splitKreduce_kernel",
        "nchwToNhwcKernel",
        "nhwcToNchwKernel",
        "AddPaddingKernel",
        "computeOffsetsKernel",
        "generateWinogradTilesKernel",
    ];
    HELPERS.iter().any(|helper| name.contains(helper))
}

/// `vectorized_elementwise_kernel` and its siblings.
fn is_elementwise(name: &str) -> bool {
    name.contains("elementwise_kernel")
}

/// cuDNN's `bn_fw_inf_…`, ATen's `batch_norm_…`.
fn is_normalization(name: &str) -> bool {
    name.contains("bn_fw") || name.contains("batch_norm")
}

/// A demangled name as a line can hold it: without its arguments, and a template without namespaces, its arguments by
/// their heads: `vectorized_elementwise_kernel<4, CUDAFunctor_add, array>`.
pub fn short(name: &str) -> String {
    const MOST: usize = 80;
    let name = without_groups(name);
    let name = name.trim().trim_start_matches("void ");
    let short = match name.split_once('<') {
        None => name.to_owned(),
        Some((function, rest)) => {
            let arguments = rest.rsplit_once('>').map_or(rest, |(inside, _)| inside);
            let heads: Vec<_> = arguments_of(arguments).into_iter().map(head).collect();
            format!("{}<{}>", last_word(function), heads.join(", "))
        }
    };
    match short.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &short[..end]),
        None => short,
    }
}

/// Without what is in parentheses and braces: arguments, unnamed namespaces, lambdas.
fn without_groups(name: &str) -> String {
    let mut depth = 0_usize;
    let kept = name.chars().filter(|character| match character {
        '(' | '{' => {
            depth += 1;
            false
        }
        ')' | '}' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    kept.collect()
}

/// The arguments of a template, which may be templates.
fn arguments_of(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let outermost = text.split(move |character| {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && character == ','
    });
    outermost.collect()
}

/// A template's argument without its own arguments. `gpu_kernel_impl` is around the operation that matters.
fn head(argument: &str) -> &str {
    let inner = argument.split_once("gpu_kernel_impl").and_then(|(_, rest)| rest.split_once('<'));
    let argument = inner.map_or(argument, |(_, inside)| inside);
    last_word(argument.split_once('<').map_or(argument, |(head, _)| head))
}

/// The last name of a path that is not a lambda's call.
fn last_word(path: &str) -> &str {
    let path = path.trim();
    let named = |name: &&str| !name.is_empty() && !name.starts_with("operator");
    path.rsplit("::").map(str::trim).find(named).unwrap_or(path)
}

#[cfg(test)]
#[path = "promise_tests.rs"]
mod tests;
