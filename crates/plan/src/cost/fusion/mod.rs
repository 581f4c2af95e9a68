//! What a pattern costs at a size, run one way.
//!
//! Two accounts of memory traffic stand here side by side. *Upstream's*, of branes-ai/graphs, is
//! kept to the byte for comparability; what it counts differs from pattern to pattern (of full
//! attention, what is written between operations but not what is read). The *consistent* one is the
//! same for all: every operation reads each operand once and writes its result once, views cost
//! nothing, and an operation in place reads and writes what it changes. A row of a softmax is taken
//! to fit the cache: it, too, reads its input once. Beyond that, caches are not in it: a small
//! intermediate result is counted though it may never reach memory.

mod attention;
mod conv;
mod formulas;
mod linear;

use super::{COMPARED_BYTES, REFERENCE_BYTES, REFERENCE_ROWS, product};
use crate::fusion::{FusionShape, FusionWork};
use crate::words::{Device, Dtype, FusionVariant};
use attention::Attention;
use conv::Conv;
pub use formulas::Operation;
use formulas::{Formulas, sum};
use linear::Linear;

/// Formulas. They saturate at `u64::MAX`, beyond anything that can be run. Where the pattern lacks
/// the variant, or the size is of another family, there is nothing to run: operations and bytes are
/// `None`, in the latter case every other count is 0 and every size empty. Which operations a
/// compiler makes of the pattern no formula tells: those of a compiled one, and their bytes, are
/// `None`, too.
impl FusionWork {
    fn formulas(&self) -> Option<Box<dyn Formulas>> {
        match self.size {
            FusionShape::Linear { m, k, n } => Some(Box::new(Linear::new(self.pattern, m, k, n)?)),
            FusionShape::Conv { b, i, o, s, memory_format: _ } => {
                Some(Box::new(Conv::new(self.pattern, b, i, o, s)?))
            }
            FusionShape::Attention { b, s, d, heads, causal } => {
                Some(Box::new(Attention::new(self.pattern, [b, heads, s, d], causal)?))
            }
        }
    }

    fn count(&self, count: impl FnOnce(&dyn Formulas) -> u64) -> u64 {
        self.formulas().map_or(0, |formulas| count(&*formulas))
    }

    fn shape(&self, shape: impl FnOnce(&dyn Formulas) -> Vec<u64>) -> Vec<u64> {
        self.formulas().map_or(Vec::new(), |formulas| shape(&*formulas))
    }

    /// Floating-point operations of one step, a multiply and an add counted as two; the same for
    /// all variants of a pattern. Upstream's formula: it counts 0 for an element of ReLU, 8 of
    /// GELU, 2 of batch normalization, 5 of softmax. A causal mask changes nothing: the whole
    /// square of scores is counted, whether a kernel computes the masked half or not.
    pub fn flops(&self) -> u64 {
        self.count(|formulas| formulas.flops())
    }

    /// Bytes of one step by upstream's formulas; upstream itself knows float32 alone. It has two
    /// sides, and which of them a variant may claim is decided here:
    ///
    /// | variant | side | because |
    /// |---|---|---|
    /// | `unfused` | unfused | it is that |
    /// | `fused`, `mkldnn`, `onednn-graph` | fused | libtorch's fusion of the pattern |
    /// | `sdpa-flash`, `sdpa-efficient`, `sdpa-cudnn` | fused | the same |
    /// | `torchscript`, `folded`, `sdpa-3d` | fused | upstream runs it and calls it fused |
    /// | `addmm` | fused | what upstream's TorchScript function says |
    /// | `sdpa-math` | fused | what upstream's call of SDPA runs |
    /// | `inplace`, `baddbmm`, `mkldnn-unfused` | none | upstream has none of them |
    ///
    /// A variant that upstream calls fused need not be: TorchScript on the CPU runs the operations of
    /// `unfused`. [`Self::bytes`] tells. The fused side is [`Self::minimal_bytes`] in every pattern.
    /// A causal mask is in neither.
    pub fn upstream_bytes(&self, dtype: Dtype) -> Option<u64> {
        use FusionVariant::{
            Addmm, Baddbmm, Folded, Fused, Inplace, Mkldnn, MkldnnUnfused, OnednnGraph, Sdpa3d,
            SdpaCudnn, SdpaEfficient, SdpaFlash, SdpaMath, TorchScript, Unfused,
        };
        let elements = match self.variant {
            Unfused => self.count(|formulas| formulas.upstream_unfused()),
            Fused | Mkldnn | OnednnGraph | SdpaFlash | SdpaEfficient | SdpaCudnn | TorchScript
            | Folded | Sdpa3d | Addmm | SdpaMath => self.count(|formulas| formulas.minimal()),
            Inplace | Baddbmm | MkldnnUnfused => return None,
        };
        self.has_operations().then(|| product(&[dtype.bytes(), elements]))
    }

    /// Bytes of a perfect fusion: every input and every parameter, folded where it can be, read
    /// once and the output written once. No variant takes less.
    pub fn minimal_bytes(&self, dtype: Dtype) -> u64 {
        product(&[dtype.bytes(), self.count(|formulas| formulas.minimal())])
    }

    /// The operations that libtorch 2.11 runs for one step, in order, each with its traffic in the
    /// consistent accounting. What is prepared before the first step (folded or reordered filters,
    /// the unfused causal mask) is no operation. What one operation does inside is not looked at,
    /// unless it is a composite of others. On XPU and MPS, which offer less, as on the CPU.
    pub fn operations(&self, dtype: Dtype, device: Device) -> Option<Vec<Operation>> {
        if self.compile.is_some() {
            return None;
        }
        self.formulas()?.operations(self.variant, dtype, device)
    }

    fn has_operations(&self) -> bool {
        self.operations(Dtype::Float32, Device::Cpu).is_some()
    }

    /// Bytes of one step in the consistent accounting: what all operations read and write.
    pub fn bytes(&self, dtype: Dtype, device: Device) -> Option<u64> {
        let operations = self.operations(dtype, device)?;
        Some(operations.iter().fold(0, |bytes, it| sum(&[bytes, it.reads, it.writes])))
    }

    /// Elements of all inputs.
    pub fn input_elements(&self) -> u64 {
        self.count(|formulas| sum(&formulas.inputs()))
    }

    /// Elements of what stays from step to step: weights, bias, the normalization's weight, bias,
    /// mean and variance, and the mask of causal attention.
    pub fn parameter_elements(&self) -> u64 {
        self.count(|formulas| sum(&formulas.parameters()))
    }

    /// The size of the output: `[m, n]`; `[b, o, s, s]`; `[b, heads, s, s]` or, of full attention,
    /// `[b, heads, s, d]`.
    pub fn output_size(&self) -> Vec<u64> {
        self.shape(|formulas| formulas.output_size())
    }

    /// Upstream's `input_shape`: `[m, k, n]`; `[b, i, s, s]`; `[b, s, d]`, or `[b, heads, s, d]` of
    /// more heads than one, which upstream lacks.
    pub fn input_shape(&self) -> Vec<u64> {
        self.shape(|formulas| formulas.input_shape())
    }

    /// Upstream's `output_shape`: the size of the output, without the axis of a single head.
    /// Upstream leaves it out of linear patterns.
    pub fn output_shape(&self) -> Vec<u64> {
        self.shape(|formulas| formulas.output_shape())
    }

    /// Examples, each computed without the others: rows of x, images, heads of sequences.
    pub fn parts(&self) -> u64 {
        self.count(|formulas| formulas.parts())
    }

    /// An estimate, in bytes and rather high than low, of the memory that building, checking and
    /// running takes at once, without what a cold step is flushed with. The reference, the unfused
    /// operations in float64, is taken to be bounded as [`crate::cost::memory_bytes`]'s is, and to
    /// compute no fewer than [`REFERENCE_ROWS`] examples ([`Self::parts`]).
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        let Some(formulas) = self.formulas() else { return 0 };
        let element = dtype.bytes();
        let (inputs, parameters) = (sum(&formulas.inputs()), sum(&formulas.parameters()));
        let held = sum(&[inputs, parameters]);
        let working = sum(&[held, formulas.workspace()]);
        // Folded in float64, then rounded; or reordered. The reference's own are gone by then.
        let prepared = product(&[8 + element, parameters]);
        // Every result at once, and what operations make of their operands.
        let results = written(&*formulas, self.variant, dtype);
        let running = sum(&[prepared, results, product(&[element, working])]);
        let drawing = product(&[4, self.largest()]);
        sum(&[product(&[element, held]), drawing.max(running), referred(&*formulas)])
    }

    /// The bytes of the host's memory that a case on another device takes at once: one tensor at a
    /// time in the case's dtype, and beside it the same in float32, while it is drawn, or the
    /// reference, which is computed on the host whole.
    pub fn host_bytes(&self, dtype: Dtype) -> u64 {
        let Some(formulas) = self.formulas() else { return 0 };
        let parameters = product(&[8, sum(&formulas.parameters())]);
        let reference = sum(&[parameters, referred(&*formulas)]);
        let drawing = product(&[4, self.largest()]);
        sum(&[product(&[dtype.bytes(), self.largest()]), drawing.max(reference)])
    }

    /// Elements of the largest input or parameter.
    fn largest(&self) -> u64 {
        let Some(formulas) = self.formulas() else { return 0 };
        formulas.inputs().into_iter().chain(formulas.parameters()).max().unwrap_or(0)
    }
}

/// Bytes of all results of a variant on the CPU, where nothing is fused that is not elsewhere.
fn written(formulas: &dyn Formulas, variant: FusionVariant, dtype: Dtype) -> u64 {
    let operations = formulas.operations(variant, dtype, Device::Cpu).unwrap_or_default();
    operations.iter().fold(0, |bytes, it| sum(&[bytes, it.writes]))
}

/// Bytes of the examples that the reference computes, in float64, with all results at once; or
/// while they are compared.
fn referred(formulas: &dyn Formulas) -> u64 {
    let inputs = sum(&[sum(&formulas.inputs()), formulas.workspace()]);
    let results = written(formulas, FusionVariant::Unfused, Dtype::Float32);
    let computing = sum(&[product(&[8, inputs]), product(&[2, results])]);
    let comparing = product(&[COMPARED_BYTES, product(&formulas.output_size())]);
    let all = computing.max(comparing);
    if all == u64::MAX {
        return all;
    }
    let fewest = product(&[REFERENCE_ROWS, all / formulas.parts().max(1)]);
    all.min(REFERENCE_BYTES.max(fewest))
}

#[cfg(test)]
mod published_tests;
#[cfg(test)]
mod tests;
