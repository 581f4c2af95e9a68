//! A line of a file of records: a record, one of an older version, or why it is neither.

use std::collections::HashMap;
use std::path::Path;

use plan::Record;
use serde::Deserialize;

use crate::order::Order as _;
use crate::parallel;
use crate::read::{file, valid};

pub enum Line {
    Record(Box<Record>),
    /// One that an earlier version wrote.
    Older(Stamp),
}

/// The fields that records of every version have.
#[derive(Deserialize)]
pub struct Stamp {
    pub version: u32,
    pub full_id: String,
    pub run_id: String,
}

pub struct Unusable {
    /// In words, with the remedy. The other lines are no worse for it.
    pub why: String,
    /// The case, if it can be read.
    full_id: Option<String>,
    run_id: Option<String>,
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self { why, full_id: None, run_id: None }
    }
}

/// The record of a line, or why there is none, with the remedy.
pub fn parse(line: &[u8]) -> Result<Line, Unusable> {
    match Record::from_json(line) {
        Ok(mut record) if record.version == Record::VERSION => {
            // Most records have one pair, and were given room for four.
            record.pairs.shrink_to_fit();
            valid::check(&record).map_err(|what| {
                let why = format!(
                    "invalid record skipped: {what}; measure its case again with `cargo bench`"
                );
                let Record { full_id, run_id, .. } = &record;
                Unusable { why, full_id: Some(full_id.clone()), run_id: Some(run_id.clone()) }
            })?;
            Ok(Line::Record(Box::new(record)))
        }
        // Another version may fail in any field: say the version, not the field.
        outcome => {
            let unusable = |error| no_record(line, &error);
            let stamp = serde_json::from_slice::<Stamp>(line).map_err(unusable)?;
            match outcome {
                Err(error) if stamp.version == Record::VERSION => Err(unusable(error)),
                _ if stamp.version < Record::VERSION => Ok(Line::Older(stamp)),
                _ => Err(format!(
                    "record version {}, but this criterion-report reads version {}: a newer \
                     criterion-torch wrote it; use the criterion-report of that version",
                    stamp.version,
                    Record::VERSION
                )
                .into()),
            }
        }
    }
}

fn no_record(line: &[u8], error: &serde_json::Error) -> Unusable {
    let why = if error.is_eof() {
        // A process that ends while it writes leaves half a line; later runs write on after it.
        "incomplete record skipped; measure its case again".to_owned()
    } else if error.is_data() {
        // A branch with a further recipe or model leaves words that this build does not know.
        format!(
            "unknown record skipped: {error}; read it with the criterion-report of the branch \
             that wrote it"
        )
    } else {
        format!(
            "not a record: {error}; delete the line and measure its case again with `cargo bench`"
        )
    };
    let (full_id, run_id) = Record::begun(line);
    Unusable { why, full_id, run_id }
}

/// Reads a file of records: hands on what `make` makes of each. Returns a remark on each line that cannot be used, and
/// the cases and runs of such lines. A line is history where a later record of its case replaces it.
pub fn read<T: Send>(
    path: &Path,
    make: impl Fn(Line, &[u8]) -> T + Sync,
    mut visit: impl FnMut(T),
) -> (Vec<String>, Vec<(String, String)>) {
    let mut skipped: HashMap<Vec<u8>, Vec<(usize, Unusable)>> = HashMap::new();
    let made = |line: &[u8]| {
        parse(line).map(|parsed| {
            let record = if let Line::Record(record) = &parsed { Some(record) } else { None };
            (record.map(|it| it.full_id.clone()), make(parsed, line))
        })
    };
    let read = file::lines(path, |lines| {
        let all =
            parallel::map(lines, |(_, line)| (!line.trim_ascii().is_empty()).then(|| made(line)));
        for ((number, line), made) in lines.iter().zip(all) {
            match made {
                None => {}
                Some(Err(unusable)) => {
                    let case = unusable.full_id.as_ref().map(String::as_bytes);
                    let key = case.unwrap_or(line).to_owned();
                    skipped.entry(key).or_default().push((*number, unusable));
                }
                Some(Ok((full_id, made))) => {
                    if let Some(full_id) = full_id.filter(|_| !skipped.is_empty()) {
                        beginnings(&full_id, line).for_each(|key| drop(skipped.remove(key)));
                    }
                    visit(made);
                }
            }
        }
    });
    let mut skipped: Vec<(usize, Unusable)> = skipped.into_values().flatten().collect();
    skipped.order_by_key(|(number, _)| *number);
    let mut unusable = file::Unusable::default();
    for (number, it) in &skipped {
        unusable.add(|| format!(":{number}: {}", it.why));
    }
    let failed = read.err().map(|error| format!("{}: {error}", path.display()));
    let remarks = unusable.of_file(path).chain(failed).collect();
    let begun = skipped.into_iter().filter_map(|(_, it)| it.full_id.zip(it.run_id));
    (remarks, begun.collect())
}

/// By what a line is known that this record replaces: the case or, where it ends before its id does, all of the line.
fn beginnings<'l>(full_id: &'l str, line: &'l [u8]) -> impl Iterator<Item = &'l [u8]> {
    let id = full_id.as_bytes();
    let found = line.windows(id.len().max(1)).position(|it| it == id);
    let end = found.map_or(0, |at| at + id.len());
    (1..=end).map(|end| &line[..end]).chain([id])
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
