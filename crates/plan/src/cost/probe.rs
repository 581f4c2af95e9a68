//! What a probe of a device costs the host.

use super::{COMPARED_BYTES, REFERENCE_ELEMENTS, product};
use crate::probe::ProbeWork;
use crate::words::{Dtype, Probe};

/// Products draw one matrix at a time. Their reference, in float64, holds one whole matrix, some rows
/// of the other and of the result. STREAM's arrays are drawn where they lie: the host has the
/// elements that are compared.
pub(super) fn host_bytes(work: &ProbeWork, dtype: Dtype) -> u64 {
    let size = work.size;
    match work.probe {
        Probe::Matmul | Probe::MatmulOnednn => {
            let rows = product(&[size, size]).min(REFERENCE_ELEMENTS);
            product(&[8 + dtype.bytes(), size, size]).saturating_add(2 * 8 * rows)
        }
        Probe::Copy | Probe::Scale | Probe::Add | Probe::Triad => {
            COMPARED_BYTES * (size / dtype.bytes()).min(REFERENCE_ELEMENTS)
        }
        Probe::Launch | Probe::Call | Probe::CompiledCall => product(&[dtype.bytes(), size]),
    }
}
