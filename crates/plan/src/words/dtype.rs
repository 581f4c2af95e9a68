//! High-precision dtypes.

use std::{fmt, str::FromStr};

use super::closed::{UnknownWord, serde_as_word};

/// The dtype of a model before quantization, and of its input (`high_precision_dtype`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// 32-bit IEEE.
    Float32,
    /// 16-bit brain floating point.
    BFloat16,
    /// 16-bit IEEE.
    Float16,
}

impl Dtype {
    /// Every member.
    pub const ALL: &'static [Self] = &[Self::Float32, Self::BFloat16, Self::Float16];

    /// The name in ids: `f32`, `bf16`, `f16`.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Float32 => "f32",
            Self::BFloat16 => "bf16",
            Self::Float16 => "f16",
        }
    }

    /// The name in torch, as configs and upstream's files spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Float32 => "torch.float32",
            Self::BFloat16 => "torch.bfloat16",
            Self::Float16 => "torch.float16",
        }
    }

    /// Bits of one element.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Float32 => 32,
            Self::BFloat16 | Self::Float16 => 16,
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        self.bits() / 8
    }
}

impl FromStr for Dtype {
    type Err = UnknownWord;

    /// Accepts torch's names with and without `torch.`, torch's aliases, and the short names.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text.strip_prefix("torch.").unwrap_or(text) {
            "float32" | "float" | "f32" | "fp32" => Ok(Self::Float32),
            "bfloat16" | "bf16" => Ok(Self::BFloat16),
            "float16" | "half" | "f16" | "fp16" => Ok(Self::Float16),
            _ => Err(UnknownWord::new("dtype", text, Self::ALL.iter().map(|dtype| dtype.as_str()))),
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

serde_as_word!(Dtype);
