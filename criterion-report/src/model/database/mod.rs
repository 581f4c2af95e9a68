//! Files for the PyTorch OSS benchmark database, anyone's: what its uploader, its columns and its
//! dashboards do in silence. The rules that `dashboard` writes by are those that `validate` checks.

mod file;
mod record;
mod rules;
mod trap;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

pub use file::Unreadable;
pub use rules::{Series, has_upload_name, is_storable};
pub use trap::{Severity, Trap};

/// A trap, and where a file runs into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which one.
    pub trap: Trap,
    /// The file.
    pub file: PathBuf,
    /// Index of the record, from 0; none where the file itself is meant.
    pub record: Option<usize>,
    /// JSON pointer into the record.
    pub path: String,
    /// What stands there.
    pub found: String,
}

/// What is found in files that are to be uploaded together, in their order, and the files that cannot
/// be read at all.
pub fn validate(files: &[PathBuf]) -> (Vec<Finding>, Vec<Unreadable>) {
    let (mut findings, mut unreadable) = (names(files), Vec::new());
    let mut series = HashMap::new();
    for path in files {
        match file::read(path) {
            Ok(read) => {
                findings.extend(read.findings);
                findings.extend(records(path, &read.records, &mut series));
            }
            Err(why) => unreadable.push(why),
        }
    }
    (findings, unreadable)
}

/// What the uploader does with names.
fn names(files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: BTreeMap<_, &PathBuf> = BTreeMap::new();
    let folder = files.first().and_then(|file| file.parent());
    for file in files {
        let mut add = |trap, found: String| {
            let (file, path) = (file.clone(), String::new());
            findings.push(Finding { trap, file, record: None, path, found });
        };
        if !has_upload_name(file) {
            add(Trap::FileName, "its name does not end in .json".to_owned());
        }
        if let Some(other) = first.insert(file.file_name(), file) {
            add(Trap::SameName, format!("so is {}", other.display()));
        } else if file.parent() != folder {
            add(Trap::Folder, format!("{} is in another folder", files[0].display()));
        }
    }
    findings
}

/// What happens to records one by one, and to those of one series.
fn records(
    path: &Path,
    records: &[serde_json::Value],
    known: &mut HashMap<Series<'static>, String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut series = Vec::new();
    for (index, value) in records.iter().enumerate() {
        let found = record::check(value);
        findings.extend(found.into_iter().map(|(trap, pointer, found)| Finding {
            trap,
            file: path.to_owned(),
            record: Some(index),
            path: pointer,
            found,
        }));
        series.push(record::series(value));
    }
    let present: HashSet<&Series> = series.iter().flatten().collect();
    // A time that is there in µs, too, loses nothing by what is cut of it in ms.
    findings.retain(|finding| {
        let own = finding.record.and_then(|index| series[index].as_ref());
        let finer = own.and_then(Series::in_microseconds);
        finding.trap != Trap::TwoDecimals || finer.is_none_or(|finer| !present.contains(&finer))
    });
    for (index, own) in series.into_iter().enumerate() {
        let Some(own) = own else { continue };
        let place = format!("{} record {index}", path.display());
        let found = format!("`{}` of `{}`", own.metric(), own.model());
        if let Some(first) = known.insert(own.into_owned(), place) {
            findings.push(Finding {
                trap: Trap::SameSeries,
                file: path.to_owned(),
                record: Some(index),
                path: "/metric/name".to_owned(),
                found: format!("{found}, as {first}"),
            });
        }
    }
    findings
}
