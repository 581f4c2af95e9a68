//! The numerics of the int8 and int4 recipes: whose roundings, and which parameters.

/// The int8 implementation of torchao that is followed, to the last rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Int8Numerics {
    /// Version 1 of the configurations, the default of torchao 0.17.
    #[default]
    V1,
    /// Version 2 in torchao 0.17 (`-v2`).
    V2,
    /// The default of torchao 0.18 (`-v018`).
    V018,
}

impl Int8Numerics {
    /// What the word of a recipe ends in.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::V1 => "",
            Self::V2 => "-v2",
            Self::V018 => "-v018",
        }
    }

    /// What the parts of a word after its family, and its group, say.
    pub(super) fn parse(parts: &[&str]) -> Option<Self> {
        match parts {
            [] => Some(Self::V1),
            ["v2"] => Some(Self::V2),
            ["v018"] => Some(Self::V018),
            _ => None,
        }
    }
}

/// How scale and zero point of a group of 4-bit weights are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Int4Numerics {
    /// From minimum and maximum; the smallest scale is 1e-6.
    #[default]
    Affine,
    /// From minimum and maximum, as torchao 0.17's format for CUDA: the smallest scale is bfloat16's
    /// epsilon (`-tilepacked`).
    TilePacked,
    /// Half-quadratic quantization, its solver in float32 on a CPU and in float16 on CUDA (`-hqq`).
    Hqq,
    /// Half-quadratic quantization, its solver in float16 anywhere (`-hqq-fp16solver`).
    HqqFp16Solver,
}

impl Int4Numerics {
    /// What the word of a recipe ends in.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Affine => "",
            Self::TilePacked => "-tilepacked",
            Self::Hqq => "-hqq",
            Self::HqqFp16Solver => "-hqq-fp16solver",
        }
    }

    /// What the parts of a word after its family, and its group, say.
    pub(super) fn parse(parts: &[&str]) -> Option<Self> {
        match parts {
            [] => Some(Self::Affine),
            ["tilepacked"] => Some(Self::TilePacked),
            ["hqq"] => Some(Self::Hqq),
            ["hqq", "fp16solver"] => Some(Self::HqqFp16Solver),
            _ => None,
        }
    }
}
