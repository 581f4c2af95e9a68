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
            let library = library_name(*library);
            format!("the product comes from {library} ({operation}), {share} of the time")
        }
        Statement::OtherDispatch { operation, instead_of, .. } => {
            format!("dispatched to {operation} instead of {instead_of}, {share} of the time")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_has_its_figure() {
        let [operation, instead_of, other] = ["a", "b", "c"].map(str::to_owned);
        let library = Statement::OtherLibrary {
            share: 0.82,
            ratio: 2.0,
            operation: operation.clone(),
            library: Library::Onednn,
            instead_of: instead_of.clone(),
            instead_of_library: Library::Aten,
            other: other.clone(),
        };
        let dispatch = Statement::OtherDispatch {
            share: 0.82,
            ratio: 2.0,
            operation: operation.clone(),
            instead_of,
            other,
        };
        for (of, text) in [
            (
                Statement::MemoryBound { share: 0.82, level: "L2".to_owned() },
                "memory-bound at 82 % of the limit of L2",
            ),
            (Statement::ComputeBound { share: 0.82 }, "compute-bound at 82 % of the limit"),
            (Statement::ConvertsWeight { share: 0.82 }, "82 % of the time converts the weight"),
            (
                Statement::PageFaults { share: 0.82, faults: 12_289.0 },
                "12\u{202f}289 page faults per step, 82 % of the time",
            ),
            (library, "the product comes from oneDNN (a), 82 % of the time"),
            (dispatch, "dispatched to a instead of b, 82 % of the time"),
            (
                Statement::LaunchBound { share: 0.82, calls: None, device_busy: None },
                "launch-bound: calls take 82 % of the time",
            ),
            (
                Statement::IdleThreads { share: 0.82, idle: 1, threads: 2 },
                "1 of 2 threads idle, 82 % of the time",
            ),
            (
                Statement::AddedOperation { share: 0.82, operation, calls: 1.0 },
                "a is added, 82 % of the time",
            ),
            (Statement::Unexplained { share: 0.82, outside_share: 0.0 }, "unexplained: 82 %"),
        ] {
            assert_eq!(statement(&of), text);
        }
    }
}
