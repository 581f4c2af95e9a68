//! A case's output against its reference.

use serde::{Deserialize, Serialize};

use crate::words::closed::schema_is;

/// A number that may be infinite: JSON has no infinity, so it is written as a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonFloat(pub f64);

impl Serialize for JsonFloat {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_finite() => serializer.serialize_f64(value),
            value if value.is_nan() => serializer.serialize_str("nan"),
            value if value > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for JsonFloat {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Number(f64),
            Word(String),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Number(value) => Ok(Self(value)),
            Wire::Word(word) => word.parse().map(Self).map_err(serde::de::Error::custom),
        }
    }
}

schema_is!(
    JsonFloat = "Stat",
    schemars::json_schema!({
        "description": "A number; where it is not finite, a word: JSON has no infinity.",
        "oneOf": [{ "type": "number" }, { "enum": ["inf", "-inf", "nan"] }],
    })
);

/// An output on one kind of inputs against its high-precision reference, value by value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// `own` for the inputs of the case, else what is special about them, e.g. `denormal`.
    pub inputs: String,
    /// Batch, sequence and dimension of the inputs.
    pub size: Vec<u64>,
    /// Largest |ref − out| of a value over what is allowed for that value: 1 is the most that passes.
    /// NaN and infinity have to stand where the reference has them.
    pub worst: JsonFloat,
}

/// A compiled output against that of the same operations run eagerly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// 20·log10(‖eager‖ / ‖eager − compiled‖) in dB; infinite when equal.
    pub sqnr_db: JsonFloat,
    /// Largest |eager − compiled|.
    pub max_abs_error: JsonFloat,
    /// The gate that the compiled output had to pass, in dB.
    pub min_sqnr_db: f64,
}

/// A tensor that a training step computes, or an output with a weight of a real model, against its high-precision
/// reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorAccuracy {
    /// `output`, `grad_input`, `grad_weight`, or with the name of one of several parameters `grad_qkv_weight`; the name of
    /// the weight.
    pub name: String,
    /// 20·log10(‖ref‖ / ‖ref − out‖) in dB; infinite when equal.
    pub sqnr_db: JsonFloat,
    /// Largest |ref − out|.
    pub max_abs_error: JsonFloat,
    /// ‖ref − out‖ / ‖ref‖.
    pub relative_error: JsonFloat,
    /// The gate that it had to pass, in dB.
    pub min_sqnr_db: f64,
}

/// An output against its high-precision reference; of a training step's tensors the one that is nearest to its gate, and of
/// outputs with several weights of a real model the worst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accuracy {
    /// 20·log10(‖ref‖ / ‖ref − out‖) in dB; infinite when equal.
    pub sqnr_db: JsonFloat,
    /// Largest |ref − out|.
    pub max_abs_error: JsonFloat,
    /// ‖ref − out‖ / ‖ref‖.
    pub relative_error: JsonFloat,
    /// √(mean (ref − out)²); absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<JsonFloat>,
    /// The gate that the output had to pass, in dB; with weights of a real model, it is not applied.
    pub min_sqnr_db: f64,
    /// Rows of the output that were compared.
    pub rows_checked: u64,
    /// Further inputs that it had to pass; operators only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Every tensor that a part of a training step computes; or the output with each weight of a real model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<TensorAccuracy>,
    /// Against the same operations run eagerly; absent unless compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager: Option<Agreement>,
}
