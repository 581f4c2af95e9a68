//! High-precision dtypes.

use std::{fmt, str::FromStr};

use super::closed::{UnknownWord, schema_is, serde_as_word};

/// The dtype of a model before quantization and of its input (`high_precision_dtype`), of the tensors
/// of a pattern or an operator, and the precision of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// 64-bit IEEE; of kernels only, as it is what the others are compared with.
    Float64,
    /// 32-bit IEEE.
    Float32,
    /// 16-bit brain floating point.
    BFloat16,
    /// 16-bit IEEE.
    Float16,
    /// 8 bits, 4 of them the exponent and 3 the significand, without infinity; of kernels only.
    Float8E4M3Fn,
}

fn plain(name: &str) -> &str {
    name.strip_prefix("torch.").unwrap_or(name)
}

impl Dtype {
    /// The dtypes of models, patterns and operators.
    pub const ALL: &'static [Self] = &[Self::Float32, Self::BFloat16, Self::Float16];

    /// The dtypes of kernels: every member.
    pub const PRECISIONS: &'static [Self] =
        &[Self::Float64, Self::Float32, Self::BFloat16, Self::Float16, Self::Float8E4M3Fn];

    /// The names in torch, in ids and in a `bench.yaml`, and torch's alias.
    const fn names(self) -> [&'static str; 4] {
        match self {
            Self::Float64 => ["torch.float64", "f64", "fp64", "double"],
            Self::Float32 => ["torch.float32", "f32", "fp32", "float"],
            Self::BFloat16 => ["torch.bfloat16", "bf16", "bf16", "bf16"],
            Self::Float16 => ["torch.float16", "f16", "fp16", "half"],
            Self::Float8E4M3Fn => ["torch.float8_e4m3fn", "f8", "fp8", "fp8"],
        }
    }

    /// The name in torch, as configs and upstream's files spell it.
    pub const fn as_str(self) -> &'static str {
        self.names()[0]
    }

    /// The name in torch without its module: `float32`.
    pub fn plain(self) -> &'static str {
        plain(self.as_str())
    }

    /// The name in ids: `f64`, `f32`, `bf16`, `f16`, `f8`.
    pub const fn short(self) -> &'static str {
        self.names()[1]
    }

    /// The name in a `bench.yaml`: `fp64`, `fp32`, `bf16`, `fp16`, `fp8`.
    pub const fn precision(self) -> &'static str {
        self.names()[2]
    }

    /// The one of `members` that `text` names: by any of its names, torch's with and without `torch.`.
    ///
    /// # Errors
    /// Another word.
    pub fn among(members: &[Self], text: &str) -> Result<Self, UnknownWord> {
        let is_named = |dtype: &&Self| dtype.names().iter().any(|it| plain(it) == plain(text));
        members.iter().find(is_named).copied().ok_or_else(|| {
            UnknownWord::new("dtype", text, members.iter().map(|dtype| dtype.as_str()))
        })
    }

    /// The precision that a `bench.yaml` names.
    pub(crate) fn precision_named(text: &str) -> Result<Self, UnknownWord> {
        text.parse().map_err(|_: UnknownWord| {
            UnknownWord::new("precision", text, Self::PRECISIONS.iter().map(|it| it.precision()))
        })
    }

    /// Bits of one element.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Float64 => 64,
            Self::Float32 => 32,
            Self::BFloat16 | Self::Float16 => 16,
            Self::Float8E4M3Fn => 8,
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        self.bits() / 8
    }
}

impl FromStr for Dtype {
    type Err = UnknownWord;

    /// Reads as [`Self::among`] does, with every member.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::among(Self::PRECISIONS, text)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

serde_as_word!(Dtype);
schema_is!(Dtype, schemars::json_schema!({ "type": "string", "minLength": 1 }));
