//! Quantization recipes.

use std::{fmt, str::FromStr};

use super::closed::{UnknownWord, serde_as_word};

/// A quantization recipe (`quantization_config_recipe_names`); maths in each recipe's own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Recipe {
    /// No quantization: the model in its high-precision dtype.
    Baseline,
    /// int8 weights, one scale per output channel.
    Int8wo {
        /// Whose roundings.
        numerics: Int8Numerics,
    },
    /// int8 weights and dynamically quantized int8 activations.
    Int8dq {
        /// Whose roundings.
        numerics: Int8Numerics,
    },
    /// int8dq for more than one token, int8wo for one.
    Int8dqPrefillWoDecode,
    /// 4-bit weights in groups.
    Int4wo {
        /// Weights that share a scale: 32, 64, 128 or 256.
        group: u16,
        /// How the group parameters are chosen.
        numerics: Int4Numerics,
    },
    /// float8 (e4m3) weights, one scale per output channel.
    Float8wo,
    /// float8 weights and activations, one scale per tensor.
    Float8dqTensor,
    /// float8 weights and activations, one scale per row.
    Float8dqRow,
    /// gemlite's group-wise dequantizing kernel.
    Gemlitewo {
        /// 4 or 8.
        bits: u8,
        /// Weights that share a scale; with 8 bits a whole row does, whatever is written here.
        group: u16,
        /// HQQ's solver in float16, as it runs on CUDA, on any device.
        fp16_solver: bool,
    },
    /// Dynamic int8 activations with weights of `bits` bits in groups.
    Int8DynamicIntx {
        /// 1 to 8.
        bits: u8,
        /// Weights that share a scale.
        group: u16,
        /// Whether weights have a zero point. (Activations always have one.)
        asymmetric: bool,
    },
    /// Weights of `bits` unsigned bits in groups, optionally with HQQ's solver.
    Uintx {
        /// 1 to 8.
        bits: u8,
        /// Weights that share a scale.
        group: u16,
        /// Half-quadratic quantization of the group parameters.
        hqq: bool,
    },
    /// 6-bit floating-point weights (3 exponent, 2 mantissa bits).
    Fp6,
}

/// Which of torchao's int8 implementations is followed, to the last rounding.
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
    const fn suffix(self) -> &'static str {
        match self {
            Self::V1 => "",
            Self::V2 => "-v2",
            Self::V018 => "-v018",
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
    const fn suffix(self) -> &'static str {
        match self {
            Self::Affine => "",
            Self::TilePacked => "-tilepacked",
            Self::Hqq => "-hqq",
            Self::HqqFp16Solver => "-hqq-fp16solver",
        }
    }
}

const INT8_DYNAMIC_INTX: &str = "int8_dynamic_activation_intx_weight";

/// One spelling of each family, for suggestions and lists.
const SPELLINGS: &[&str] = &[
    "baseline",
    "int8wo",
    "int8wo-v2",
    "int8wo-v018",
    "int8dq",
    "int8dq-v2",
    "int8dq-v018",
    "int8dq_prefill_wo_decode",
    "int4wo-32",
    "int4wo-64",
    "int4wo-128",
    "int4wo-256",
    "int4wo-32-hqq",
    "int4wo-64-hqq",
    "int4wo-128-hqq",
    "int4wo-256-hqq",
    "int4wo-64-tilepacked",
    "int4wo-64-hqq-fp16solver",
    "float8wo",
    "float8dq-tensor",
    "float8dq-row",
    "gemlitewo-4-64",
    "gemlitewo-4-64-fp16solver",
    "gemlitewo-8-64",
    "int8_dynamic_activation_intx_weight-4-32-false",
    "uintx-4-64",
    "uintx-4-64-hqq",
    "fp6",
];

impl Recipe {
    /// int8 weights with torchao 0.17's default roundings.
    pub const INT8WO: Self = Self::Int8wo { numerics: Int8Numerics::V1 };
    /// int8 weights and activations with torchao 0.17's default roundings.
    pub const INT8DQ: Self = Self::Int8dq { numerics: Int8Numerics::V1 };

    /// Nominal bits of a stored weight, scales and zero points aside; none for the baseline, whose
    /// weights keep their dtype.
    pub const fn weight_bits(self) -> Option<u8> {
        match self {
            Self::Baseline => None,
            Self::Int4wo { .. } => Some(4),
            Self::Fp6 => Some(6),
            Self::Gemlitewo { bits, .. } | Self::Uintx { bits, hqq: false, .. } => Some(bits),
            // Stored one to a byte, as upstream's eager mode has them.
            Self::Uintx { hqq: true, .. }
            | Self::Int8DynamicIntx { .. }
            | Self::Int8wo { .. }
            | Self::Int8dq { .. }
            | Self::Int8dqPrefillWoDecode
            | Self::Float8wo
            | Self::Float8dqTensor
            | Self::Float8dqRow => Some(8),
        }
    }

    /// Weights along k that share a scale; none where a whole row does, or all.
    pub const fn group(self) -> Option<u16> {
        match self {
            Self::Int4wo { group, .. }
            | Self::Gemlitewo { bits: 4, group, .. }
            | Self::Int8DynamicIntx { group, .. }
            | Self::Uintx { group, .. } => Some(group),
            _ => None,
        }
    }

    /// Whether half-quadratic quantization chooses the parameters of its groups.
    pub const fn has_solver(self) -> bool {
        match self {
            Self::Int4wo { numerics, .. } => {
                matches!(numerics, Int4Numerics::Hqq | Int4Numerics::HqqFp16Solver)
            }
            Self::Gemlitewo { bits, .. } => bits == 4,
            Self::Uintx { hqq, .. } => hqq,
            _ => false,
        }
    }

    /// Whether libtorch holds a faster op for the maths that upstream's eager mode does in several:
    /// these recipes have a `+packed` variant.
    pub fn has_packed(self) -> bool {
        match self {
            Self::Int8wo { .. } => true,
            Self::Uintx { bits, group, .. } => bits == 4 && INT4_GROUPS.contains(&group),
            _ => false,
        }
    }

    /// Every recipe without parameters, and one of each family with them.
    pub fn examples() -> impl Iterator<Item = Self> {
        SPELLINGS.iter().map(|word| word.parse().expect("the list holds valid recipes"))
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hqq_suffix = |hqq| if hqq { "-hqq" } else { "" };
        match *self {
            Self::Baseline => f.write_str("baseline"),
            Self::Int8wo { numerics } => write!(f, "int8wo{}", numerics.suffix()),
            Self::Int8dq { numerics } => write!(f, "int8dq{}", numerics.suffix()),
            Self::Int8dqPrefillWoDecode => f.write_str("int8dq_prefill_wo_decode"),
            Self::Int4wo { group, numerics } => write!(f, "int4wo-{group}{}", numerics.suffix()),
            Self::Float8wo => f.write_str("float8wo"),
            Self::Float8dqTensor => f.write_str("float8dq-tensor"),
            Self::Float8dqRow => f.write_str("float8dq-row"),
            Self::Gemlitewo { bits, group, fp16_solver } => {
                let solver = if fp16_solver { "-fp16solver" } else { "" };
                write!(f, "gemlitewo-{bits}-{group}{solver}")
            }
            Self::Int8DynamicIntx { bits, group, asymmetric } => {
                write!(f, "{INT8_DYNAMIC_INTX}-{bits}-{group}-{asymmetric}")
            }
            Self::Uintx { bits, group, hqq } => {
                write!(f, "uintx-{bits}-{group}{}", hqq_suffix(hqq))
            }
            Self::Fp6 => f.write_str("fp6"),
        }
    }
}

impl FromStr for Recipe {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        parse(text).ok_or_else(|| UnknownWord {
            remedy: remedy(text),
            ..UnknownWord::new("recipe", text, SPELLINGS.iter().copied())
        })
    }
}

fn parse(text: &str) -> Option<Recipe> {
    let mut parts = text.split('-');
    let family = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    let bits = |text: &str| text.parse().ok().filter(|bits| (1..=8).contains(bits));
    let group = |text: &str| -> Option<u16> { text.parse().ok().filter(|&group| group > 0) };
    Some(match (family, rest.as_slice()) {
        ("baseline", []) => Recipe::Baseline,
        ("int8wo", version) => Recipe::Int8wo { numerics: int8_numerics(version)? },
        ("int8dq", version) => Recipe::Int8dq { numerics: int8_numerics(version)? },
        ("int8dq_prefill_wo_decode", []) => Recipe::Int8dqPrefillWoDecode,
        // Upstream's default group is 128.
        ("int4wo", []) => Recipe::Int4wo { group: 128, numerics: Int4Numerics::Affine },
        ("int4wo", [size, numerics @ ..]) => Recipe::Int4wo {
            group: group(size).filter(|group| INT4_GROUPS.contains(group))?,
            numerics: int4_numerics(numerics)?,
        },
        ("float8wo", []) => Recipe::Float8wo,
        ("float8dq", ["tensor"]) => Recipe::Float8dqTensor,
        ("float8dq", ["row"]) => Recipe::Float8dqRow,
        // Upstream's defaults: 4 bits, groups of 64.
        ("gemlitewo", []) => Recipe::Gemlitewo { bits: 4, group: 64, fp16_solver: false },
        ("gemlitewo", [width @ ("4" | "8")]) => {
            Recipe::Gemlitewo { bits: bits(width)?, group: 64, fp16_solver: false }
        }
        ("gemlitewo", [width @ ("4" | "8"), size]) => {
            Recipe::Gemlitewo { bits: bits(width)?, group: group(size)?, fp16_solver: false }
        }
        ("gemlitewo", ["4", size, "fp16solver"]) => {
            Recipe::Gemlitewo { bits: 4, group: group(size)?, fp16_solver: true }
        }
        (INT8_DYNAMIC_INTX, [width, size, asymmetric]) => Recipe::Int8DynamicIntx {
            bits: bits(width)?,
            group: group(size)?,
            asymmetric: asymmetric.parse().ok()?,
        },
        ("uintx", [width, size, hqq @ ..]) if is_hqq(hqq) => {
            Recipe::Uintx { bits: bits(width)?, group: group(size)?, hqq: !hqq.is_empty() }
        }
        ("fp6", []) => Recipe::Fp6,
        _ => return None,
    })
}

/// Groups for which libtorch has a 4-bit product.
const INT4_GROUPS: [u16; 4] = [32, 64, 128, 256];

fn int8_numerics(rest: &[&str]) -> Option<Int8Numerics> {
    match rest {
        [] => Some(Int8Numerics::V1),
        ["v2"] => Some(Int8Numerics::V2),
        ["v018"] => Some(Int8Numerics::V018),
        _ => None,
    }
}

fn int4_numerics(rest: &[&str]) -> Option<Int4Numerics> {
    match rest {
        [] => Some(Int4Numerics::Affine),
        ["tilepacked"] => Some(Int4Numerics::TilePacked),
        ["hqq"] => Some(Int4Numerics::Hqq),
        ["hqq", "fp16solver"] => Some(Int4Numerics::HqqFp16Solver),
        _ => None,
    }
}

fn is_hqq(rest: &[&str]) -> bool {
    matches!(rest, [] | ["hqq"])
}

/// A known family with wrong parameters deserves its grammar, anything else the nearest word.
fn remedy(text: &str) -> String {
    let grammar = match text.split('-').next() {
        Some("int8wo") => "int8wo[-v2|-v018]",
        Some("int8dq") => "int8dq[-v2|-v018]",
        Some("int4wo") => "int4wo-{32|64|128|256}[-hqq|-hqq-fp16solver|-tilepacked]",
        Some("float8dq") => "float8dq-{tensor|row}",
        Some("gemlitewo") => {
            "gemlitewo-{4|8}-<group>, with 4 bits also gemlitewo-4-<group>-fp16solver"
        }
        Some("uintx") => "uintx-<1..8 bits>-<group>[-hqq]",
        Some(INT8_DYNAMIC_INTX) => {
            "int8_dynamic_activation_intx_weight-<1..8 bits>-<group>-{true|false}"
        }
        _ => return UnknownWord::new("recipe", text, SPELLINGS.iter().copied()).remedy,
    };
    format!("this family is written {grammar}")
}

serde_as_word!(Recipe);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_reads_back() {
        for word in SPELLINGS {
            assert_eq!(
                word.parse::<Recipe>().map(|recipe| recipe.to_string()).as_deref(),
                Ok(*word)
            );
        }
    }

    #[test]
    fn upstreams_defaults_are_filled_in() {
        for (short, full) in [
            ("int4wo", "int4wo-128"),
            ("gemlitewo", "gemlitewo-4-64"),
            ("gemlitewo-8", "gemlitewo-8-64"),
        ] {
            assert_eq!(short.parse::<Recipe>(), full.parse::<Recipe>(), "{short}");
        }
    }

    #[test]
    fn wrong_words_say_what_to_write() {
        for (typed, remedy) in [
            ("int8w0", "did you mean `int8wo`?"),
            ("int8wo-v3", "this family is written int8wo[-v2|-v018]"),
            (
                "int4wo-48",
                "this family is written int4wo-{32|64|128|256}[-hqq|-hqq-fp16solver|-tilepacked]",
            ),
            ("float8dq", "this family is written float8dq-{tensor|row}"),
            ("uintx-9-64", "this family is written uintx-<1..8 bits>-<group>[-hqq]"),
            (
                "gemlitewo-3-64",
                "this family is written gemlitewo-{4|8}-<group>, with 4 bits also \
                 gemlitewo-4-<group>-fp16solver",
            ),
        ] {
            assert_eq!(typed.parse::<Recipe>().unwrap_err().remedy, remedy, "{typed}");
        }
    }

    #[test]
    fn the_asymmetry_flag_means_what_it_says() {
        let flag = |word: &str| match word.parse() {
            Ok(Recipe::Int8DynamicIntx { asymmetric, .. }) => asymmetric,
            other => panic!("{other:?}"),
        };
        assert!(flag("int8_dynamic_activation_intx_weight-4-32-true"));
        assert!(!flag("int8_dynamic_activation_intx_weight-4-32-false"));
    }
}
