//! Model types.

use std::{fmt, str::FromStr};

use super::closed::{UnknownWord, closed_set, listed, schema_is, serde_as_word};
use super::decoder_block::DecoderBlock;
use super::user::UserWord;

closed_set! {
    /// The activation of `ln_linear_<activation>`.
    Activation, "activation" {
        /// max(x, 0)
        Relu = "relu",
        /// 1 / (1 + e^-x)
        Sigmoid = "sigmoid",
        /// Slope 0.01 below zero.
        LeakyRelu = "leakyrelu",
        /// min(max(x, 0), 6)
        Relu6 = "relu6",
        /// The exact (erf) form.
        Gelu = "gelu",
        /// x · sigmoid(x)
        Silu = "silu",
        /// x · relu6(x + 3) / 6
        Hardswish = "hardswish",
    }
}

listed! {
    /// A model of a benchmark (`model_type`), built from a shape (m, k, n).
    ModelKind {
        /// `Linear(k, n)` without bias on [m, k].
        Linear,
        /// `LayerNorm(k)`, `Linear(k, n)` without bias, activation, on [m, k].
        LnLinear(Activation),
        /// A pre-norm transformer block of width k on [m, 16, k]; n is ignored.
        TransformerBlock,
        /// A block of a decoder of width k, its MLP of width n, on [m, tokens, k].
        Decoder(DecoderBlock),
        /// A model of a package.
        User(UserWord),
    }
}

impl ModelKind {
    /// The family with an activation; alone, it means that with `relu`.
    pub(crate) const LN_LINEAR: &'static str = "ln_linear";

    /// Every one that is built in; of decoders small ones.
    pub fn all() -> impl Iterator<Item = Self> {
        let ln_linear = Activation::ALL.iter().map(|&activation| Self::LnLinear(activation));
        let decoders = DecoderBlock::EXAMPLES.map(Self::Decoder);
        let blocks = [Self::TransformerBlock].into_iter().chain(decoders);
        [Self::Linear].into_iter().chain(ln_linear).chain(blocks)
    }

    /// Whether it has a backward pass, as far as is known here.
    pub const fn is_trained(&self) -> bool {
        !matches!(self, Self::Decoder(_))
    }

    /// The words of all that are built in.
    pub(crate) fn words() -> Vec<String> {
        Self::all().map(|model| model.to_string()).collect()
    }

    /// The model of a word in a file of a run: one that is not built in is a package's, wherever its
    /// file is.
    fn recorded(text: &str) -> Result<Self, UnknownWord> {
        text.parse().or_else(|unknown| UserWord::new(text).map(Self::User).ok_or(unknown))
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => f.write_str("linear"),
            Self::LnLinear(activation) => write!(f, "{}_{activation}", Self::LN_LINEAR),
            Self::TransformerBlock => f.write_str("transformer_block"),
            Self::Decoder(block) => block.fmt(f),
            Self::User(word) => word.fmt(f),
        }
    }
}

impl FromStr for ModelKind {
    type Err = UnknownWord;

    /// One that is built in. `ln_linear` alone means `ln_linear_relu`, as upstream.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        if text == Self::LN_LINEAR {
            return Ok(Self::LnLinear(Activation::Relu));
        }
        if let Some(block) = DecoderBlock::parse(text) {
            let (what, found) = ("model type", text.to_owned());
            return block.map(Self::Decoder).map_err(|remedy| UnknownWord { what, found, remedy });
        }
        Self::all().find(|model| model.to_string() == text).ok_or_else(|| {
            let words = Self::words();
            UnknownWord::new("model type", text, words.iter().map(String::as_str))
        })
    }
}

serde_as_word!(ModelKind, ModelKind::recorded);
schema_is!(ModelKind, schemars::json_schema!({ "type": "string", "minLength": 1 }));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_reads_back_its_own_word() {
        let own = UserWord::new("mine").map(ModelKind::User);
        let missing = ModelKind::missing(ModelKind::all().chain(own));
        assert!(missing.is_empty(), "`all` lacks {missing:?}");
        for model in ModelKind::all() {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert_eq!("ln_linear".parse(), Ok(ModelKind::LnLinear(Activation::Relu)));
        let error = "ln_linear_gelo".parse::<ModelKind>().unwrap_err();
        assert_eq!(error.remedy, "did you mean `ln_linear_gelu`?");
    }
}
