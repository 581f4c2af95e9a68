//! Statements about a case and the parts of its time in few words, for the first screen and the page.

use crate::model::explain::{Library, Part, PartKind, Statement};
use crate::units;

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// `82 % of the time converts the weight`
pub fn statement(of: &Statement) -> String {
    let share = percent(of.share());
    match of {
        Statement::MemoryBound { level, .. } => {
            format!("memory-bound at {share} of the limit of {level}")
        }
        Statement::ComputeBound { .. } => format!("compute-bound at {share} of the limit"),
        Statement::ConvertsWeight { .. } => format!("{share} of the time converts the weight"),
        Statement::PageFaults { faults, .. } => {
            let faults = units::grouped(&units::significant(*faults, 3));
            format!("{faults} page faults per step, {share} of the time")
        }
        Statement::OtherLibrary { operation, library, .. } => {
            format!("the product comes from {} ({operation})", library_name(*library))
        }
        Statement::OtherDispatch { operation, instead_of, .. } => {
            format!("dispatched to {operation} instead of {instead_of}")
        }
        Statement::LaunchBound { .. } => format!("launch-bound: calls take {share} of the time"),
        Statement::IdleThreads { idle, threads, .. } => {
            format!("{idle} of {threads} threads idle, {share} of the time")
        }
        Statement::AddedOperation { operation, .. } => {
            format!("{operation} is added, {share} of the time")
        }
        Statement::Unexplained { .. } => format!("unexplained: {share}"),
    }
}

const fn library_name(of: Library) -> &'static str {
    match of {
        Library::Aten => "ATen",
        Library::Onednn => "oneDNN",
    }
}

/// `converting a weight (aten::copy_)`
pub fn part(of: &Part) -> String {
    let kind = match of.kind {
        PartKind::PageFaults => "page faults",
        PartKind::WeightConversion => "converting a weight",
        PartKind::MemoryLimit => "bytes at the measured bandwidth",
        PartKind::ComputeLimit => "arithmetic at the measured peak",
        PartKind::CallOverhead => "calling operations",
        PartKind::IdleThreads => "idle threads",
        PartKind::OutsideOperations => "outside recorded operations",
        PartKind::Unexplained => "unexplained",
    };
    match &of.operation {
        Some(operation) => format!("{kind} ({operation})"),
        None => kind.to_owned(),
    }
}
