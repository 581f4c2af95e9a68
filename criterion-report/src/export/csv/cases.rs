//! One line per case. The columns of torchao's microbenchmarks come first, in their order; the
//! catalogue of values follows.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use super::columns::{COMPILED, IDENTITY, PROFILE, SETTINGS, TIMES, cell, own_columns};
use super::table;
use crate::model::{Field, ValuePart};
use crate::read::{Missing, Report};
use crate::views::written::Notes;

/// A column: its name, the field, and the part of its value.
pub type Column = (Cow<'static, str>, &'static Field, ValuePart);

pub fn write(
    report: &Report,
    raw: bool,
    chosen: &[&'static Field],
    out: &mut dyn Write,
) -> Result<Notes> {
    let mut columns = if chosen.is_empty() { columns() } else { of_fields(chosen) };
    if chosen.is_empty() && report.machines.several().next().is_some() {
        columns.extend(of_fields(&[Field::known("machine")]));
    }
    let heading = columns.iter().map(|(name, ..)| &**name).collect();
    let cases = report.entries().map(Ok).chain(report.missing.iter().map(Err));
    table(out, raw, heading, &cases.collect::<Vec<_>>(), |case| match case {
        Ok(entry) => columns.iter().map(|(_, field, part)| cell(field, *part, entry)).collect(),
        Err(missing) => columns.iter().map(|(name, ..)| missing_cell(missing, name)).collect(),
    })?;
    Ok(Notes::new())
}

/// All of them, in their order.
pub fn columns() -> Vec<Column> {
    let compiled = std::slice::from_ref(&COMPILED);
    let torchaos = [IDENTITY, compiled, SETTINGS, TIMES, PROFILE].into_iter().flatten();
    let torchaos = torchaos.map(|column| (column.name.into(), column.field, column.part));
    torchaos.chain(own_columns()).collect()
}

/// The columns of fields, in the fields' order, under the names that they have among all.
fn of_fields(chosen: &[&'static Field]) -> Vec<Column> {
    let all = columns();
    let is_of = |column: &Column, field: &Field| column.1.name == field.name;
    let mut columns = Vec::new();
    for field in chosen {
        let before = columns.len();
        columns.extend(all.iter().filter(|column| is_of(column, field)).cloned());
        if columns.len() == before {
            let name = format!("{}{}", field.name.replace('-', "_"), field.unit.suffix);
            columns.push((name.into(), field, ValuePart::Value));
        }
    }
    columns
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
