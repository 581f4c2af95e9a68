//! Quantization recipes.

use std::{fmt, str::FromStr};

use super::closed::{UnknownWord, Word, closed_set, listed, schema_is, serde_as_word};
use super::layer_recipes::{LayerRecipe, LayerRecipes};
use super::settings::{Device, Mode};
use super::user::UserWord;

// The numerics of the int8 and int4 recipes: each word is what the word of a recipe ends in.
closed_set! {
    /// The int8 implementation of torchao that is followed, to the last rounding.
    Int8Numerics, "numerics of int8" {
        /// Version 1 of the configurations, the default of torchao 0.17.
        V1 = "",
        /// Version 2 in torchao 0.17.
        V2 = "-v2",
        /// The default of torchao 0.18.
        V018 = "-v018",
    }
}

closed_set! {
    /// How scale and zero point of a group of 4-bit weights are chosen.
    Int4Numerics, "numerics of int4" {
        /// From minimum and maximum; the smallest scale is 1e-6.
        Affine = "",
        /// From minimum and maximum, as torchao 0.17's format for CUDA: the smallest scale is bfloat16's
        /// epsilon.
        TilePacked = "-tilepacked",
        /// Half-quadratic quantization, its solver in float32 on a CPU and in float16 on CUDA.
        Hqq = "-hqq",
        /// Half-quadratic quantization, its solver in float16 anywhere.
        HqqFp16Solver = "-hqq-fp16solver",
    }
}

closed_set! {
    /// A pre-made configuration of float8 training (torchao's `Float8LinearRecipeName`).
    Float8Recipe, "recipe of float8 training" {
        /// One scale for each tensor; e5m2 for the output's gradient.
        Tensorwise = "-tensorwise",
        /// A scale, a power of two, for each row or column of an operand; e4m3 everywhere.
        Rowwise = "-rowwise",
        /// As row-wise, with the weight's gradient computed in high precision.
        RowwiseWithGwHp = "-rowwise_with_gw_hp",
    }
}

closed_set! {
    /// A format whose blocks of neighbours share a scale.
    BlockFormat, "block-scaled format" {
        /// e4m3 in blocks of 32 with an e8m0 scale each.
        Mxfp8 = "mxfp8",
        /// e2m1 in blocks of 32 with an e8m0 scale each.
        Mxfp4 = "mxfp4",
        /// e2m1 in blocks of 16 with an e4m3 scale each, and one float32 scale for the tensor.
        Nvfp4 = "nvfp4",
    }
}

impl BlockFormat {
    /// Neighbours along k that share a scale.
    pub const fn block(self) -> u16 {
        match self {
            Self::Mxfp8 | Self::Mxfp4 => 32,
            Self::Nvfp4 => 16,
        }
    }

    /// Bits of a value, its block's scale aside.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Mxfp8 => 8,
            Self::Mxfp4 | Self::Nvfp4 => 4,
        }
    }
}

listed! {
    /// A quantization recipe (`quantization_config_recipe_names`); maths in each recipe's own file.
    Recipe {
        /// No quantization: the model in its high-precision dtype.
        Baseline,
        /// int8 weights, one scale per output channel.
        Int8wo {
            /// The library whose roundings it has.
            numerics: Int8Numerics,
        },
        /// int8 weights and dynamically quantized int8 activations.
        Int8dq {
            /// The library whose roundings it has.
            numerics: Int8Numerics,
        },
        /// int8dq, with only the weights quantized where dimension 1 of the input is 1: torchao's rule
        /// for the decoding of one token.
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
        /// Weights dequantized inside a kernel of our own, with the numbers that torchao packs for
        /// gemlite's.
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
        /// Float8 products in training: forward and backward.
        Float8 {
            /// torchao's configuration.
            recipe: Float8Recipe,
        },
        /// Training with operands in mxfp8, dequantized for products in high precision; scales are rounded up.
        Mxfp8EmulatedRceil,
        /// Weights in a format whose blocks share a scale; of inference and training.
        BlockScaled {
            /// The format.
            format: BlockFormat,
            /// Whether activations stay in high precision.
            weight_only: bool,
        },
        /// A recipe for each layer.
        PerLayer(LayerRecipes),
        /// A recipe of a package.
        User(UserWord),
    }
}

/// Facts of a recipe that need no torch.
pub(crate) struct RecipeFacts {
    /// Nominal bits of a stored weight, scales and zero points aside; none for the baseline, whose
    /// weights keep their dtype.
    pub weight_bits: Option<u8>,
    /// Weights along k that share a scale; none where a whole row does, or all.
    pub group: Option<u16>,
    /// Bytes of a group's scale; if absent, a scale in the dtype before quantization and a zero point of 64
    /// bits.
    pub scale: Option<u128>,
    pub has_solver: bool,
    has_packed: bool,
    quantizes_activations: bool,
    /// Whether the product reads the weight as it is stored, and makes no whole one of it.
    pub reads_stored: bool,
    /// Bytes of float32 copies that quantizing holds for each weight, if no solver does.
    pub quantizing: u128,
    /// Bytes for each element that goes into a layer or comes out; those of a product and its
    /// conversion if absent.
    pub activation: Option<u128>,
    /// The last torchao that had it, where upstream has removed it since.
    legacy: Option<&'static str>,
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
    "mxfp8",
    "mxfp4",
    "nvfp4",
    "mxfp8wo",
    "mxfp4wo",
    "nvfp4wo",
    "float8-tensorwise",
    "float8-rowwise",
    "float8-rowwise_with_gw_hp",
    "mxfp8-emulated-rceil",
];

impl Recipe {
    pub(crate) const BASELINE: &'static str = "baseline";

    /// int8 weights with torchao 0.17's default roundings.
    pub const INT8WO: Self = Self::Int8wo { numerics: Int8Numerics::V1 };
    /// int8 weights and activations with torchao 0.17's default roundings.
    pub const INT8DQ: Self = Self::Int8dq { numerics: Int8Numerics::V1 };

    pub(crate) const fn facts(self) -> RecipeFacts {
        /// The facts of most recipes that store a weight in a byte.
        const BYTES: RecipeFacts = RecipeFacts {
            weight_bits: Some(8),
            group: None,
            scale: None,
            has_solver: false,
            has_packed: false,
            quantizes_activations: false,
            reads_stored: false,
            quantizing: 8,
            activation: None,
            legacy: None,
        };
        match self {
            Self::Baseline => RecipeFacts { weight_bits: None, quantizing: 0, ..BYTES },
            Self::Int8wo { .. } => RecipeFacts { has_packed: true, ..BYTES },
            Self::Int8dq { .. } | Self::Int8dqPrefillWoDecode => {
                RecipeFacts { quantizes_activations: true, ..BYTES }
            }
            Self::Int4wo { group, numerics } => RecipeFacts {
                weight_bits: Some(4),
                group: Some(group),
                has_solver: matches!(numerics, Int4Numerics::Hqq | Int4Numerics::HqqFp16Solver),
                reads_stored: true,
                // ao#3513
                legacy: Some("0.15.0"),
                ..BYTES
            },
            Self::Float8wo => RecipeFacts { quantizing: 16, ..BYTES },
            Self::Float8dqTensor | Self::Float8dqRow => RecipeFacts {
                quantizes_activations: true,
                quantizing: 16,
                activation: Some(16),
                ..BYTES
            },
            Self::Gemlitewo { bits, group, .. } => RecipeFacts {
                weight_bits: Some(bits),
                group: if bits == 4 { Some(group) } else { None },
                has_solver: bits == 4,
                reads_stored: true,
                // ao#4144
                legacy: Some("0.16.0"),
                ..BYTES
            },
            Self::Int8DynamicIntx { group, .. } => {
                RecipeFacts { group: Some(group), quantizes_activations: true, ..BYTES }
            }
            Self::Uintx { bits, group, hqq } => RecipeFacts {
                // With the solver one to a byte, as upstream's eager mode has them.
                weight_bits: if hqq { Some(8) } else { Some(bits) },
                group: Some(group),
                has_solver: hqq,
                has_packed: bits == 4 && matches!(group, 32 | 64 | 128 | 256),
                // ao#3920
                legacy: Some("0.16.0"),
                ..BYTES
            },
            Self::Fp6 => RecipeFacts {
                weight_bits: Some(6),
                quantizing: 16,
                // ao#3520
                legacy: Some("0.15.0"),
                ..BYTES
            },
            Self::Float8 { .. } | Self::Mxfp8EmulatedRceil => RecipeFacts {
                weight_bits: None,
                quantizes_activations: true,
                quantizing: 16,
                activation: Some(16),
                ..BYTES
            },
            Self::BlockScaled { format, weight_only } => RecipeFacts {
                weight_bits: Some(format.bits()),
                group: Some(format.block()),
                scale: Some(1),
                quantizes_activations: !weight_only,
                // e2m1 is rounded by operations on 32 bits.
                quantizing: if format.bits() == 8 { 16 } else { 36 },
                activation: match format.bits() {
                    _ if weight_only => None,
                    8 => Some(16),
                    _ => Some(36),
                },
                ..BYTES
            },
            // As much memory as any takes, and weights that are not smaller: nothing is known of a package's recipe here.
            Self::User(_) | Self::PerLayer(_) => RecipeFacts {
                weight_bits: None,
                quantizing: 24,
                activation: Some(16),
                quantizes_activations: true,
                ..BYTES
            },
        }
    }

    /// The layers that it gives recipes of their own.
    pub const fn named_layers(self) -> &'static [LayerRecipe] {
        match self {
            Self::PerLayer(layers) => layers.named(),
            _ => &[],
        }
    }

    /// Whether every layer stays as it is, in whatever dtype.
    pub fn is_unquantized(self) -> bool {
        let is_layer = |it: &LayerRecipe| it.recipe == Self::Baseline;
        self == Self::Baseline
            || matches!(self, Self::PerLayer(_)) && self.named_layers().iter().all(is_layer)
    }

    /// Whether half-quadratic quantization chooses the parameters of its groups.
    pub const fn has_solver(self) -> bool {
        self.facts().has_solver
    }

    /// Whether libtorch holds a faster op for the maths that upstream's eager mode does in several:
    /// these recipes have a `+packed` variant.
    pub const fn has_packed(self) -> bool {
        self.facts().has_packed
    }

    /// Whether its `+packed` variant is measured where a config does not say. On CUDA `_weight_int8pack_mm` has no tensor
    /// cores: at 4096x4096x4096 it took 147 ms on an H100, 837 times as long as the bfloat16 product, and most of a suite's
    /// time.
    pub fn is_usually_packed(self, device: Device) -> bool {
        !(device == Device::Cuda && matches!(self, Self::Int8wo { .. }))
    }

    /// The last version of torchao that had the recipe, where upstream has removed it since: its configuration,
    /// or of `int4wo` the version of it that the word stood for.
    pub const fn legacy(self) -> Option<&'static str> {
        self.facts().legacy
    }

    /// Whether it quantizes for that mode, inference or training: the baseline and the recipes of packages
    /// for both.
    pub const fn takes(self, mode: Mode) -> bool {
        match self {
            Self::Baseline | Self::User(_) | Self::Float8dqTensor | Self::Float8dqRow => true,
            Self::BlockScaled { format, weight_only } => {
                !matches!(mode, Mode::Training)
                    || !weight_only && !matches!(format, BlockFormat::Mxfp4)
            }
            Self::Float8 { .. } | Self::Mxfp8EmulatedRceil => matches!(mode, Mode::Training),
            _ => !matches!(mode, Mode::Training),
        }
    }

    /// Whether each step quantizes its activations, too, in some forms of the recipe at least; it may, if
    /// the recipe is a package's.
    pub const fn quantizes_activations(self) -> bool {
        self.facts().quantizes_activations
    }

    /// Every built-in recipe without parameters, and one of each family with them.
    pub fn examples() -> impl Iterator<Item = Self> {
        SPELLINGS.iter().map(|word| word.parse().expect("the list holds valid recipes"))
    }

    /// The words of [`Self::examples`].
    pub(crate) const fn spellings() -> &'static [&'static str] {
        SPELLINGS
    }

    /// How the family of a word is written, as the remedy for wrong parameters; `None` outside of every
    /// family with parameters.
    pub(crate) fn grammar(text: &str) -> Option<String> {
        let grammar = match text.split('-').next()? {
            "int8wo" => "int8wo[-v2|-v018]",
            "int8dq" => "int8dq[-v2|-v018]",
            "int4wo" => "int4wo-{32|64|128|256}[-hqq|-hqq-fp16solver|-tilepacked]",
            "float8dq" => "float8dq[-tensor|-row]",
            "float8" => "float8-{tensorwise|rowwise|rowwise_with_gw_hp}",
            "mxfp8" | "mxfp4" | "nvfp4" => {
                "{mxfp8|mxfp4|nvfp4}[wo], in training also mxfp8-emulated-rceil"
            }
            "gemlitewo" => {
                "gemlitewo-{4|8}-<group>, with 4 bits also gemlitewo-4-<group>-fp16solver"
            }
            "uintx" => "uintx-<1..8 bits>-<group>[-hqq]",
            INT8_DYNAMIC_INTX => {
                "int8_dynamic_activation_intx_weight-<1..8 bits>-<group>-{true|false}"
            }
            LayerRecipes::FAMILY => LayerRecipes::GRAMMAR,
            _ => return None,
        };
        Some(format!("this family is written {grammar}"))
    }

    /// The recipe of a word in a file of a run: one that is not built in is a package's, wherever its
    /// file is.
    fn recorded(text: &str) -> Result<Self, UnknownWord> {
        text.parse().or_else(|unknown| UserWord::new(text).map(Self::User).ok_or(unknown))
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Baseline => f.write_str(Self::BASELINE),
            Self::Int8wo { numerics } => write!(f, "int8wo{numerics}"),
            Self::Int8dq { numerics } => write!(f, "int8dq{numerics}"),
            Self::Int8dqPrefillWoDecode => f.write_str("int8dq_prefill_wo_decode"),
            Self::Int4wo { group, numerics } => write!(f, "int4wo-{group}{numerics}"),
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
                let solver = if hqq { "-hqq" } else { "" };
                write!(f, "uintx-{bits}-{group}{solver}")
            }
            Self::Fp6 => f.write_str("fp6"),
            Self::Float8 { recipe } => write!(f, "float8{recipe}"),
            Self::Mxfp8EmulatedRceil => f.write_str("mxfp8-emulated-rceil"),
            Self::BlockScaled { format, weight_only } => {
                write!(f, "{format}{}", if weight_only { "wo" } else { "" })
            }
            Self::PerLayer(layers) => layers.fmt(f),
            Self::User(word) => word.fmt(f),
        }
    }
}

impl FromStr for Recipe {
    type Err = UnknownWord;

    /// One that is built in.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        if let Some((LayerRecipes::FAMILY, layers)) = text.split_once('-') {
            return LayerRecipes::parse(text, layers).map(Self::PerLayer);
        }
        parse(text).ok_or_else(|| {
            if let Some((_, reason)) = NOT_HERE.iter().find(|(part, _)| text.contains(part)) {
                let remedy = format!("it is torchao's, and not measured here: {reason}; remove it");
                return UnknownWord { what: "recipe", found: text.to_owned(), remedy };
            }
            let unknown = UnknownWord::new("recipe", text, SPELLINGS.iter().copied());
            UnknownWord { remedy: Self::grammar(text).unwrap_or(unknown.remedy), ..unknown }
        })
    }
}

/// Words of torchao's `string_to_config`, in any of its versions, by the part that it looks for; and why they have no case.
const NOT_HERE: &[(&str, &str)] = &[
    (
        "marlin",
        "Marlin's kernels are in torchao's CUDA extension, and without sparsity torchao quantizes nothing",
    ),
    ("int8adq-int4w-symm", "its CUTLASS kernel is in torchao's CUDA extension"),
    ("float8_a1x128_w128x128", "its products of blocks are torchao's Triton kernels"),
    ("int4_groupwise_weight_float8_rowwise_activation", "its product is FBGEMM's"),
    ("codebook", "a prototype that looks weights up in Python and has no product of its own"),
    ("gptq", "it calibrates a whole language model with text"),
    ("autoround", "it calibrates a whole language model with text"),
    ("awq", "it calibrates a whole language model with text"),
    ("smoothquant", "it calibrates a whole language model with text"),
    ("spinquant", "it rotates a whole language model"),
];

fn parse(text: &str) -> Option<Recipe> {
    let mut parts = text.split('-');
    let family = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    // One spelling of each number: neither `064` nor `+64`.
    let number = |text: &str| -> Option<u16> {
        text.parse().ok().filter(|number: &u16| number.to_string() == text && *number > 0)
    };
    let group = number;
    let bits = |text: &str| {
        let bits = number(text).filter(|bits| (1..=8).contains(bits))?;
        u8::try_from(bits).ok()
    };
    Some(match (family, rest.as_slice()) {
        (Recipe::BASELINE | "None", []) => Recipe::Baseline,
        // The words of torchao's other `string_to_config`, for whole models.
        ("int8_rowwise_weight_only", []) => Recipe::INT8WO,
        ("int8_rowwise", []) => Recipe::INT8DQ,
        ("float8_rowwise", []) => Recipe::Float8dqRow,
        ("int4_groupwise_hqq_weight_only", []) => {
            Recipe::Int4wo { group: 32, numerics: Int4Numerics::Hqq }
        }
        ("int8wo", version) => Recipe::Int8wo { numerics: ending(version)? },
        ("int8dq", version) => Recipe::Int8dq { numerics: ending(version)? },
        ("int8dq_prefill_wo_decode", []) => Recipe::Int8dqPrefillWoDecode,
        // Upstream's default group is 128.
        ("int4wo", []) => Recipe::Int4wo { group: 128, numerics: Int4Numerics::Affine },
        ("int4wo", [size, numerics @ ..]) => Recipe::Int4wo {
            group: group(size).filter(|group| INT4_GROUPS.contains(group))?,
            numerics: ending(numerics)?,
        },
        ("float8wo", []) => Recipe::Float8wo,
        // Upstream's default is one scale per tensor.
        ("float8dq", [] | ["tensor"]) => Recipe::Float8dqTensor,
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
        ("float8", recipe @ [_]) => Recipe::Float8 { recipe: ending(recipe)? },
        ("mxfp8", ["emulated", "rceil"]) => Recipe::Mxfp8EmulatedRceil,
        (format, []) => {
            let weights = format.strip_suffix("wo");
            let format = weights.unwrap_or(format).parse().ok()?;
            Recipe::BlockScaled { format, weight_only: weights.is_some() }
        }
        _ => return None,
    })
}

/// The numerics that the last parts of a word name.
fn ending<T: Word>(parts: &[&str]) -> Option<T> {
    parts.iter().map(|part| format!("-{part}")).collect::<String>().parse().ok()
}

/// Groups for which libtorch has a 4-bit product.
const INT4_GROUPS: [u16; 4] = [32, 64, 128, 256];

fn is_hqq(rest: &[&str]) -> bool {
    matches!(rest, [] | ["hqq"])
}

serde_as_word!(Recipe, Recipe::recorded);
schema_is!(Recipe, schemars::json_schema!({ "type": "string", "minLength": 1 }));

#[cfg(test)]
#[path = "recipe_tests.rs"]
mod tests;
