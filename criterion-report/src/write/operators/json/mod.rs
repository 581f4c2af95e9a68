//! The array: upstream's results under its own names, and in each object what they lack.
//!
//! Upstream's file is an array without a head, which its scripts iterate over: so schema and version
//! are in every object.

mod entry;
mod measured;

use std::io::Write;

use anyhow::Result;
use plan::Implementation;

use crate::model::{OperatorResult, Report};
use crate::units;
use crate::write::Notes;
use entry::Entry;

/// The cases of a report, those without a record too; `compat` leaves out what upstream's scripts
/// cannot take.
pub fn array(
    report: &Report,
    results: &[OperatorResult<'_>],
    compat: bool,
    out: &mut dyn Write,
) -> Result<Notes> {
    let streams =
        |result: &&OperatorResult<'_>| result.key.implementation == Implementation::Stream;
    let taken =
        |result: &&OperatorResult<'_>| !compat || !streams(result) && result.row.time.is_ok();
    let mut entries: Vec<Entry<'_>> = results.iter().filter(taken).map(Entry::of).collect();
    let mut notes = Vec::new();
    if compat {
        let streams = results.iter().filter(streams).count();
        let without = results.len() - entries.len() - streams + report.missing.len();
        notes.extend((streams > 0).then(|| {
            format!("{} of `stream` left out: it computes nothing", units::count(streams, "case"))
        }));
        notes.extend(
            (without > 0)
                .then(|| format!("{} without a time left out", units::count(without, "case"))),
        );
    } else {
        entries.extend(report.missing.iter().map(Entry::missing));
    }
    serde_json::to_writer_pretty(&mut *out, &entries)?;
    out.write_all(b"\n")?;
    Ok(notes)
}
