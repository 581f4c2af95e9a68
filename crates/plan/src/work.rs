//! The work of a case: one kind per family of benchmarks.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::catalogue::operator::{Implementation, OperatorWork};
use crate::catalogue::pattern::{FusionVariant, FusionWork};
use crate::catalogue::probe::ProbeWork;
use crate::kernel::KernelWork;
use crate::linears::ModelSizes;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{CompileMode, ModelKind, Pass, Recipe};

/// The work of a case. In files its fields stand among those of the case, and show its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Work {
    /// A model with a recipe: inference and training.
    Model(ModelWork),
    /// A pattern, fused or not.
    Fusion(FusionWork),
    /// An operator by one of its implementations.
    Operator(OperatorWork),
    /// A limit of the machine.
    Probe(ProbeWork),
    /// A kernel of the author's own.
    Kernel(KernelWork),
}

/// A model of a shape with a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelWork {
    /// Model type.
    pub model: ModelKind,
    /// Recipe, sparsity, where the output goes, compilation.
    #[serde(flatten)]
    pub variant: Variant,
    /// Shape.
    pub shape: Shape,
    /// The part of a training step; absent in inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
}

impl ModelWork {
    /// The sizes of the model; `None` if it is a package's.
    pub fn sizes(&self) -> Option<ModelSizes> {
        ModelSizes::new(self.model, self.shape)
    }

    /// The part of a training step that it runs: the baseline, which has no casts, runs `forward_backward` in
    /// their place, the time that they have to earn back.
    pub fn runs(&self) -> Option<Pass> {
        match self.pass {
            Some(Pass::Casts) if self.variant.recipe == Recipe::Baseline => {
                Some(Pass::ForwardBackward)
            }
            pass => pass,
        }
    }

    /// Floating-point operations of a step of a model of these sizes: in training the products of a forward pass
    /// once forward and twice backward, and none in casts.
    pub fn flops(&self, sizes: &ModelSizes) -> u64 {
        match self.runs() {
            None => sizes.flops(),
            Some(Pass::Products) => (sizes.flops() - sizes.other_flops).saturating_mul(3),
            Some(pass) => sizes.flops().saturating_mul(pass.products()),
        }
    }
}

impl Work {
    /// Whether its cost is known before it runs: that of a kernel, or of a model of a package, is not.
    pub fn has_known_cost(&self) -> bool {
        match self {
            Self::Model(work) => !matches!(work.model, ModelKind::User(_)),
            Self::Kernel(_) => false,
            Self::Fusion(_) | Self::Operator(_) | Self::Probe(_) => true,
        }
    }

    /// The full name that distinguishes it from its siblings.
    pub fn variant(&self) -> String {
        match self {
            Self::Model(work) => work.variant.to_string(),
            Self::Fusion(work) => compiled(work.variant, work.compile),
            Self::Operator(work) => compiled(work.implementation, work.compile),
            Self::Probe(work) => work.threads.variant(),
            Self::Kernel(work) => work.implementation.clone(),
        }
    }

    /// The variant of a group's baseline. `None` of a probe, whose baseline is the number of
    /// threads that the config lists first.
    pub fn baseline(&self) -> Option<&'static str> {
        match self {
            Self::Model(_) => Some(Recipe::BASELINE),
            Self::Fusion(_) => Some(FusionVariant::Unfused.as_str()),
            Self::Operator(_) => Some(Implementation::Aten.as_str()),
            Self::Probe(_) => None,
            Self::Kernel(_) => Some(KernelWork::BASELINE),
        }
    }

    /// The mode of `torch.compile`, if it is compiled.
    pub const fn compile(&self) -> Option<CompileMode> {
        match self {
            Self::Model(work) => work.variant.compile,
            Self::Fusion(work) => work.compile,
            Self::Operator(work) => work.compile,
            Self::Probe(work) => work.compile(),
            Self::Kernel(_) => None,
        }
    }

    /// This work without a compiler.
    #[must_use]
    pub fn eager(mut self) -> Self {
        match &mut self {
            Self::Model(work) => work.variant.compile = None,
            Self::Fusion(work) => work.compile = None,
            Self::Operator(work) => work.compile = None,
            Self::Probe(_) | Self::Kernel(_) => {}
        }
        self
    }
}

/// A function for each kind, which gives the work if it is of that kind.
macro_rules! accessors {
    ($($(#[$meta:meta])* $name:ident: $kind:ident($work:ty),)+) => {
        impl Work {
            $($(#[$meta])*
            pub const fn $name(&self) -> Option<&$work> {
                if let Self::$kind(work) = self { Some(work) } else { None }
            })+
        }
    };
}

accessors! {
    /// The work, if it is a model's.
    model: Model(ModelWork),
    /// The work, if it is a pattern's.
    fusion: Fusion(FusionWork),
    /// The work, if it is an operator's.
    operator: Operator(OperatorWork),
    /// The work, if it is a probe of the machine.
    probe: Probe(ProbeWork),
    /// The work, if it is a kernel's.
    kernel: Kernel(KernelWork),
}

/// `unfused`, or `unfused+compile`.
fn compiled(word: impl Display, compile: Option<CompileMode>) -> String {
    match compile {
        Some(mode) => format!("{word}+{}", mode.suffix()),
        None => word.to_string(),
    }
}
