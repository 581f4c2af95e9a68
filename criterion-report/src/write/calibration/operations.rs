//! Every operation of a profile.

use serde_json::Value;

use super::{ABSENT, WIDTH, efficiency, heading, rate, text};
use crate::model::calibration::{OperationCalibration, Profile};
use crate::write::table::{Align, Cell, Line, render};

/// One line per operation, by type, dtype, threads and size.
pub fn table(profile: &Profile, colour: bool) -> String {
    let mut operations: Vec<&OperationCalibration> = profile.operation_profiles.values().collect();
    operations.sort_by_key(|operation| {
        let params = &operation.extra_params;
        let dtype = text(params, "dtype").unwrap_or_default().to_owned();
        let threads = params.get("threads").and_then(Value::as_u64).unwrap_or(0);
        (operation.name().to_owned(), dtype, threads, operation.input_shape.clone())
    });
    let columns = [
        ("operation", Align::Left),
        ("size", Align::Right),
        ("dtype", Align::Left),
        ("threads", Align::Right),
        ("GFLOP/s", Align::Right),
        ("GB/s", Align::Right),
        ("efficiency", Align::Right),
        ("bound", Align::Left),
    ];
    let lines: Vec<Line> = operations.iter().map(|it| line(profile, it)).collect();
    let title = format!("Operation Profiles ({} total):", operations.len());
    heading(&title, colour) + &render(&columns, &lines, 2, WIDTH, colour)
}

fn line(profile: &Profile, operation: &OperationCalibration) -> Line {
    let params = &operation.extra_params;
    let (share, paint) = efficiency(operation.efficiency);
    let threads = params.get("threads").and_then(Value::as_u64);
    let bound = match profile.is_memory_bound(operation) {
        Some(true) => "memory",
        Some(false) => "compute",
        None => ABSENT,
    };
    // Of a bandwidth, by the level of memory that it is of.
    let bound = match params.get("level") {
        Some(level) => level.as_str().unwrap_or("unclear"),
        None => bound,
    };
    Line::Cells(vec![
        operation.name().into(),
        operation.size_name().into(),
        text(params, "dtype").unwrap_or(ABSENT).into(),
        threads.map_or_else(|| ABSENT.to_owned(), |threads| threads.to_string()).into(),
        rate(Some(operation.measured_gflops).filter(|rate| *rate > 0.0)).into(),
        rate(Some(operation.achieved_bandwidth_gbps)).into(),
        Cell::new(share, paint),
        bound.into(),
    ])
}
