//! The baseline of a group, kept at hand while its candidates are measured against it.

use std::cell::RefCell;
use std::rc::Rc;

use plan::Case;

use super::case_run::CaseRun;
use super::panics;
use super::timer::Timer;
use crate::workload::{Prepare, Refusal};

/// The baseline as the other side of pairs.
pub enum Partner {
    /// Not prepared yet: the filter left it out, and no candidate has asked for it.
    NotYet,
    /// Prepared and checked.
    Ready(Rc<RefCell<CaseRun>>),
    /// Not to be had.
    Absent(String),
}

impl Partner {
    /// The baseline, prepared now if it was not before; otherwise why there is none.
    pub fn get(
        &mut self,
        baseline: &Case,
        prepare: Prepare,
        timer: &mut Option<Rc<RefCell<Timer>>>,
    ) -> Result<Rc<RefCell<CaseRun>>, String> {
        if matches!(self, Self::NotYet) {
            *self = match panics::catch(|| CaseRun::prepare(baseline, prepare, timer)) {
                Ok(Ok(run)) => Self::Ready(Rc::new(RefCell::new(run))),
                // Beside another candidate there may be room, or time.
                Ok(Err(refusal @ (Refusal::Oom(_) | Refusal::Timeout(_)))) => {
                    return Err(format!("its baseline: {refusal}"));
                }
                Ok(Err(refusal)) => Self::Absent(format!("its baseline: {refusal}")),
                Err(panics::Caught::Panic(message)) => {
                    Self::Absent(format!("its baseline failed: {message}"))
                }
                Err(panics::Caught::Other(payload)) => std::panic::resume_unwind(payload),
            };
        }
        match self {
            Self::Ready(run) => Ok(Rc::clone(run)),
            Self::Absent(reason) => Err(reason.clone()),
            Self::NotYet => Err("its baseline was not prepared".to_owned()),
        }
    }
}
