//! The memory that an operator case takes.

use super::{COMPARED_BYTES, REFERENCE_ELEMENTS, product};
use crate::operator::OperatorWork;
use crate::words::{Dtype, Implementation};

/// Bytes of the inputs of one gate, in float64, and of what is computed from them: a dozen tensors of
/// 131 074 elements, two of the longest rows, rather more than less.
const GATES_BYTES: u64 = 16 << 20;

impl OperatorWork {
    /// Bytes, rather more than less, that it holds at once: its tensors; the results of six operations
    /// of a composed form, in float32 at most; some rows in float64; and the small inputs of the gates.
    pub fn memory_bytes(&self, dtype: Dtype) -> u64 {
        let elements = self.size.elements();
        let held = self.bytes(dtype);
        let results = match self.implementation {
            Implementation::AtenComposed => product(&[6, 4, elements]),
            _ => product(&[2, 4, elements]),
        };
        held.saturating_add(results)
            .saturating_add(self.reference_bytes())
            .saturating_add(GATES_BYTES)
    }

    /// Bytes of the host's memory while a case on another device is built and checked: one example
    /// as it is drawn, and some rows in float64.
    pub fn host_bytes(&self, dtype: Dtype) -> u64 {
        product(&[4 + dtype.bytes(), self.size.elements()])
            .saturating_add(self.reference_bytes())
            .saturating_add(GATES_BYTES)
    }

    /// Bytes of the rows that are compared: with each operation's result in float64.
    fn reference_bytes(&self) -> u64 {
        let elements = match self.operator.is_loss() {
            // One number depends on every element; it is computed block by block.
            true => self.size.elements().min(REFERENCE_ELEMENTS),
            false => self.size.elements().min(REFERENCE_ELEMENTS.max(self.size.tensor_dimension)),
        };
        product(&[COMPARED_BYTES + 6 * 8, elements])
    }
}
