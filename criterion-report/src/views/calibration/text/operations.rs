//! Every operation of a profile.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ABSENT, efficiency, heading, rate, strings, text};
use crate::order::Order as _;
use crate::render::table::{Align, Cell, Line, Paint, fit, render};
use crate::render::units;
use crate::views::calibration::{OperationCalibration, Profile};
use crate::views::footnotes::Footnotes;

/// Columns that give way, in this order, where the table is too wide: what bounds an operation,
/// GB/s.
const GIVE_WAY: [usize; 2] = [5, 3];

/// One part per dtype and number of threads, in it one line per operation and size.
pub fn table(profile: &Profile, width: usize, colour: bool) -> String {
    let columns = [
        ("operation", Align::Left),
        ("size", Align::Right),
        ("GFLOP/s", Align::Right),
        ("GB/s", Align::Right),
        ("efficiency", Align::Right),
        ("bound", Align::Left),
        ("", Align::Left),
    ];
    let mut parts: BTreeMap<(&str, Option<u64>), Vec<&OperationCalibration>> = BTreeMap::new();
    for operation in profile.operation_profiles.values() {
        let params = &operation.extra_params;
        let dtype = text(params, "dtype").unwrap_or_default();
        let dtype = dtype.strip_prefix("torch.").unwrap_or(dtype);
        let threads = params.get("threads").and_then(Value::as_u64);
        parts.entry((dtype, threads)).or_default().push(operation);
    }
    let mut footnotes = Footnotes::default();
    let mut lines = Vec::new();
    for ((dtype, threads), mut operations) in parts {
        let threads = threads.map(|threads| units::count(threads as usize, "thread"));
        let part: Vec<String> =
            [dtype.to_owned()].into_iter().filter(|it| !it.is_empty()).chain(threads).collect();
        if !part.is_empty() {
            lines.push(Line::Text(Cell::new(format!("  {}", part.join(", ")), Paint::Dim)));
        }
        operations.order_by_key(|it| (it.name().to_owned(), it.input_shape.clone()));
        lines.extend(operations.into_iter().map(|it| line(profile, it, &mut footnotes)));
    }
    fit(&columns, &mut lines, 4, Some(width), &GIVE_WAY);
    let title = format!("Operation Profiles ({} total):", profile.operation_profiles.len());
    heading(&title, colour)
        + &render(&columns, &lines, 4, width, colour)
        + &footnotes.render(width, colour)
}

fn line(profile: &Profile, operation: &OperationCalibration, footnotes: &mut Footnotes) -> Line {
    let params = &operation.extra_params;
    let (share, paint) = efficiency(operation.efficiency);
    let bound = match profile.is_memory_bound(operation) {
        Some(true) => "memory",
        Some(false) => "compute",
        None => ABSENT,
    };
    // A bandwidth is bound by the level of memory that it is of.
    let bound = match params.get("level") {
        Some(level) => level.as_str().unwrap_or("unclear"),
        None => bound,
    };
    Line::Cells(vec![
        operation.name().into(),
        operation.size_name().into(),
        rate(Some(operation.measured_gflops).filter(|rate| *rate > 0.0)).into(),
        rate(Some(operation.achieved_bandwidth_gbps)).into(),
        Cell::new(share, paint),
        bound.into(),
        Cell::new(footnotes.marks(strings(params, "cautions")), Paint::Warn),
    ])
}
