//! One line per case. The columns of torchao's microbenchmarks come first, in their order; the
//! catalogue of values follows.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use super::columns::{COMPILED, IDENTITY, SETTINGS, TIMES, TRACES, cell};
use super::table;
use crate::model::{Field, Missing, Part, Report};
use crate::write::Notes;

/// A column; torchao's of traces have no field.
type Column = (Cow<'static, str>, Option<&'static Field>, Part);

pub fn write(report: &Report, raw: bool, out: &mut dyn Write) -> Result<Notes> {
    let columns = columns();
    let heading = columns.iter().map(|(name, ..)| &**name).collect();
    let cases = report.entries().map(Ok).chain(report.missing.iter().map(Err));
    table(out, raw, heading, &cases.collect::<Vec<_>>(), |case| match case {
        Ok(entry) => columns
            .iter()
            .map(|(_, field, part)| field.map(|it| cell(it, *part, entry)).unwrap_or_default())
            .collect(),
        Err(missing) => columns.iter().map(|(name, ..)| missing_cell(missing, name)).collect(),
    })?;
    Ok(Notes::new())
}

fn columns() -> Vec<Column> {
    let compiled = std::slice::from_ref(&COMPILED);
    let torchaos = [IDENTITY, compiled, SETTINGS, TIMES].into_iter().flatten();
    let torchaos = torchaos.map(|column| (column.name.into(), Some(column.field), column.part));
    let traces = TRACES.map(|name| (name.into(), None, Part::Value));
    let ours = Field::columns_of_csv().map(|(name, field, part)| (name, Some(field), part));
    torchaos.chain(traces).chain(ours).collect()
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
