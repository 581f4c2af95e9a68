//! Ranges around the parts of a case, for profilers that read NVTX, such as Nsight Systems.
//!
//! None is opened or closed inside a timed sample: a range is around all samples of a case, and around a single
//! step only where the step's own clock starts later and stops earlier, or where nothing is timed.

use plan::Case;

use crate::native::nvtx::{self, Range};

/// A range around one part of measuring a case, named `ID: PART`.
pub fn for_case(case: &Case, part: &str) -> Range {
    Range::open(|| format!("{}: {part}", case.full_id()))
}

/// [`for_case`] by the case's id.
pub fn named(id: &str, part: &str) -> Range {
    Range::open(|| format!("{id}: {part}"))
}

/// A range around one step.
pub fn step() -> Range {
    Range::open(|| "step".to_owned())
}

/// A note that the figures were taken under a profiler, or that the requested profiler could not attach.
pub fn note() -> Option<String> {
    match nvtx::listens() {
        Ok(false) => None,
        Ok(true) => {
            Some(format!("measured under a profiler ({}), which may slow it down", nvtx::INJECTION))
        }
        Err(reason) => Some(format!("no ranges for a profiler: {reason}")),
    }
}
