//! Fields of a problem size: their types, as the Rust file declares them, and their values in ids.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::expression::Kind;

/// A field of `ProblemSize`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// Its name in Rust, which may be `r#type`.
    pub(crate) ident: String,
    /// Its name in a `bench.yaml`.
    pub(crate) name: String,
    pub(crate) kind: FieldType,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FieldType {
    /// One value.
    Scalar(Scalar),
    /// `[T; N]` or, without a length, `Vec<T>`.
    List { of: Scalar, length: Option<usize> },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    /// A whole number: its type's name, the smallest and the largest.
    Integer(&'static str, i128, i128),
    /// A finite number: its type's name, the largest.
    Float(&'static str, f64),
    /// `bool`
    Flag,
    /// `String`
    Text,
}

impl Scalar {
    /// All types. `usize` and `isize` have the width of the machines that torch runs on.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Integer("u8", 0, u8::MAX as i128),
        Self::Integer("u16", 0, u16::MAX as i128),
        Self::Integer("u32", 0, u32::MAX as i128),
        Self::Integer("u64", 0, u64::MAX as i128),
        Self::Integer("usize", 0, u64::MAX as i128),
        Self::Integer("i8", i8::MIN as i128, i8::MAX as i128),
        Self::Integer("i16", i16::MIN as i128, i16::MAX as i128),
        Self::Integer("i32", i32::MIN as i128, i32::MAX as i128),
        Self::Integer("i64", i64::MIN as i128, i64::MAX as i128),
        Self::Integer("isize", i64::MIN as i128, i64::MAX as i128),
        Self::Float("f32", f32::MAX as f64),
        Self::Float("f64", f64::MAX),
        Self::Flag,
        Self::Text,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Integer(name, ..) | Self::Float(name, _) => name,
            Self::Flag => "bool",
            Self::Text => "String",
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Integer(..) | Self::Float(..) => Kind::Number,
            Self::Flag => Kind::Flag,
            Self::Text => Kind::Text,
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => f.write_str(scalar.as_str()),
            Self::List { of, length: Some(length) } => write!(f, "[{}; {length}]", of.as_str()),
            Self::List { of, length: None } => write!(f, "Vec<{}>", of.as_str()),
        }
    }
}

/// A problem size in ids: the values that are given, in the order in which the struct declares their fields.
pub(crate) fn size_text(fields: &[Field], given: &BTreeMap<String, Value>) -> String {
    let values: Vec<String> =
        fields.iter().filter_map(|field| given.get(&field.name)).map(value_text).collect();
    if values.is_empty() { "default".to_owned() } else { values.join("-") }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "empty".to_owned(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join("x"),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(real) => {
                let (plain, scientific) = (real.to_string(), format!("{real:e}"));
                if scientific.len() < plain.len() { scientific } else { plain }
            }
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}
