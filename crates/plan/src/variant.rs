//! The difference between a model's case and its siblings.

use serde::{Deserialize, Serialize};

use crate::words::{CompileMode, Dtype, LayerRecipe, Recipe, Sparsity};

/// The properties in which a model's case differs from its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Quantization.
    pub recipe: Recipe,
    /// Sparse layout, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparsity: Option<Sparsity>,
    /// `torch.compile` mode, if compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<CompileMode>,
    /// Whether libtorch's packed op stands in for the several that upstream's eager mode runs.
    #[serde(default)]
    pub packed: bool,
    /// Whether torch's autograd runs the backward pass, with the recipe's linear layers as custom functions,
    /// as torchao has it; else its operations are called one by one.
    #[serde(default)]
    pub autograd: bool,
    /// Whether this device lacks the recipe's products, so that its operands are dequantized for them: its
    /// time says nothing about the recipe's speed.
    #[serde(default)]
    pub emulated: bool,
    /// Whether the output is written into a tensor that is allocated beforehand, once.
    #[serde(default)]
    pub preallocated: bool,
    /// Whether the eager step is captured in a CUDA graph, which every step replays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graph: bool,
    /// The dtype of inputs and parameters, where it is another one than its siblings'.
    #[serde(rename = "other_dtype", default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<Dtype>,
}

impl Variant {
    /// The recipe, unsparsified and eager, with an output of its own at every step.
    pub const fn eager(recipe: Recipe) -> Self {
        Self {
            recipe,
            sparsity: None,
            compile: None,
            packed: false,
            autograd: false,
            emulated: false,
            preallocated: false,
            graph: false,
            dtype: None,
        }
    }

    /// The variant that the others are compared with.
    pub const BASELINE: Self = Self::eager(Recipe::Baseline);

    /// The variant of the linear layer of this name: another one than the model's where each layer has a recipe of its own.
    #[must_use]
    pub fn of_layer(self, name: &str) -> Self {
        let Recipe::PerLayer(layers) = self.recipe else { return self };
        match layers.named().iter().find(|it| it.layer.as_str() == name) {
            Some(&LayerRecipe { recipe, packed, dtype, .. }) => {
                Self { recipe, packed, dtype, ..self }
            }
            None => Self { recipe: Recipe::Baseline, ..self },
        }
    }

    /// The last version of torchao that had its recipe or its sparse layout, where upstream has removed them since.
    pub fn legacy(&self) -> Option<&'static str> {
        self.sparsity.map(Sparsity::legacy).or(self.recipe.legacy())
    }
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.recipe)?;
        if let Some(dtype) = self.dtype {
            write!(f, "+{}", dtype.plain())?;
        }
        if let Some(sparsity) = self.sparsity {
            write!(f, "+{sparsity}")?;
        }
        if self.packed {
            f.write_str("+packed")?;
        }
        // A recipe that is emulated anywhere says so by its name.
        if self.emulated && self.recipe != Recipe::Mxfp8EmulatedRceil {
            f.write_str("+emulated")?;
        }
        if self.autograd {
            f.write_str("+autograd")?;
        }
        if let Some(compile) = self.compile {
            write!(f, "+{}", compile.suffix())?;
        }
        if self.preallocated {
            f.write_str("+out")?;
        }
        if self.graph {
            f.write_str("+graph")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_upstream_removed_is_legacy() {
        for (recipe, sparsity, last) in [
            ("fp6", None, Some("0.15.0")),
            ("int4wo-64-hqq", None, Some("0.15.0")),
            ("gemlitewo-8-64", None, Some("0.16.0")),
            ("uintx-4-64", None, Some("0.16.0")),
            ("baseline", Some(Sparsity::Block), Some("0.18.0")),
            ("int8dq", Some(Sparsity::SemiSparse), Some("0.18.0")),
            ("int8dq", None, None),
            ("mxfp4", None, None),
        ] {
            let variant = Variant { sparsity, ..Variant::eager(recipe.parse().unwrap()) };
            assert_eq!(variant.legacy(), last, "{variant}");
        }
    }

    #[test]
    fn a_variant_says_what_it_has() {
        let int8dq = Variant::eager(Recipe::INT8DQ);
        let sparse = Variant { sparsity: Some(Sparsity::SemiSparse), ..int8dq };
        let compiled = Variant { compile: Some(CompileMode::Default), ..sparse };
        assert_eq!(int8dq.to_string(), "int8dq");
        let packed = Variant { packed: true, ..Variant::eager(Recipe::INT8WO) };
        assert_eq!(packed.to_string(), "int8wo+packed");
        assert_eq!(Variant { preallocated: true, ..int8dq }.to_string(), "int8dq+out");
        assert_eq!(compiled.to_string(), "int8dq+semi-sparse+compile");
        assert_eq!(Variant { graph: true, ..sparse }.to_string(), "int8dq+semi-sparse+graph");
        let float32 = Variant { dtype: Some(Dtype::Float32), graph: true, ..Variant::BASELINE };
        assert_eq!(float32.to_string(), "baseline+float32+graph");
    }
}
