//! What the cases of now are compared with.

use std::path::Path;

use anyhow::{Result, bail};

use crate::model::kernels::{KernelResult, Past, Point, SUMMARY};
use crate::model::{Location, Report, Selection};

/// Cases, and files and lines that should have been some.
type Before = (Vec<Point>, Vec<String>);

/// The cases of a saved baseline, of an earlier tree or of another checkout, and what of it cannot be
/// used.
pub fn read(name: &str, location: &Location, selection: Selection<'_>) -> Result<Before> {
    let folder = Path::new(name);
    let is_name = !name.is_empty() && !name.contains(['/', '\\']) && ![".", ".."].contains(&name);
    if is_name && (location.records.join(name).is_dir() || !folder.exists()) {
        return recorded(location, name, selection);
    }
    let summary = folder.join(SUMMARY);
    if summary.is_file() {
        let passes =
            |point: &Point| selection.filter.is_none_or(|filter| filter.is_match(&point.full_id));
        let mut points = Past::read(&summary)?.points;
        points.retain(passes);
        return Ok((points, Vec::new()));
    }
    // A folder of records may lie beside any folder; one inside it is surely its own.
    for criterion in [folder.join("criterion"), folder.to_owned()] {
        let other = Location::at(criterion);
        if other.records.is_dir() && other.criterion.is_dir() {
            return recorded(&other, "new", selection);
        }
    }
    bail!(
        "neither a baseline in {}, nor a folder with a {}, nor criterion's folder with a `{}` beside \
         it",
        location.records.display(),
        SUMMARY,
        Location::RECORDS,
    )
}

fn recorded(location: &Location, name: &str, selection: Selection<'_>) -> Result<Before> {
    let report = Report::read(location, name, selection)?;
    report.warnings.iter().for_each(|line| eprintln!("warning: {line}"));
    let points = KernelResult::all(&report).iter().map(KernelResult::point).collect();
    Ok((points, report.unreadable))
}
