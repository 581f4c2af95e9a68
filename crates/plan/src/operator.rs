//! An operator case: a function at a size, computed by one of its implementations; and what a step
//! moves and computes, by formula.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::{CompileMode, Dtype, Implementation, Operator};

/// The size of x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorShape {
    /// Sequences.
    pub batch_size: u64,
    /// Tokens of each.
    pub sequence_length: u64,
    /// Features of a token: the elements of a row.
    pub tensor_dimension: u64,
}

/// What an operator case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatorWork {
    /// The function.
    pub operator: Operator,
    /// The implementation that computes it.
    pub implementation: Implementation,
    /// `torch.compile` mode, if compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile: Option<CompileMode>,
    /// The size of x.
    pub size: OperatorShape,
    /// The most elements that x may have; a larger case is skipped.
    pub max_elements: u64,
}

/// Elements of the tensors of an operator: what any implementation has to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Elements of the examples, in the case's dtype: of x and of tensors of its size.
    pub examples: u64,
    /// Elements of w and b, in the case's dtype.
    pub parameters: u64,
    /// Elements of the classes, in int64.
    pub classes: u64,
    /// Elements of the output, in the case's dtype.
    pub output: u64,
}

impl OperatorShape {
    /// Rows: what operators that run over the last dimension treat each by itself.
    pub const fn rows(self) -> u64 {
        self.batch_size.saturating_mul(self.sequence_length)
    }

    /// Elements.
    pub const fn elements(self) -> u64 {
        self.rows().saturating_mul(self.tensor_dimension)
    }
}

impl fmt::Display for OperatorShape {
    /// `32x512x768`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch_size, sequence_length, tensor_dimension } = self;
        write!(f, "{batch_size}x{sequence_length}x{tensor_dimension}")
    }
}

impl OperatorWork {
    /// What has to be moved.
    pub const fn traffic(&self) -> Traffic {
        let (elements, row) = (self.size.elements(), self.size.tensor_dimension);
        let like_x = Traffic { examples: elements, parameters: 0, classes: 0, output: elements };
        match self.operator {
            Operator::LayerNormNoAffine
            | Operator::Gelu
            | Operator::GeluTanh
            | Operator::Silu
            | Operator::Softmax => like_x,
            Operator::LayerNorm => Traffic { parameters: row.saturating_mul(2), ..like_x },
            Operator::RmsNorm | Operator::BiasGelu => Traffic { parameters: row, ..like_x },
            Operator::AddLayerNorm => Traffic {
                examples: elements.saturating_mul(2),
                parameters: row.saturating_mul(2),
                ..like_x
            },
            Operator::MseLoss => {
                Traffic { examples: elements.saturating_mul(2), output: 1, ..like_x }
            }
            Operator::CrossEntropy => Traffic { classes: self.size.rows(), output: 1, ..like_x },
        }
    }

    /// Bytes that one step has to move: each input once, the output once, whatever the
    /// implementation.
    pub const fn bytes(&self, dtype: Dtype) -> u64 {
        let Traffic { examples, parameters, classes, output } = self.traffic();
        let elements = examples.saturating_add(parameters).saturating_add(output);
        elements.saturating_mul(dtype.bytes()).saturating_add(classes.saturating_mul(8))
    }

    /// Floating-point operations of the formula, each of them one, exp, erf, tanh, square root and
    /// the comparison of a maximum included; what is done once a row counts nothing.
    pub const fn flops(&self) -> u64 {
        let each: u64 = match self.operator {
            // Sum; difference, square, sum; and the difference again, scaled.
            Operator::LayerNormNoAffine => 6,
            // And · w + b.
            Operator::LayerNorm => 8,
            // x + r before.
            Operator::AddLayerNorm => 9,
            // Square, sum; scale, · w.
            Operator::RmsNorm => 4,
            // x/√2, erf, + 1, · x, / 2.
            Operator::Gelu => 5,
            Operator::BiasGelu => 6,
            // x², · x, · 0.044715, + x, · √(2/π), tanh, + 1, · x, / 2.
            Operator::GeluTanh => 9,
            // −x, exp, + 1, x / that.
            Operator::Silu => 4,
            // Maximum, difference, exp, sum, quotient.
            Operator::Softmax => 5,
            // Difference, square, sum.
            Operator::MseLoss => 3,
            // Maximum, difference, exp, sum.
            Operator::CrossEntropy => 4,
        };
        self.size.elements().saturating_mul(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operator: Operator) -> OperatorWork {
        let size = OperatorShape { batch_size: 32, sequence_length: 512, tensor_dimension: 768 };
        OperatorWork {
            operator,
            implementation: Implementation::Aten,
            compile: None,
            size,
            max_elements: 50_000_000,
        }
    }

    #[test]
    fn each_input_and_the_output_move_once() {
        let (n, rows, row) = (32 * 512 * 768, 32 * 512, 768);
        for (operator, elements, classes, flops) in [
            (Operator::LayerNorm, 2 * n + 2 * row, 0, 8),
            (Operator::LayerNormNoAffine, 2 * n, 0, 6),
            (Operator::RmsNorm, 2 * n + row, 0, 4),
            (Operator::Gelu, 2 * n, 0, 5),
            (Operator::GeluTanh, 2 * n, 0, 9),
            (Operator::Silu, 2 * n, 0, 4),
            (Operator::Softmax, 2 * n, 0, 5),
            (Operator::MseLoss, 2 * n + 1, 0, 3),
            (Operator::CrossEntropy, n + 1, rows, 4),
            (Operator::BiasGelu, 2 * n + row, 0, 6),
            (Operator::AddLayerNorm, 3 * n + 2 * row, 0, 9),
        ] {
            let work = of(operator);
            assert_eq!(work.bytes(Dtype::Float32), 4 * elements + 8 * classes, "{operator}");
            assert_eq!(work.bytes(Dtype::BFloat16), 2 * elements + 8 * classes, "{operator}");
            assert_eq!(work.flops(), flops * n, "{operator}");
        }
    }

    #[test]
    fn every_implementation_moves_the_same() {
        for operator in Operator::ALL {
            for implementation in Implementation::ALL {
                let work = OperatorWork { implementation: *implementation, ..of(*operator) };
                assert_eq!(work.traffic(), of(*operator).traffic(), "{operator} {implementation}");
            }
        }
    }

    #[test]
    fn absurd_sizes_saturate() {
        let size = OperatorShape {
            batch_size: u64::MAX,
            sequence_length: u64::MAX,
            tensor_dimension: u64::MAX,
        };
        let work = OperatorWork { size, ..of(Operator::AddLayerNorm) };
        for bytes in [
            work.bytes(Dtype::Float32),
            work.memory_bytes(Dtype::Float32),
            work.host_bytes(Dtype::Float32),
        ] {
            assert_eq!(bytes, u64::MAX);
        }
    }
}
