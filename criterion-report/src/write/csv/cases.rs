//! One line per case. The columns of torchao's microbenchmarks come first, in their order; ours follow.

use std::io::Write;

use anyhow::Result;

use super::columns::{Column, IDENTITY, OURS, SETTINGS, TIMES, TRACES, USE_TORCH_COMPILE};
use super::table;
use crate::model::{Missing, Report};
use crate::write::Notes;

pub fn write(report: &Report, raw: bool, out: &mut dyn Write) -> Result<Notes> {
    let heading = columns().map(|(name, _)| *name).collect();
    let cases = report.entries().map(Ok).chain(report.missing.iter().map(Err));
    table(out, raw, heading, &cases.collect::<Vec<_>>(), |case| match case {
        Ok(entry) => columns().map(|(_, fill)| fill(entry).unwrap_or_default()).collect(),
        Err(missing) => columns().map(|(name, _)| missing_cell(missing, name)).collect(),
    })?;
    Ok(Notes::new())
}

fn columns() -> impl Iterator<Item = &'static Column> {
    let compiled = std::slice::from_ref(&USE_TORCH_COMPILE);
    [IDENTITY, compiled, SETTINGS, TIMES, TRACES, OURS].into_iter().flatten()
}

/// A case that its run did not reach left no record, only its id.
fn missing_cell(missing: &Missing, column: &str) -> String {
    match column {
        "full_id" => missing.full_id.clone(),
        "outcome" => "missing".to_owned(),
        "reason" => missing.reason.clone(),
        _ => String::new(),
    }
}
