//! Inputs of a graph: the form of a tensor, not the tensor.

use serde::Serialize;
use tch::{Kind, Tensor};

use crate::refusal::Refusal;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Input {
    pub sizes: Vec<i64>,
    /// In elements.
    pub strides: Vec<i64>,
    /// torch's word: `bfloat16`.
    pub dtype: &'static str,
    /// torch's word: `cuda:0`.
    pub device: String,
}

impl Input {
    /// The form of a tensor, as far as Inductor has to know it.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self, Refusal> {
        let device = match tensor.device() {
            tch::Device::Cpu => "cpu".to_owned(),
            tch::Device::Cuda(index) => format!("cuda:{index}"),
            other => return Err(Refusal::Unsupported(format!("an input on {other:?}"))),
        };
        let dtype = dtype(tensor.f_kind()?)?;
        Ok(Self { sizes: tensor.size(), strides: tensor.stride(), dtype, device })
    }
}

/// torch's word for a dtype.
fn dtype(kind: Kind) -> Result<&'static str, Refusal> {
    Ok(match kind {
        Kind::Float => "float32",
        Kind::Double => "float64",
        Kind::Half => "float16",
        Kind::BFloat16 => "bfloat16",
        Kind::Uint8 => "uint8",
        Kind::Int8 => "int8",
        Kind::Int16 => "int16",
        Kind::Int => "int32",
        Kind::Int64 => "int64",
        Kind::Bool => "bool",
        Kind::Float8e4m3fn => "float8_e4m3fn",
        Kind::Float8e5m2 => "float8_e5m2",
        other => return Err(Refusal::Unsupported(format!("an input of {other:?}"))),
    })
}
